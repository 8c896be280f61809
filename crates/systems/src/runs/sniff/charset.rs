//! How a text is written down in bytes: what a mark at its beginning says, else UTF-8, else one of the Latin bytes.

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};

/// The name of an encoding, as the web knows it: `UTF-8`.
pub(crate) type Charset = &'static str;

/// A page says how it is written near its beginning, where browsers look for it.
const DECLARED_WITHIN_BYTES: usize = 1024;
/// A file in another encoding is hardly ever valid in UTF-8, so a few faults among many good characters are damage.
const GOOD_PER_FAULT: usize = 10;
/// Terminals' colours, page breaks and the like are in some texts; more than one in so many is no text.
const LETTERS_PER_CONTROL: usize = 50;
/// Of a text in Latin letters two of three bytes are ASCII, also in Icelandic.
const BYTES_PER_HIGH: usize = 3;

/// The text in bytes, or nothing if they are none. With `cut` the last character may be half of one.
pub(crate) fn read(bytes: &[u8], cut: bool) -> Option<(String, Charset)> {
    let (encoding, marked) = Encoding::for_bom(bytes).unzip();
    let rest = &bytes[marked.unwrap_or(0)..];
    let (text, encoding) = match encoding {
        Some(wide) if wide == UTF_16LE || wide == UTF_16BE => {
            (wide.decode_without_bom_handling(&rest[..rest.len() - rest.len() % 2]).0.into_owned(), wide)
        }
        _ => narrow(rest, cut)?,
    };
    is_text(&text).then_some((text, encoding.name()))
}

fn narrow(bytes: &[u8], cut: bool) -> Option<(String, &'static Encoding)> {
    // No encoding that is met without a mark has it, and it is the first thing to be seen in what is no text.
    if bytes.contains(&0) {
        return None;
    }
    let (mut good, mut faults) = (0, 0);
    for chunk in bytes.utf8_chunks() {
        good += chunk.valid().chars().filter(|letter| !letter.is_ascii()).count();
        faults += usize::from(!chunk.invalid().is_empty());
    }
    let half = cut && std::str::from_utf8(bytes).is_err_and(|wrong| wrong.error_len().is_none());
    if faults == usize::from(half) || good >= faults * GOOD_PER_FAULT {
        let whole = match std::str::from_utf8(bytes) {
            Err(wrong) if half => &bytes[..wrong.valid_up_to()],
            _ => bytes,
        };
        return Some((String::from_utf8_lossy(whole).into_owned(), UTF_8));
    }
    let encoding = declared(bytes).unwrap_or(WINDOWS_1252);
    if encoding == WINDOWS_1252 && !is_latin(bytes) {
        return None;
    }
    Some((encoding.decode_without_bom_handling(bytes).0.into_owned(), encoding))
}

/// What a page says of itself: `<meta charset="shift_jis">`.
fn declared(bytes: &[u8]) -> Option<&'static Encoding> {
    let head = String::from_utf8_lossy(&bytes[..bytes.len().min(DECLARED_WITHIN_BYTES)]).to_ascii_lowercase();
    let (_, after) = head[head.find("<meta")?..].split_once("charset=")?;
    let label = after.trim_start_matches(['"', '\'', ' ']);
    let end =
        label.find(|end: char| !end.is_ascii_alphanumeric() && !"-_:".contains(end)).unwrap_or(label.len());
    Encoding::for_label(&label.as_bytes()[..end])
        .filter(|encoding| encoding.is_ascii_compatible() && *encoding != UTF_8)
}

/// Every byte is a character in it, and most are ASCII.
fn is_latin(bytes: &[u8]) -> bool {
    let strange = |byte: &u8| matches!(byte, 0x81 | 0x8d | 0x8f | 0x90 | 0x9d);
    let high = bytes.iter().filter(|byte| !byte.is_ascii()).count();
    high * BYTES_PER_HIGH <= bytes.len() && !bytes.iter().any(strange)
}

fn is_text(text: &str) -> bool {
    let stray =
        |letter: &char| letter.is_control() && !matches!(letter, '\t' | '\n' | '\r' | '\u{c}' | '\u{85}');
    let (mut letters, mut controls) = (0, 0);
    for letter in text.chars() {
        letters += 1;
        controls += usize::from(stray(&letter));
    }
    !text.contains('\0') && controls * LETTERS_PER_CONTROL <= letters
}
