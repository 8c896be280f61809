//! The wall around the kernel: `crates/core` is `no_std` and depends only on what is named here.
//!
//! Each of these opens no file or socket, reads no clock, draws no random number and starts no thread as long as its
//! default features are off. A new one is added here by whoever has read it with that in mind.

use std::collections::BTreeMap;

use crate::source::{attribute, tokens};

const PURE: [&str; 8] =
    ["jiff", "jsonschema", "once_cell", "pulldown-cmark", "serde", "serde_json", "sha2", "ulid"];

const MANIFEST: &str = "crates/core/Cargo.toml";
const LIBRARY: &str = "crates/core/src/lib.rs";

pub fn of_core(files: &BTreeMap<String, String>) -> Vec<String> {
    let mut failures = Vec::new();
    match files.get(LIBRARY) {
        Some(library) if is_no_std(library) => {}
        Some(_) => failures.push(format!("{LIBRARY}: the kernel says `#![no_std]`, without conditions")),
        None => failures.push(format!("{LIBRARY} is missing")),
    }
    match files.get(MANIFEST) {
        Some(manifest) => {
            failures.extend(of_manifest(manifest).into_iter().map(|it| format!("{MANIFEST}: {it}")))
        }
        None => failures.push(format!("{MANIFEST} is missing")),
    }
    failures
}

fn is_no_std(library: &str) -> bool {
    let tokens = tokens(library);
    (0..tokens.len()).any(|at| attribute(&tokens, at).is_some_and(|attribute| attribute.path == ["no_std"]))
}

fn of_manifest(manifest: &str) -> Vec<String> {
    let mut failures = Vec::new();
    let mut section = String::new();
    let mut lines = manifest.lines().map(without_comment);
    while let Some(line) = lines.next() {
        if let Some(header) = line.strip_prefix('[') {
            section = header.trim_end_matches(']').to_string();
            // `[dependencies.jiff]` and `[target.….dependencies]` would pass unread.
            let hidden = section.starts_with("dependencies.")
                || (section.starts_with("target.") && section.contains(".dependencies"));
            if hidden {
                failures.push(format!("[{section}]: every dependency is a line of [dependencies]"));
            }
            continue;
        }
        if section != "dependencies" || line.is_empty() {
            continue;
        }
        let mut entry = line.to_string();
        while !is_closed(&entry)
            && let Some(more) = lines.next()
        {
            entry.push_str(more);
        }
        failures.extend(of_dependency(&entry));
    }
    failures
}

fn of_dependency(entry: &str) -> Option<String> {
    let name = entry.split(['=', '.', ' ']).next().unwrap_or_default().trim_matches('"');
    if !PURE.contains(&name) {
        return Some(format!("`{name}` is not on the list of pure dependencies"));
    }
    let compact: String = entry.split_whitespace().collect();
    if compact.contains("package=") {
        return Some(format!("`{name}` is another package under that name"));
    }
    let no_defaults = compact.contains("default-features=false");
    (!no_defaults).then(|| format!("`{name}` needs `default-features = false`"))
}

fn without_comment(line: &str) -> &str {
    line.split('#').next().unwrap_or_default().trim()
}

fn is_closed(entry: &str) -> bool {
    let count = |mark: char| entry.matches(mark).count();
    count('[') == count(']') && count('{') == count('}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dependency_is_on_the_list_and_without_defaults() {
        for (line, complaint) in [
            ("jiff = { version = \"0.2\", default-features = false } # why", None),
            ("jiff = { version = \"0.2\",default-features=false, features = [\n  \"alloc\",\n] }", None),
            ("jiff = \"0.2\" # default-features = false", Some("`jiff` needs `default-features = false`")),
            ("jiff.workspace = true", Some("`jiff` needs `default-features = false`")),
            (
                "tokio = { version = \"1\", default-features = false }",
                Some("`tokio` is not on the list of pure dependencies"),
            ),
            (
                "ulid = { package = \"rand\", version = \"1\", default-features = false }",
                Some("`ulid` is another package under that name"),
            ),
        ] {
            let manifest = format!(
                "[package]\nname = \"tokio\"\n\n[dependencies]\n# why\n{line}\n\n[dev-dependencies]\ninsta = \"1\"\n"
            );
            assert_eq!(of_manifest(&manifest), Vec::from_iter(complaint), "{line}");
        }
    }

    #[test]
    fn a_dependency_does_not_hide_in_another_section() {
        for section in ["[dependencies.jiff]", "[target.'cfg(unix)'.dependencies]"] {
            assert_eq!(of_manifest(&format!("{section}\nversion = \"1\"\n")).len(), 1, "{section}");
        }
    }

    #[test]
    fn no_std_has_no_conditions() {
        for (library, expected) in [
            ("//! The kernel.\n#![no_std]\n", true),
            ("//! The kernel.\n#![cfg_attr(not(test), no_std)]\n", false),
            ("//! #![no_std]\n", false),
        ] {
            assert_eq!(is_no_std(library), expected, "{library}");
        }
    }
}
