//! A database that fails where it is told to, holds its transactions, and has bugs.

#![allow(dead_code, reason = "each test program uses another part of it")]

use std::collections::VecDeque;
use std::future::Future;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tenure_core::body::Body;
use tenure_core::control::{Control, QueueKey};
use tenure_core::entry::Sealed;
use tenure_core::id::ItemId;
use tenure_core::item::Item;
use tenure_core::lifecycle::shipped;
use tenure_core::lifecycle::tables::Tables;
use tenure_core::request::{Command, Create, Need, Request};
use tenure_core::time::Time;
use tenure_core::word::{Kind, Store};
use tenure_core::world::{Change, World};
use tenure_databases::memory::{Memory, MemoryTx};
use tenure_databases::{
    BatchId, Commit, Database, Error, Found, Head, Overdue, Place, Posted, Query, Settled, Tx, Whole,
};
use tokio::sync::oneshot;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    Begin,
    Lock,
    Claim,
    Write,
    Append,
    Commit,
}

pub const STEPS: [Step; 6] = [Step::Begin, Step::Lock, Step::Claim, Step::Write, Step::Append, Step::Commit];

#[derive(Clone, Debug)]
pub enum Fault {
    /// At this step, once.
    At(Step, Error),
    /// The commit's answer is lost; whether it happened is said here.
    Unheard { happened: bool },
    /// The outcome of a commit can not be asked for, once.
    Settle(Error),
    /// Fewer rows than planned, once.
    Short,
    /// The commit panics; whether it happened is said here.
    Panic { happened: bool },
}

/// A transaction that waits before it begins: the first end tells that it does, the second lets it go on.
type Held = (oneshot::Sender<()>, oneshot::Receiver<()>);

#[derive(Default)]
pub struct Faults {
    pub coming: VecDeque<Fault>,
    /// A create of this name breaks its statement, for ever.
    pub poison: Option<String>,
    /// A create of this name panics when it is written, for ever.
    pub bug: Option<String>,
    /// The next transactions begin when somebody lets them.
    held: VecDeque<Held>,
    commits: usize,
    /// What was waited before something was tried again. Here nobody waits.
    pauses: Vec<Duration>,
}

impl Faults {
    /// The error that is due at this step, if one is.
    fn at(&mut self, step: Step) -> Result<(), Error> {
        match self.coming.front() {
            Some(Fault::At(at, _)) if *at == step => match self.coming.pop_front() {
                Some(Fault::At(_, error)) => Err(error),
                _ => Ok(()),
            },
            _ => Ok(()),
        }
    }
}

pub struct Faulty {
    inner: Memory,
    pub faults: Arc<Mutex<Faults>>,
}

pub struct FaultyTx {
    inner: MemoryTx,
    faults: Arc<Mutex<Faults>>,
}

impl Faulty {
    pub fn new(coming: impl IntoIterator<Item = Fault>) -> Faulty {
        let clock = || Time::from_micros(1_794_774_300_000_000);
        let faults = Faults { coming: coming.into_iter().collect(), ..Faults::default() };
        Faulty {
            inner: Memory::new(shipped::tables(), Arc::new(clock)),
            faults: Arc::new(Mutex::new(faults)),
        }
    }

    fn at(&self, step: Step) -> Result<(), Error> {
        self.faults.lock().unwrap().at(step)
    }

    /// Holds the next transaction before it begins.
    pub fn hold(&self) -> Hold {
        let ((begun, has_begun), (open, opened)) = (oneshot::channel(), oneshot::channel());
        self.faults.lock().unwrap().held.push_back((begun, opened));
        Hold { has_begun, open }
    }

    pub fn commits(&self) -> usize {
        self.faults.lock().unwrap().commits
    }

    pub fn pauses(&self) -> Vec<Duration> {
        self.faults.lock().unwrap().pauses.clone()
    }

    pub fn is_spent(&self) -> bool {
        self.faults.lock().unwrap().coming.is_empty()
    }
}

/// A transaction that is held. Dropped, it goes on.
pub struct Hold {
    has_begun: oneshot::Receiver<()>,
    open: oneshot::Sender<()>,
}

impl Hold {
    /// Waits until a writer has come to it.
    pub async fn reached(&mut self) {
        (&mut self.has_begun).await.expect("a transaction begins");
    }

    pub fn release(self) {
        self.open.send(()).expect("it waits");
    }
}

impl Database for Faulty {
    type Tx<'a> = FaultyTx;

    async fn begin(&self, batch: BatchId) -> Result<FaultyTx, Error> {
        let held = self.faults.lock().unwrap().held.pop_front();
        if let Some((begun, opened)) = held {
            let _ = begun.send(());
            let _ = opened.await;
        }
        self.at(Step::Begin)?;
        Ok(FaultyTx { inner: self.inner.begin(batch).await?, faults: self.faults.clone() })
    }

    async fn settle(&self, batch: BatchId) -> Result<Settled, Error> {
        let fault =
            self.faults.lock().unwrap().coming.pop_front_if(|fault| matches!(fault, Fault::Settle(_)));
        if let Some(Fault::Settle(error)) = fault {
            return Err(error);
        }
        self.inner.settle(batch).await
    }

    async fn pause(&self, span: Duration) {
        self.faults.lock().unwrap().pauses.push(span);
    }

    fn tables(&self) -> Arc<Tables> {
        self.inner.tables()
    }

