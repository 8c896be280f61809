//! A process that works until it is killed, and says what was answered once it was.
//!
//! Everything is random but the creates: what a name creates can be told from the name, so that whoever reads what this
//! process said can ask for the same again. A line is written after the answer, in one piece.
//!
//! | line | it was answered that |
//! |---|---|
//! | `created NAME ITEM` | this name made this item |
//! | `leased ITEM FENCE` | the item is ours under this fence |
//! | `committed ITEM FENCE`, `finished …`, `failed …`, `released …`, `swept …` | the execution did so |
//! | `renewed ITEM FENCE MICROS` | the lease lasts until then |
//! | `noted ITEM LABEL NAME` | the item has this record |
//! | `cancelled ITEM` | it is or will be |
//! | `error WORDS` | the database failed; the process waits for a line of input and asks for the same again |

use std::time::Duration;

use tenure_core::answer::Answer;
use tenure_core::draw::Draw;
use tenure_core::id::{ExecutionId, ItemId};
use tenure_core::request::*;
use tenure_core::time::Time;
use tenure_databases::batch::{self, Reply};
use tenure_databases::{Database, Error, Overdue};

use crate::requests::*;
use crate::voice::Voice;

/// Time goes faster for these processes, so that leases of seconds end while they live.
const SPEED: i64 = 50;
/// Where fast and real time were the same.
const SAME_AT: i64 = 1_790_000_000_000_000;

/// A clock that all processes of a test share, whenever they were started.
#[expect(
    clippy::disallowed_methods,
    reason = "processes that know nothing of each other share the machine's clock"
)]
pub fn fast_clock() -> Time {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let micros = i64::try_from(since.as_micros()).unwrap_or(i64::MAX);
    Time::from_micros(micros.saturating_sub(SAME_AT).saturating_mul(SPEED).saturating_add(SAME_AT))
}

