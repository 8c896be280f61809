//! A gate: a check that must pass, as it is written in one line.
//!
//! `cmd:`, `test:` and `build:` run a command, `file_exists:` and `file_hash:` look at a file of the tree, `human:` waits for a person.
//! `advisory` before it says that it is recorded and holds nothing up. A task's plan has any of them; a ticket has `cmd:`, `test:` and
//! `human:`, and none that is advisory.
//!
//! A gate of a task may declare the files and folders that its result depends on, as in `in[Cargo.toml,src] test:cargo test`. Written
//! back, they are sorted, so that equal declarations have one text.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use tenure::core::hash::{Hash, NotAHash};

/// A longer command belongs into a file of the tree.
pub const GATE_BYTES_MAX: usize = 2 << 10;
/// How an advisory gate begins.
const ADVISORY: &str = "advisory ";
/// How a declaration of paths begins and ends.
const IN: &str = "in[";
const END_OF_IN: char = ']';

/// What a gate looks at.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Check {
    Cmd(String),
    Test(String),
    Build(String),
    FileExists(String),
    FileHash {
        path: String,
        sha256: Hash,
    },
    /// What a person is asked to say yes to.
    Human(String),
}

/// Whether a gate that does not pass holds the task up.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Weight {
    Blocking,
    Advisory,
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Gate {
    pub check: Check,
    pub weight: Weight,
    /// The files and folders that its result depends on, from the root of the tree. None: the whole tree.
    pub paths: Option<BTreeSet<String>>,
}

impl Gate {
    pub fn is_blocking(&self) -> bool {
        self.weight == Weight::Blocking
    }

    /// The command that it runs in the workspace, if it runs one.
    pub fn command(&self) -> Option<&str> {
        match &self.check {
            Check::Cmd(command) | Check::Test(command) | Check::Build(command) => Some(command),
            Check::FileExists(_) | Check::FileHash { .. } | Check::Human(_) => None,
        }
    }

    /// The file that it looks at, if it looks at one.
    pub fn path(&self) -> Option<&str> {
        match &self.check {
            Check::FileExists(path) | Check::FileHash { path, .. } => Some(path),
            Check::Cmd(_) | Check::Test(_) | Check::Build(_) | Check::Human(_) => None,
        }
    }

    /// One of those that a ticket can have.
    pub fn of_ticket(text: &str) -> Result<Gate, NotAGate> {
        let fits = |gate: &Gate| {
            let has_form = gate.is_blocking() && gate.paths.is_none();
            has_form && matches!(gate.check, Check::Cmd(_) | Check::Test(_) | Check::Human(_))
        };
        match text.parse::<Gate>() {
            Ok(gate) if fits(&gate) => Ok(gate),
            Err(not) if not.why != FORMS => Err(not),
            Ok(_) | Err(_) => Err(NotAGate { gate: text.to_string(), why: FORMS_OF_TICKETS }),
        }
    }

    /// Whether a command is run for it.
    pub fn runs(&self) -> bool {
        matches!(self.check, Check::Cmd(_) | Check::Test(_) | Check::Build(_))
    }

    pub fn is_human(&self) -> bool {
        matches!(self.check, Check::Human(_))
    }
}

impl fmt::Display for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.weight == Weight::Advisory {
            f.write_str(ADVISORY)?;
        }
        if let Some(paths) = &self.paths {
            let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
            write!(f, "{IN}{}{END_OF_IN} ", paths.join(","))?;
        }
        match &self.check {
            Check::Cmd(command) => write!(f, "cmd:{command}"),
            Check::Test(command) => write!(f, "test:{command}"),
            Check::Build(command) => write!(f, "build:{command}"),
            Check::FileExists(path) => write!(f, "file_exists:{path}"),
            Check::FileHash { path, sha256 } => write!(f, "file_hash:{path}={sha256}"),
            Check::Human(what) => write!(f, "human:{what}"),
        }
    }
}

