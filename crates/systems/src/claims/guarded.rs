//! Decomposers, guarded: whatever one of them does, it is one claim that fails of it.
//!
//! A decomposer is somebody's code. It may wait for a network for ever, spin, or panic. So it runs in a thread that nothing else
//! needs, for so long and no longer, and a panic is a reason like any other.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tenure::databases::wait::caught;
use tokio::runtime::{Builder, Handle, Runtime};

use super::decompose::{Decomposer, NotDecomposed, Part, Statement};
use crate::time::within;

/// For a decomposer that does not say how long it needs. A text of some thousand words is taken apart in milliseconds.
const LIMIT: Duration = Duration::from_secs(45);
/// What waits is stopped at its limit; what spins is given up so much later.
const SLACK: Duration = Duration::from_secs(1);
/// More at once than any worker takes. One that spins for ever keeps its thread, and so many may do that.
const THREADS_MAX: usize = 256;

type Chosen = Arc<dyn Fn(&str) -> Arc<dyn Decomposer> + Send + Sync>;

/// Which decomposer a domain has, and how long it may take. Clones share their threads.
#[derive(Clone)]
pub struct Guarded {
    chosen: Chosen,
    /// None: as long as each of them says that it needs.
    limit: Option<Duration>,
    /// Started when they are needed first: most who hold this decompose nothing.
    threads: Arc<OnceLock<Result<Threads, NotStarted>>>,
}

impl fmt::Debug for Guarded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guarded").field("limit", &self.limit).finish_non_exhaustive()
    }
}

/// The threads of the decomposers could not be started.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("no threads for decomposers: {0}")]
pub struct NotStarted(String);

impl Guarded {
    pub fn new(chosen: impl Fn(&str) -> Arc<dyn Decomposer> + Send + Sync + 'static) -> Guarded {
        Guarded { chosen: Arc::new(chosen), limit: None, threads: Arc::default() }
    }

    /// One decomposer for every domain.
    pub fn one(decomposer: impl Decomposer) -> Guarded {
        let decomposer: Arc<dyn Decomposer> = Arc::new(decomposer);
        Guarded::new(move |_| decomposer.clone())
    }

    /// How long any decomposer may take for one claim, whatever it says itself.
    pub fn limit(self, limit: Duration) -> Guarded {
        Guarded { limit: Some(limit), ..self }
    }

    /// Where whoever uses decomposers can run too: nothing of the program's waits for it.
    pub(super) fn handle(&self) -> Result<Handle, NotStarted> {
        let threads =
            self.threads.get_or_init(|| Threads::start().map_err(|why| NotStarted(why.to_string())));
        threads.as_ref().map(Threads::handle).map_err(Clone::clone)
    }

    pub async fn decompose(&self, statement: Statement) -> Result<Vec<Part>, NotDecomposed> {
        let decomposer = (self.chosen)(&statement.domain);
        let limit = self.limit.or_else(|| decomposer.needs_at_most()).unwrap_or(LIMIT);
        let late = || NotDecomposed(format!("the decomposer did not answer within {limit:?}"));
        if decomposer.is_quick(statement.text.len()) {
            let decomposed = caught(async { decomposer.decompose(&statement).await }).await;
            return decomposed.unwrap_or_else(|words| Err(panicked(&words)));
        }
        let handle = self.handle().map_err(|why| NotDecomposed(why.to_string()))?;
        let inside = handle.clone();
        let run = move || inside.block_on(async { within(limit, decomposer.decompose(&statement)).await });
        match within(limit.saturating_add(SLACK), handle.spawn_blocking(run)).await {
            Ok(Ok(Ok(parts))) => parts,
            Ok(Ok(Err(_))) | Err(_) => Err(late()),
            Ok(Err(ended)) => Err(NotDecomposed(match ended.try_into_panic() {
                Ok(panic) => return Err(panicked(words(&*panic))),
                Err(_) => "the decomposer was stopped: its process ends".to_string(),
            })),
        }
    }
}

fn panicked(words: &str) -> NotDecomposed {
    NotDecomposed(format!("the decomposer panicked: {words}"))
}

fn words(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("without words")
}

/// Threads that nobody waits for when the process ends.
#[derive(Debug)]
struct Threads {
    /// None once it has ended.
    runtime: Option<Runtime>,
}

impl Threads {
    fn start() -> std::io::Result<Threads> {
        let mut builder = Builder::new_multi_thread();
        // One would do: what may block runs beside these.
        builder.worker_threads(2).max_blocking_threads(THREADS_MAX);
        Ok(Threads { runtime: Some(builder.thread_name("claims").enable_all().build()?) })
    }

    fn handle(&self) -> Handle {
        self.runtime.as_ref().expect("it ends when it is dropped").handle().clone()
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
