//! Which tests cover which requirement: the table, a line per group, and what is wrong.
//!
//! Wrong is a test that names an unknown id, a comment that can not be read, and a finished id without a test. An id
//! that is not finished may be uncovered: the table shows it and nothing fails.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use crate::id::Id;
use crate::requirements::{Group, List};
use crate::tests_found::Found;

/// The answer of `tidy requirements`.
#[derive(Debug)]
pub struct Coverage {
    /// The table and the lines per group, ready to print.
    pub report: String,
    pub failures: Vec<String>,
}

/// Puts the tests beside the rules they name.
pub fn coverage(list: &List, finished: &BTreeSet<Id>, found: &Found) -> Coverage {
    let mut failures = found.complaints.clone();
    let mut tests: BTreeMap<Id, BTreeSet<&str>> = BTreeMap::new();
    for test in &found.tests {
        for named in &test.covers {
            match list.resolve(*named) {
                Ok(ids) => ids.into_iter().for_each(|id| {
                    tests.entry(id).or_default().insert(&test.name);
                }),
                Err(complaint) => failures.push(format!("{}: {complaint}", test.name)),
            }
        }
    }
    let uncovered = list.rules().filter(|rule| finished.contains(&rule.id) && !tests.contains_key(&rule.id));
    failures.extend(
        uncovered.map(|rule| format!("{} is finished and no test covers it: {}", rule.id, rule.title)),
    );
    Coverage { report: table(list, &tests) + "\n" + &summary(list, finished, &tests), failures }
}

fn table(list: &List, tests: &BTreeMap<Id, BTreeSet<&str>>) -> String {
    let width = list.rules().map(|rule| rule.title.chars().count()).max().unwrap_or_default();
    let mut table = String::new();
    for rule in list.rules() {
        let covering = tests.get(&rule.id);
        let count = covering.map_or(0, BTreeSet::len);
        let mut names = covering.into_iter().flatten();
        let first = names.next().unwrap_or(&"—");
        let _ = writeln!(table, "{}  {:width$}  {count:>3}  {first}", rule.id, rule.title);
        for name in names {
            let _ = writeln!(table, "{:4}  {:width$}  {:3}  {name}", "", "", "");
        }
    }
    table
}

fn summary(list: &List, finished: &BTreeSet<Id>, tests: &BTreeMap<Id, BTreeSet<&str>>) -> String {
    let width = list.groups.iter().map(|group| group.title.chars().count()).max().unwrap_or_default();
    let mut summary = String::new();
    for group in &list.groups {
        let total = group.rules.len();
        let covered = group.rules.iter().filter(|rule| tests.contains_key(&rule.id)).count();
        let _ = writeln!(
            summary,
            "{}  {:width$}  {covered:>3} of {total:>2} covered  {}",
            group.letter,
            group.title,
            standing(group, finished)
        );
    }
    summary
}

fn standing(group: &Group, finished: &BTreeSet<Id>) -> String {
    let promised = group.rules.iter().filter(|rule| finished.contains(&rule.id)).count();
    if promised == 0 {
        "not finished".to_string()
    } else if promised == group.rules.len() {
        "finished".to_string()
    } else {
        format!("{promised} finished")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests_found::in_rust;

    fn report(finished: &str, source: &str) -> Coverage {
        let list = List::parse("## K the kernel\n- K-01 first\n- K-02 the second\n## J jobs\n- J-01 a job\n")
            .expect("a list");
        let finished = list.finished(finished).expect("known ids");
        coverage(&list, &finished, &in_rust("a.rs", "a", source))
    }

    #[test]
    fn the_table_lines_up_ids_titles_counts_and_tests() {
        let Coverage { report, failures } =
            report("", "// covers: K-01\n#[test]\nfn b() {}\n#[test]\nfn k_01_c() {}");
        assert_eq!(
            report,
            "K-01  first         2  a::b\n\
             \u{20}                      a::k_01_c\n\
             K-02  the second    0  —\n\
             J-01  a job         0  —\n\
             \n\
             K  the kernel    1 of  2 covered  not finished\n\
             J  jobs          0 of  1 covered  not finished\n"
        );
        assert!(failures.is_empty(), "{failures:?}");
    }

    #[test]
    fn an_unknown_id_fails_and_names_the_test() {
        assert_eq!(
            report("", "// covers: K-09\n#[test]\nfn b() {}").failures,
            ["a::b: K-09 is not in the list"]
        );
        assert_eq!(report("", "#[test]\nfn k_09_b() {}").failures, ["a::k_09_b: K-09 is not in the list"]);
    }

    #[test]
    fn a_finished_id_without_a_test_fails() {
        let covered = "// covers: K-01\n#[test]\nfn b() {}";
        assert!(report("K-01", covered).failures.is_empty());
        assert_eq!(report("K", covered).failures, ["K-02 is finished and no test covers it: the second"]);
    }

    #[test]
    fn a_comment_that_can_not_be_read_fails() {
        assert_eq!(
            report("", "// covers: K-01\nfn b() {}").failures,
            ["a.rs:1: this `covers:` stands above no test"]
        );
    }

    #[test]
    fn a_group_is_finished_when_all_of_it_is() {
        let report = report("K-01\nJ", "").report;
        assert!(report.contains("0 of  2 covered  1 finished"), "{report}");
        assert!(report.contains("0 of  1 covered  finished"), "{report}");
    }
}
