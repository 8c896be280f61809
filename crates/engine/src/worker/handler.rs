//! What a handler is and what it gets.

use std::future::Future;
use std::pin::Pin;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tenure_core::answer::Answer;
use tenure_core::body::Body;
use tenure_core::id::{ExecutionId, ItemId};
use tenure_core::item::{Item, SharedItem};
use tenure_core::request::{Command, NewRecord, Progress, Request};
use tenure_core::trace::Trace;
use tenure_core::word::Label;
use tokio_util::sync::CancellationToken;

use super::lines::Said;
use super::outcome::{Done, Failure, record, word};
use super::runner::Asker;

/// Does the work of one item. It may be run again for the same item: what counts is what it returns, and only once.
pub trait Handler: Send + Sync + 'static {
    fn run(&self, job: Job) -> Pin<Box<dyn Future<Output = Result<Done, Failure>> + Send>>;
}

impl<F, Fut> Handler for F
where
    F: Fn(Job) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Done, Failure>> + Send + 'static,
{
    fn run(&self, job: Job) -> Pin<Box<dyn Future<Output = Result<Done, Failure>> + Send>> {
        Box::pin(self(job))
    }
}

/// One attempt at one item, held by this worker.
#[derive(Clone, Debug)]
pub struct Job {
    pub(super) item: SharedItem,
    pub(super) execution: ExecutionId,
    pub(super) payload: Option<Body>,
    pub(super) token: CancellationToken,
    pub(super) said: Said,
    pub(super) asker: Asker,
}

impl Job {
    pub fn id(&self) -> ItemId {
        self.item.id
    }

    pub fn item(&self) -> &Item {
        &self.item
    }

    pub fn execution(&self) -> ExecutionId {
        self.execution
    }

    /// Grows with every attempt and is never used twice.
    pub fn attempt(&self) -> u64 {
        self.execution.fence.0
    }

    /// The payload as a type. One that does not fit is a permanent failure: it will fit no better next time.
    pub fn payload<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        let bytes = self.payload.as_ref().map_or(&b"null"[..], Body::bytes);
        serde_json::from_slice(bytes).map_err(|why| Failure::permanent(format!("the payload: {why}")))
    }

    /// The trace that this is done for, as W3C Trace Context writes it: the parent of a span around the work.
    pub fn traceparent(&self) -> Option<&str> {
        self.item.trace.as_deref().map(Trace::parent)
    }

    /// What vendors have said of that trace.
    pub fn tracestate(&self) -> Option<&str> {
        self.item.trace.as_deref().and_then(Trace::state)
    }

    /// As it was created. None once erased.
    pub fn raw_payload(&self) -> Option<&[u8]> {
        self.payload.as_ref().map(Body::bytes)
    }

    /// Told to stop: somebody cancelled it, the lease is lost, or the worker drains. Whatever is done after a lost lease is
    /// thrown away.
    pub async fn cancelled(&self) {
        self.token.cancelled().await;
    }

    pub fn is_cancelled(&self) -> bool {
        self.token.is_cancelled()
    }

    /// Leaves a line about this attempt: for people, never output. The last hundred are kept with the attempt, whether it
    /// commits, fails or is given back; those of a process that is killed are lost.
    pub fn log(&self, line: impl AsRef<str>) {
        self.said.push(line.as_ref());
    }

    /// Keeps a record now, under the lease: visible at once, kept also when this attempt fails, never output.
    pub async fn progress(&self, label: &str, name: &str, value: &impl Serialize) -> Result<(), Failure> {
        self.append(Vec::new(), Vec::new(), record(label, name, value)?).await
    }

    /// As [`Job::progress`], where a step of the work begins. If this attempt ends before the step does, the lifecycle closes it
    /// (`close open steps`).
    pub async fn begin(
        &self,
        step: &str,
        label: &str,
        name: &str,
        value: &impl Serialize,
    ) -> Result<(), Failure> {
        self.append(vec![word(step)?], Vec::new(), record(label, name, value)?).await
    }

    /// As [`Job::progress`], where a step ends.
    pub async fn end(
        &self,
        step: &str,
        label: &str,
        name: &str,
        value: &impl Serialize,
    ) -> Result<(), Failure> {
        self.append(Vec::new(), vec![word(step)?], record(label, name, value)?).await
    }

    async fn append(&self, opens: Vec<Label>, closes: Vec<Label>, record: NewRecord) -> Result<(), Failure> {
        let progress = Progress { execution: self.execution, records: vec![record], opens, closes };
        let request = Request {
            store: self.item.store.clone(),
            actor: self.asker.actor.clone(),
            command: Command::Progress(progress),
        };
        match self.asker.gather.ask(request).await {
            Ok(reply) => match reply.answer {
                Answer::Done(_) | Answer::Same(_) | Answer::Ran(_) => Ok(()),
                no => Err(Failure::refused(format!("progress was refused: {no:?}"))),
            },
            Err(error) if error.is_retryable() => Err(Failure::retry(error.to_string())),
            Err(error) => Err(Failure::refused(error.to_string())),
        }
    }
}