/// The text is no gate.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{gate:?} is no gate: {why}")]
pub struct NotAGate {
    pub gate: String,
    pub why: &'static str,
}

/// Whatever can be written.
const FORMS: &str = "write cmd:COMMAND, test:COMMAND, build:COMMAND, file_exists:PATH, file_hash:PATH=SHA256 or human:WHAT, with `advisory ` before it if it holds nothing up, and then `in[PATH,PATH] ` if it depends on these paths alone";
/// Whatever a ticket can have: its commands run in a copy of the repository, and all of them must pass.
const FORMS_OF_TICKETS: &str = "a ticket has cmd:COMMAND, test:COMMAND and human:WHAT";

impl FromStr for Gate {
    type Err = NotAGate;

    fn from_str(text: &str) -> Result<Gate, NotAGate> {
        let wrong = |why| NotAGate { gate: text.to_string(), why };
        if text.len() > GATE_BYTES_MAX {
            return Err(wrong("it is longer than 2 KiB; put the command into a file of the tree"));
        }
        if text.contains(['\n', '\r', '\0']) {
            return Err(wrong("it is one line"));
        }
        let (weight, rest) = match text.strip_prefix(ADVISORY) {
            Some(rest) => (Weight::Advisory, rest),
            None => (Weight::Blocking, text),
        };
        let (paths, rest) = declared(rest).map_err(wrong)?;
        let (sort, what) = rest.split_once(':').ok_or_else(|| wrong(FORMS))?;
        let what = what.trim();
        if what.is_empty() {
            return Err(wrong(FORMS));
        }
        let check = match sort.trim() {
            "cmd" => Check::Cmd(command(what).map_err(wrong)?),
            "test" => Check::Test(command(what).map_err(wrong)?),
            "build" => Check::Build(command(what).map_err(wrong)?),
            "file_exists" => Check::FileExists(inside(what).map_err(wrong)?),
            "file_hash" => {
                let (path, sha256) =
                    what.rsplit_once('=').ok_or_else(|| wrong("write file_hash:PATH=SHA256"))?;
                let sha256 =
                    sha256.parse().map_err(|NotAHash| wrong("the hash has 64 hexadecimal digits"))?;
                Check::FileHash { path: inside(path).map_err(wrong)?, sha256 }
            }
            "human" => Check::Human(what.to_string()),
            _ => return Err(wrong(FORMS)),
        };
        Ok(Gate { check, weight, paths })
    }
}

/// A gate never depends on the task that it decides: a command that moves tasks is none.
const MOVES: [&str; 8] = ["claim", "release", "done", "abandon", "depend", "attest", "next", "plan"];

fn command(text: &str) -> Result<String, &'static str> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let moves = words.windows(3).any(|words| match words {
        [program, "todo", verb] => program.ends_with("tenure") && MOVES.contains(verb),
        _ => false,
    });
    if moves {
        return Err("a gate that moves tasks would depend on what it decides");
    }
    Ok(text.to_string())
}

/// The paths that a gate declares, and the rest of its text.
fn declared(text: &str) -> Result<(Option<BTreeSet<String>>, &str), &'static str> {
    let Some(after) = text.strip_prefix(IN) else { return Ok((None, text)) };
    let (paths, rest) = after
        .split_once(END_OF_IN)
        .ok_or("write the declared paths as in `in[Cargo.toml,src] cmd:COMMAND`")?;
    let paths = paths.split(',').map(declared_path).collect::<Result<_, _>>()?;
    Ok((Some(paths), rest.trim_start()))
}

/// A file or a folder; a folder may end with `/`.
fn declared_path(text: &str) -> Result<String, &'static str> {
    let path = text.trim();
    let path = path.strip_suffix('/').unwrap_or(path);
    if path.contains(['*', '?', '[']) {
        return Err("a declared path is a file or a folder, without wildcards");
    }
    match path.split('/').any(|part| part.is_empty() || part == ".") {
        true => Err(
            "a declared path begins at the root of the tree, as in `src` or `docs/a.md`; for the whole tree declare none",
        ),
        false => inside(path),
    }
}

