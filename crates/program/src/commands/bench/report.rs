//! What was measured, as a table for people or as JSON, and which targets it meets.

use std::fmt::Write;

use serde::Serialize;

use super::measure::Latencies;
use crate::outcome::Error;
use crate::output::{BAD, GOOD, Output, styled};

/// One measurement. What does not apply is null.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Row {
    pub name: String,
    pub store: &'static str,
    pub callers: Option<usize>,
    pub batch: Option<usize>,
    pub n: usize,
    /// A second.
    pub rate: f64,
    pub p50_ms: Option<f64>,
    pub p99_ms: Option<f64>,
    pub rss_mb: Option<f64>,
    pub limit_name: Option<String>,
    pub limit: Option<f64>,
    pub ratio: Option<f64>,
    /// The median latency, where the load has a pace and the rate says nothing.
    #[serde(skip)]
    pub paced_ms: Option<f64>,
    #[serde(skip)]
    pub goals: Vec<Goal>,
}

impl Row {
    pub fn with(mut self, latencies: &Latencies) -> Row {
        self.p50_ms = latencies.share_ms(0.50).map(three_digits);
        self.p99_ms = latencies.share_ms(0.99).map(three_digits);
        self
    }

    /// Held against a smaller run of the same: how many times as dear it is.
    pub fn beside(self, smaller: &Row) -> Row {
        let times = self.n as f64 / smaller.n as f64;
        Row {
            limit_name: Some(format!("drain of {}", smaller.n)),
            limit: Some(smaller.rate),
            ratio: Some(times * smaller.rate / self.rate),
            ..self
        }
    }

    /// Numbers as exact as the measurement is: nobody needs sixteen digits of a noisy one.
    fn rounded(mut self) -> Row {
        self.rate = three_digits(self.rate);
        self.rss_mb = self.rss_mb.map(three_digits);
        self.limit = self.limit.map(three_digits);
        self.ratio = self.ratio.map(three_digits);
        self
    }
}

/// What should come out. Ratios in one run can be compared between machines; rates can not.
#[derive(Clone, Copy, Debug)]
pub enum Goal {
    /// A ratio.
    AtLeast(f64),
    AtMost(f64),
    /// So many a second; of a machine that is too slow for that, so much of its limit.
    Rate {
        per_second: f64,
        or_ratio: f64,
    },
    /// The slowest hundredth, in milliseconds.
    Tail(f64),
    /// Megabytes.
    Memory(f64),
}

impl Goal {
    /// Whether it is met, and in which words it is told. None: the row does not have what it is about.
    fn judge(self, row: &Row) -> Option<(bool, String)> {
        Some(match self {
            Goal::AtLeast(least) => (row.ratio? >= least, format!("≥ {least}")),
            Goal::AtMost(most) => (row.ratio? <= most, format!("≤ {most}")),
            Goal::Rate { per_second, or_ratio } => {
                let is_met = row.rate >= per_second || row.ratio? >= or_ratio;
                (is_met, format!("≥ {}/s or {or_ratio}", grouped(per_second)))
            }
            Goal::Tail(most) => (row.p99_ms? <= most, format!("p99 ≤ {most}")),
            Goal::Memory(most) => (row.rss_mb? <= most, format!("RSS ≤ {most}")),
        })
    }
}

pub fn show(rows: Vec<Row>, as_json: bool, output: &mut Output) -> Result<(), Error> {
    let rows: Vec<Row> = rows.into_iter().map(Row::rounded).collect();
    if as_json {
        return rows.iter().try_for_each(|row| output.json(row));
    }
    let headings = [
        "what", "callers", "batch", "n", "rate/s", "p50 ms", "p99 ms", "RSS MB", "of", "limit/s", "ratio",
        "target",
    ];
    output.table(headings, rows.iter().map(cells))?;
    output.line(
        "\nA ratio is rate ÷ limit; of acquire_deep, drain_1m and latency it is cost ÷ cost, of idle the share of a core, of \
         http_work the milliseconds that are added to a job, of http_idle, http_polls and documents memory ÷ memory, of a command about tasks its median ÷ its target: there less is better.",
    )
}

fn cells(row: &Row) -> [String; 12] {
    let number = |number: Option<usize>| number.map_or(String::new(), |number| grouped(number as f64));
    let real = |real: Option<f64>| real.map_or(String::new(), |real| real.to_string());
    [
        row.name.clone(),
        number(row.callers),
        number(row.batch),
        grouped(row.n as f64),
        grouped(row.rate),
        real(row.p50_ms),
        real(row.p99_ms),
        real(row.rss_mb),
        row.limit_name.clone().unwrap_or_default(),
        row.limit.map_or(String::new(), grouped),
        real(row.ratio),
        marks(row),
    ]
}

fn marks(row: &Row) -> String {
    let judged = row.goals.iter().filter_map(|goal| goal.judge(row));
    let marks = judged.map(|(is_met, text)| match is_met {
        true => styled(GOOD, format!("✓ {text}")),
        false => styled(BAD, format!("✗ {text}")),
    });
    marks.collect::<Vec<_>>().join("  ")
}

fn three_digits(number: f64) -> f64 {
    if number == 0.0 || !number.is_finite() {
        return 0.0;
    }
    let digits = 2 - number.abs().log10().floor() as i32;
    let scale = 10f64.powi(digits.abs());
    if digits >= 0 { (number * scale).round() / scale } else { (number / scale).round() * scale }
}

/// `12,300`, `0.57`.
fn grouped(number: f64) -> String {
    if number < 100.0 {
        return number.to_string();
    }
    let digits = format!("{number:.0}");
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        let comma = if at > 0 && (digits.len() - at).is_multiple_of(3) { "," } else { "" };
        write!(text, "{comma}{digit}").expect("a string takes everything");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits() {
        for (number, shown) in [
            (0.0, "0"),
            (0.012_345, "0.0123"),
            (1.0, "1"),
            (99.96, "100"),
            (123.4, "123"),
            (12_345.6, "12,300"),
            (1_234_567.0, "1,230,000"),
        ] {
            assert_eq!(grouped(three_digits(number)), shown);
        }
    }
}
