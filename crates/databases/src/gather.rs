//! Group commit: callers that come at the same time share a transaction, and each gets its own durable answer.
//!
//! ```text
//! ask ─▶ queue ─▶ a writer takes all that waits, up to a batch ─▶ batch::run ─▶ answers, each to its caller
//!                 └─ meanwhile the next batch collects: there is no timer and nobody waits for company ─┘
//! ```
//!
//! Whoever waits for work stands beside the queue (`standing.rs`) and is put into the batch that makes some.
//!
//! Nobody is answered before the commit. A caller who stops waiting disturbs nobody: what a writer has begun is
//! finished, what it has not begun is dropped. A bug that panics while a batch is decided costs the request that has it
//! and no other: the transaction is rolled back, the batch halved, and the writer goes on.
//!
//! What outlives a call is started here and nowhere else in this crate. What is asked is decided in `batch.rs`.

mod call;
mod measures;
mod shield;
mod size;
mod standing;
mod writer;

use std::sync::Arc;
use std::thread::JoinHandle;

use tenure_core::request::{Command, Request};
use tokio::sync::{Semaphore, oneshot, watch};
use tokio::task::yield_now;

use crate::batch::{BATCH_MAX, Reply};
use crate::measure::Since;
use crate::memory::Memory;
use crate::postgres::Postgres;
use crate::sqlite::Sqlite;
use crate::wait::block_on;
use crate::{Database, Error};
use call::{Call, Inlet, split};
use writer::Writer;

pub use measures::Measures;
pub use size::bytes;
pub use standing::Standing;

/// What one batch loads and writes is held in memory, once here and once in the database: so much is still quick.
pub const BATCH_BYTES_MAX: usize = 4 << 20;
/// Eight batches: enough that a writer never waits for callers, little enough that the last in the queue is answered
/// within a second on a slow disk.
pub const QUEUE_MAX: usize = 8 * BATCH_MAX;

/// Microseconds: a commit of one row on a quick disk takes less, and who waits longer sleeps.
const AWAKE: u64 = 300;

/// Who runs the batches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Writers {
    /// One thread of its own: for a database that writes one batch after another and blocks while it does, as SQLite.
    Thread,
    /// So many tasks on the present tokio runtime: for a database that is waited for and that takes several batches at
    /// once, as PostgreSQL.
    Tasks(usize),
}

impl Writers {
    /// While one batch of PostgreSQL's syncs, another is decided. A third would contend with both for the same rows.
    pub const TASKS: Writers = Writers::Tasks(2);
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    pub writers: Writers,
    pub batch_max: usize,
    pub batch_bytes_max: usize,
    /// Requests that wait at most; a large one counts as several. When it is full callers wait before it.
    pub queue_max: usize,
    /// Ids are drawn from it. Unlike any other, wherever else something writes to the same database.
    pub seed: u64,
}

impl Options {
    pub fn new(writers: Writers, seed: u64) -> Options {
        let (batch_max, batch_bytes_max) = (BATCH_MAX, BATCH_BYTES_MAX);
        Options { writers, batch_max, batch_bytes_max, queue_max: QUEUE_MAX, seed }
    }
}

/// A handle to ask with. Clones share the queue and the writers. When the last one is dropped, what was asked is still
/// answered, then the writers end; a thread is joined by that drop. Who is on a runtime calls [`Gather::close`].
#[derive(Clone, Debug)]
pub struct Gather {
    // Dropped before `end`, or the writers would never learn that nobody asks any more.
    callers: Arc<Callers>,
    /// The room in the queue; a waiting call holds its share of it.
    room: Arc<Semaphore>,
    options: Options,
    measures: Arc<Measures>,
    end: Arc<End>,
}

/// Shared by all handles: the last one closes the queue.
#[derive(Debug)]
struct Callers(Arc<Inlet>);