/// A path of the tree: the same file on every machine.
fn inside(path: &str) -> Result<String, &'static str> {
    let leaves = path.split('/').any(|part| part == "..");
    match path.starts_with(['/', '~']) || leaves || path.is_empty() {
        true => Err("the path begins at the root of the tree and stays inside"),
        false => Ok(path.to_string()),
    }
}

impl Serialize for Gate {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Gate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Gate, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // covers: T-04
    #[test]
    fn every_gate_is_read_as_it_is_written() {
        let hash = Hash::of(b"x");
        for text in [
            "cmd:make lint".to_string(),
            "test:cargo test -p core".into(),
            "advisory build:make".into(),
            "file_exists:docs/a b.md".into(),
            format!("file_hash:a=b.txt={hash}"),
            "human:the wording is kind: yes".into(),
            "in[src] cmd:make lint".into(),
            "advisory in[Cargo.toml,a b/c,src] cmd:echo in[x] a]".into(),
            "in[docs] human:reads well".into(),
        ] {
            let gate: Gate = text.parse().unwrap();
            assert_eq!(gate.to_string(), text);
            assert_eq!(gate.is_blocking(), !text.starts_with("advisory"), "{text}");
        }
        let bad =
            ["", "cmd:", "lint", "shell:x", "file_exists:/etc/passwd", "file_exists:../x", "file_hash:a"];
        for text in bad.into_iter().chain(["cmd:a\nb", "file_hash:a=12", "advisorycmd:x"]) {
            assert!(text.parse::<Gate>().is_err(), "{text}");
        }
        for declared in ["", " ", ".", "./src", "/src", "../src", "a//b", "src,", "src/*.rs", "~/a"] {
            assert!(format!("in[{declared}] cmd:x").parse::<Gate>().is_err(), "{declared:?}");
        }
        for text in ["in[src cmd:x", "in[src]", "in[src] x", "in[a] in[b] cmd:x", "in[a] advisory cmd:x"] {
            assert!(text.parse::<Gate>().is_err(), "{text}");
        }
        assert!(format!("cmd:{}", "x".repeat(GATE_BYTES_MAX)).parse::<Gate>().is_err());
    }

    // covers: T-05
    #[test]
    fn equal_declarations_of_paths_have_one_text() {
        for text in ["in[src,a.md] cmd:x", "in[a.md, src/ ] cmd:x", "in[ src,a.md,src]cmd: x"] {
            assert_eq!(text.parse::<Gate>().unwrap().to_string(), "in[a.md,src] cmd:x", "{text}");
        }
    }

    // covers: T-11
    #[test]
    fn a_gate_that_decides_tasks_is_none() {
        for text in
            ["cmd:tenure todo done 01", "test:x && ./bin/tenure todo claim ID", "build:tenure todo next"]
        {
            assert!(text.parse::<Gate>().is_err(), "{text}");
        }
        assert!("cmd:tenure todo list".parse::<Gate>().is_ok(), "looking moves nothing");
    }

    #[test]
    fn a_ticket_has_commands_and_questions() {
        for text in ["cmd:make lint", "test:cargo test", "human:is it red: yes?"] {
            assert_eq!(Gate::of_ticket(text).unwrap().to_string(), text);
        }
        let why = |text: &str| Gate::of_ticket(text).unwrap_err().why;
        for text in ["rm -rf", "build:make", "file_exists:a", "advisory cmd:make", "in[a] cmd:make", "cmd:"] {
            assert_eq!(why(text), FORMS_OF_TICKETS, "{text}");
        }
        assert_eq!(why("cmd:a\nb"), "it is one line", "as everywhere");
    }
}
