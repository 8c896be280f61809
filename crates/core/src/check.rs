//! Checking a lifecycle: does the table keep the promises of the kernel, whatever happens?
//!
//! Two ways, both of which say where the fault stands. [`rules`] read the table. [`explore`] runs it: every order of
//! events that two workers, a sweeper, a clock and everyone else in the Actor column can produce, over the real
//! `decide`, and looks at every state for a broken promise. What it finds comes with the shortest way to get there.

pub mod actions;
pub mod explore;
pub mod invariants;
pub mod rules;

use alloc::string::String;
use alloc::vec::Vec;

use crate::lifecycle::Table;
use crate::lifecycle::tables::Tables;
use explore::{Setup, explore};

/// Something wrong with a lifecycle.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Finding {
    /// Of the file, from 1.
    pub line: u32,
    pub what: String,
    /// How to get there, step by step; empty where looking at the table is enough.
    pub trace: Vec<String>,
}

/// What a check saw.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Report {
    pub findings: Vec<Finding>,
    /// How many different states were looked at, and how many steps between them.
    pub states: usize,
    pub steps: usize,
}

impl Report {
    pub fn is_sound(&self) -> bool {
        self.findings.is_empty()
    }
}

/// Checks one lifecycle among the others it may name.
pub fn check(table: &Table, known: &Tables) -> Report {
    let mut report = Report { findings: rules::judge(table, known), ..Report::default() };
    for setup in Setup::for_table(table) {
        let explored = explore(&setup);
        report.states += explored.states;
        report.steps += explored.steps;
        report.findings.extend(explored.finding);
    }
    report.findings.sort();
    // One mistake in a table often breaks several promises at one place; the first explains it.
    report.findings.dedup_by(|later, first| later.line == first.line && later.what == first.what);
    report
}
