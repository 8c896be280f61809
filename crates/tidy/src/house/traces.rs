//! Traces of one machine in a file: absolute paths of where it was written, hosts of the registry it was built from.
//!
//! They work for their author and for nobody else. The words are put together from halves, so that this file has none.

/// Folders that exist on a developer's machine. One counts at the start of a path only: `/v1` before it makes it a URL's.
const FOLDERS: [&str; 2] = [concat!("/wo", "rk/"), concat!("/ro", "ot/")];

/// Hosts that a package manager is told by its own settings, never by this repository.
const HOSTS: [&str; 4] = [
    concat!("index.", "crates"),
    concat!("static.", "crates"),
    concat!("registry.", "npmjs"),
    concat!("pypi", "."),
];

pub fn left_in(path: &str, text: &str) -> Vec<String> {
    let mut failures = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let folder = FOLDERS.into_iter().find(|folder| starts_a_path(line, folder));
        let host = HOSTS.into_iter().find(|host| line.contains(host));
        if let Some(trace) = folder.or(host) {
            failures
                .push(format!("{path}:{number}: `{trace}` belongs to one machine, not to the repository"));
        }
    }
    failures
}

fn starts_a_path(line: &str, folder: &str) -> bool {
    let continues_one = |before: &str| {
        before.ends_with(|last: char| {
            last.is_alphanumeric() || matches!(last, '.' | '_' | '-' | '}' | '>' | '*' | '~')
        })
    };
    line.match_indices(folder).any(|(at, _)| !continues_one(&line[..at]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_a_machine_are_found() {
        let folder = FOLDERS[0];
        for (line, found) in [
            (format!("cd {folder}main"), true),
            (format!("\"{folder}main\""), true),
            (format!("file://{folder}main"), true),
            (format!("GET /v1{folder}next"), false),
            (format!("../net{folder}next"), false),
            (format!("{{store}}{folder}next"), false),
            ("a plain line".to_string(), false),
        ] {
            assert_eq!(!left_in("a.md", &line).is_empty(), found, "{line}");
        }
    }

    #[test]
    fn hosts_of_registries_are_found_with_their_line() {
        for host in HOSTS {
            let failures = left_in("a.toml", &format!("# fine\nurl = \"https://{host}io/\""));
            assert_eq!(failures.len(), 1, "{host}");
            assert!(failures[0].starts_with("a.toml:2: "), "{failures:?}");
        }
        assert_eq!(
            left_in("Cargo.lock", "source = \"registry+https://github.com/rust-lang/crates.io-index\""),
            [""; 0]
        );
    }
}
