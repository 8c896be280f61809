//! The outside of a file: how long it is, how it opens, what it is called; and how many entries the root has.

use std::collections::BTreeSet;

use crate::source::{Token, tokens};

/// A reader holds a file of this length in mind no longer: it is two files.
const LINES_MAX: usize = 600;

/// The aim is 300; past this the next addition should split the file, while that is still easy.
const LINES_HINT: usize = 450;

/// A dozen is the aim; the few more are files that tools look for in the root and nowhere else.
const ROOT_ENTRIES_MAX: usize = 16;

/// Names that say nothing, and so collect everything.
const EMPTY_NAMES: [&str; 7] = ["util", "utils", "common", "helper", "helpers", "misc", "manager"];

pub fn hint(path: &str, text: &str) -> Option<String> {
    let lines = text.lines().count();
    let long = lines > LINES_HINT && lines <= LINES_MAX;
    long.then(|| format!("{path}: {lines} lines; past {LINES_MAX} it must be two files"))
}

pub fn of_file(path: &str, text: &str) -> Vec<String> {
    let mut failures = Vec::new();
    let lines = text.lines().count();
    if lines > LINES_MAX {
        failures.push(format!("{path}: {lines} lines; past {LINES_MAX} it is two files"));
    }
    if !text.starts_with("//!") {
        failures.push(format!("{path}:1: a file opens with `//!`: what it is and what it guarantees"));
    }
    if path.ends_with("mod.rs") && path.trim_end_matches("mod.rs").ends_with('/') {
        failures
            .push(format!("{path}: the module is declared in `noun.rs` beside its folder, not in mod.rs"));
    }
    let says_nothing = |name: &str| EMPTY_NAMES.contains(&name);
    if let Some(name) = path.trim_end_matches(".rs").split('/').find(|name| says_nothing(name)) {
        failures.push(format!("{path}: `{name}` says nothing; name it by what it holds"));
    }
    for pair in tokens(text).windows(2) {
        if let (Token::Word("mod"), Token::Word(name)) = (pair[0].token, pair[1].token)
            && says_nothing(name)
        {
            failures.push(format!(
                "{path}:{}: `mod {name}` says nothing; name it by what it holds",
                pair[0].line
            ));
        }
    }
    failures
}

pub fn root<'a>(paths: impl Iterator<Item = &'a str>) -> Option<String> {
    let entries: BTreeSet<&str> = paths.filter_map(|path| path.split('/').next()).collect();
    let names = || entries.iter().copied().collect::<Vec<_>>().join(" ");
    let count = entries.len();
    (count > ROOT_ENTRIES_MAX)
        .then(|| format!("the root has {count} entries, at most {ROOT_ENTRIES_MAX}: {}", names()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn long(lines: usize) -> String {
        "//! A file.\n".repeat(lines)
    }

    #[test]
    fn a_file_past_six_hundred_lines_fails_and_before_that_gets_a_hint() {
        for (lines, hints, failures) in [(450, 0, 0), (451, 1, 0), (600, 1, 0), (601, 0, 1)] {
            let text = long(lines);
            assert_eq!(hint("a.rs", &text).iter().count(), hints, "{lines} lines");
            assert_eq!(of_file("a.rs", &text).len(), failures, "{lines} lines");
        }
    }

    #[test]
    fn a_file_opens_with_its_doc() {
        for text in ["", "fn a() {}", "\n//! Late.", "// Plain.\n//! Doc."] {
            assert_eq!(of_file("a.rs", text).len(), 1, "{text:?}");
        }
    }

    #[test]
    fn empty_names_are_refused_for_files_folders_and_modules() {
        for (path, text, failures) in [
            ("crates/a/src/utils.rs", "//! A.", 1),
            ("crates/a/tests/common/b.rs", "//! A.", 1),
            ("crates/a/src/b.rs", "//! A.\nmod helpers;", 1),
            ("crates/a/src/b.rs", "//! A.\npub(crate) mod manager {}", 1),
            ("crates/a/src/b.rs", "//! A.\nconst A: &str = \"mod util\"; // mod misc", 0),
            ("crates/a/src/commonplace.rs", "//! A.", 0),
            ("crates/a/src/b/mod.rs", "//! A.", 1),
            ("crates/a/src/b_mod.rs", "//! A.", 0),
        ] {
            assert_eq!(of_file(path, text).len(), failures, "{path} {text}");
        }
    }

    #[test]
    fn the_root_is_counted_by_entries_not_files() {
        let files: Vec<String> = (0..ROOT_ENTRIES_MAX).map(|n| format!("folder{n}/file")).collect();
        let paths = || files.iter().map(String::as_str);
        assert_eq!(root(paths().chain(["folder0/other"])), None);
        assert!(root(paths().chain(["one_more"])).is_some_and(|failure| failure.contains("17 entries")));
    }
}
