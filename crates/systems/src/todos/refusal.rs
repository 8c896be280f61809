//! Every no of the todos, with its code and what a program can use of it.

use serde_json::{Map, Value};
use tenure::core::answer::Answer;
use tenure::core::code::Code;

/// How one comes by a session. One that is dead would only be refused again, so it is forgotten first.
pub const ACQUIRE: &str = r#"unset TENURE_SESSION; eval "$(tenure session acquire)""#;

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
    Engine(#[from] tenure::Error),
    #[error("{}: {}", .0.code, .0.detail)]
    Refused(Box<Refusal>),
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
