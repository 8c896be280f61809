//! The `.proto` files, compiled.

use std::path::Path;
use std::sync::LazyLock;

use prost_reflect::DescriptorPool;
use protox::Compiler;

const FILES: [&str; 11] =
    ["problem", "item", "work", "job", "claim", "document", "todo", "ticket", "inbox", "log", "admin"];

/// What the files say now.
pub static COMPILED: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("proto");
    let mut compiler = Compiler::new([&folder]).unwrap();
    compiler.include_imports(true);
    let kept = std::fs::read_dir(folder.join("tenure/v1")).unwrap().count();
    assert_eq!(kept, FILES.len(), "every file is compiled");
    for file in FILES {
        compiler.open_file(format!("tenure/v1/{file}.proto")).unwrap();
    }
    compiler.encode_file_descriptor_set()
});

pub static POOL: LazyLock<DescriptorPool> =
    LazyLock::new(|| DescriptorPool::decode(COMPILED.as_slice()).unwrap());

/// What the server reads its messages by. `TENURE_UPDATE=1` writes it anew.
#[test]
fn the_description_is_what_the_proto_files_give() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/proto/tenure.v1.binpb");
    if std::env::var_os("TENURE_UPDATE").is_some() {
        std::fs::write(file, &*COMPILED).unwrap();
    }
    let kept = std::fs::read(file).unwrap();
    assert!(kept == *COMPILED, "the .proto files have changed: run with TENURE_UPDATE=1");
}
