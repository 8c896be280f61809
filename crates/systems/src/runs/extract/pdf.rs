//! PDF: what its pages show as text, with sizes and places, and the structure that these tell.
//!
//! `lopdf` parses the file and unpacks its streams within bounds; what the operators of a page do is followed here. It has
//! no structure of its own that writers could be trusted to fill: headings are what is set larger, tables what stands in columns.

mod font;
mod layout;
mod page;

use lopdf::{Dictionary, Document, Error, LoadOptions, Object, decode_text_string};

use super::form::{Form, bounded};
use super::{BROKEN, ENCRYPTED, NOT_TEXT, TOO_LARGE};
use crate::runs::builtin::never;
use crate::runs::step::StepFailed;
use page::Budget;

/// A long book.
pub const PAGES_MAX: usize = 2_000;
/// A stream that describes objects or characters, unpacked. Writers put a hundred objects into one, of some hundred bytes each.
const STREAM_BYTES_MAX: usize = 8 << 20;

pub(super) fn read(bytes: &[u8], form: &mut Form) -> Result<(), StepFailed> {
    let options = LoadOptions::with_max_decompressed_size(STREAM_BYTES_MAX);
    let document = Document::load_mem_with_options(bytes, options).map_err(|why| failed(&why))?;
    // What only keeps people from printing was opened without a password.
    if document.is_encrypted() {
        return Err(never(ENCRYPTED, "it can be read with its password only"));
    }
    let pages = document.get_pages();
    bounded("pages", pages.len(), PAGES_MAX)?;
    if pages.is_empty() {
        return Err(never(BROKEN, "it has no pages; its end may be missing"));
    }
    form.pages(u32::try_from(pages.len()).expect("they are bounded"));
    note(&document, form);
    let mut budget = Budget::default();
    let mut read = Vec::new();
    for (number, id) in &pages {
        form.go_on()?;
        read.push((*number, page::read(&document, *id, &mut budget, form)?));
    }
    if read.iter().all(|(_, lines)| lines.is_empty()) {
        let pages = read.len();
        return Err(never(
            NOT_TEXT,
            format!("there is no text on its {pages} pages; pictures of text are not read"),
        ));
    }
    layout::blocks(&read, form)
}

/// What the writer said of the file.
fn note(document: &Document, form: &mut Form) {
    let info = document.trailer.get_deref(b"Info", document).and_then(Object::as_dict);
    let Ok(info) = info else { return };
    for (key, name) in [("Title", "title"), ("Author", "author"), ("Subject", "subject")] {
        form.note(name, &text_of(info, key, document).unwrap_or_default());
    }
    // `D:20240312093000Z`: its day is enough.
    let created = text_of(info, "CreationDate", document).unwrap_or_default();
    if let Some(day) =
        created.strip_prefix("D:").and_then(|day| day.get(..8)).filter(|day| day.parse::<u32>().is_ok())
    {
        form.note("created", &format!("{}-{}-{}", &day[..4], &day[4..6], &day[6..]));
    }
}

fn text_of(info: &Dictionary, key: &str, document: &Document) -> Option<String> {
    decode_text_string(info.get_deref(key.as_bytes(), document).ok()?).ok()
}

fn failed(why: &Error) -> StepFailed {
    match why {
        Error::Decompress(lopdf::DecompressError::MemoryLimitExceeded { .. }) => {
            never(TOO_LARGE, format!("a part of it has more than {STREAM_BYTES_MAX} bytes when unpacked"))
        }
        Error::Decryption(_) | Error::InvalidPassword => never(ENCRYPTED, why.to_string()),
        other => never(BROKEN, other.to_string()),
    }
}