    fn add_table(&self, source: &str) -> impl Future<Output = Result<(), Error>> + Send {
        self.inner.add_table(source)
    }

    fn item(&self, store: &Store, id: ItemId) -> impl Future<Output = Result<Option<Item>, Error>> + Send {
        self.inner.item(store, id)
    }

    fn whole(&self, store: &Store, id: ItemId) -> impl Future<Output = Result<Option<Whole>, Error>> + Send {
        self.inner.whole(store, id)
    }

    fn list(&self, query: &Query) -> impl Future<Output = Result<Vec<Item>, Error>> + Send {
        self.inner.list(query)
    }

    fn history(&self, store: &Store, id: ItemId) -> impl Future<Output = Result<Vec<Sealed>, Error>> + Send {
        self.inner.history(store, id)
    }

    fn log(
        &self,
        after: u64,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<(u64, Sealed)>, Error>> + Send {
        self.inner.log(after, limit)
    }

    fn sequence(&self, limit: usize) -> impl Future<Output = Result<usize, Error>> + Send {
        self.inner.sequence(limit)
    }

    fn head(&self) -> impl Future<Output = Result<Head, Error>> + Send {
        self.inner.head()
    }

    fn due(
        &self,
        what: Overdue,
        after: Option<ItemId>,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<Found>, Error>> + Send {
        self.inner.due(what, after, limit)
    }

    fn upcoming(
        &self,
        store: &Store,
        kinds: &[Kind],
    ) -> impl Future<Output = Result<Vec<(Kind, Duration)>, Error>> + Send {
        self.inner.upcoming(store, kinds)
    }

    fn control(&self, key: &QueueKey) -> impl Future<Output = Result<(Control, u32), Error>> + Send {
        self.inner.control(key)
    }
}

impl FaultyTx {
    fn at(&self, step: Step) -> Result<(), Error> {
        self.faults.lock().unwrap().at(step)
    }

    /// Whether the wave writes this name.
    fn writes(wave: &[Change], name: Option<String>) -> bool {
        wave.iter().any(|change| match change {
            Change::Name(key, _) => Some(key.name.as_str()) == name.as_deref(),
            _ => false,
        })
    }
}

impl Tx for FaultyTx {
    fn tables(&self) -> Arc<Tables> {
        self.inner.tables()
    }

    async fn lock(&mut self, need: &Need) -> Result<World, Error> {
        self.at(Step::Lock)?;
        self.inner.lock(need).await
    }

    async fn claim(
        &mut self,
        world: &mut World,
        store: &Store,
        kind: &Kind,
        after: Option<Place>,
        limit: usize,
    ) -> Result<Vec<Place>, Error> {
        self.at(Step::Claim)?;
        self.inner.claim(world, store, kind, after, limit).await
    }

    async fn write(&mut self, wave: &[Change]) -> Result<usize, Error> {
        self.at(Step::Write)?;
        let (poison, bug) = {
            let faults = self.faults.lock().unwrap();
            (faults.poison.clone(), faults.bug.clone())
        };
        assert!(!FaultyTx::writes(wave, bug), "a bug that one request meets");
        if FaultyTx::writes(wave, poison) {
            return Err(Error::Statement("value too long".to_string()));
        }
        let short = self.faults.lock().unwrap().coming.pop_front_if(|fault| matches!(fault, Fault::Short));
        Ok(self.inner.write(wave).await? - usize::from(short.is_some()))
    }

    async fn inbox(&mut self, limit: usize) -> Result<Vec<Posted>, Error> {
        self.inner.inbox(limit).await
    }

    async fn judged(&mut self, rows: &[(i64, Option<String>)]) -> Result<(), Error> {
        self.inner.judged(rows).await
    }

    async fn append(&mut self, entries: &[Sealed]) -> Result<(), Error> {
        self.at(Step::Append)?;
        self.inner.append(entries).await
    }

    async fn commit(self) -> Commit {
        if let Err(error) = self.at(Step::Commit) {
            return Commit::Not(error);
        }
        let panics = |fault: &mut Fault| matches!(fault, Fault::Panic { .. });
        let panics = self.faults.lock().unwrap().coming.pop_front_if(panics);
        if let Some(Fault::Panic { happened }) = panics {
            if happened {
                self.faults.lock().unwrap().commits += 1;
                self.inner.commit().await;
            }
            panic!("a bug in the commit");
        }
        let unheard = |fault: &mut Fault| matches!(fault, Fault::Unheard { .. });
        let unheard = self.faults.lock().unwrap().coming.pop_front_if(unheard);
        if let Some(Fault::Unheard { happened: false }) = unheard {
            return Commit::Unknown;
        }
        self.faults.lock().unwrap().commits += 1;
        match (self.inner.commit().await, unheard) {
            (_, Some(_)) => Commit::Unknown,
            (commit, None) => commit,
        }
    }
}

pub fn request(actor: &str, command: Command) -> Request {
    Request { store: "default".parse().unwrap(), actor: actor.parse().unwrap(), command }
}

pub fn create(name: &str) -> Request {
    let create = Create::new("job".parse().unwrap(), Body::json(b"{}".to_vec()).unwrap());
    request("api:test", Command::Create(Create { name: Some(name.parse().unwrap()), ..create }))
}

pub fn creates(count: usize) -> Vec<Request> {
    (0..count).map(|number| create(&format!("n{number}"))).collect()
}
