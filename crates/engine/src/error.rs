//! What can go wrong for who embeds Tenure, in words that say what to do.

use tenure_core::answer::Answer;
use tenure_core::code::Code;
use tenure_databases::{postgres, sqlite, url::NotAUrl};

/// The database was not opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error(transparent)]
    Address(#[from] NotAUrl),
    #[error(transparent)]
    Sqlite(#[from] sqlite::OpenError),
    #[error(transparent)]
    Postgres(#[from] postgres::OpenError),
    #[error("the engine's own threads could not be started: {0}")]
    Threads(#[from] std::io::Error),
    #[error("{0}")]
    Word(#[from] tenure_core::word::NotAWord),
}

/// A request was not done.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The world failed, not the request; nothing is half-written.
    #[error(transparent)]
    Database(#[from] tenure_databases::Error),
    /// The request was answered with a no.
    #[error("{}", words(.0))]
    Refused(Box<Answer>),
    #[error("{0}")]
    Word(#[from] tenure_core::word::NotAWord),
    #[error("this is no JSON that can be kept: {0}")]
    Json(String),
    #[error("there is no item {0} in this store")]
    NotFound(tenure_core::id::ItemId),
    #[error("this is no schedule: {0}")]
    Schedule(String),
    #[error("this is no webhook: {0}")]
    Webhook(String),
    /// What stands for a name is another than what was asked for.
    #[error("{name:?} is the name of another {kind}, {item}: remove that one first, or use another name")]
    Taken { kind: tenure_core::word::Kind, name: tenure_core::word::Key, item: tenure_core::id::ItemId },
    #[error("no {kind} is named {name:?} in this store")]
    NoSuchName { kind: tenure_core::word::Kind, name: String },
    /// It goes on; only the waiting has ended.
    #[error("item {0} has not come to rest in time; it goes on, and can be waited for again")]
    StillOpen(tenure_core::id::ItemId),
    /// The kind is paused; only the waiting has ended.
    #[error("{0} of the kind are still held; no more are leased, and a drain can be asked for again")]
    StillRunning(u32),
}

impl Error {
    /// The stable code of a no.
    pub fn code(&self) -> Option<Code> {
        match self {
            Error::Refused(answer) => answer.code(),
            Error::NotFound(_) => Some(Code::NotFound),
            Error::Taken { .. } => Some(Code::IdempotencyConflict),
            _ => None,
        }
    }

    /// Repeating the same request may help.
    pub fn is_retryable(&self) -> bool {
        matches!(self, Error::Database(error) if error.is_retryable())
    }
}

pub(crate) fn words(answer: &Answer) -> String {
    let code = answer.code().map(|code| code.to_string()).unwrap_or_default();
    match answer {
        Answer::LeaseLost(why) | Answer::NotFound(why) => format!("{code}: {why}"),
        Answer::Invalid(problem) => format!("{code}: {}", problem.detail),
        Answer::Refused(refusal) => format!("{code}: {}", refusal.problem.detail),
        Answer::Held { item, owner, until } => format!("{code}: {owner} holds item {item} until {until}"),
        Answer::Limited(held) => format!("{code}: {held}"),
        Answer::Conflict { name, item } => {
            format!("{code}: the idempotency key {name} was used for another request, which made item {item}")
        }
        other => format!("{code}: {other:?}"),
    }
}
