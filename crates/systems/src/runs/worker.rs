//! One run: its steps in order, each with its attempts, within its window.
//!
//! Every beginning and every end of an attempt is a record that is written under the lease, so whoever has lost the run writes nothing
//! more of it. A step runs on a thread of its own: one that blocks, or does not listen when it is told to stop, costs that thread and
//! delays nobody.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use tenure::core::actor::{Actor, Role};
use tenure::core::body::Body;
use tenure::core::hash::Hash;
use tenure::core::word::{Label, Store};
use tenure::databases::Whole;
use tenure::databases::wait::caught;
use tenure::{Done, Error, Failure, Job, Tenure};
use tokio::runtime::Handle;
use tokio::sync::watch;

use super::files::{ARTIFACT_BYTES_MAX, Files};
use super::history::{ARTIFACT, DocumentFacts, RunFacts, STEP, StepEvent, StepSaid, TIMED_OUT};
use super::library::Library;
use super::pipeline::Pipeline;
use super::step::{Document, Input, Step, StepFailed};
use crate::time::{pause, within};

/// One try and one more: what fails twice in a row fails a third time.
pub const STEP_ATTEMPTS: u32 = 2;
/// What a step made is kept in its record up to this size, and in a file beyond. With the most steps there are a commit is still small.
const INLINE_BYTES_MAX: usize = 64 << 10;
/// Of what a step says when it fails. A page is enough for people.
const DETAILS_BYTES_MAX: usize = 4 << 10;
/// A database that is away is asked again so soon, until it answers: a run that has lost its lease or whose window is over is
/// stopped, wherever it is. So a moment without it fails no run.
const ASK_AGAIN: Duration = Duration::from_millis(250);
/// The database ends a run whose window is over within a second or so. Nobody waits longer than this for it.
const ENDED_BY: Duration = Duration::from_secs(30);

const ERASED: &str = "CONTENT_MISSING: what was kept of the document was erased";

/// What is kept of what a step made.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Made {
    pub size: u64,
    pub sha256: Hash,
    /// None: it is in a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Box<RawValue>>,
}

/// What takes runs through their steps.
pub(super) struct Worker {
    pub tenure: Tenure,
    pub library: Library,
    pub pipeline: Pipeline,
    /// Where steps run.
    pub threads: Handle,
}

/// Tells a step to stop, at the latest when the run is let go of.
struct Told(watch::Sender<bool>);

impl Drop for Told {
    fn drop(&mut self) {
        self.0.send_replace(true);
    }
}

impl Worker {
    pub async fn run(self: Arc<Worker>, job: Job) -> Result<Done, Failure> {
        let (stop, stopped) = watch::channel(false);
        let told = Told(stop);
        let lease = job.item().lease.as_ref();
        let window = lease.and_then(|lease| Some(lease.window_ends?.since(lease.since)));
        let steps = self.steps(&job, stopped);
        let Some(window) = window else { return steps.await };
        match within(window, steps).await {
            Ok(done) => done,
            Err(_) => {
                drop(told);
                // The database's clock says when it is over. Until then the run is not free for others, and this place neither.
                let _ = self.reading(job.item().store.clone())?.wait(job.id(), ENDED_BY).await;
                Err(Failure::permanent(format!("{TIMED_OUT}: its window of {} s passed", window.as_secs())))
            }
        }
    }

    fn reading(&self, store: Store) -> Result<Tenure, Failure> {
        Ok(self.tenure.acting(store, Actor::new(Role::Api, "runs".parse()?)))
    }

