//! Every file in `broken/` has a fault, and says at its end which: the reader sees fault and answer together.
//!
//! `<!-- expect: 17: text -->` stands for a fault on line 17. All faults of a file are listed, in their order, and no
//! others.

use std::fs;
use std::path::Path;

use tenure_core::lifecycle::parse::{ROWS_MAX, SOURCE_BYTES_MAX, STATES_MAX, parse};

/// The faults of a source as `line: text`; none when it parses.
fn faults(source: &str) -> Vec<String> {
    match parse(source) {
        Ok(_) => Vec::new(),
        Err(faults) => faults.iter().map(ToString::to_string).collect(),
    }
}

fn expected(source: &str) -> Vec<String> {
    let mark = |line: &str| Some(line.strip_prefix("<!-- expect: ")?.strip_suffix(" -->")?.to_string());
    source.lines().filter_map(mark).collect()
}

#[test]
fn every_broken_file_gets_the_faults_it_expects() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/broken");
    let mut names: Vec<String> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert!(names.len() >= 50, "only {} broken files were found", names.len());
    let mut wrong = String::new();
    for name in names {
        let source = fs::read_to_string(folder.join(&name)).unwrap();
        let (found, expected) = (faults(&source), expected(&source));
        assert!(!found.is_empty(), "{name} is not broken");
        if found != expected {
            wrong.push_str(&format!("\n{name} expects {expected:#?}\nbut has:\n"));
            found.iter().for_each(|fault| wrong.push_str(&format!("<!-- expect: {fault} -->\n")));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// A sound lifecycle with this many waiting states, and so many moves from one to the next.
fn chain(states: usize, moves: usize) -> String {
    let mut source = String::from("# chain\n\n## States\n\n| State | Phase | Meaning |\n|---|---|---|\n");
    (0..states).for_each(|index| source.push_str(&format!("| S{index} | waiting | |\n")));
    source.push_str(
        "\n## Transitions\n\n| From | Event | To | Actor |\n|---|---|---|---|\n| — | create | S0 | api |\n",
    );
    for index in 0..moves {
        // One event a row: letters only, so that each has a name of its own.
        let letter = |place: usize| char::from(b'a' + (place % 26) as u8);
        let event = format!("move-{}{}", letter(index / 26), letter(index));
        source.push_str(&format!("| S{} | {event} | S{} | human |\n", index % states, (index + 1) % states));
    }
    source
}

#[test]
fn states_are_counted() {
    assert_eq!(faults(&chain(STATES_MAX, STATES_MAX)), Vec::<String>::new());
    // The states end on line 6 + 65; the row that uses the last one has no fault of its own.
    assert_eq!(
        faults(&chain(STATES_MAX + 1, STATES_MAX + 1)),
        ["71: there are 65 states; a lifecycle has at most 64"]
    );
}

#[test]
fn rows_are_counted() {
    assert_eq!(faults(&chain(2, ROWS_MAX - 1)), Vec::<String>::new());
    assert_eq!(faults(&chain(2, ROWS_MAX)), ["270: there are 257 rows; a lifecycle has at most 256"]);
}

#[test]
fn bytes_are_counted() {
    let mut source = chain(2, 2);
    source.push_str("\n## Notes\n\n");
    source.push_str(&"x".repeat(SOURCE_BYTES_MAX - source.len()));
    assert_eq!(faults(&source), Vec::<String>::new());
    source.push('x');
    assert_eq!(faults(&source), ["1: the file has 65537 bytes; at most 65536 are read"]);
}