/// What the name creates: its number, behind the last dash, says it all. Payloads are of every sort of place a database
/// has for them.
pub fn create_of(name: &str) -> Create {
    let number: usize =
        name.rsplit('-').next().and_then(|text| text.parse().ok()).expect("SEED-WORKER-NUMBER");
    let create = if number % 4 == 3 {
        pass(&format!("d{}", number % 3))
    } else {
        let padding = "x".repeat([0, 90, 700, 30, 9_000][number % 5]);
        new("job", &format!(r#"{{"number":{number},"padding":"{padding}"}}"#))
    };
    named(name, Create { priority: number.is_multiple_of(7).then_some(2), ..create })
}

/// As many workers at once as are asked for, for ever.
pub async fn work<D: Database>(database: &D, voice: &Voice, seed: u64, workers: usize) {
    let workers = (0..workers).map(|worker| async move {
        let mut worker = Worker::new(database, voice, seed, worker);
        loop {
            worker.turn().await;
        }
    });
    together(workers.map(Box::pin).collect()).await;
}

/// All of them at once, in this task.
async fn together(mut all: Vec<std::pin::Pin<Box<impl Future<Output = ()>>>>) {
    std::future::poll_fn(|context| {
        all.retain_mut(|one| one.as_mut().poll(context).is_pending());
        if all.is_empty() { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    })
    .await;
}

/// What was asked for, as far as the answer does not say.
#[derive(Clone, Debug)]
enum Asked {
    Create(String),
    Acquire,
    Commit(ExecutionId, End),
    Finish(ExecutionId),
    Fail(ExecutionId),
    Release(ExecutionId),
    Renew(ExecutionId),
    Progress(ExecutionId, String),
    Note(ItemId, String),
    Cancel(ItemId),
    Sweep(ExecutionId),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum End {
    Finish,
    Later,
}

#[derive(Debug)]
pub struct Worker<'a, D> {
    database: &'a D,
    voice: &'a Voice,
    name: String,
    dice: Draw,
    made: usize,
    items: Vec<ItemId>,
    held: Vec<ExecutionId>,
    committed: Vec<ExecutionId>,
}

impl<'a, D: Database> Worker<'a, D> {
    pub fn new(database: &'a D, voice: &'a Voice, seed: u64, worker: usize) -> Worker<'a, D> {
        Worker {
            database,
            voice,
            name: format!("{seed}-{worker}"),
            dice: Draw::new(seed.wrapping_add(worker as u64 * 7_919)),
            made: 0,
            items: Vec::new(),
            held: Vec::new(),
            committed: Vec::new(),
        }
    }

    /// One batch, repeated until the database takes it.
    pub async fn turn(&mut self) {
        let mut asked = self.batch();
        for due in self.due().await {
            let execution = ExecutionId { item: due.item, fence: due.fence };
            asked.push((sweep(execution), Asked::Sweep(execution)));
        }
        let requests: Vec<Request> = asked.iter().map(|(request, _)| request.clone()).collect();
        loop {
            let replies = batch::run(self.database, &requests, &mut self.dice).await;
            if let Some(error) = replies.iter().find_map(|reply| reply.as_ref().err()) {
                self.fail(error).await;
                continue;
            }
            for ((_, asked), reply) in asked.into_iter().zip(replies.into_iter().flatten()) {
                self.hear(asked, reply);
            }
            return;
        }
    }

    async fn due(&mut self) -> Vec<tenure_databases::Found> {
        if !self.one_in(3) {
            return Vec::new();
        }
        match self.database.due(Overdue::Time, None, 16).await {
            Ok(found) => found,
            Err(error) => {
                self.fail(&error).await;
                Vec::new()
            }
        }
    }

    async fn fail(&self, error: &Error) {
        let sort = match error {
            Error::LostRace(_) => "lost-race",
            Error::Unavailable(_) | Error::Locked(_) => "unavailable",
            Error::Statement(_) => "statement",
            Error::Unknown(_) => "unknown",
        };
        self.voice.say(&format!("error {sort} {error}"));
        self.voice.go_on().await;
    }

    fn batch(&mut self) -> Vec<(Request, Asked)> {
        let worker = format!("worker:w{}/1", self.name);
        let mut batch: Vec<(Request, Asked)> = Vec::new();
        for _ in 0..1 + self.below(6) {
            self.made += 1;
            let name = format!("{}-{}", self.name, self.made);
            batch.push((create(create_of(&name)), Asked::Create(name)));
        }
        let terms = Terms {
            start: !self.one_in(8),
            lease: Some(Duration::from_secs(1 + self.below(30) as u64)),
            request: Some(format!("a{}-{}", self.name, self.made).parse().expect("a word")),
            ..Terms::default()
        };
        let kinds = if self.one_in(2) { ["job", "run"] } else { ["run", "job"] };
        let wanted = 1 + self.below(5);
        batch.push((request(&worker, acquire_with(&kinds, wanted, terms)), Asked::Acquire));
        for execution in std::mem::take(&mut self.held) {
            let (command, asked) = self.end(execution);
            batch.push((request(&worker, command), asked));
        }
        for execution in std::mem::take(&mut self.committed) {
            // Sometimes nobody comes back to finish: the sweeper does.
            if !self.one_in(3) {
                batch.push((request(&worker, finish(execution)), Asked::Finish(execution)));
            }
        }
        if let Some(item) = self.item() {
            let name = format!("n{}", self.made);
            batch.push((
                request("api:test", note(item, record("remark", &name, "1"))),
                Asked::Note(item, name),
            ));
        }
        if self.one_in(6)
            && let Some(item) = self.item()
        {
            batch.push((request("api:test", cancel(item)), Asked::Cancel(item)));
        }
        batch
    }

    /// What becomes of a lease, or of this moment of it.
    fn end(&mut self, execution: ExecutionId) -> (Command, Asked) {
        match self.below(10) {
            0 => (fail(execution), Asked::Fail(execution)),
            1 => (release(execution), Asked::Release(execution)),
            2 => (renew(execution), Asked::Renew(execution)),
            3 => {
                let name = format!("p{}", self.made);
                let record = record("step", &name, r#"{"at":"work"}"#);
                (progress(execution, record), Asked::Progress(execution, name))
            }
            4 | 5 => (commit_only(execution), Asked::Commit(execution, End::Later)),
            _ => {
                let effects =
                    Effects { records: vec![record("artifact", "made", r#"[1,2,3]"#)], ..Effects::default() };
                (commit_with(execution, effects), Asked::Commit(execution, End::Finish))
            }
        }
    }

    fn hear(&mut self, asked: Asked, reply: Reply) {
        let voice = self.voice;
        match (asked, reply.answer) {
            (Asked::Create(name), Answer::Created(item)) => {
                self.items.push(item.id);
                voice.say(&format!("created {name} {}", item.id));
            }
            (Asked::Acquire, Answer::Leased(leases)) => {
                for lease in leases {
                    let ExecutionId { item, fence } = lease.execution;
                    voice.say(&format!("leased {item} {fence}"));
                    self.held.push(lease.execution);
                }
            }
            (Asked::Commit(ExecutionId { item, fence }, end), Answer::Ran(_)) => {
                voice.say(&format!("committed {item} {fence}"));
                match end {
                    End::Finish => {
                        voice.say(&format!("finished {item} {fence}"));
                        voice.say(&format!("noted {item} artifact made"));
                    }
                    End::Later => self.committed.push(ExecutionId { item, fence }),
                }
            }
            (Asked::Finish(ExecutionId { item, fence }), Answer::Ran(_)) => {
                voice.say(&format!("finished {item} {fence}"));
            }
            (Asked::Fail(ExecutionId { item, fence }), Answer::Ran(_)) => {
                voice.say(&format!("failed {item} {fence}"));
            }
            (Asked::Release(ExecutionId { item, fence }), Answer::Ran(_)) => {
                voice.say(&format!("released {item} {fence}"));
            }
            (Asked::Renew(execution), Answer::Renewed { expires, .. }) => {
                let ExecutionId { item, fence } = execution;
                voice.say(&format!("renewed {item} {fence} {}", expires.micros()));
                self.held.push(execution);
            }
            (Asked::Progress(execution, name), Answer::Done(_)) => {
                voice.say(&format!("noted {} step {name}", execution.item));
                self.held.push(execution);
            }
            (Asked::Note(item, name), Answer::Done(_)) => voice.say(&format!("noted {item} remark {name}")),
            (Asked::Cancel(item), Answer::Done(_)) => voice.say(&format!("cancelled {item}")),
            (Asked::Sweep(ExecutionId { item, fence }), Answer::Done(_)) => {
                voice.say(&format!("swept {item} {fence}"));
            }
            // Leases end while they are held, items end before they are cancelled: no promise was made.
            (_, Answer::Invalid(problem)) => panic!("asked in a wrong way: {problem:?}"),
            (asked, answer) if answer.is_yes() && !matches!(answer, Answer::Same(_)) => {
                panic!("an answer to something else: {asked:?} {answer:?}")
            }
            _ => {}
        }
    }

    fn item(&mut self) -> Option<ItemId> {
        if self.items.is_empty() {
            return None;
        }
        let index = self.below(self.items.len());
        self.items.get(index).copied()
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.dice.number() % limit as u64) as usize
    }

    fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }
}