    async fn steps(&self, job: &Job, stop: watch::Receiver<bool>) -> Result<Done, Failure> {
        let document = Arc::new(self.document(job).await?);
        let mut made: Arc<BTreeMap<String, Value>> = Arc::default();
        let mut done = Done::with(&self.pipeline.steps().map(|(name, _)| &**name).collect::<Vec<_>>())?;
        let mut note: Option<PathBuf> = None;
        for (name, step) in self.pipeline.steps() {
            let input = Input { document: document.clone(), made: made.clone(), stop: stop.clone() };
            let (value, text) = self.attempts(job, name, step, &input).await?;
            drop(input);
            let (record, kept) = self.kept(job, name, text).await?;
            note = kept.or(note);
            done = done.record(ARTIFACT, name, &record)?;
            Arc::make_mut(&mut made).insert(name.to_string(), value);
        }
        // Erased meanwhile, it must not come back as what was made of it.
        if self.found(job, &document.id).await?.item.erased {
            return Err(Failure::permanent(ERASED));
        }
        Ok(match note {
            Some(note) => done.after(|| Files::artifacts_are_referred_to(note)),
            None => done,
        })
    }

    /// The document, read when its run begins: while runs wait nothing of them is in memory.
    async fn document(&self, job: &Job) -> Result<Document, Failure> {
        let RunFacts { document_id } = job.payload()?;
        let (whole, store) = (self.found(job, &document_id).await?, &job.item().store);
        let erased = || Failure::permanent(ERASED);
        let facts: DocumentFacts = serde_json::from_slice(whole.payload.ok_or_else(erased)?.bytes())
            .map_err(|why| Failure::permanent(format!("DOCUMENT_MISSING: this is no document: {why}")))?;
        let read = self.library.files.read(store, facts.sha256, facts.size).await;
        let bytes = read.map_err(|why| Failure::permanent(format!("{}: {why}", why.code())))?;
        Ok(Document { id: document_id, name: facts.name, media_type: facts.media_type, bytes })
    }

    /// The entry of a run's document.
    async fn found(&self, job: &Job, document: &str) -> Result<Whole, Failure> {
        let missing = || Failure::permanent(format!("DOCUMENT_MISSING: there is no document {document}"));
        let id = document.parse().map_err(|_| missing())?;
        let reading = self.reading(job.item().store.clone())?;
        match until_answered(|| reading.whole(id), Error::is_retryable).await {
            Ok(whole) if whole.item.table.kind.as_str() == super::DOCUMENT => Ok(whole),
            Ok(_) | Err(Error::NotFound(_)) => Err(missing()),
            Err(error) => Err(Failure::permanent(format!("DATABASE_UNAVAILABLE: {error}"))),
        }
    }

    /// What the step made, and the same as text.
    async fn attempts(
        &self,
        job: &Job,
        name: &Label,
        step: &Arc<dyn Step>,
        input: &Input,
    ) -> Result<(Value, String), Failure> {
        let mut attempt = 1;
        loop {
            let begun = Attempt { job, name, attempt };
            if attempt > 1 {
                begun.write(StepEvent::Retried, "RETRIED", None).await?;
            }
            begun.write(StepEvent::Started, "RUNNING", None).await?;
            let failed = match self.attempt(step, input).await {
                Ok(made) => {
                    begun.write(StepEvent::Succeeded, "SUCCEEDED", None).await?;
                    return Ok(made);
                }
                Err(failed) => failed,
            };
            begun.write(StepEvent::Failed, "FAILED", Some(&failed)).await?;
            if failed.permanent || attempt >= STEP_ATTEMPTS {
                let StepFailed { code, details, .. } = &failed;
                return Err(Failure::permanent(format!("{code}: step {name}: {details}")));
            }
            attempt += 1;
        }
    }

    async fn attempt(&self, step: &Arc<dyn Step>, input: &Input) -> Result<(Value, String), StepFailed> {
        let (step, input, threads) = (step.clone(), input.clone(), self.threads.clone());
        let mut stop = input.stop.clone();
        let ran = self.threads.spawn_blocking(move || {
            threads.block_on(async move {
                let work = caught(async { step.run(input).await });
                tokio::select! {
                    done = work => done,
                    _ = stop.wait_for(|stop| *stop) => Ok(Err(failed("STOPPED", "the run is over"))),
                }
            })
        });
        let panicked = |words: String| failed("STEP_PANICKED", words);
        let value = match ran.await {
            Ok(Ok(value)) => value?,
            Ok(Err(panic)) => return Err(panicked(panic)),
            Err(ended) => return Err(panicked(ended.to_string())),
        };
        let text = serde_json::to_string(&value).map_err(|why| failed("NOT_JSON", why.to_string()))?;
        match text.len() as u64 > ARTIFACT_BYTES_MAX {
            false => Ok((value, text)),
            true => Err(StepFailed {
                permanent: true,
                ..failed("ARTIFACT_TOO_LARGE", format!("{} bytes; at most {ARTIFACT_BYTES_MAX}", text.len()))
            }),
        }
    }

