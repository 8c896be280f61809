//! The row of a lane: what the kernel says of a key, and how many of it may be leased by that.
//!
//! `room`, `more_at` and `over_at` are derived, as an item's slot is: claims look for lanes with room, and for those that time
//! alone gives more.

use tenure_core::id::ItemId;
use tenure_core::lifecycle::settings::Rate;
use tenure_core::lifecycle::tables::Tables;
use tenure_core::pace::{Bucket, Pace};
use tenure_core::time::Time;
use tenure_core::word::Kind;
use tenure_core::world::Lane;

use super::Damaged;
use super::bytes::{Reader, Writer};

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LaneRow {
    /// The ids of those that run, 16 bytes each.
    pub running: Vec<u8>,
    pub open: Option<ItemId>,
    pub latest: Option<ItemId>,
    pub starts: Option<Vec<u8>>,
    /// How many more may be leased.
    pub room: i32,
    /// When there is more room without anybody doing anything.
    pub more_at: Option<i64>,
    /// When nothing has to be remembered of its starts.
    pub over_at: Option<i64>,
}

impl LaneRow {
    pub fn of(lane: &Lane, kind: &Kind, tables: &Tables, now: Time) -> LaneRow {
        let table = tables.laned(kind);
        // Where nothing is limited by key nobody asks.
        let room = table.map_or(0, |table| lane.room(table, now));
        LaneRow {
            running: lane.running.iter().flat_map(|id| id.0.to_be_bytes()).collect(),
            open: lane.open,
            latest: lane.latest,
            starts: (!lane.starts.is_empty()).then(|| pace(&lane.starts)),
            room: i32::try_from(room).unwrap_or(i32::MAX),
            more_at: table.and_then(|table| lane.more_at(table, now)).map(Time::micros),
            over_at: lane.starts.over_at().map(Time::micros),
        }
    }
}

/// The latest time at which a lane can have been given more room: a later one is from a clock that was ahead.
pub fn more_at_max(rate: Rate, now: Time) -> Time {
    now.after(rate.per).after(rate.per)
}

pub fn read(
    running: &[u8],
    open: Option<ItemId>,
    latest: Option<ItemId>,
    starts: Option<&[u8]>,
) -> Result<Lane, Damaged> {
    let (ids, rest) = running.as_chunks::<16>();
    if !rest.is_empty() {
        return Err(Damaged::because("an id in it is cut off"));
    }
    let running = ids.iter().map(|id| ItemId(u128::from_be_bytes(*id))).collect();
    let starts = starts.map(read_pace).transpose()?.unwrap_or_default();
    Ok(Lane { running, open, latest, starts })
}

/// A pace as bytes: the width, the floor, and the buckets by their distances.
fn pace(pace: &Pace) -> Vec<u8> {
    let mut out = Writer::with_capacity(16 + pace.buckets.len() * 3);
    out.number(pace.width.unsigned_abs());
    out.byte(u8::from(pace.floor.is_some()));
    out.number(folded(pace.floor.unwrap_or_default()));
    out.number(pace.buckets.len() as u64);
    let mut before = 0;
    for bucket in &pace.buckets {
        out.number(folded(bucket.number.wrapping_sub(before)));
        out.number(u64::from(bucket.count));
        before = bucket.number;
    }
    out.into_bytes()
}

fn read_pace(bytes: &[u8]) -> Result<Pace, Damaged> {
    let mut reader = Reader::new(bytes);
    let width: u64 = reader.number()?;
    let width = i64::try_from(width).map_err(|_| Damaged::because("a width in it is too large"))?;
    let has_floor = reader.byte()? == 1;
    let floor = unfolded(reader.number()?);
    let mut buckets = Vec::new();
    let mut before = 0;
    for _ in 0..reader.number()? {
        before = unfolded(reader.number()?).wrapping_add(before);
        buckets.push(Bucket { number: before, count: reader.small()? });
    }
    reader.end()?;
    Ok(Pace { width, floor: has_floor.then_some(floor), buckets })
}

/// Numbers with a sign, so that those near zero are short.
fn folded(number: i64) -> u64 {
    (number.wrapping_shl(1) ^ (number >> 63)) as u64
}

fn unfolded(number: u64) -> i64 {
    (number >> 1) as i64 ^ -((number & 1) as i64)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_pace_is_read_back_from_its_bytes() {
        let mut kept = Pace::default();
        assert_eq!(read_pace(&pace(&kept)).unwrap(), kept);
        for step in 0..400_i64 {
            let at = Time::from_micros(
                1_794_774_300_000_000 - 700_000_000_000_000 * (step % 3) + step * 1_000_000,
            );
            kept.take(Duration::from_secs(3), at);
            assert_eq!(read_pace(&pace(&kept)).unwrap(), kept);
        }
        assert!(kept.floor.is_some());
    }
}
