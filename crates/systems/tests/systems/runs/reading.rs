//! Only the files of uploads are read, whatever a payload names and whatever is in the folder.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use tenure::core::code::Code;
use tenure::core::lifecycle::parse::parse;
use tenure::core::lifecycle::shipped::{SHIPPED, tables};
use tenure::databases::url::Url;
use tenure::{New, Tenure};
use tenure_systems::runs::documents::NotDone;

use super::leftovers::contents;
use super::{Desk, reading};
use crate::kit::on_kept;

/// Puts something else in a file's place.
type Replace<'a> = &'a dyn Fn(&Path);

/// Texts that are not a SHA-256; some would be paths.
fn no_hashes() -> Vec<String> {
    let digits = "0123456789abcdef".repeat(4);
    vec![
        "/dev/zero".to_string(),
        "../../../../etc/hostname".to_string(),
        String::new(),
        digits[1..].to_string(),
        format!("{digits}/../x"),
        digits.to_uppercase(),
    ]
}

fn facts(sha256: &str) -> Value {
    json!({ "name": "n", "media_type": "text/plain", "size": 4, "sha256": sha256 })
}

/// The shipped lifecycles with the `document` of an older version, which has no payload schema.
async fn older(url: &str) -> Tenure {
    let document = SHIPPED.iter().find(|shipped| shipped.file == "document.md").unwrap().source;
    let (before, rest) = document.split_once("## Payload schema").unwrap();
    let older = format!("{before}{}", &rest[rest.find("## Notes").unwrap()..]);
    let mut tables = tables();
    tables.add(parse(&older).unwrap());
    Tenure::builder(url).lifecycles(tables).open().await.unwrap()
}

//
// fault: A16
#[test]
fn a_document_whose_payload_names_another_file_is_not_created() {
    on_kept(async |url| {
        let desk = Desk::open(&url).await;
        for sha256 in no_hashes() {
            let refused = desk.tenure.create(New::of("document", &facts(&sha256))).await.unwrap_err();
            assert_eq!(refused.code(), Some(Code::SchemaViolation), "{sha256:?}: {refused}");
        }
    });
}

//
// fault: A16
#[test]
fn a_stored_payload_that_names_another_file_opens_none() {
    on_kept(async |url| {
        let desk = Desk::with(&url, older(&url).await).await;
        let running = desk.start(reading()).await;
        for sha256 in no_hashes() {
            let new = New::of("document", &facts(&sha256));
            let document = desk.tenure.create(new).await.unwrap().id;
            let content = desk.documents.content(document).await;
            assert!(matches!(content, Err(NotDone::Strange(_))), "{sha256:?}: {content:?}");
            assert_eq!(desk.documents.document(document).await.unwrap().facts, None);
            let run = desk.ended(desk.reprocess(document).await).await;
            assert_eq!(
                (run.state.as_str(), run.failure_type.as_deref()),
                ("FAILED", Some("DOCUMENT_MISSING"))
            );
        }
        running.drain().await;
    });
}

//
// fault: A16
#[test]
fn erasing_a_document_whose_key_is_a_path_writes_nothing_outside_the_folder() {
    on_kept(async |url| {
        let desk = Desk::with(&url, older(&url).await).await;
        let outside = tempfile::tempdir().unwrap();
        for key in [
            format!("{}~/../../../../../../../../../../..{}/x", "a".repeat(64), outside.path().display()),
            "../../../x".to_string(),
        ] {
            let new = New::of("document", &facts("x")).key(&key);
            let document = desk.tenure.create(new).await.unwrap().id;
            let item = desk.tenure.item(document).await.unwrap();
            assert!(desk.documents.erase(&item, None).await.unwrap().erased);
        }
        assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
        // No note and no folder is left from the path.
        let pending = fs::read_dir(desk.library.files.folder().join("pending")).into_iter().flatten();
        assert_eq!(pending.count(), 0);
    });
}

//
// fault: R10
#[test]
fn only_a_regular_file_below_the_folder_is_read() {
    on_kept(async |url| {
        let desk = Desk::open(&url).await;
        let document = desk.upload("a letter").await.document_id;
        let [file] = &contents(&desk)[..] else { panic!("one file") };
        let code = async || match desk.documents.content(document).await {
            Ok(_) => "read",
            Err(NotDone::Read(not)) => not.code(),
            Err(other) => panic!("{other}"),
        };
        assert_eq!(code().await, "read");
        let kept = file.with_extension("kept");
        fs::rename(file, &kept).unwrap();
        assert_eq!(code().await, "CONTENT_MISSING");
        let fifo = |path: &Path| assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
        let replace: [(&str, Replace); 5] = [
            ("a link to the same bytes", &|path| symlink(&kept, path).unwrap()),
            ("a link to a device", &|path| symlink("/dev/zero", path).unwrap()),
            ("a pipe without a writer", &fifo),
            ("a longer file", &|path| fs::write(path, "a letter, and more").unwrap()),
            ("a folder", &|path| fs::create_dir(path).unwrap()),
        ];
        for (what, replace) in replace {
            replace(file);
            assert_eq!(code().await, "CONTENT_DAMAGED", "{what}");
            if fs::remove_file(file).is_err() {
                fs::remove_dir(file).unwrap();
            }
        }
        fs::rename(&kept, file).unwrap();
        assert_eq!(code().await, "read");
        // A folder below it may not be a link either.
        let folder = file.parent().unwrap();
        let moved = folder.with_extension("moved");
        fs::rename(folder, &moved).unwrap();
        symlink(&moved, folder).unwrap();
        assert_eq!(code().await, "CONTENT_DAMAGED");
        // The folder of files itself may be a link: the operator chooses it.
        fs::remove_file(folder).unwrap();
        fs::rename(&moved, folder).unwrap();
        if let Ok(Url::Sqlite(_)) = url.parse() {
            let all = desk.library.files.folder();
            let elsewhere = all.with_extension("elsewhere");
            fs::rename(all, &elsewhere).unwrap();
            symlink(&elsewhere, all).unwrap();
            assert_eq!(code().await, "read");
        }
    });
}