    /// What the record says; and the note of its file, where it has one.
    async fn kept(&self, job: &Job, name: &Label, text: String) -> Result<(Made, Option<PathBuf>), Failure> {
        let (size, sha256) = (text.len() as u64, Hash::of(text.as_bytes()));
        if text.len() <= INLINE_BYTES_MAX {
            let value = Some(RawValue::from_string(text.clone())?);
            let made = Made { size, sha256, value };
            // What is nested too deeply for a record is kept as what is too long is.
            if Body::json(serde_json::to_vec(&made)?).is_ok() {
                return Ok((made, None));
            }
        }
        let store = &job.item().store;
        let note = self.library.files.keep_artifact(store, job.id(), name, text.into_bytes()).await;
        let note = note.map_err(|why| Failure::permanent(format!("ARTIFACT_NOT_WRITTEN: {why}")))?;
        Ok((Made { size, sha256, value: None }, Some(note)))
    }
}

/// One attempt at one step.
struct Attempt<'a> {
    job: &'a Job,
    name: &'a Label,
    attempt: u32,
}

impl Attempt<'_> {
    /// Writes what happened, under the lease.
    async fn write(
        &self,
        event: StepEvent,
        status: &str,
        failed: Option<&StepFailed>,
    ) -> Result<(), Failure> {
        let said = StepSaid {
            name: self.name.to_string(),
            status: status.to_string(),
            attempt: self.attempt,
            error_code: failed.map(|failed| failed.code.clone()),
            details: failed.map(|failed| beginning(&failed.details).to_string()),
        };
        let record = event.record(self.name, self.attempt);
        // Written twice it is the same record.
        let write = || async {
            match event {
                StepEvent::Started => self.job.begin(self.name, STEP, &record, &said).await,
                StepEvent::Succeeded | StepEvent::Failed => {
                    self.job.end(self.name, STEP, &record, &said).await
                }
                StepEvent::Retried => self.job.progress(STEP, &record, &said).await,
            }
        };
        let written = until_answered(write, Failure::is_retryable).await;
        written.map_err(|why| Failure::permanent(format!("STEP_NOT_RECORDED: {why}")))
    }
}

/// Asks until there is an answer, or one that stays the same.
async fn until_answered<T, E, F: Future<Output = Result<T, E>>>(
    ask: impl Fn() -> F,
    is_retryable: impl Fn(&E) -> bool,
) -> Result<T, E> {
    loop {
        match ask().await {
            Err(why) if is_retryable(&why) => pause(ASK_AGAIN).await,
            answered => return answered,
        }
    }
}

fn failed(code: &str, details: impl Into<String>) -> StepFailed {
    StepFailed { code: code.to_string(), details: details.into(), permanent: false }
}

fn beginning(text: &str) -> &str {
    let end = (0..=text.len().min(DETAILS_BYTES_MAX)).rev().find(|end| text.is_char_boundary(*end));
    &text[..end.unwrap_or(0)]
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    // covers: R-06, K-53
    #[tokio::test]
    async fn who_is_away_is_asked_until_there_is_an_answer_and_a_no_is_one() {
        for (times, last) in [(3, Ok("here")), (0, Err("no")), (2, Err("no"))] {
            let asked = Cell::new(0);
            let ask = || {
                asked.set(asked.get() + 1);
                std::future::ready(if asked.get() <= times { Err("away") } else { last })
            };
            assert_eq!(until_answered(ask, |why| *why == "away").await, last);
            assert_eq!(asked.get(), times + 1);
        }
    }
}
