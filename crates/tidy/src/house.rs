//! The rules of the house, checked on the files themselves.
//!
//! | rule | where |
//! |---|---|
//! | length, opening words, names, entries of the root | [`shape`] |
//! | macros and attributes that do not stay, sleeping tests | [`words`] |
//! | paths of one machine, hosts of registries | [`traces`] |
//! | the kernel stays pure | [`wall`] |
//!
//! What clippy can see better (clocks, spawning) is left to `.cargo/clippy.toml`; taste is left to people.

pub mod shape;
pub mod traces;
pub mod wall;
pub mod words;

use std::collections::BTreeMap;

/// What was found; hints are printed and fail nothing.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Findings {
    pub hints: Vec<String>,
    pub failures: Vec<String>,
}

/// Applies every rule to the files (path from the root, text).
pub fn findings(files: &BTreeMap<String, String>) -> Findings {
    let mut findings = Findings::default();
    findings.failures.extend(shape::root(files.keys().map(String::as_str)));
    for (path, text) in files {
        findings.failures.extend(traces::left_in(path, text));
        if path.ends_with(".rs") {
            findings.hints.extend(shape::hint(path, text));
            findings.failures.extend(shape::of_file(path, text));
            findings.failures.extend(words::in_file(path, text));
        }
    }
    findings.failures.extend(wall::of_core(files));
    findings
}
