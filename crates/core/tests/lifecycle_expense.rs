//! A lifecycle that ships with nobody: what a user writes is read as it is meant.

use core::time::Duration;

use serde_json::json;
use tenure_core::lifecycle::parse::parse;
use tenure_core::lifecycle::settings::{Backoff, Breaker, Limit, Rate};
use tenure_core::lifecycle::{Phase, Table, To};

const EXPENSE: &str = include_str!("expense.md");

fn expense() -> Table {
    parse(EXPENSE).unwrap_or_else(|faults| panic!("expense.md has faults: {faults:#?}"))
}

#[test]
fn marks_and_dashes_of_markdown_are_taken_off() {
    let table = expense();
    assert_eq!(table.kind.as_str(), "expense");
    assert!(table.summary.starts_with("An expense that an employee wants back."), "{}", table.summary);
    assert!(table.summary.ends_with("between the tables.*"), "{}", table.summary);
    let states: Vec<(&str, Phase)> =
        table.states.iter().map(|state| (state.name.as_str(), state.phase)).collect();
    assert_eq!(
        states,
        [
            ("submitted", Phase::Waiting),
            ("approved", Phase::Ready),
            ("paying", Phase::Active),
            ("paid", Phase::Succeeded),
            ("unpaid", Phase::Failed),
            ("rejected", Phase::Stopped),
        ]
    );
    let paid = table.state(table.state_named("paid").unwrap());
    assert_eq!(paid.meaning, "the money is on its way; see transfers");
}

#[test]
fn every_row_is_read_as_it_is_written() {
    let table = expense();
    let rows: Vec<String> = table.rows.iter().map(|row| table.describe(row)).collect();
    assert_eq!(
        rows,
        [
            "— create as submit → submitted [api/human; ] {}",
            "submitted approve → approved [api; payload /amount <= 100] {}",
            "submitted approve → approved [human; reason, payload /purpose != \"travel, other\"] {message expense_approved}",
            "submitted reject → rejected [human; reason] {message expense_rejected}",
            "rejected reject → rejected [human; ] {}",
            "paid reject → ! ALREADY_PAID [human; ] {}",
            "approved lease as pay → paying [worker; no other running for key] {}",
            "paying commit as settle → paid [worker; ] {record transfer; message any}",
            "paying fail → rejected [worker; permanent, reason] {}",
            "paying fail → approved [worker; attempts left] {}",
            "paying fail → unpaid [worker; reason] {record complaint}",
            "paying release → approved [worker; ] {}",
            "paying expire → approved [system; attempts left] {}",
            "paying expire → unpaid [system; attempts exhausted] {message expense_unpaid}",
            "paying time-out → unpaid [system; ] {close open steps}",
            "unpaid retry → approved [human; reason] {}",
            "approved cancel → rejected [human; reason] {}",
        ]
    );
}

#[test]
fn a_row_knows_its_line() {
    let table = expense();
    for row in &table.rows {
        let line = EXPENSE.lines().nth(row.line as usize - 1).unwrap();
        assert!(line.contains(row.event.as_str()), "line {} is {line}", row.line);
        let To::State(to) = row.to else { continue };
        assert!(line.contains(table.name(to)), "line {} is {line}", row.line);
    }
}

#[test]
fn every_setting_is_read_as_it_is_written() {
    let settings = expense().settings;
    let seconds = Duration::from_secs;
    assert_eq!((settings.lease, settings.lease_max), (seconds(30), seconds(300)));
    assert_eq!((settings.window, settings.attempts), (Some(seconds(600)), Some(3)));
    assert_eq!(settings.backoff, Backoff { first: seconds(5), most: seconds(3600) });
    assert_eq!(settings.key.as_deref(), Some("/employee"));
    assert_eq!(settings.concurrency, Limit { kind: Some(10), key: Some(1) });
    let rate = |count, per| Some(Rate { count, per: seconds(per) });
    assert_eq!(settings.rate, Limit { kind: rate(100, 1), key: rate(1, 10) });
    assert_eq!(settings.retry_budget, rate(50, 60));
    let breaker = Breaker { failures: 20, within: seconds(300), pause: seconds(30) };
    assert_eq!(settings.breaker, Some(breaker));
    assert_eq!(settings.retention, Some(seconds(3650 * 24 * 3600)));
    assert_eq!((settings.priority, settings.head_start), (-10, seconds(30)));
    assert_eq!(settings.resource_type.as_deref(), Some("EXPENSE"));
}

#[test]
fn the_payload_schema_is_compiled() {
    let schema = expense().schema.unwrap();
    assert_eq!(schema.violation(&json!({"employee": "e-7", "amount": 12.5})), None);
    assert!(schema.violation(&json!({"employee": "e-7", "amount": 0})).is_some());
    assert!(schema.violation(&json!({"amount": 1})).is_some());
}
