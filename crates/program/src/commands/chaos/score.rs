//! The scoreboard: what was done to it, and what came out, for people and as JSON.

use std::time::Duration;

use serde::Serialize;
use tenure_databases::verify::Report;

use super::cast::Faults;
use super::heard::Heard;
use super::judge::{Judged, Takeover};
use crate::outcome::{Error, Outcome};
use crate::output::{BAD, FAINT, GOOD, Output, STRONG, count, grouped, seconds, styled};

/// So many violations are told; one is enough to look for the cause.
const TOLD_MAX: usize = 20;

/// Everything about a run.
#[derive(Debug)]
pub struct Run {
    pub seed: u64,
    pub store: &'static str,
    pub command: String,
    pub nodes: usize,
    pub workers: usize,
    pub loaders: usize,
    pub faults_for: Duration,
    pub drained_in: Duration,
    /// What a takeover may take beyond the lease.
    pub grace: Duration,
    pub faults: Faults,
    pub heard: Heard,
    pub judged: Judged,
    pub verified: Report,
}

#[derive(Serialize)]
struct Shown<'a> {
    acknowledged: usize,
    commits: usize,
    conflicts_refused: usize,
    cut_connections: usize,
    double_committed: usize,
    drained_ms: u128,
    entries: usize,
    expiries: usize,
    faults: usize,
    faults_ms: u128,
    items: usize,
    kills_of_nodes: usize,
    kills_of_workers: usize,
    leases_lost: u64,
    lost: usize,
    overlapping_leases: usize,
    pauses_of_nodes: usize,
    pauses_of_workers: usize,
    seed: u64,
    stale_writes_refused: u64,
    store: &'static str,
    stuck: usize,
    swept: u64,
    takeover_limit_ms: u128,
    takeover_longest_ms: u128,
    takeover_p99_beyond_lease_ms: u128,
    takeovers: usize,
    unknown: usize,
    verified: bool,
    violations: &'a [String],
}

impl Run {
    fn violations(&self) -> Vec<String> {
        let Judged { lost, doubled, stuck, overlaps, other, .. } = &self.judged;
        let sort = |name: &'static str| move |what: &String| format!("{name}: {what}");
        let mut all: Vec<String> = lost.iter().map(sort("lost")).collect();
        all.extend(doubled.iter().map(sort("committed twice")));
        all.extend(stuck.iter().map(sort("stuck")));
        all.extend(overlaps.iter().map(sort("not by the holder")));
        all.extend(other.iter().map(sort("wrong")));
        all.extend(self.verified.faults.iter().map(|fault| format!("verify: {fault}")));
        if self.beyond_p99() > self.grace {
            all.push(format!("takeover: the p99 is {} beyond the lease", seconds(self.beyond_p99())));
        }
        all
    }

    fn beyond_p99(&self) -> Duration {
        let mut beyond: Vec<Duration> = self.judged.takeovers.iter().map(Takeover::beyond_lease).collect();
        beyond.sort_unstable();
        let at = (beyond.len() * 99).div_ceil(100);
        at.checked_sub(1).and_then(|at| beyond.get(at).copied()).unwrap_or_default()
    }

    fn longest(&self) -> Duration {
        self.judged.takeovers.iter().map(|takeover| takeover.took).max().unwrap_or_default()
    }

    /// Refused to ghosts, and to the engine's own writes that came too late.
    fn stale_refused(&self) -> u64 {
        self.heard.ghosts_refused as u64 + self.heard.counted("stale_writes")
    }

    pub fn show(&self, as_json: bool, output: &mut Output) -> Result<Outcome, Error> {
        let violations = self.violations();
        if as_json {
            output.json(&self.shown(&violations))?;
        } else {
            self.board(&violations, output)?;
        }
        Ok(if violations.is_empty() { Outcome::Done } else { Outcome::Refused })
    }

