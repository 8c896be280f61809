//! The machine in an output: where the working copy is, whose home, which folder for what is temporary, and the host.
//!
//! A path is taken out where it stands as a path of its own or begins one. Where it is the inside of another it means something else:
//! in a working copy at `/src`, `crates/core/src/lib.rs` is a file of the tree.

use std::cmp::Reverse;

/// What stands in the place of each.
const WORKSPACE: &str = "<workspace>";
const HOME: &str = "<home>";
const TEMPORARY: &str = "<temporary>";
const HOST: &str = "<host>";

/// A shorter name is a word that an output may mean.
const HOST_BYTES_MIN: usize = 4;

/// What is true of one machine alone. What is not known is left out, and is not looked for.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Place {
    /// The root of the working copy.
    pub workspace: String,
    pub home: Option<String>,
    /// The folder for what is temporary.
    pub temporary: Option<String>,
    pub host: Option<String>,
}

impl Place {
    pub(super) fn taken_out(&self, text: &str) -> String {
        let others = [(&self.temporary, TEMPORARY), (&self.home, HOME)];
        let others = others.into_iter().filter_map(|(path, name)| Some((path.as_deref()?, name)));
        let mut paths: Vec<(&str, &str)> = std::iter::once((self.workspace.as_str(), WORKSPACE))
            .chain(others)
            .map(|(path, name)| (path.trim_end_matches('/'), name))
            // Everything begins with the root, and nothing with what is no path from there.
            .filter(|(path, _)| path.starts_with('/'))
            .collect();
        // The inner one first: what is left of it would be a path of the outer one.
        paths.sort_by_key(|(path, _)| Reverse(path.len()));
        let mut told = text.to_string();
        for (path, name) in paths {
            told = replaced(&told, path, name, |before, behind| begins(before) && ends(behind));
        }
        for host in self.host.iter().flat_map(|host| [host.as_str(), host.split('.').next().unwrap_or(host)])
        {
            if tells_a_host(host) {
                told = replaced(&told, host, HOST, |before, behind| {
                    !before.ends_with(is_of_host) && !behind.starts_with(is_of_host)
                });
            }
        }
        told
    }
}

/// The text with something else in the place of whatever fits, judged by what is before it and behind it.
fn replaced(text: &str, what: &str, by: &str, fits: impl Fn(&str, &str) -> bool) -> String {
    let mut told = String::with_capacity(text.len());
    let mut from = 0;
    for (at, found) in text.match_indices(what) {
        let end = at + found.len();
        if fits(&text[..at], &text[end..]) {
            told.push_str(&text[from..at]);
            told.push_str(by);
            from = end;
        }
    }
    told.push_str(&text[from..]);
    told
}

/// Whether a path begins behind this.
fn begins(before: &str) -> bool {
    // `file:///home`, and a flag with its path right behind it: `-I/home`.
    before.ends_with("://") || is_flag(before) || !before.ends_with(is_inside) && !is_taken_out(before)
}

fn is_flag(before: &str) -> bool {
    let Some(dash) = before.strip_suffix(|letter: char| letter.is_ascii_alphabetic()) else { return false };
    dash.strip_suffix('-').is_some_and(|rest| !rest.ends_with(is_inside))
}

/// What was taken out already is the beginning of this path.
fn is_taken_out(before: &str) -> bool {
    [WORKSPACE, HOME, TEMPORARY].iter().any(|name| before.ends_with(name))
}

/// Whether a path ends before this, or a part of it.
fn ends(behind: &str) -> bool {
    // A full stop ends a sentence, unless a name goes on behind it.
    let behind = behind.strip_prefix('.').unwrap_or(behind);
    !behind.starts_with(is_of_name)
}

fn is_of_name(letter: char) -> bool {
    letter.is_alphanumeric() || "._-~+@%".contains(letter)
}

/// What a path goes on behind: a name, or something that stands for one.
fn is_inside(letter: char) -> bool {
    is_of_name(letter) || "/*)]}$".contains(letter)
}

/// A host that is called like an ordinary word or a number is not looked for: where an output means the word, it would differ there and nowhere else.
fn tells_a_host(host: &str) -> bool {
    let is_telling = |letter: char| letter.is_ascii_digit() || letter == '-' || letter == '.';
    host.len() >= HOST_BYTES_MIN && host.contains(is_telling) && host.contains(char::is_alphabetic)
}

/// What a name of a host, or of a file that is called like one, goes on with.
fn is_of_host(letter: char) -> bool {
    letter.is_alphanumeric() || "_-/".contains(letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(workspace: &str) -> Place {
        Place { workspace: workspace.into(), ..Place::default() }
    }

    // covers: T-05
    #[test]
    fn a_path_is_taken_out_where_it_begins_one_and_nowhere_else() {
        let cases = [
            ("/src/crates/core/src/lib.rs:3", "<workspace>/crates/core/src/lib.rs:3"),
            ("crates/core/src/lib.rs:3", "crates/core/src/lib.rs:3"),
            (
                "./src/x ../src/x a-/src ~/src $(A)/src ${A}/src",
                "./src/x ../src/x a-/src ~/src $(A)/src ${A}/src",
            ),
            (
                "in /src. In /src, (/src) '/src' \"/src\" /src",
                "in <workspace>. In <workspace>, (<workspace>) '<workspace>' \"<workspace>\" <workspace>",
            ),
            ("/src-old /src2 /src.d/x /srcs /src@2", "/src-old /src2 /src.d/x /srcs /src@2"),
            ("/src/src/x PATH=/src/bin:/src/b", "<workspace>/src/x PATH=<workspace>/bin:<workspace>/b"),
            ("file:///src/x -I/src/include x-I/src", "file://<workspace>/x -I<workspace>/include x-I/src"),
        ];
        for (output, expected) in cases {
            assert_eq!(at("/src").taken_out(output), expected, "{output}");
        }
        for workspace in ["/", ""] {
            assert_eq!(at(workspace).taken_out("/a / b"), "/a / b", "the root is no place");
        }
    }

    // covers: T-05
    #[test]
    fn home_the_temporary_folder_and_the_host_are_taken_out_the_inner_path_first() {
        let here = Place {
            workspace: "/home/a/w".into(),
            home: Some("/home/a/".into()),
            temporary: Some("/home/a/w/.tmp".into()),
            host: Some("web-1.example.org".into()),
        };
        let cases = [
            ("/home/a/w/x /home/a/y /home/a/w/.tmp/z", "<workspace>/x <home>/y <temporary>/z"),
            ("on web-1: a@web-1 web-1.example.org", "on <host>: a@<host> <host>"),
            ("src/web-1/x web-10 my-web-1", "src/web-1/x web-10 my-web-1"),
        ];
        for (output, expected) in cases {
            assert_eq!(here.taken_out(output), expected, "{output}");
        }
        for word in ["test", "ci", "localhost", "a-1", "1000"] {
            let called = Place { host: Some(word.into()), ..at("/w") };
            let output = format!("{word} passed");
            assert_eq!(called.taken_out(&output), output);
        }
        let twice = Place { home: Some("/src".into()), ..at("/src") };
        assert_eq!(twice.taken_out("/src/src"), "<workspace>/src");
    }
}
