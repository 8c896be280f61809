//! What a document is, by its bytes. What somebody says it is decides nothing; its name only tells kinds of plain text apart,
//! which no byte could, and what was to be JSON from what only opens like it.
//!
//! Only the first [`SNIFF_BYTES`] are looked at: whoever has a file of any size hands in its beginning.

pub(crate) mod charset;

use serde::de::IgnoredAny;

use charset::Charset;

pub const PDF: &str = "application/pdf";
pub const HTML: &str = "text/html";
pub const JSON: &str = "application/json";
pub const CSV: &str = "text/csv";
pub const MARKDOWN: &str = "text/markdown";
pub const PLAIN: &str = "text/plain";
/// Bytes that nobody here can read.
pub const OCTETS: &str = "application/octet-stream";

/// What a file is shows in its first page; a JSON text is read to here to be believed.
pub const SNIFF_BYTES: usize = 64 << 10;
/// What most file systems allow; names are for people and nothing is opened by them.
pub const NAME_BYTES_MAX: usize = 255;
/// Enough lines to see columns in.
const LINES_LOOKED_AT: usize = 20;

/// One of the types above.
pub fn sniff(bytes: &[u8], name: &str) -> &'static str {
    let cut = bytes.len() >= SNIFF_BYTES;
    let head = &bytes[..bytes.len().min(SNIFF_BYTES)];
    if head.trim_ascii_start().starts_with(b"%PDF-") {
        return PDF;
    }
    let Some((text, _)) = charset::read(head, cut) else { return OCTETS };
    let said = Said::of(name);
    match markup(&text) {
        Markup::Page => return HTML,
        Markup::Tags if said != Said::Markdown => return HTML,
        Markup::Tags | Markup::None => {}
    }
    // One that is called so and is broken is no text that looks whole.
    if opens_as_json(&text) && (said == Said::Json || is_json(&text, cut)) {
        return JSON;
    }
    match said {
        Said::Markdown => MARKDOWN,
        Said::Csv => CSV,
        Said::Plain => PLAIN,
        Said::Nothing if looks_like_markdown(&text) => MARKDOWN,
        Said::Nothing if looks_like_columns(&text, cut) => CSV,
        Said::Json | Said::Nothing => PLAIN,
    }
}

/// All of a text, with the name of how it was written down. None if it is no text.
pub(crate) fn text(bytes: &[u8]) -> Option<(String, Charset)> {
    charset::read(bytes, false)
}

/// What a name says of plain text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Said {
    Markdown,
    Csv,
    Json,
    Plain,
    Nothing,
}

impl Said {
    fn of(name: &str) -> Said {
        let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
        match ending.as_deref() {
            Some("md" | "markdown" | "mdown" | "mkd") => Said::Markdown,
            Some("csv" | "tsv" | "tab") => Said::Csv,
            Some("json" | "jsonl" | "ndjson") => Said::Json,
            Some("txt" | "text" | "log") => Said::Plain,
            _ => Said::Nothing,
        }
    }
}

enum Markup {
    /// It begins as only a page does.
    Page,
    /// It begins with a tag that Markdown files begin with, too.
    Tags,
    None,
}

/// The tags that only a page begins with, and the others, as browsers look for them.
const PAGE: [&str; 9] = ["!doctype html", "html", "head", "body", "title", "script", "style", "meta", "link"];
const TAGS: [&str; 17] = [
    "div", "p", "h1", "h2", "h3", "table", "ul", "ol", "a", "b", "br", "center", "font", "iframe", "main",
    "article", "section",
];

fn markup(text: &str) -> Markup {
    let mut rest = text.trim_start();
    let mut commented = false;
    loop {
        let after = match rest {
            _ if rest.starts_with("<!--") => rest.split_once("-->"),
            _ if rest.starts_with("<?xml") => rest.split_once("?>"),
            _ => break,
        };
        let Some((_, after)) = after else { return Markup::None };
        commented |= rest.starts_with("<!--");
        rest = after.trim_start();
    }
    let opens = |name: &&str| {
        let tag = rest.as_bytes().strip_prefix(b"<").unwrap_or_default();
        let Some((tag, after)) = tag.split_at_checked(name.len()) else { return false };
        let ends = after.first().is_some_and(|end| end.is_ascii_whitespace() || matches!(end, b'>' | b'/'));
        ends && tag.eq_ignore_ascii_case(name.as_bytes())
    };
    match PAGE.iter().any(&opens) {
        true => Markup::Page,
        false if TAGS.iter().any(opens) => Markup::Tags,
        // Markdown may begin with a comment as well.
        false if commented && rest.starts_with('<') => Markup::Tags,
        false => Markup::None,
    }
}

