//! What the bytes of a font mean, and how wide they are.

use std::collections::{BTreeMap, HashMap};

use lopdf::{Dictionary, Document, Encoding, Object};

use super::{STREAM_BYTES_MAX, failed};
use crate::runs::step::StepFailed;

/// Thousandths of the size of the font, as the format counts.
const EM: f32 = 1000.0;
/// What a font of two bytes a character has if it says nothing.
const WIDE: f32 = 1000.0;
/// A range of widths has some hundred characters; one that claims to have all of them is cut.
const RANGE_MAX: i64 = 4096;

/// A character that is there and that nobody can tell.
const UNKNOWN: &str = "\u{fffd}";

pub(super) struct Font<'a> {
    /// What it says to be copied as, then what it is drawn as.
    encodings: Vec<Encoding<'a>>,
    widths: HashMap<u32, f32>,
    default_width: Option<f32>,
    /// Bytes a character.
    code_bytes: usize,
    pub bold: bool,
}

/// The dictionaries of a page's fonts, and again without their encoding where they have a better word for it.
pub(super) struct Dictionaries(BTreeMap<Vec<u8>, (Dictionary, Option<Dictionary>)>);

impl Dictionaries {
    pub fn of(fonts: BTreeMap<Vec<u8>, &Dictionary>) -> Dictionaries {
        let both = fonts.into_iter().map(|(name, font)| {
            let copied = font.has(b"ToUnicode").then(|| {
                let mut copied = font.clone();
                copied.remove(b"Encoding");
                copied
            });
            (name, (font.clone(), copied))
        });
        Dictionaries(both.collect())
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn fonts<'a>(&'a self, document: &'a Document) -> Result<BTreeMap<&'a [u8], Font<'a>>, StepFailed> {
        self.0.iter().map(|(name, both)| Ok((&name[..], font(both, document)?))).collect()
    }
}

fn font<'a>(
    (drawn, copied): &'a (Dictionary, Option<Dictionary>),
    document: &'a Document,
) -> Result<Font<'a>, StepFailed> {
    let composite = drawn.get(b"Subtype").and_then(Object::as_name).is_ok_and(|name| name == b"Type0");
    let mut encodings = Vec::new();
    for dictionary in copied.iter().chain([drawn]) {
        match dictionary.get_font_encoding_with_limit(document, STREAM_BYTES_MAX) {
            Ok(encoding) => encodings.push(encoding),
            Err(why @ lopdf::Error::Decompress(_)) => return Err(failed(&why)),
            // A font that says nothing of use; its characters are unknown.
            Err(_) => {}
        }
        // The second would read single bytes where this one has two.
        if composite && !encodings.is_empty() {
            break;
        }
    }
    let name = drawn.get_deref(b"BaseFont", document).and_then(Object::as_name).unwrap_or_default();
    let name = String::from_utf8_lossy(name).to_ascii_lowercase();
    let bold = ["bold", "black", "heavy", "cmbx"].iter().any(|word| name.contains(word));
    let (widths, default_width) = match composite {
        true => composite_widths(drawn, document),
        false => (simple_widths(drawn, document), None),
    };
    Ok(Font { encodings, widths, default_width, code_bytes: if composite { 2 } else { 1 }, bold })
}

impl Font<'_> {
    /// The text that bytes show, and how wide it is at size 1, with how many characters and spaces.
    pub fn show(&self, bytes: &[u8]) -> (String, Shown) {
        let mut shown = Shown::default();
        let text = self.text(bytes);
        let mut letters = text.chars();
        for code in bytes.chunks(self.code_bytes) {
            let number = code.iter().fold(0, |number, byte| number << 8 | u32::from(*byte));
            let letter = letters.next().unwrap_or(' ');
            let width = self
                .widths
                .get(&number)
                .copied()
                .or(self.default_width)
                .unwrap_or_else(|| usual_width(letter));
            shown.width += width / EM;
            shown.characters += 1;
            shown.spaces += usize::from(code == b" ");
        }
        (text, shown)
    }

    fn text(&self, bytes: &[u8]) -> String {
        let texts = self.encodings.iter().filter_map(|encoding| encoding.bytes_to_string(bytes).ok());
        let mut best: Option<String> = None;
        for text in texts {
            if !text.contains(UNKNOWN) {
                return text;
            }
            best.get_or_insert(text);
        }
        best.unwrap_or_else(|| UNKNOWN.repeat(bytes.len().div_ceil(self.code_bytes)))
    }
}

