//! Documents of every type, and what is taken from them.

use std::fmt::Write;

use tenure_systems::runs::extract::{Extracted, Kind};

use crate::documents::{DOCUMENTS, document, expect, extracted, made};

/// A line a block.
fn page(extracted: &Extracted) -> String {
    let mut page = format!("{}\n", extracted.media_type);
    extracted.pages.iter().for_each(|pages| writeln!(page, "pages: {pages}").unwrap());
    extracted.metadata.iter().for_each(|(name, value)| writeln!(page, "{name}: {value}").unwrap());
    for block in &extracted.blocks {
        let kind = serde_json::to_value(block.kind).unwrap();
        write!(page, "\n{}", kind.as_str().unwrap()).unwrap();
        block.level.iter().for_each(|level| write!(page, " {level}").unwrap());
        block.page.iter().for_each(|number| write!(page, " (page {number})").unwrap());
        let rows = block.rows.iter().flatten().map(|row| row.join(" | "));
        match block.rows {
            Some(_) => rows.for_each(|row| write!(page, "\n  | {row}").unwrap()),
            None => block.text.lines().for_each(|line| write!(page, "\n  {line}").unwrap()),
        }
    }
    page.push('\n');
    page
}

//
#[test]
fn the_text_of_every_document_and_its_structure_are_as_expected() {
    for name in DOCUMENTS {
        expect(name, "extract.txt", &page(&extracted(&document(name)).unwrap()));
    }
}
