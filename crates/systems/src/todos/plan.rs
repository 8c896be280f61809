//! A proof plan: the gates that a task must pass, as they are written, and in which version.
//!
//! A gate is one line: `cmd:`, `test:` and `build:` run a command, `file_exists:` and `file_hash:` look at a file of the
//! tree, `human:` waits for a person. `advisory` before it says that it is recorded and holds nothing up.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use tenure::core::hash::{Hash, NotAHash};

/// A plan that needs more checks than this wants a script that runs them.
pub const GATES_MAX: usize = 32;
/// A longer command belongs into a file of the tree.
pub const GATE_BYTES_MAX: usize = 2 << 10;
/// How an advisory gate begins.
const ADVISORY: &str = "advisory ";

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

    pub fn is_human(&self) -> bool {
        matches!(self.check, Check::Human(_))
    }
}

impl fmt::Display for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.weight == Weight::Advisory {
            f.write_str(ADVISORY)?;
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

const FORMS: &str = "write cmd:COMMAND, test:COMMAND, build:COMMAND, file_exists:PATH, file_hash:PATH=SHA256 or human:WHAT, with `advisory ` before it if it holds nothing up";

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
        Ok(Gate { check, weight })
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

/// The gates of a task. A changed plan is a new version; the old ones stay.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Plan {
    /// 1 for the one that the task was made with.
    pub version: u32,
    pub gates: Vec<Gate>,
}

impl Plan {
    /// The plan that a task is made with.
    pub fn first(gates: Vec<Gate>) -> Plan {
        Plan { version: 1, gates }
    }

    /// What makes two plans the same: their gates, in order.
    pub fn hash(&self) -> Hash {
        let gates: Vec<String> = self.gates.iter().map(ToString::to_string).collect();
        let gates: Vec<&[u8]> = gates.iter().map(String::as_bytes).collect();
        Hash::of_parts(&gates)
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
        assert!(format!("cmd:{}", "x".repeat(GATE_BYTES_MAX)).parse::<Gate>().is_err());
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
    fn a_plan_is_the_same_when_its_gates_are() {
        let plan = |gates: [&str; 2]| Plan::first(gates.map(|gate| gate.parse().unwrap()).to_vec());
        let (one, other) = (plan(["cmd:a", "cmd:b"]), plan(["cmd:b", "cmd:a"]));
        assert_ne!(one.hash(), other.hash());
        assert_eq!(one.hash(), Plan { version: 2, ..one.clone() }.hash());
    }
}