#[derive(Clone, Copy, Default)]
pub(super) struct Shown {
    pub width: f32,
    pub characters: usize,
    pub spaces: usize,
}

fn simple_widths(font: &Dictionary, document: &Document) -> HashMap<u32, f32> {
    let first = font.get_deref(b"FirstChar", document).and_then(Object::as_i64).unwrap_or(0);
    let Ok(first) = u32::try_from(first) else { return HashMap::new() };
    let widths = font.get_deref(b"Widths", document).and_then(Object::as_array);
    let widths = widths.into_iter().flatten().map(|width| number(width, document));
    // A byte has no more characters.
    widths.take(256).enumerate().map(|(at, width)| (first.saturating_add(at as u32), width)).collect()
}

/// `[first [width …] first last width …]`.
fn composite_widths(font: &Dictionary, document: &Document) -> (HashMap<u32, f32>, Option<f32>) {
    let inner = font.get_deref(b"DescendantFonts", document).and_then(Object::as_array);
    let inner = inner.ok().and_then(|fonts| document.dereference(fonts.first()?).ok()?.1.as_dict().ok());
    let Some(inner) = inner else { return (HashMap::new(), Some(WIDE)) };
    let default = inner.get_deref(b"DW", document).map(|width| number(width, document)).unwrap_or(WIDE);
    let mut widths = HashMap::new();
    let empty = Vec::new();
    let entries = inner.get_deref(b"W", document).and_then(Object::as_array).unwrap_or(&empty);
    let mut at = 0;
    while at + 1 < entries.len() {
        let first = number(&entries[at], document) as i64;
        match document.dereference(&entries[at + 1]) {
            Ok((_, Object::Array(each))) => {
                for (offset, width) in (0..RANGE_MAX).zip(each) {
                    put(&mut widths, first + offset, number(width, document));
                }
                at += 2;
            }
            Ok((_, last)) => {
                let last = (number(last, document) as i64).min(first.saturating_add(RANGE_MAX));
                let width = entries.get(at + 2).map_or(default, |width| number(width, document));
                (first..=last).for_each(|code| put(&mut widths, code, width));
                at += 3;
            }
            Err(_) => break,
        }
        // Two bytes have no more characters.
        if widths.len() >= 1 << 16 {
            break;
        }
    }
    (widths, Some(default))
}

fn put(widths: &mut HashMap<u32, f32>, code: i64, width: f32) {
    if let Ok(code) = u32::try_from(code) {
        widths.insert(code, width);
    }
}

pub(super) fn number(object: &Object, document: &Document) -> f32 {
    let number = document.dereference(object).and_then(|(_, object)| object.as_float()).unwrap_or(0.0);
    if number.is_finite() { number } else { 0.0 }
}

/// Of the fonts that every reader has and no file describes: about as wide as Helvetica is.
fn usual_width(letter: char) -> f32 {
    match letter {
        'i' | 'j' | 'l' | '\'' | '|' => 222.0,
        ' ' | '.' | ',' | ':' | ';' | '!' | 'f' | 't' | 'I' | '/' | '(' | ')' | '[' | ']' | '-' | 'r' => {
            290.0
        }
        'm' | 'M' | 'w' | 'W' | '%' | '@' => 850.0,
        'A'..='Z' => 690.0,
        _ => 556.0,
    }
}