    fn shown<'a>(&self, violations: &'a [String]) -> Shown<'a> {
        Shown {
            acknowledged: self.heard.created.len(),
            commits: self.judged.commits,
            conflicts_refused: self.heard.conflicts,
            cut_connections: self.faults.cut_connections,
            double_committed: self.judged.doubled.len(),
            drained_ms: self.drained_in.as_millis(),
            entries: self.judged.entries,
            expiries: self.judged.expiries,
            faults: self.faults.all(),
            faults_ms: self.faults_for.as_millis(),
            items: self.judged.items,
            kills_of_nodes: self.faults.kills_of_nodes,
            kills_of_workers: self.faults.kills_of_workers,
            leases_lost: self.heard.counted("lost"),
            lost: self.judged.lost.len(),
            overlapping_leases: self.judged.overlaps.len(),
            pauses_of_nodes: self.faults.pauses_of_nodes,
            pauses_of_workers: self.faults.pauses_of_workers,
            seed: self.seed,
            stale_writes_refused: self.stale_refused(),
            store: self.store,
            stuck: self.judged.stuck.len(),
            swept: self.heard.counted("swept"),
            takeover_limit_ms: self.grace.as_millis(),
            takeover_longest_ms: self.longest().as_millis(),
            takeover_p99_beyond_lease_ms: self.beyond_p99().as_millis(),
            takeovers: self.judged.takeovers.len(),
            unknown: self.heard.unknown,
            verified: self.verified.is_sound(),
            violations,
        }
    }

    fn board(&self, violations: &[String], output: &mut Output) -> Result<(), Error> {
        let (judged, heard, faults) = (&self.judged, &self.heard, &self.faults);
        let number = |number: usize| grouped(number as u64);
        let people = format!(
            "{}, {}, {}",
            count(self.nodes, "node"),
            count(self.workers, "worker"),
            count(self.loaders, "loader")
        );
        output.line(format!(
            "{} on {} · {people} · faults for {}, drained in {}\n",
            styled(STRONG, format!("chaos, seed {}", self.seed)),
            self.store,
            seconds(self.faults_for),
            seconds(self.drained_in)
        ))?;
        let good = |is_good: bool| if is_good { styled(GOOD, "✓") } else { styled(BAD, "✗") };
        let zero = |what: &str, found: &[String], more: String| {
            [good(found.is_empty()), what.to_string(), number(found.len()), more]
        };
        let plain =
            |what: &str, number: String, more: String| [String::new(), what.to_string(), number, more];
        let kills = format!(
            "{} and {} killed, {} and {} paused, {} cut",
            count(faults.kills_of_workers, "worker"),
            count(faults.kills_of_nodes, "node"),
            count(faults.pauses_of_workers, "worker"),
            count(faults.pauses_of_nodes, "node"),
            count(faults.cut_connections, "connection")
        );
        let asked = format!(
            "{} unknown at first, {} asked again, {} contradicted and refused, {} called off",
            number(heard.unknown),
            number(heard.away),
            number(heard.conflicts),
            number(heard.cancelled)
        );
        let by = format!(
            "{}, {}, {}",
            count(judged.commits, "commit"),
            count(judged.records, "record"),
            count(judged.messages, "message")
        );
        let refused = format!(
            "{} by ghosts, {} leases given up by their workers",
            number(heard.ghosts_refused),
            grouped(heard.counted("lost"))
        );
        let takeovers = format!(
            "{}, the longest {}; the p99 may be lease + {}",
            count(judged.takeovers.len(), "takeover"),
            seconds(self.longest()),
            seconds(self.grace)
        );
        let rows = [
            plain(
                "operations",
                number(judged.entries),
                format!("entries of {}", count(judged.items, "item")),
            ),
            plain("faults", number(faults.all()), kills),
            plain("acknowledged creates", number(heard.created.len()), asked),
            zero("lost", &judged.lost, String::new()),
            zero("committed twice", &judged.doubled, by),
            zero("stuck", &judged.stuck, format!("{} expired", count(judged.expiries, "lease"))),
            zero("overlapping leases", &judged.overlaps, "and writes by others than the holder".to_string()),
            zero("other violations", &judged.other, String::new()),
            [good(true), "stale writes refused".to_string(), grouped(self.stale_refused()), refused],
            [
                good(self.beyond_p99() <= self.grace),
                "takeover p99".to_string(),
                format!("lease + {}", seconds(self.beyond_p99())),
                takeovers,
            ],
            [
                good(self.verified.is_sound()),
                "verify".to_string(),
                if self.verified.is_sound() { "sound" } else { "not sound" }.to_string(),
                format!("{} in chains", grouped(self.verified.entries)),
            ],
        ];
        for [mark, what, number, more] in rows {
            // A mark is one column wide, whatever its colour takes in the text.
            let mark = if mark.is_empty() { " ".to_string() } else { mark };
            output.line(format!("{mark} {what:<20}  {number:>14}  {}", styled(FAINT, more)))?;
        }
        for violation in violations.iter().take(TOLD_MAX) {
            output.line(format!("{} {violation}", styled(BAD, "✗")))?;
        }
        if violations.len() > TOLD_MAX {
            output.line(format!("… and {} more", violations.len() - TOLD_MAX))?;
        }
        output.line(format!("\n{}", styled(FAINT, format!("the same again: {}", self.command))))
    }
}
