//! Every no of the todos, with its code and what a program can use of it.

use serde_json::{Map, Value};
use tenure::core::answer::Answer;
use tenure::core::code::Code;
use tenure::databases;

/// How one comes by a session. One that is dead would only be refused again, so it is forgotten first.
pub const ACQUIRE: &str = r#"unset TENURE_SESSION; eval "$(tenure session acquire)""#;

/// The same, for an agent of this name.
pub fn acquire_as(agent: &str) -> String {
    format!(r#"unset TENURE_SESSION; eval "$(tenure session acquire --agent {})""#, shell_word(agent))
}

/// As a shell takes it for one word.
fn shell_word(text: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.@:+".contains(letter);
    match text.chars().all(is_plain) {
        true => text.to_string(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

/// A no: what is wrong, and what to do.
#[derive(Clone, PartialEq, Debug)]
pub struct Refusal {
    pub code: Code,
    pub detail: String,
    /// What belongs to the code: `fix`, `failing`, `which`.
    pub more: Map<String, Value>,
}

impl Refusal {
    pub fn new(code: Code, detail: impl Into<String>) -> Refusal {
        Refusal { code, detail: detail.into(), more: Map::new() }
    }

    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Refusal {
        self.more.insert(name.to_string(), value.into());
        self
    }

    pub fn invalid(detail: impl Into<String>) -> Refusal {
        Refusal::new(Code::InvalidRequest, detail)
    }

    pub fn session(detail: impl Into<String>) -> Refusal {
        Refusal::new(Code::SessionRequired, detail).with("fix", ACQUIRE)
    }
}

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Engine(tenure::Error),
    #[error("{}: {}", .0.code, .0.detail)]
    Refused(Box<Refusal>),
}

/// A locked task list has the code of a check that a lock held up, whichever operation meets the lock.
impl From<tenure::Error> for Error {
    fn from(error: tenure::Error) -> Error {
        match error {
            tenure::Error::Database(databases::Error::Locked(reason)) => {
                let detail = format!("{reason}; nothing was changed; try again");
                Refusal::new(Code::ValidateTimeoutOrLock, detail).with("which", "lock").into()
            }
            error => Error::Engine(error),
        }
    }
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Error {
        Error::Refused(Box::new(refusal))
    }
}

/// A no of the kernel.
impl From<Answer> for Error {
    fn from(no: Answer) -> Error {
        Error::Engine(tenure::Error::Refused(Box::new(no)))
    }
}

impl Error {
    /// The stable code of a no. None: the world failed.
    pub fn code(&self) -> Option<Code> {
        match self {
            Error::Engine(error) => error.code(),
            Error::Refused(refusal) => Some(refusal.code.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_word_of_a_shell() {
        assert_eq!(["robo-2", "a b", "it's"].map(shell_word), ["robo-2", "'a b'", r"'it'\''s'"]);
    }
}
