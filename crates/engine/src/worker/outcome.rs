//! What a handler gives: done, with what is to be committed; or failed, and how.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::str::FromStr;
use std::time::Duration;

use serde::Serialize;
use tenure_core::body::Body;
use tenure_core::id::ItemId;
use tenure_core::lifecycle::guard::Guard;
use tenure_core::request::{EffectMove, Effects, NewMessage, NewRecord};
use tenure_core::word::NotAWord;

use crate::tenure::New;

pub(super) type After = Box<dyn FnOnce() -> Pin<Box<dyn Future<Output = ()> + Send>> + Send>;

/// The work is prepared. All of this becomes real with the commit, once, or not at all.
#[derive(Default)]
pub struct Done {
    pub(super) output: Option<Body>,
    pub(crate) effects: Effects,
    pub(super) after: Option<After>,
    pub(super) attests: Vec<Guard>,
}

impl fmt::Debug for Done {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Done").field("output", &self.output).field("effects", &self.effects).finish()
    }
}

impl Done {
    /// With an output.
    pub fn with(output: &impl Serialize) -> Result<Done, Failure> {
        Ok(Done { output: Some(body(output)?), ..Done::default() })
    }

    /// A child: created with the commit.
    pub fn create(mut self, new: New) -> Result<Done, Failure> {
        let create = new.into_create().map_err(|error| Failure::permanent(error.to_string()))?;
        self.effects.creates.push(create);
        Ok(self)
    }

    /// A record of the item: append-only, its id follows from label and name.
    pub fn record(mut self, label: &str, name: &str, value: &impl Serialize) -> Result<Done, Failure> {
        self.effects.records.push(record(label, name, value)?);
        Ok(self)
    }

    /// Another item takes a plain event of its lifecycle, as this item's table allows.
    pub fn advance(mut self, item: ItemId, event: &str, reason: Option<&str>) -> Result<Done, Failure> {
        let reason = reason.map(str::to_string);
        self.effects.moves.push(EffectMove { item, event: word(event)?, reason });
        Ok(self)
    }

    /// A message: delivered after the commit, at least once, with a key that stays the same.
    pub fn message(mut self, label: &str, value: &impl Serialize) -> Result<Done, Failure> {
        self.effects.messages.push(NewMessage { label: word(label)?, body: body(value)? });
        Ok(self)
    }

    /// For the handler of a system: it has established this guard of the row that the commit takes.
    pub fn attest(mut self, guard: Guard) -> Done {
        self.attests.push(guard);
        self
    }

    /// Done after the commit, in this process, at most once: if it dies in between, never. What must happen is a message.
    pub fn after<F>(mut self, after: impl FnOnce() -> F + Send + 'static) -> Done
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.after = Some(Box::new(move || Box::pin(after())));
        self
    }
}

pub(super) fn body(value: &impl Serialize) -> Result<Body, Failure> {
    let bytes = serde_json::to_vec(value).map_err(|why| Failure::permanent(why.to_string()))?;
    Body::json(bytes).map_err(|problem| Failure::permanent(problem.detail.to_string()))
}

pub(super) fn record(label: &str, name: &str, value: &impl Serialize) -> Result<NewRecord, Failure> {
    Ok(NewRecord { label: word(label)?, name: word(name)?, body: body(value)? })
}

/// A slip of the handler's author: it will be one next time, too.
pub(super) fn word<T: FromStr<Err = NotAWord>>(text: &str) -> Result<T, Failure> {
    text.parse().map_err(|why: NotAWord| Failure::permanent(why.to_string()))
}

/// The work is not done. Any error is one that may be tried again; what is permanent or not yet due says so.
#[derive(Debug)]
pub struct Failure {
    pub(super) reason: String,
    pub(crate) how: How,
    refused: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum How {
    Retry(Option<Duration>),
    Permanent,
    Snooze(Duration),
    /// Not begun: it keeps its place in the queue.
    Return,
}

impl Failure {
    fn new(reason: impl Into<String>, how: How) -> Failure {
        Failure { reason: reason.into(), how, refused: false }
    }

    /// What was asked under the lease got a no that stays one.
    pub(super) fn refused(reason: impl Into<String>) -> Failure {
        Failure { refused: true, ..Failure::retry(reason) }
    }

    /// To be tried again, after the lifecycle's backoff.
    pub fn retry(reason: impl Into<String>) -> Failure {
        Failure::new(reason, How::Retry(None))
    }

    /// To be tried again, not before this long.
    pub fn retry_after(delay: Duration, reason: impl Into<String>) -> Failure {
        Failure::new(reason, How::Retry(Some(delay)))
    }

    /// Trying again is useless.
    pub fn permanent(reason: impl Into<String>) -> Failure {
        Failure::new(reason, How::Permanent)
    }

    /// Given back as it was: nothing of it was begun.
    pub(super) fn returned(reason: &str) -> Failure {
        Failure::new(reason, How::Return)
    }

    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// Of a record that was not kept: whether the same may be kept another time, as where the database was away. A no, as where the
    /// lease is lost, stays one.
    pub fn is_retryable(&self) -> bool {
        !self.refused && matches!(self.how, How::Retry(_))
    }

    /// Not yet: given back for a while. It costs no attempt.
    pub fn snooze(delay: Duration, reason: impl Into<String>) -> Failure {
        Failure::new(reason, How::Snooze(delay))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Failure {
        Failure::retry(error.to_string())
    }
}
