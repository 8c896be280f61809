//! The lines of an exported log: how each is written, and how it is read back.
//!
//! ```text
//! {"tenure":{"format":1}}                                                       first
//! {"lifecycle":{"hash":"…","kind":"job","sha256":"…","source":"# job\n…"}}      right before the first item created under it
//! {"action":"create",…,"hash":"…","item":"…",…,"position":1,…}                  an entry of the log
//! {"end":{"chain":"…","entries":1,"items":1,"lifecycles":1,"sources":"…"}}      last
//! ```
//!
//! Every line is canonical JSON (RFC 8785), and each ends with a line feed. An entry is its canonical text with two members
//! put in, `hash` and `position`; with them taken out, the SHA-256 of the line is the hash. Neither reading nor writing
//! makes the text anew, so what is hashed is what was hashed when it was written.
//!
//! Reading refuses every line that would not be written exactly so. What lines mean together is for `verify`.

use serde::{Deserialize, Serialize};
use tenure_core::entry::Sealed;
use tenure_core::hash::Hash;
use tenure_core::id::ItemId;
use tenure_core::lifecycle::Table;
use tenure_core::word::Kind;

/// Written in the first line. A reader that does not know a format reads none of it.
pub const FORMAT: u64 = 1;

/// No line is longer. A commit of a thousand records with the longest names has about a megabyte, and a lifecycle's source
/// at most 64 KiB; what is longer than this was never a line, and is not held in memory to find that out.
pub const LINE_BYTES_MAX: usize = 16 << 20;

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Line {
    Header(Header),
    Lifecycle(Lifecycle),
    Entry(Box<Placed>),
    End(End),
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    pub format: u64,
}

/// A lifecycle as the items after it need it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lifecycle {
    /// What the entries call it by. Covers what the lifecycle does, and not its prose.
    pub hash: Hash,
    pub kind: Kind,
    /// Of the source, prose and all.
    pub sha256: Hash,
    pub source: String,
}

/// An entry at its place in the log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Placed {
    /// From 1.
    pub position: u64,
    /// The hash that the line says; whether it is the entry's own is for `verify`.
    pub stated: Hash,
    pub entry: Sealed,
}

/// What the lines before it come to.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct End {
    /// The log's head: [`Hash::link`] over the entries' hashes, from [`Hash::ZERO`].
    pub chain: Hash,
    pub entries: u64,
    pub items: u64,
    pub lifecycles: u64,
    /// The same over the SHA-256 of the lifecycles' sources.
    pub sources: Hash,
}

/// The form is compared afterwards, so the tag may be any of them here.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Tagged<T> {
    #[serde(alias = "tenure", alias = "lifecycle", alias = "end")]
    inner: T,
}

/// Why a line can not be read, and what it is about as far as that can be seen.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unreadable {
    pub what: String,
    /// It begins as an entry does.
    pub is_entry: bool,
    pub about: Option<(ItemId, u64)>,
}

const TENURE: &str = "tenure";
const LIFECYCLE: &str = "lifecycle";
const END: &str = "end";
/// How an entry begins: `action` is the first of its members.
const ENTRY: &[u8] = br#"{"action":"#;

pub fn header() -> Vec<u8> {
    tagged(TENURE, &Header { format: FORMAT })
}

pub fn lifecycle(table: &Table) -> Vec<u8> {
    let source = table.source.to_string();
    let sha256 = Hash::of(source.as_bytes());
    tagged(LIFECYCLE, &Lifecycle { hash: table.hash(), kind: table.kind.clone(), sha256, source })
}

pub fn end(end: &End) -> Vec<u8> {
    tagged(END, end)
}

fn tagged(tag: &str, inner: &impl Serialize) -> Vec<u8> {
    let mut line = format!("{{\"{tag}\":").into_bytes();
    serde_json::to_writer(&mut line, inner).expect("a line has nothing that JSON can not hold");
    line.push(b'}');
    line
}

/// The entry's text with its hash put in: an entry of an item's own history, which has versions and no positions.
pub fn hashed(entry: &Sealed) -> Vec<u8> {
    let text = entry.text();
    let place = hash_place(text).expect("a canonical entry has an event_id");
    let hash = format!(",\"hash\":\"{}\"", entry.hash());
    [&text[..place], hash.as_bytes(), &text[place..]].concat()
}

/// The entry's text with its hash and its position put in.
pub fn entry(position: u64, entry: &Sealed) -> Vec<u8> {
    let text = entry.text();
    let places = hash_place(text).zip(position_place(text));
    let (hash, place) = places.expect("a canonical entry has an event_id and a state");
    let mut line = Vec::with_capacity(text.len() + 100);
    line.extend_from_slice(&text[..hash]);
    line.extend_from_slice(format!(",\"hash\":\"{}\"", entry.hash()).as_bytes());
    line.extend_from_slice(&text[hash..place]);
    line.extend_from_slice(format!(",\"position\":{position}").as_bytes());
    line.extend_from_slice(&text[place..]);
    line
}

