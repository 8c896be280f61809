//! What is read off a stopwatch, and beside it: rates, latencies, memory.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// So many a second.
pub fn rate(count: usize, took: Duration) -> f64 {
    count as f64 / took.as_secs_f64().max(1e-9)
}

/// How long calls took.
#[derive(Clone, Debug, Default)]
pub struct Latencies(Vec<Duration>);

impl Latencies {
    pub fn add(&mut self, took: Duration) {
        self.0.push(took);
    }

    pub fn extend(&mut self, others: Latencies) {
        self.0.extend(others.0);
    }

    /// The latency in milliseconds that this share of the calls stayed at or below.
    pub fn share_ms(&self, share: f64) -> Option<f64> {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        let last = sorted.len().checked_sub(1)?;
        let at = (share * sorted.len() as f64).ceil() as usize;
        Some(sorted[at.saturating_sub(1).min(last)].as_secs_f64() * 1_000.0)
    }
}

/// The middle one; of two in the middle their mean.
pub fn median(samples: &[f64]) -> Option<f64> {
    let mut sorted = samples.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        count if count % 2 == 1 => Some(sorted[middle]),
        _ => Some((sorted[middle - 1] + sorted[middle]) / 2.0),
    }
}

/// The most memory that this process has had while somebody looked.
#[derive(Clone, Copy, Debug, Default)]
pub struct Memory {
    most_kb: Option<u64>,
}

impl Memory {
    pub fn look(&mut self) {
        self.most_kb = self.most_kb.max(resident_kb());
    }

    pub fn add(&mut self, other: Memory) {
        self.most_kb = self.most_kb.max(other.most_kb);
    }

    pub fn mb(self) -> Option<f64> {
        self.most_kb.map(|kb| kb as f64 / 1_024.0)
    }
}

/// None where there is no such file.
pub fn resident_kb() -> Option<u64> {
    resident_kb_of("self")
}

pub fn resident_kb_of(process: &str) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}

/// The processor time of this process so far, of all its threads.
pub fn processor_micros() -> i64 {
    let used = clock_gettime(ClockId::ProcessCPUTime);
    used.tv_sec * 1_000_000 + used.tv_nsec / 1_000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_and_medians_are_those_of_the_samples() {
        let mut latencies = Latencies::default();
        assert_eq!(latencies.share_ms(0.5), None);
        (1..=100).rev().for_each(|ms| latencies.add(Duration::from_millis(ms)));
        assert_eq!(latencies.share_ms(0.5), Some(50.0));
        assert_eq!(latencies.share_ms(0.99), Some(99.0));
        assert_eq!(latencies.share_ms(1.0), Some(100.0));
        for (samples, middle) in [
            (vec![], None),
            (vec![3.0], Some(3.0)),
            (vec![9.0, 1.0, 2.0], Some(2.0)),
            (vec![1.0, 2.0], Some(1.5)),
        ] {
            assert_eq!(median(&samples), middle, "{samples:?}");
        }
    }
}
