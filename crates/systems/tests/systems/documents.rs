//! The documents in `documents/`, and what is expected of each, as pages beside them. `TENURE_UPDATE=1` writes the pages anew, to be
//! read by somebody.

use std::path::{Path, PathBuf};

use tenure_systems::runs::extract::{Extracted, extract};
use tenure_systems::runs::sniff::sniff;
use tenure_systems::runs::step::{Document, StepFailed};
use tokio::sync::watch;

/// Every document that has a text.
pub const DOCUMENTS: [&str; 15] = [
    "broken.html",
    "invoice.pdf",
    "joined.pdf",
    "konto.csv",
    "kuendigung.txt",
    "letter.pdf",
    "measurements.csv",
    "minutes.txt",
    "order.json",
    "page.html",
    "printed.pdf",
    "rapport.txt",
    "report.md",
    "report.pdf",
    "restricted.pdf",
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/systems/documents")
}

pub fn document(name: &str) -> Document {
    made(name, std::fs::read(folder().join(name)).unwrap())
}

/// A document that no file has.
pub fn made(name: &str, bytes: impl Into<Vec<u8>>) -> Document {
    let bytes = bytes.into();
    let media_type = sniff(&bytes, name).to_string();
    Document { id: "d1".to_string(), name: name.to_string(), media_type, bytes }
}

pub fn extracted(document: &Document) -> Result<Extracted, StepFailed> {
    extract(document, watch::channel(false).1)
}

/// Holds a page against the one that is kept.
pub fn expect(name: &str, part: &str, page: &str) {
    let kept = folder().join(format!("expected/{name}.{part}"));
    if std::env::var_os("TENURE_UPDATE").is_some() {
        std::fs::create_dir_all(folder().join("expected")).unwrap();
        return std::fs::write(kept, page).unwrap();
    }
    let wanted = std::fs::read_to_string(&kept).unwrap_or_default();
    assert!(wanted == page, "{} is\n{page}\nand should be\n{wanted}", kept.display());
}
