//! The explorer bites: every file in `unsound/` parses, breaks a promise, and says at its end which.
//!
//! `<!-- expect: 17: text -->` stands for a finding on line 17; all findings of a file are listed, in their order, and
//! no others. A file that also has `<!-- step: … -->` lines gives the shortest way to each finding, step by step.

use std::fs;
use std::path::Path;

use tenure_core::check::{Finding, check};
use tenure_core::lifecycle::parse::parse;
use tenure_core::lifecycle::shipped;

fn findings(source: &str) -> Vec<Finding> {
    let table = parse(source).unwrap_or_else(|faults| panic!("it parses: {faults:#?}"));
    check(&table, &shipped::tables()).findings
}

/// The lines that a file with these findings ends with.
fn told(findings: &[Finding], with_steps: bool) -> Vec<String> {
    let mut lines = Vec::new();
    for finding in findings {
        lines.push(format!("<!-- expect: {}: {} -->", finding.line, finding.what));
        let steps = finding.trace.iter().filter(|_| with_steps);
        lines.extend(steps.map(|step| format!("<!-- step: {step} -->")));
    }
    lines
}

// covers: K-01, K-21, K-24
#[test]
fn every_unsound_file_gets_the_findings_it_expects() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kernel/unsound");
    let mut names: Vec<String> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert!(names.len() >= 10, "only {} unsound files were found", names.len());
    let mut wrong = String::new();
    for name in names {
        let source = fs::read_to_string(folder.join(&name)).unwrap();
        let findings = findings(&source);
        let with_steps = source.contains("<!-- step: ");
        let expected: Vec<&str> = source.lines().filter(|line| line.starts_with("<!-- ")).collect();
        assert!(!findings.is_empty(), "{name} is sound");
        if told(&findings, with_steps) != expected {
            wrong.push_str(&format!("\n{name} has:\n{}\n", told(&findings, true).join("\n")));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}
