//! A pace: how much has happened lately, cut into buckets, so that a rate holds in every span and not only on average.
//!
//! ```text
//!        ├── the span, 64 buckets wide ──┤
//!   ─┬─┬─┬─┬─┬─┬─┬─┬─┬─┬─┬─┬─┬─┬─┬─┬─┬─┬─┬─┬─▶ time        what happened in a bucket counts until the bucket's END has left
//! ```
//!
//! A span touches at most 65 neighbouring buckets, wherever it begins. So "no 65 neighbours hold more than `count`" means
//! "no span, however it is laid, has more than `count`". Bursts are allowed; the price is a span that is up to a
//! sixty-fourth longer than asked for. What is reserved for later (a retry) is a bucket like any other.

use alloc::vec::Vec;
use core::time::Duration;

use crate::lifecycle::settings::Rate;
use crate::time::Time;

/// Buckets of a span. More would be more exact about the past and more to keep in a row.
const PARTS: i64 = 64;
/// Buckets that are kept at most. Reservations further apart than that close the time before them: see [`Pace::floor`].
pub const BUCKETS_MAX: usize = 256;

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Pace {
    /// Of a bucket, in microseconds; 0 while nothing has happened.
    pub width: i64,
    /// Before this bucket nothing more is reserved: what was known of that time was given up to stay small.
    pub floor: Option<i64>,
    /// Sorted by number; none is empty.
    pub buckets: Vec<Bucket>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Bucket {
    /// Its beginning is so many widths after 1970.
    pub number: i64,
    pub count: u32,
}

fn width_of(per: Duration) -> i64 {
    let micros = i64::try_from(per.as_micros()).unwrap_or(i64::MAX);
    // Rounded up: 64 of them are never shorter than the span.
    micros.saturating_add(PARTS - 1).div_euclid(PARTS).max(1)
}

impl Pace {
    pub fn is_empty(&self) -> bool {
        self.buckets.is_empty() && self.floor.is_none()
    }

    /// How many more fit at a moment.
    pub fn room(&self, rate: Rate, at: Time) -> u32 {
        let pace = self.cut(rate.per, at);
        pace.room_in(rate.count, pace.number(at))
    }

    /// The first moment from `from` on at which one more fits.
    pub fn next(&self, rate: Rate, from: Time) -> Time {
        let pace = self.cut(rate.per, from);
        let first = pace.number(from);
        let open = pace.floor.map_or(first, |floor| floor.max(first));
        if pace.room_in(rate.count, open) > 0 {
            return if open == first { from } else { pace.beginning(open) };
        }
        // Room comes when a bucket leaves, and only then: those are the moments to look at.
        let leaves = pace.buckets.iter().map(|bucket| bucket.number.saturating_add(PARTS + 1));
        let mut leaves = leaves.filter(|number| *number > open);
        let free = leaves.find(|number| pace.room_in(rate.count, *number) > 0);
        pace.beginning(free.unwrap_or(open))
    }

    /// One more happens, or is reserved. Whether it fits was asked before.
    pub fn take(&mut self, per: Duration, at: Time) {
        *self = self.cut(per, at);
        let number = self.number(at);
        match self.buckets.binary_search_by_key(&number, |bucket| bucket.number) {
            Ok(place) => {
                if let Some(bucket) = self.buckets.get_mut(place) {
                    bucket.count = bucket.count.saturating_add(1);
                }
            }
            Err(place) => self.buckets.insert(place, Bucket { number, count: 1 }),
        }
        if self.buckets.len() > BUCKETS_MAX {
            let first = self.buckets.remove(0);
            self.floor = self.floor.max(Some(first.number.saturating_add(PARTS + 1)));
        }
    }

    /// Drops what is over for every span that has not ended yet.
    pub fn forget(&mut self, now: Time) {
        if self.width == 0 {
            return;
        }
        let oldest = self.number(now).saturating_sub(PARTS);
        self.buckets.retain(|bucket| bucket.number >= oldest);
        self.floor = self.floor.filter(|floor| *floor > self.number(now));
        if self.is_empty() {
            self.width = 0;
        }
    }

    /// How much has happened in the span that ends now.
    pub fn count(&self, per: Duration, now: Time) -> u32 {
        let pace = self.cut(per, now);
        let last = pace.number(now);
        pace.sum(last.saturating_sub(PARTS), last)
    }

    /// When there will be more room than now, if nothing else happens. None: there is all there can be.
    pub fn more_at(&self, rate: Rate, now: Time) -> Option<Time> {
        let pace = self.cut(rate.per, now);
        let oldest = pace.number(now).saturating_sub(PARTS);
        let first = pace.buckets.iter().find(|bucket| bucket.number >= oldest)?;
        Some(pace.beginning(first.number.saturating_add(PARTS + 1)))
    }

    /// When all of it is over.
    pub fn over_at(&self) -> Option<Time> {
        Some(self.beginning(self.buckets.last()?.number.saturating_add(PARTS + 1)))
    }

    fn number(&self, at: Time) -> i64 {
        at.micros().div_euclid(self.width.max(1))
    }

    fn beginning(&self, number: i64) -> Time {
        Time::from_micros(number.saturating_mul(self.width.max(1)))
    }

    /// The same with buckets of this span's width. What is cut anew counts as late as it can have been: at the end of its
    /// bucket, or now.
    fn cut(&self, per: Duration, now: Time) -> Pace {
        let width = width_of(per);
        if self.width == width || self.is_empty() {
            return Pace { width, ..self.clone() };
        }
        let anew = |number: i64| {
            let begin = number.saturating_mul(self.width);
            let end = begin.saturating_add(self.width).saturating_sub(1);
            let last = if begin <= now.micros() { end.min(now.micros()) } else { end };
            last.div_euclid(width)
        };
        let mut buckets: Vec<Bucket> = Vec::new();
        for bucket in &self.buckets {
            let number = anew(bucket.number);
            match buckets.last_mut().filter(|last| last.number == number) {
                Some(last) => last.count = last.count.saturating_add(bucket.count),
                None => buckets.push(Bucket { number, count: bucket.count }),
            }
        }
        Pace { width, floor: self.floor.map(anew), buckets }
    }

    fn sum(&self, from: i64, to: i64) -> u32 {
        let within = self.buckets.iter().filter(|bucket| bucket.number >= from && bucket.number <= to);
        within.fold(0, |sum, bucket| sum.saturating_add(bucket.count))
    }

    /// What is left in the fullest 65 neighbours that this bucket is one of.
    fn room_in(&self, count: u32, number: i64) -> u32 {
        let first = number.saturating_sub(PARTS);
        let mut fullest = self.sum(first, number);
        // Only what is reserved for later can make another 65 fuller than those that end here.
        if self.buckets.last().is_some_and(|last| last.number > number) {
            let begins = self.buckets.iter().map(|bucket| bucket.number);
            for begin in begins.filter(|begin| *begin > first && *begin <= number).chain([number]) {
                fullest = fullest.max(self.sum(begin, begin.saturating_add(PARTS)));
            }
            // Those that begin between two buckets end where one of them ends.
            let ends = self.buckets.iter().map(|bucket| bucket.number);
            for end in ends.filter(|end| *end > number && *end <= number.saturating_add(PARTS)) {
                fullest = fullest.max(self.sum(end.saturating_sub(PARTS), end));
            }
        }
        count.saturating_sub(fullest)
    }
}
