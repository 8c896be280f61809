//! A segment: the entries of one transaction, as one row.
//!
//! It holds exactly the lines that were hashed, in the order in which they were decided, pressed together; and for every
//! entry the segment that has its item's entry before it, so that a history is found by walking back from the item.
//!
//! ```text
//! format · count · previous segment of each (0: none) · length of each line · the lines, LZ4
//! ```

use std::collections::{BTreeMap, BTreeSet};

use tenure_core::entry::Sealed;
use tenure_core::id::ItemId;

use crate::row::Damaged;
use crate::row::bytes::{Reader, Writer};

/// One entry as a segment holds it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Kept {
    /// Which segment has the item's entry before this one. None for an item's first.
    pub previous: Option<u64>,
    pub line: Vec<u8>,
}

impl Kept {
    pub fn read(&self) -> Result<Sealed, Damaged> {
        Sealed::read(&self.line).map_err(Damaged)
    }
}

const FORMAT: u8 = 1;
/// A batch is at most 4 MiB of requests; its entries name bodies by hash and are smaller than that.
const LINES_BYTES_MAX: usize = 64 << 20;

/// The lines of some entries, pressed together: the part of a segment that needs nothing else to be known.
#[derive(Clone, Debug)]
pub struct Pressed {
    entries: usize,
    bytes: Vec<u8>,
}

impl Pressed {
    pub fn of(entries: &[Sealed]) -> Pressed {
        let mut lines = Vec::with_capacity(entries.iter().map(|entry| entry.text().len()).sum());
        entries.iter().for_each(|entry| lines.extend_from_slice(entry.text()));
        Pressed { entries: entries.len(), bytes: lz4_flex::block::compress(&lines) }
    }
}

/// A segment of these entries. `previous` says in which segment an entry's predecessor is.
pub fn write(entries: &[Sealed], pressed: &Pressed, previous: impl Fn(&Sealed) -> Option<u64>) -> Vec<u8> {
    assert_eq!(entries.len(), pressed.entries, "these very entries were pressed");
    let mut out = Writer::with_capacity(pressed.bytes.len() + entries.len() * 8 + 16);
    out.byte(FORMAT);
    out.number(entries.len() as u64);
    for entry in entries {
        out.number(previous(entry).unwrap_or(0));
    }
    for entry in entries {
        out.number(entry.text().len() as u64);
    }
    let mut out = out.into_bytes();
    out.extend_from_slice(&pressed.bytes);
    out
}

/// All entries of a segment, in their order.
pub fn read(bytes: &[u8]) -> Result<Vec<Kept>, Damaged> {
    let mut reader = Reader::new(bytes);
    if reader.byte()? != FORMAT {
        return Err(Damaged::because("the segment was written by a newer Tenure"));
    }
    let count = reader.number()?;
    let mut previous = Vec::new();
    for _ in 0..count {
        previous.push(reader.number()?);
    }
    let mut lengths: Vec<usize> = Vec::new();
    for _ in 0..count {
        lengths.push(reader.small()?);
    }
    let total = lengths.iter().fold(0_usize, |total, length| total.saturating_add(*length));
    if total > LINES_BYTES_MAX {
        return Err(Damaged(format!("the segment claims to hold {total} bytes")));
    }
    let lines = lz4_flex::block::decompress(reader.left(), total)
        .map_err(|why| Damaged(format!("the segment: {why}")))?;
    let mut left = &lines[..];
    let mut kept = Vec::with_capacity(lengths.len());
    for (previous, length) in previous.into_iter().zip(lengths) {
        let (line, after) =
            left.split_at_checked(length).ok_or_else(|| Damaged::because("the segment is cut off"))?;
        left = after;
        kept.push(Kept { previous: (previous != 0).then_some(previous), line: line.to_vec() });
    }
    Ok(kept)
}

/// The histories of several items, walked back together: a segment that many of them share is read once.
#[derive(Debug, Default)]
pub struct Walk {
    wanted: BTreeMap<u64, BTreeSet<ItemId>>,
    /// Where it has been: a history that leads there again would have no end. Numbers need not fall on the way back.
    been: BTreeSet<(ItemId, u64)>,
    found: Vec<Sealed>,
}

impl Walk {
    /// From the segment of an item's last entry.
    pub fn add(&mut self, item: ItemId, segment: u64) {
        self.wanted.entry(segment).or_default().insert(item);
    }

    /// The segments to be read next. None: everything was found.
    pub fn wanted(&self) -> Vec<u64> {
        self.wanted.keys().copied().collect()
    }

    /// Takes what it looks for out of a segment.
    pub fn take(&mut self, segment: u64, lines: &[u8]) -> Result<(), Damaged> {
        let Some(mut items) = self.wanted.remove(&segment) else { return Ok(()) };
        let mut previous: BTreeMap<ItemId, Option<u64>> = BTreeMap::new();
        for kept in read(lines)?.iter().rev() {
            let Some(item) = about(&kept.line).filter(|item| items.contains(item)) else { continue };
            previous.insert(item, kept.previous.filter(|previous| *previous != segment));
            self.found.push(kept.read()?);
        }
        for (item, previous) in previous {
            items.remove(&item);
            if !self.been.insert((item, segment)) {
                return Err(Damaged(format!("the history of item {item} leads nowhere")));
            }
            if let Some(previous) = previous {
                self.add(item, previous);
            }
        }
        match items.first() {
            Some(item) => Err(Damaged(format!("segment {segment} has no entry of item {item}"))),
            None => Ok(()),
        }
    }

    pub fn into_entries(self) -> Vec<Sealed> {
        self.found
    }
}

/// Which item a line is about. Nothing before its event id can hold these words.
fn about(line: &[u8]) -> Option<ItemId> {
    const EVENT: &[u8] = br#""event_id":""#;
    const ITEM: &[u8] = br#"","item":""#;
    const ID: usize = 26;
    let event = line.windows(EVENT.len()).position(|window| window == EVENT)?;
    let item = line.get(event + EVENT.len() + ID..)?.strip_prefix(ITEM)?.get(..ID)?;
    std::str::from_utf8(item).ok()?.parse().ok()
}
