//! The server's clock, the number of a segment, and which lifecycles are in force: what every transaction needs first.
//!
//! It is asked for after the locks. Where nothing is locked, because all that is asked for is new items, the one that came with
//! the last answer does, advanced by the time that has passed here since: a little behind the server's clock, never ahead of it.
//! That saves a round trip. Whether the lifecycles are still in force is then judged by the insert itself, or by the one that appends
//! the segment.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use tokio_postgres::Row;

use super::pool::held;

pub(super) const MOMENT: &str = "select (extract(epoch from clock_timestamp()) * 1000000)::bigint, \
    nextval('@.segment_numbers'), (select value::bigint from @.meta where name = 'catalog')";

/// How long one can be advanced: two clocks do not part by a microsecond in that time.
const ADVANCED_MAX: Duration = Duration::from_millis(500);

#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    /// Microseconds since 1970.
    pub now: i64,
    pub segment: i64,
    pub catalog: Option<i64>,
}

impl Moment {
    pub fn of(row: &Row) -> Moment {
        Moment { now: row.get(0), segment: row.get(1), catalog: row.get(2) }
    }
}

/// One that came with an answer and was not used yet.
#[derive(Debug, Default)]
pub(super) struct Spare(Mutex<Option<(Moment, Instant)>>);

impl Spare {
    pub fn put(&self, moment: Moment) {
        *held(&self.0) = Some((moment, here()));
    }

    /// The number of a segment is used once, so it is taken.
    pub fn take(&self) -> Option<Moment> {
        let (moment, since) = held(&self.0).take()?;
        let passed = here().duration_since(since);
        let micros = i64::try_from(passed.as_micros()).ok()?;
        (passed <= ADVANCED_MAX).then(|| Moment { now: moment.now + micros, ..moment })
    }
}

#[expect(clippy::disallowed_methods, reason = "how long ago the server told its time")]
fn here() -> Instant {
    Instant::now()
}