/// As an object or a list.
fn opens_as_json(text: &str) -> bool {
    text.trim_start().starts_with(['{', '['])
}

/// The parser finds nothing wrong with what there is: one value, or one a line.
fn is_json(text: &str, cut: bool) -> bool {
    let parsed = |text: &str| match serde_json::from_str::<IgnoredAny>(text) {
        Ok(IgnoredAny) => true,
        Err(wrong) => cut && wrong.is_eof(),
    };
    parsed(text) || json_lines(text).is_some_and(|mut lines| lines.all(parsed))
}

/// The lines of a text that may have a value in each. None: it has one line, or some that open as no object and no list.
pub(crate) fn json_lines(text: &str) -> Option<impl Iterator<Item = &str>> {
    let lines = || text.lines().filter(|line| !line.trim().is_empty());
    (lines().nth(1).is_some() && lines().all(opens_as_json)).then(lines)
}

/// Two different signs of it: one alone is in many a plain text.
fn looks_like_markdown(text: &str) -> bool {
    let lines = || text.lines().map(str::trim_end);
    let heading = lines().any(|line| {
        let marks = line.len() - line.trim_start_matches('#').len();
        (1..=6).contains(&marks) && line[marks..].starts_with(' ')
    });
    let fence = lines().any(|line| line.starts_with("```") || line.starts_with("~~~"));
    let item = lines().any(|line| line.starts_with("- ") || line.starts_with("* "));
    let ruled = lines().any(|line| {
        line.len() > 3
            && line.contains("--")
            && line.chars().all(|mark| "|-: ".contains(mark))
            && line.contains('|')
    });
    let signs = [heading, fence, item, ruled, text.contains("]("), text.contains("**")];
    signs.iter().filter(|sign| **sign).count() >= 2
}

/// Line after line with the same number of columns, three at least: two are in any text with a comma a line.
fn looks_like_columns(text: &str, cut: bool) -> bool {
    // The last line may be half of one.
    let text = if cut { text.rsplit_once('\n').map_or(text, |(whole, _)| whole) } else { text };
    let lines: Vec<&str> =
        text.lines().filter(|line| !line.trim().is_empty()).take(LINES_LOOKED_AT).collect();
    DELIMITERS.iter().any(|delimiter| {
        let columns = |line: &str| 1 + outside_quotes(line, *delimiter);
        let first = lines.first().map_or(0, |line| columns(line));
        lines.len() >= 3 && first >= 3 && lines.iter().all(|line| columns(line) == first)
    })
}

/// What tables are written with.
pub(crate) const DELIMITERS: [u8; 4] = [b',', b';', b'\t', b'|'];

/// How often a mark stands in a line outside of quoted fields.
pub(crate) fn outside_quotes(line: &str, mark: u8) -> usize {
    let mut quoted = false;
    line.bytes()
        .filter(|byte| {
            quoted ^= *byte == b'"';
            *byte == mark && !quoted
        })
        .count()
}

/// A name that can be shown: no folders, nothing that is not seen or that turns a text around, not too long.
pub fn safe_name(name: &str) -> String {
    let last = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let mut safe = String::new();
    for letter in last.chars().map(|letter| if letter.is_whitespace() { ' ' } else { letter }) {
        if letter.is_control() || is_hidden(letter) || (letter == ' ' && safe.ends_with(' ')) {
            continue;
        }
        if safe.len() + letter.len_utf8() > NAME_BYTES_MAX {
            break;
        }
        safe.push(letter);
    }
    let safe = safe.trim();
    match safe.chars().all(|letter| letter == '.') {
        true => "document".to_string(),
        false => safe.to_string(),
    }
}

/// Marks of direction, joiners and other characters without a shape: a name can be made to look like another with them.
fn is_hidden(letter: char) -> bool {
    matches!(letter,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff0}'..='\u{ffff}' | '\u{e0000}'..='\u{e0fff}')
}
