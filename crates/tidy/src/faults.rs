//! The page of faults (`docs/faults.md`): every test that it names is there.
//!
//! A row begins with the id of a fault and ends with where it is shown: a file, by its path from `crates/` on or from the root, and
//! behind it the tests in it.
//!
//! ```text
//! | D1 | the writer is killed | nothing is lost | `databases/tests/crash/kills.rs` `d1_a_killed_writer` |
//! ```
//!
//! A function of that name must stand in the file, and a test of that name somewhere: what runs on several databases is written in one
//! file and listed as tests in another. Whether the test shows the fault is for people to see to.

use std::collections::{BTreeMap, BTreeSet};

use crate::source::{Token, tokens};
use crate::tests_found::Found;

/// What is wrong with the page, each with its line.
pub fn complaints(page: &str, files: &BTreeMap<String, String>, found: &Found) -> Vec<String> {
    let tests: BTreeSet<&str> = found.tests.iter().filter_map(|test| test.name.rsplit("::").next()).collect();
    let mut faults = BTreeSet::new();
    let mut complaints = Vec::new();
    for (number, line) in (1..).zip(page.lines()) {
        let Some((id, places)) = row(line) else { continue };
        let mut wrong = shown(places, files, &tests);
        if !faults.insert(id) {
            wrong.push(format!("{id} has a row already"));
        }
        complaints.extend(wrong.into_iter().map(|why| format!("line {number}: {why}")));
    }
    if faults.is_empty() {
        complaints.push("there is no row with a fault".to_string());
    }
    complaints
}

/// The fault of a row of a table, and its last cell.
fn row(line: &str) -> Option<(&str, &str)> {
    let cells = line.strip_prefix("| ")?.strip_suffix(" |")?;
    let (id, rest) = cells.split_once(" | ")?;
    let (letter, number) = id.split_at_checked(1)?;
    let is_fault = letter.chars().all(|one| one.is_ascii_uppercase()) && number.parse::<u8>().is_ok();
    let places = rest.rsplit_once(" | ").map_or(rest, |(_, last)| last);
    is_fault.then_some((id, places))
}

/// What a cell names that is not there.
fn shown(cell: &str, files: &BTreeMap<String, String>, tests: &BTreeSet<&str>) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut file: Option<(&str, BTreeSet<&str>)> = None;
    let mut named = 0;
    for word in cell.split('`').skip(1).step_by(2) {
        if word.contains('/') && !word.contains(' ') {
            named += 1;
            let text = files.get(word).or_else(|| files.get(&format!("crates/{word}")));
            match text {
                Some(text) => file = Some((word, functions(text))),
                None => wrong.push(format!("{word} is not in the repository")),
            }
        } else if is_name(word) {
            match &file {
                Some((path, functions)) if !functions.contains(word) => {
                    wrong.push(format!("{path} has no function {word}"));
                }
                Some(_) if !tests.contains(word) => wrong.push(format!("{word} is no test")),
                Some(_) => {}
                None => wrong.push(format!("{word} has no file before it")),
            }
        }
    }
    if named == 0 {
        wrong.push("it names no file".to_string());
    }
    wrong
}

/// What is no name, such as a command with its arguments, is there to be read.
fn is_name(word: &str) -> bool {
    word.chars().all(|one| one.is_ascii_lowercase() || one.is_ascii_digit() || one == '_')
}

fn functions(text: &str) -> BTreeSet<&str> {
    let mut names = BTreeSet::new();
    for pair in tokens(text).windows(2) {
        if let (Token::Word("fn"), Token::Word(name)) = (pair[0].token, pair[1].token) {
            names.insert(name);
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests_found::in_rust;

    const SOURCE: &str = "fn helper() {}\n#[test]\nfn it_holds() {}\n";

    fn check(page: &str) -> Vec<String> {
        let files = [("crates/core/tests/a.rs", SOURCE), (".ci/run", "cargo")];
        let mut files: BTreeMap<String, String> =
            files.into_iter().map(|(path, text)| (path.to_string(), text.to_string())).collect();
        // One file has the check, another lists it as a test.
        files.insert("crates/core/tests/b.rs".to_string(), "pub fn everywhere() {}".to_string());
        let mut found = in_rust("a.rs", "core::a", SOURCE);
        found.extend(in_rust("c.rs", "core::c", "#[test]\nfn everywhere() {}"));
        complaints(page, &files, &found)
    }

    #[test]
    fn what_is_there_is_no_complaint() {
        for places in [
            "`core/tests/a.rs` `it_holds`",
            "`core/tests/a.rs` `it_holds`; `core/tests/b.rs` `everywhere`",
            "`.ci/run`, in full with `N=1 .ci/run`",
        ] {
            let page =
                format!("# Faults\n\n| Fault | Where |\n|---|---|\n| D1 | done | holds | {places} |\n");
            assert_eq!(check(&page), [""; 0], "{places}");
        }
    }

    #[test]
    fn what_is_not_there_is_named_with_its_line() {
        for (places, expected) in [
            ("`core/tests/z.rs`", "line 2: core/tests/z.rs is not in the repository"),
            ("`core/tests/a.rs` `it_broke`", "line 2: core/tests/a.rs has no function it_broke"),
            ("`core/tests/a.rs` `everywhere`", "line 2: core/tests/a.rs has no function everywhere"),
            ("`core/tests/a.rs` `helper`", "line 2: helper is no test"),
            ("`it_holds`, `core/tests/a.rs`", "line 2: it_holds has no file before it"),
            ("nowhere", "line 2: it names no file"),
        ] {
            assert_eq!(check(&format!("\n| D1 | done | holds | {places} |")), [expected], "{places}");
        }
    }

    #[test]
    fn a_fault_has_one_row_and_a_page_has_some() {
        let row = "| D1 | done | holds | `core/tests/a.rs` `it_holds` |\n";
        assert_eq!(check(&row.repeat(2)), ["line 2: D1 has a row already"]);
        assert_eq!(check("| Fault | Where |\n| K-01 | no fault |\n"), ["there is no row with a fault"]);
    }
}
