//! What a decomposer is: it takes a text apart into small statements that can each be checked by themselves.

pub mod domains;
pub mod llm;
pub mod text;

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// What is to be taken apart.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Statement {
    pub domain: String,
    pub text: String,
}

/// One small statement, before it is kept. Its id follows from its claim and its key.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Part {
    /// Unique in its claim.
    pub key: String,
    /// Normalized: NFC, trimmed, dates as ISO 8601 has them, plain numbers.
    pub statement: String,
    pub expected_type: String,
}

/// Why a text was not taken apart. The claim fails with it.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct NotDecomposed(pub String);

pub type Decomposing<'a> = Pin<Box<dyn Future<Output = Result<Vec<Part>, NotDecomposed>> + Send + 'a>>;

pub trait Decomposer: Send + Sync + 'static {
    /// All parts, or none: half a set is no answer.
    fn decompose<'a>(&'a self, statement: &'a Statement) -> Decomposing<'a>;

    /// How long it may need for one claim, all its calls and waits together. None: it does not know, and is held to what is usual.
    fn needs_at_most(&self) -> Option<Duration> {
        None
    }

    /// It only computes, waits for nobody and is through with a text of this size sooner than a thread is woken. Then it needs none of
    /// its own, and nobody looks after its time.
    fn is_quick(&self, _text_bytes: usize) -> bool {
        false
    }
}
