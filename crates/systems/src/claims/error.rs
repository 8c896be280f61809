//! A no of this system, beside those of the engine.

use std::fmt::Display;

use tenure::core::answer::Answer;
use tenure::core::code::{Code, Problem};
use tenure::core::item::Item;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Engine(#[from] tenure::Error),
    /// The operation says no, before the engine is asked.
    #[error("{0}")]
    No(Problem),
}

impl Error {
    /// The stable code of a no.
    pub fn code(&self) -> Option<Code> {
        match self {
            Error::Engine(error) => error.code(),
            Error::No(problem) => Some(problem.code.clone()),
        }
    }

    /// Repeating the same request may help.
    pub fn is_retryable(&self) -> bool {
        matches!(self, Error::Engine(error) if error.is_retryable())
    }

    pub(super) fn invalid(detail: impl Into<String>) -> Error {
        Error::No(Problem::invalid(detail))
    }

    pub(super) fn none(kind: &str, id: impl Display) -> Error {
        Error::No(Problem::new(Code::NotFound, format!("there is no {kind} {id} in this store")))
    }

    pub(super) fn not_decomposed(claim: &Item) -> Error {
        let detail = format!("claim {} is {} and has no TruthBits yet", claim.id, claim.state_name());
        Error::No(Problem::new(Code::NotDecomposed, detail))
    }

    pub(super) fn forbidden(detail: impl Into<String>) -> Error {
        Error::No(Problem::new(Code::Forbidden, detail))
    }

    pub(super) fn lease_lost(detail: impl Into<String>) -> Error {
        Error::refused(Answer::LeaseLost(detail.into()))
    }

    pub(super) fn refused(answer: Answer) -> Error {
        Error::Engine(tenure::Error::Refused(Box::new(answer)))
    }
}

impl From<Problem> for Error {
    fn from(problem: Problem) -> Error {
        Error::No(problem)
    }
}

impl From<tenure::core::word::NotAWord> for Error {
    fn from(not: tenure::core::word::NotAWord) -> Error {
        Error::invalid(not.to_string())
    }
}
