//! The step `extract`: the text of a document with its structure, whatever its type, in one [form](form::Extracted).
//!
//! A document comes from anywhere, so nothing it contains may take the process with it. Everything is bounded: what is too
//! much is a failure with a number, never half a text that looks whole. A parser runs on a thread of its own; if it
//! panics, that is the failure of this document.
//!
//! **A parser that runs away is left behind.** A thread can not be ended from outside, so when the run is over the step
//! ends at once and its thread goes on alone: our own loops look at `stop` with every block and page and end there, and one call
//! into a library goes on until its bounds end it. It holds its place among [`PARSERS_MAX`] until then, so that however
//! many documents do this there are never more such threads; nothing waits for them when the process ends.

mod form;
mod html;
mod json;
mod markdown;
mod pdf;
mod plain;
mod table;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::{Semaphore, oneshot, watch};

use super::builtin::{again, never, over, stopped};
use super::sniff::{self, sniff};
use super::step::{Document, Input, Step, StepFailed, Stepping};
use crate::time::within;
pub use form::{Block, Extracted, Kind};
use form::{Form, bounded};

/// As much as an upload may have.
pub const DOCUMENT_BYTES_MAX: usize = 64 << 20;
/// Of Markdown and JSON, which their parsers hold as a whole, in some ten times as many bytes.
pub const HELD_BYTES_MAX: usize = 16 << 20;
/// They use a processor each, and more at once are no faster; those left behind count.
pub const PARSERS_MAX: usize = 8;
/// Longer than a document should take, shorter than a run's window: the failure says what happened, a time-out would not.
const PLACE_WITHIN: Duration = Duration::from_secs(30);
/// Parsers that follow nested structures, as deep as their own bounds let them, need a few MiB without optimization.
const STACK_BYTES: usize = 16 << 20;

/// It can not be read as a text.
pub const NOT_TEXT: &str = "NOT_TEXT";
/// It needs a password.
pub const ENCRYPTED: &str = "ENCRYPTED";
/// It begins as what it is and is not.
pub const BROKEN: &str = "BROKEN";
/// It has more of something than is read.
pub const TOO_LARGE: &str = "TOO_LARGE";
/// There is nothing in it.
pub const EMPTY: &str = "EMPTY";

/// The step.
#[derive(Clone, Debug)]
pub struct Extract {
    places: Arc<Semaphore>,
}

impl Default for Extract {
    fn default() -> Extract {
        Extract { places: Arc::new(Semaphore::new(PARSERS_MAX)) }
    }
}

impl Extract {
    pub const NAME: &str = "extract";
}

impl Step for Extract {
    fn name(&self) -> &str {
        Extract::NAME
    }

    fn run(&self, input: Input) -> Stepping {
        let places = self.places.clone();
        Box::pin(async move {
            let stop = input.stop.clone();
            let parse = move || {
                let extracted = extract(&input.document, input.stop.clone())?;
                Ok(serde_json::to_value(extracted).expect("texts and numbers are JSON"))
            };
            tokio::select! {
                extracted = beside(places, parse) => extracted,
                () = stopped(stop) => Err(over()),
            }
        })
    }
}

/// Parses on a thread of its own.
async fn beside(
    places: Arc<Semaphore>,
    parse: impl FnOnce() -> Result<Value, StepFailed> + Send + 'static,
) -> Result<Value, StepFailed> {
    let place = match within(PLACE_WITHIN, places.acquire_owned()).await {
        Ok(place) => place.expect("it is never closed"),
        Err(_) => return Err(again("BUSY", format!("{PARSERS_MAX} other documents are still being read"))),
    };
    let (tell, told) = oneshot::channel();
    // Joined by nobody on purpose: see above.
    let thread = thread::Builder::new().name("extract".to_string()).stack_size(STACK_BYTES);
    let started = thread.spawn(move || {
        let parsed = catch_unwind(AssertUnwindSafe(parse));
        let parsed = parsed.unwrap_or_else(|_| Err(never(BROKEN, "the parser gave up on it")));
        drop(place);
        // Nobody listens any more if the run is over.
        let _ = tell.send(parsed);
    });
    started.map_err(|why| again("BUSY", format!("no thread for it: {why}")))?;
    told.await.unwrap_or_else(|_| Err(never(BROKEN, "the parser ended without a word")))
}

/// The text of a document with its structure.
pub fn extract(document: &Document, stop: watch::Receiver<bool>) -> Result<Extracted, StepFailed> {
    let bytes = &document.bytes[..];
    if bytes.trim_ascii().is_empty() {
        return Err(never(EMPTY, "there is nothing in it"));
    }
    // Whoever made the document sniffed it; a library's user may have written anything there.
    let media_type = sniff(bytes, &document.name);
    let most = match media_type {
        sniff::MARKDOWN | sniff::JSON => HELD_BYTES_MAX,
        _ => DOCUMENT_BYTES_MAX,
    };
    bounded(&format!("bytes of {media_type}"), bytes.len(), most)?;
    let mut form = Form::new(media_type, stop);
    match media_type {
        sniff::PDF => pdf::read(bytes, &mut form)?,
        _ => {
            let (text, charset) = sniff::text(bytes).ok_or_else(|| {
                never(NOT_TEXT, "its bytes are no text, and no type that text can be taken from")
            })?;
            form.note("charset", charset);
            match media_type {
                sniff::HTML => html::read(&text, &mut form)?,
                sniff::JSON => json::read(&text, &mut form)?,
                sniff::CSV => table::read(&text, &mut form)?,
                sniff::MARKDOWN => markdown::read(&text, &mut form)?,
                _ => plain::read(&text, &mut form)?,
            }
        }
    }
    form.end()
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[tokio::test]
    async fn a_parser_that_panics_fails_its_document_and_leaves_its_place() {
        let places = Arc::new(Semaphore::new(1));
        let why = beside(places.clone(), || panic!("an index out of bounds")).await.unwrap_err();
        assert_eq!((&why.code[..], why.permanent), (BROKEN, true));
        assert_eq!(beside(places, || Ok(Value::Null)).await, Ok(Value::Null));
    }

    #[tokio::test]
    async fn a_parser_that_runs_away_is_left_behind_and_keeps_its_place() {
        let places = Arc::new(Semaphore::new(2));
        let (release, held) = mpsc::channel::<()>();
        let (begin, begun) = oneshot::channel();
        let runs_away = beside(places.clone(), move || {
            begin.send(()).expect("somebody waits for it");
            // Until the other end is dropped.
            let _ = held.recv();
            Ok(Value::Null)
        });
        tokio::select! {
            _ = runs_away => panic!("it was not to end"),
            begun = begun => begun.unwrap(),
        }
        assert_eq!(places.available_permits(), 1);
        assert_eq!(beside(places.clone(), || Ok(Value::Null)).await, Ok(Value::Null));
        drop(release);
        let both = places.acquire_many(2).await;
        assert!(both.is_ok());
    }
}