const EVENT_ID: &[u8] = br#","event_id":""#;
const ULID_BYTES: usize = 26;
const STATE: &[u8] = br#","state":""#;
const PREVIOUS: &[u8] = br#","previous":""#;
const HASH: &[u8] = br#","hash":""#;
const POSITION: &[u8] = br#","position":"#;
const HEX_BYTES: usize = 64;

/// Where `hash` belongs: after `event_id`, of which nothing before it has another. (A quote within a string is escaped,
/// so the text of a member's name stands nowhere but there.)
fn hash_place(text: &[u8]) -> Option<usize> {
    let at = text.windows(EVENT_ID.len()).position(|window| window == EVENT_ID)?;
    let place = at + EVENT_ID.len() + ULID_BYTES + 1;
    (place <= text.len()).then_some(place)
}

/// Where `position` belongs: before `previous`, or before `state` in the first entry of an item.
fn position_place(text: &[u8]) -> Option<usize> {
    let state = text.windows(STATE.len()).rposition(|window| window == STATE)?;
    let previous = state.checked_sub(PREVIOUS.len() + HEX_BYTES + 1);
    let is_previous = |at: &usize| text[*at..].starts_with(PREVIOUS);
    Some(previous.filter(is_previous).unwrap_or(state))
}

pub fn read(line: &[u8]) -> Result<Line, Unreadable> {
    let simple = |what: String| Unreadable { what, is_entry: false, about: None };
    let begins = |tag: &str| line.starts_with(format!("{{\"{tag}\":").as_bytes());
    if line.starts_with(ENTRY) {
        read_entry(line).map(|placed| Line::Entry(Box::new(placed))).map_err(|what| Unreadable {
            what,
            is_entry: true,
            about: about(line),
        })
    } else if begins(LIFECYCLE) {
        read_tagged(LIFECYCLE, line).map(Line::Lifecycle).map_err(simple)
    } else if begins(END) {
        read_tagged(END, line).map(Line::End).map_err(simple)
    } else if begins(TENURE) {
        read_tagged(TENURE, line).map(Line::Header).map_err(simple)
    } else {
        let what = match serde_json::from_slice::<serde::de::IgnoredAny>(line) {
            Ok(_) => "is neither an entry nor a lifecycle, and not the end".to_string(),
            Err(_) if line.is_empty() => "is empty".to_string(),
            Err(error) => format!("is not JSON ({error})"),
        };
        Err(simple(what))
    }
}

fn read_tagged<T: Serialize + for<'de> Deserialize<'de>>(tag: &str, line: &[u8]) -> Result<T, String> {
    let read: Tagged<T> =
        serde_json::from_slice(line).map_err(|error| format!("can not be read: {error}"))?;
    if tagged(tag, &read.inner) != line {
        return Err("is not in canonical form".to_string());
    }
    Ok(read.inner)
}

fn read_entry(line: &[u8]) -> Result<Placed, String> {
    let Some((text, stated, position)) = split(line) else {
        return Err(match serde_json::from_slice::<serde::de::IgnoredAny>(line) {
            Ok(_) => "is not in canonical form, or has no hash and position in their places".to_string(),
            Err(error) => format!("is not JSON ({error})"),
        });
    };
    let entry = Sealed::read(&text).map_err(|why| format!("is no entry: {why}"))?;
    Ok(Placed { position, stated, entry })
}

/// The text without what was put in.
fn split(line: &[u8]) -> Option<(Vec<u8>, Hash, u64)> {
    let hash = hash_place(line)?;
    let stated = line.get(hash..)?.strip_prefix(HASH)?.get(..HEX_BYTES)?;
    let stated: Hash = std::str::from_utf8(stated).ok()?.parse().ok()?;
    let after_hash = hash + HASH.len() + HEX_BYTES + 1;
    let place = position_place(line)?;
    let before = line.get(after_hash..place)?;
    let at = after_hash + before.windows(POSITION.len()).rposition(|window| window == POSITION)?;
    let digits = std::str::from_utf8(line.get(at + POSITION.len()..place)?).ok()?;
    let position: u64 = digits.parse().ok().filter(|position: &u64| position.to_string() == digits)?;
    // The quote that closes the hash is the one byte that is taken out unseen.
    if line.get(after_hash - 1) != Some(&b'"') {
        return None;
    }
    Some(([&line[..hash], &line[after_hash..at], &line[place..]].concat(), stated, position))
}

/// What a line that can not be read seems to be about.
fn about(line: &[u8]) -> Option<(ItemId, u64)> {
    #[derive(Deserialize)]
    struct About {
        item: ItemId,
        version: u64,
    }
    let About { item, version } = serde_json::from_slice(line).ok()?;
    Some((item, version))
}