impl Drop for Callers {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// Shared by all writers: when the last one is gone, also because its runtime is, nobody waits for an answer.
#[derive(Debug)]
struct Turns(Arc<Inlet>);

impl Drop for Turns {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// What must happen after the last handle is gone.
#[derive(Debug)]
struct End {
    thread: Option<JoinHandle<()>>,
    /// Every writer has the other side for as long as it lives.
    writers: watch::Sender<()>,
}

impl Drop for End {
    fn drop(&mut self) {
        if let Some(thread) = self.thread.take() {
            // It catches what its batches panic with, so it has ended as it should.
            let _ = thread.join();
        }
    }
}

impl Gather {
    /// Starts the writers. [`Writers::Tasks`] needs a tokio runtime around the call.
    pub fn start<D: Database + 'static>(database: Arc<D>, options: Options) -> Gather {
        assert!(options.batch_max > 0 && options.queue_max > 0, "a batch and a queue hold something");
        assert!(
            options.batch_max <= usize::from(u16::MAX),
            "a request's number in its batch is part of its ids"
        );
        let inlet = Arc::new(Inlet::new(&options));
        let callers = Arc::new(Callers(inlet.clone()));
        let turns = Arc::new(Turns(inlet));
        let (writers, alive) = watch::channel(());
        let measures = Arc::new(Measures::default());
        let writer = |number: u64| {
            let (database, turns, alive) = (database.clone(), turns.clone(), alive.clone());
            Writer::new(database, turns, options.seed, number, alive).measured(measures.clone())
        };
        let thread = match options.writers {
            Writers::Thread => Some(start_thread(writer(0))),
            Writers::Tasks(count) => {
                assert!(count > 0, "somebody writes");
                (0..count as u64).for_each(|number| start_task(writer(number)));
                None
            }
        };
        let room = Arc::new(Semaphore::new(options.queue_max));
        Gather { callers, room, options, measures, end: Arc::new(End { thread, writers }) }
    }

    /// The writers of a memory, built here and not in every crate that starts some.
    pub fn of_memory(database: Arc<Memory>, seed: u64) -> Gather {
        Gather::start(database, Options::new(Writers::Tasks(1), seed))
    }

    pub fn of_sqlite(database: Arc<Sqlite>, seed: u64) -> Gather {
        Gather::start(database, Options::new(Writers::Thread, seed))
    }

    pub fn of_postgres(database: Arc<Postgres>, seed: u64) -> Gather {
        Gather::start(database, Options::new(Writers::TASKS, seed))
    }

    /// Asks for one thing. Answers when it is durable, waits while the queue is full.
    pub async fn ask(&self, request: Request) -> Result<Reply, Error> {
        only(self.call(vec![request]).await)
    }

    /// As [`Gather::ask`], for a thread that may wait.
    pub fn ask_blocking(&self, request: Request) -> Result<Reply, Error> {
        block_on(self.ask(request))
    }

    /// As [`Gather::ask`]; a full queue is answered with [`Error::Unavailable`] at once.
    pub async fn try_ask(&self, request: Request) -> Result<Reply, Error> {
        only(self.try_call(vec![request]).await)
    }

    /// As [`Gather::ask_all`]; what a full queue has no room for is answered with [`Error::Unavailable`] at once.
    pub async fn try_ask_all(&self, requests: Vec<Request>) -> Vec<Result<Reply, Error>> {
        let mut replies = Vec::with_capacity(requests.len());
        for part in split(requests, &self.options) {
            replies.extend(self.try_call(part).await);
        }
        replies
    }

    async fn try_call(&self, requests: Vec<Request>) -> Replies {
        match self.room.clone().try_acquire_many_owned(self.share(&requests)) {
            Ok(room) => self.send(Call::new(requests, Some(room))).await,
            Err(_) => {
                let full = || Err(Error::Unavailable("too many requests wait already".to_string()));
                requests.iter().map(|_| full()).collect()
            }
        }
    }

    /// Asks for many things that stay together and in order. What is more than a batch is written in several
    /// transactions, one after the other: of a caller who stops waiting the later ones are not begun.
    pub async fn ask_all(&self, requests: Vec<Request>) -> Vec<Result<Reply, Error>> {
        let mut replies = Vec::with_capacity(requests.len());
        for part in split(requests, &self.options) {
            replies.extend(self.call(part).await);
        }
        replies
    }

