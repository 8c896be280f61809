//! The row of a control: one JSON text, so that a person can read who paused a kind and why.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use tenure_core::actor::Actor;
use tenure_core::control::{Control, Limits, Said, Trip};
use tenure_core::id::{ExecutionId, Fence, ItemId};
use tenure_core::lifecycle::settings::Rate;
use tenure_core::pace::{Bucket, Pace};
use tenure_core::time::Time;

use super::Damaged;

#[derive(Serialize, Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct ControlRow {
    #[serde(skip_serializing_if = "Option::is_none")]
    paused: Option<SaidRow>,
    #[serde(skip_serializing_if = "Option::is_none")]
    limits: Option<LimitsRow>,
    #[serde(skip_serializing_if = "Option::is_none")]
    starts: Option<PaceRow>,
    #[serde(skip_serializing_if = "Option::is_none")]
    retries: Option<PaceRow>,
    #[serde(skip_serializing_if = "Option::is_none")]
    retried: Option<Time>,
    #[serde(skip_serializing_if = "Option::is_none")]
    failures: Option<PaceRow>,
    #[serde(skip_serializing_if = "Option::is_none")]
    breaker: Option<TripRow>,
    trips: u64,
    deferred: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SaidRow {
    by: Actor,
    at: Time,
    why: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct LimitsRow {
    concurrency: Option<u32>,
    /// A count and its span in milliseconds.
    rate: Option<(u32, u64)>,
    said: SaidRow,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct PaceRow {
    width: i64,
    floor: Option<i64>,
    buckets: Vec<(i64, u32)>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TripRow {
    open_until: Time,
    probe: Option<(ItemId, u64)>,
}

impl From<&Said> for SaidRow {
    fn from(said: &Said) -> SaidRow {
        SaidRow { by: said.by.clone(), at: said.at, why: said.why.clone() }
    }
}

impl From<SaidRow> for Said {
    fn from(row: SaidRow) -> Said {
        Said { by: row.by, at: row.at, why: row.why }
    }
}

fn pace_row(pace: &Pace) -> Option<PaceRow> {
    let buckets = pace.buckets.iter().map(|bucket| (bucket.number, bucket.count)).collect();
    (!pace.is_empty()).then_some(PaceRow { width: pace.width, floor: pace.floor, buckets })
}

fn pace(row: Option<PaceRow>) -> Pace {
    let Some(PaceRow { width, floor, buckets }) = row else { return Pace::default() };
    let buckets = buckets.into_iter().map(|(number, count)| Bucket { number, count }).collect();
    Pace { width, floor, buckets }
}

pub fn write(control: &Control) -> String {
    let limits = |limits: &Limits| LimitsRow {
        concurrency: limits.concurrency,
        rate: limits.rate.map(|rate| (rate.count, u64::try_from(rate.per.as_millis()).unwrap_or(u64::MAX))),
        said: (&limits.said).into(),
    };
    let trip = |trip: Trip| TripRow {
        open_until: trip.until,
        probe: trip.probe.map(|probe| (probe.item, probe.fence.0)),
    };
    let row = ControlRow {
        paused: control.pause.as_ref().map(SaidRow::from),
        limits: control.limits.as_ref().map(limits),
        starts: pace_row(&control.starts),
        retries: pace_row(&control.retries),
        retried: control.retried,
        failures: pace_row(&control.failures),
        breaker: control.trip.map(trip),
        trips: control.trips,
        deferred: control.deferred,
    };
    serde_json::to_string(&row).expect("a control is numbers, times and texts")
}

pub fn read(text: &str) -> Result<Control, Damaged> {
    let row: ControlRow = serde_json::from_str(text).map_err(|why| Damaged(why.to_string()))?;
    let limits = |row: LimitsRow| Limits {
        concurrency: row.concurrency,
        rate: row.rate.map(|(count, millis)| Rate { count, per: Duration::from_millis(millis) }),
        said: row.said.into(),
    };
    let trip = |row: TripRow| Trip {
        until: row.open_until,
        probe: row.probe.map(|(item, fence)| ExecutionId { item, fence: Fence(fence) }),
    };
    Ok(Control {
        pause: row.paused.map(Said::from),
        limits: row.limits.map(limits),
        starts: pace(row.starts),
        retries: pace(row.retries),
        retried: row.retried,
        failures: pace(row.failures),
        trip: row.breaker.map(trip),
        trips: row.trips,
        deferred: row.deferred,
    })
}
