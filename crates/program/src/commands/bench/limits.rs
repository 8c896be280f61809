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