    /// As [`Gather::ask_all`], for a thread that may wait.
    pub fn ask_all_blocking(&self, requests: Vec<Request>) -> Vec<Result<Reply, Error>> {
        block_on(self.ask_all(requests))
    }

    /// An acquire that found nothing stands here until a batch makes something for it, and is part of that batch.
    pub fn stand(&self, acquire: Request) -> Result<Standing, Error> {
        assert!(matches!(acquire.command, Command::Acquire(_)), "only an acquire waits for others' work");
        let (call, answered) = Call::new(vec![acquire], None);
        let inlet = &self.callers.0;
        match inlet.stand(call) {
            Some(number) => Ok(Standing::new(number, answered, inlet.clone())),
            None => Err(Error::Unavailable("the writers have ended".to_string())),
        }
    }

    /// What the writers have done so far.
    pub fn measures(&self) -> &Measures {
        &self.measures
    }

    /// How much of the queue is taken: about as many requests as wait.
    pub fn queue_len(&self) -> usize {
        self.options.queue_max.saturating_sub(self.room.available_permits())
    }

    /// Lets go of this handle and waits until every other one is gone, all is answered and the writers have ended.
    pub async fn close(self) {
        let end = self.end.clone();
        drop(self);
        end.writers.closed().await;
    }

    async fn call(&self, requests: Vec<Request>) -> Replies {
        let share = self.share(&requests);
        let room = self.room.clone().acquire_many_owned(share).await.expect("the room is never closed");
        self.send(Call::new(requests, Some(room))).await
    }

    async fn send(&self, (call, mut answered): (Call, Answered)) -> Replies {
        let count = call.len();
        if !self.callers.0.add(call) {
            let gone = || Err(Error::Unavailable("the writers have ended".to_string()));
            return (0..count).map(|_| gone()).collect();
        }
        self.stay_awake(&mut answered).await;
        match answered.await {
            Ok((replies, _)) => replies,
            Err(_) => {
                let gone = || Err(Error::Unknown("the writer ended before it answered".to_string()));
                (0..count).map(|_| gone()).collect()
            }
        }
    }

    /// Whoever is alone is answered as soon as the disk has it. To be woken for that takes a good part of the time, so it looks for
    /// a moment; whatever else there is to do in its thread is done in between.
    async fn stay_awake(&self, answered: &mut Answered) {
        if self.options.writers != Writers::Thread {
            return;
        }
        let since = Since::now();
        while answered.is_empty() && self.queue_len() <= 1 && since.micros() < AWAKE {
            yield_now().await;
        }
    }

    /// How much room requests take: one each, or as much as their bytes are of a batch. Never more than there is.
    fn share(&self, requests: &[Request]) -> u32 {
        let per_request = (self.options.batch_bytes_max / self.options.batch_max).max(1);
        let share: usize = requests.iter().map(|request| 1 + bytes(request) / per_request).sum();
        u32::try_from(share.min(self.options.queue_max)).unwrap_or(u32::MAX)
    }
}

type Replies = Vec<Result<Reply, Error>>;
type Answered = oneshot::Receiver<(Replies, Since)>;

fn only(mut replies: Replies) -> Result<Reply, Error> {
    replies.pop().expect("every request gets a reply")
}

/// The writer's own thread; the last handle joins it.
fn start_thread<D: Database + 'static>(writer: Writer<D>) -> JoinHandle<()> {
    let thread = std::thread::Builder::new().name("writer".to_string());
    thread.spawn(move || block_on(writer.run())).expect("the system has room for a thread")
}

#[expect(
    clippy::disallowed_methods,
    reason = "the writer's own task; it ends when the last handle is gone and `close` waits for it"
)]
fn start_task<D: Database + 'static>(writer: Writer<D>) {
    tokio::spawn(writer.run());
}
