//! Diagrams: golden files of the built-in tables, byte for byte.

#[path = "diagrams/tables.rs"]
mod tables;

use std::fs;
use std::path::Path;

use tenure_core::lifecycle::diagram::{Format, draw};

fn extension(format: Format) -> &'static str {
    match format {
        Format::Mermaid => "mmd",
        Format::Dot => "dot",
        Format::Svg => "svg",
    }
}

/// `UPDATE_GOLDEN=1 cargo test -p tenure-core --test diagram` rewrites the files; look at them before committing.
#[test]
fn a_table_is_drawn_as_its_golden_file_shows() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/diagrams");
    for table in tables::all() {
        for format in Format::ALL {
            let path = folder.join(format!("{}.{}", table.kind, extension(format)));
            let drawn = draw(&table, format);
            if std::env::var_os("UPDATE_GOLDEN").is_some() {
                fs::write(&path, &drawn).unwrap();
            }
            let kept = fs::read_to_string(&path).unwrap_or_default();
            assert!(drawn == kept, "{} differs; UPDATE_GOLDEN=1 rewrites it", path.display());
        }
    }
}
