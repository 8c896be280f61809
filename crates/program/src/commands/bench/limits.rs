//! What the machine can do: the same disk and the same server, with next to nothing on top.
//!
//! A limit is sampled before and after everything else, because other work comes and goes on any machine; the median
//! counts.

pub mod postgres;
pub mod sqlite;

use super::measure::median;
use super::report::Row;

/// One limit, with what it came to each time.
#[derive(Debug)]
pub struct Limit {
    pub name: &'static str,
    pub callers: usize,
    pub batch: usize,
    pub n: usize,
    samples: Vec<f64>,
}

/// What was sampled once.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    pub name: &'static str,
    pub callers: usize,
    pub batch: usize,
    pub n: usize,
    pub rate: f64,
}

#[derive(Debug, Default)]
pub struct Limits(Vec<Limit>);

impl Limits {
    pub fn add(&mut self, samples: Vec<Sample>) {
        for Sample { name, callers, batch, n, rate } in samples {
            match self.0.iter_mut().find(|limit| limit.name == name) {
                Some(limit) => limit.samples.push(rate),
                None => self.0.push(Limit { name, callers, batch, n, samples: vec![rate] }),
            }
        }
    }

    pub fn rate(&self, name: &str) -> Option<f64> {
        median(&self.0.iter().find(|limit| limit.name == name)?.samples)
    }

    /// By which factor the limit that moved most did so during the run.
    pub fn spread(&self) -> f64 {
        let spread = |limit: &Limit| {
            let (least, most) = limit
                .samples
                .iter()
                .fold((f64::MAX, 0f64), |(least, most), rate| (least.min(*rate), most.max(*rate)));
            most / least
        };
        self.0.iter().map(spread).fold(1.0, f64::max)
    }

    pub fn rows(&self, store: &'static str) -> Vec<Row> {
        let row = |limit: &Limit| Row {
            name: limit.name.to_string(),
            store,
            callers: Some(limit.callers),
            batch: Some(limit.batch),
            n: limit.n * limit.samples.len(),
            rate: median(&limit.samples).unwrap_or_default(),
            ..Row::default()
        };
        self.0.iter().map(row).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_the_median_of_its_samples_and_the_spread_that_of_the_worst() {
        let sample = |name, rate| Sample { name, callers: 1, batch: 1, n: 10, rate };
        let mut limits = Limits::default();
        for (one, two) in [(10.0, 5.0), (30.0, 5.0), (20.0, 6.0)] {
            limits.add(vec![sample("one", one), sample("two", two)]);
        }
        assert_eq!((limits.rate("one"), limits.rate("three")), (Some(20.0), None));
        assert_eq!(limits.spread(), 3.0);
        let rows: Vec<(String, usize, f64)> =
            limits.rows("sqlite").into_iter().map(|row| (row.name, row.n, row.rate)).collect();
        assert_eq!(rows, [("one".to_string(), 30, 20.0), ("two".to_string(), 30, 5.0)]);
    }
}
