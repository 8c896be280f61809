//! The handle that a program holds: open a database, create work, read it, wait for it, run workers.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use tenure_core::actor::{Actor, Role};
use tenure_core::answer::Answer;
use tenure_core::body::Body;
use tenure_core::entry::Sealed;
use tenure_core::id::ItemId;
use tenure_core::item::{Item, Link, SharedItem};
use tenure_core::lifecycle::shipped;
use tenure_core::lifecycle::tables::Tables;
use tenure_core::request::{Cancel, Command, Create, Effects, Move, Request};
use tenure_core::time::Time;
use tenure_core::trace::Trace;
use tenure_core::word::{Key, Store, Who};
use tenure_databases::batch::Reply;
use tenure_databases::durability::Durability;
use tenure_databases::gather::Gather;
use tenure_databases::outside::chance;
use tenure_databases::postgres;
use tenure_databases::url::{self, SecretUrl, Url};
use tenure_databases::{Foreign, Head, Query, Whole};

use crate::asked::Asked;
use crate::background::Background;
use crate::bell::Bells;
use crate::closing::Closing;
use crate::error::{Error, OpenError};
use crate::kept::Kept;
use crate::loops::{self, Counters};
use crate::offers::{Offer, Offers};
use crate::outbox::{Secret, Secrets};
use crate::worker::WorkerBuilder;

/// A database that is open, and the engine on it. Clones are the same engine; it ends with the last of them.
#[derive(Clone, Debug)]
pub struct Tenure {
    pub(crate) inner: Arc<Inner>,
    pub(crate) store: Store,
    /// Who asks through this handle.
    pub(crate) api: Actor,
    /// The same, where it is an operator who is asked for.
    pub(crate) operator: Actor,
    /// What to do while the queue of writes is full.
    pub(crate) when_full: WhenFull,
}

/// A program waits for room. A server's caller is told to come back: it may give up sooner than room comes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum WhenFull {
    Wait,
    Refuse,
}

#[derive(Debug)]
pub(crate) struct Inner {
    // Dropped first: its tasks hold the rest.
    pub background: Background,
    pub kept: Kept,
    pub gather: Gather,
    pub bells: Arc<Bells>,
    pub counters: Arc<Counters>,
    pub offers: Offers,
    pub closing: Closing,
    /// Names this process, and no other before or after it.
    pub incarnation: Who,
    /// What an answer has survived, as it was when the database was opened.
    pub durability: Durability,
}

/// How an engine is opened.
#[derive(Debug)]
pub struct Builder {
    url: SecretUrl,
    store: String,
    name: String,
    tables: Tables,
    loops: bool,
    secrets: Secrets,
    offers: Vec<(String, Offer)>,
}

impl Builder {
    /// The namespace that everything here is about. Nothing crosses it.
    pub fn store(mut self, store: impl Into<String>) -> Builder {
        self.store = store.into();
        self
    }

    /// Who creates and cancels, as the log shows it.
    pub fn name(mut self, name: impl Into<String>) -> Builder {
        self.name = name.into();
        self
    }

    /// Lifecycles to put in force, beside those that are there.
    pub fn lifecycles(mut self, tables: Tables) -> Builder {
        self.tables = tables;
        self
    }

    /// A secret that webhooks name as `given:NAME`. It stays in this process.
    pub fn secret(mut self, name: impl Into<String>, secret: Secret) -> Builder {
        self.secrets.add(name.into(), secret);
        self
    }

    /// What items of a kind need to end without a commit, made by the system that the kind belongs to.
    pub fn offering(mut self, kind: impl Into<String>, offer: Offer) -> Builder {
        self.offers.push((kind.into(), offer));
        self
    }

    /// Leave sweeping, the inbox and the like to other processes.
    pub fn without_loops(mut self) -> Builder {
        self.loops = false;
        self
    }

    pub fn open(self) -> Asked<'static, Result<Tenure, OpenError>> {
        Box::pin(async move {
            let (url, asked): (Url, _) = (self.url.database()?, url::durability(self.url.reveal())?);
            let store: Store = self.store.parse()?;
            let api = Actor::new(Role::Api, self.name.parse()?);
            let incarnation: Who = format!("{:012x}", chance() & 0xffff_ffff_ffff).parse()?;
            let offered = self.offers.into_iter().map(|(kind, offer)| Ok((kind.parse()?, offer)));
            let offers = Offers::new(offered.collect::<Result<BTreeMap<_, _>, OpenError>>()?);
            let background = Background::start()?;
            let tables = self.tables;
            let opened = background.run(async move {
                let kept = Kept::open(&url, tables, asked).await?;
                let (gather, durability) = (kept.gather(), kept.durability().await);
                Ok::<_, OpenError>((kept, gather, durability))
            });
            let (kept, gather, durability) = opened.await?;
            let durability = durability.map_err(postgres::OpenError::Database)?;
            let (bells, counters) = (Arc::new(Bells::default()), Arc::new(Counters::default()));
            let closing = Closing::default();
            let inner = Arc::new(Inner {
                background,
                kept,
                gather,
                bells,
                counters,
                offers,
                closing,
                incarnation,
                durability,
            });
            let operator = Actor { role: Role::Admin, ..api.clone() };
            let tenure = Tenure { inner, store, api, operator, when_full: WhenFull::Wait };
            let background = &tenure.inner.background;
            background.spawn(loops::lasting(tenure.parts(), loops::wire::run));
            if self.loops {
                background.spawn(loops::run(tenure.parts(), self.secrets));
            }
            Ok(tenure)
        })
    }
}

/// Work to be created.
#[derive(Clone, Debug)]
pub struct New {
    kind: String,
    payload: Result<Body, String>,
    idempotency_key: Option<String>,
    key: Option<String>,
    priority: Option<i8>,
    run_at: Option<Time>,
    attempts: Option<u32>,
    trace: Option<Arc<Trace>>,
    links: Vec<(String, ItemId)>,
}

impl New {
    pub fn of(kind: impl Into<String>, payload: &impl Serialize) -> New {
        let payload = serde_json::to_vec(payload).map_err(|why| why.to_string());
        let payload =
            payload.and_then(|bytes| Body::json(bytes).map_err(|problem| problem.detail.to_string()));
        let kind = kind.into();
        New {
            kind,
            payload,
            idempotency_key: None,
            key: None,
            priority: None,
            run_at: None,
            attempts: None,
            trace: None,
            links: Vec::new(),
        }
    }

    pub fn job(payload: &impl Serialize) -> New {
        New::of("job", payload)
    }

    /// Repeated with the same key, it is the same item.
    pub fn idempotency_key(mut self, key: impl Into<String>) -> New {
        self.idempotency_key = Some(key.into());
        self
    }

    /// What it is about: some kinds run one of a key at a time.
    pub fn key(mut self, key: impl Into<String>) -> New {
        self.key = Some(key.into());
        self
    }

    /// A head start of a minute for each step.
    pub fn priority(mut self, priority: i8) -> New {
        self.priority = Some(priority);
        self
    }

    /// Not before this time.
    pub fn run_at(mut self, time: Time) -> New {
        self.run_at = Some(time);
        self
    }

    pub fn max_attempts(mut self, attempts: u32) -> New {
        self.attempts = Some(attempts);
        self
    }

    /// The trace that it is done for: `traceparent` and `tracestate` (or nothing) of W3C Trace Context. Handlers get it with
    /// [`Job::traceparent`](crate::Job::traceparent). What is no `traceparent` is left out.
    pub fn trace(mut self, traceparent: &str, tracestate: &str) -> New {
        self.trace = Trace::read(traceparent, tracestate).map(Arc::new);
        self
    }

    /// A named reference to another item of the store. What is linked to an item is found from it: [`Tenure::linked`].
    pub fn link(mut self, label: impl Into<String>, to: ItemId) -> New {
        self.links.push((label.into(), to));
        self
    }

    /// The command that creates it.
    pub fn into_create(self) -> Result<Create, Error> {
        let key = |text: Option<String>| text.map(|text| text.parse::<Key>()).transpose();
        let mut create = Create::new(self.kind.parse()?, self.payload.map_err(Error::Json)?);
        create.name = key(self.idempotency_key)?;
        create.key = key(self.key)?;
        create.priority = self.priority;
        create.run_at = self.run_at;
        create.attempts = self.attempts;
        create.trace = self.trace;
        for (label, to) in self.links {
            create.links.push(Link { label: label.parse()?, to });
        }
        Ok(create)
    }
}

impl Tenure {
    /// Opens `sqlite:FILE`, `postgres://…` or `memory:` with the lifecycles that ship, and starts the engine on it.
    pub async fn open(url: impl Into<SecretUrl>) -> Result<Tenure, OpenError> {
        Tenure::builder(url).open().await
    }

    pub fn builder(url: impl Into<SecretUrl>) -> Builder {
        Builder {
            url: url.into(),
            store: "default".to_string(),
            name: "program".to_string(),
            tables: shipped::tables(),
            loops: true,
            secrets: Secrets::default(),
            offers: Vec::new(),
        }
    }

    /// The same engine for somebody else, in another store: a server has a handle like that for each of its callers. While the queue
    /// of writes is full it answers at once that it is.
    pub fn acting(&self, store: Store, actor: Actor) -> Tenure {
        let (inner, operator) = (self.inner.clone(), actor.clone());
        Tenure { inner, store, operator, api: actor, when_full: WhenFull::Refuse }
    }

    /// Who asks through this handle.
    pub fn actor(&self) -> &Actor {
        &self.api
    }

    /// The namespace that this handle is about. The loops of an engine look after schedules and webhooks in its own.
    pub fn store(&self) -> &Store {
        &self.store
    }

    pub(crate) fn parts(&self) -> loops::Parts {
        let inner = &self.inner;
        loops::Parts {
            kept: inner.kept.clone(),
            gather: inner.gather.clone(),
            bells: inner.bells.clone(),
            counters: inner.counters.clone(),
            offers: inner.offers.clone(),
            closing: inner.closing.clone(),
            store: self.store.clone(),
            node: inner.incarnation.clone(),
        }
    }

    /// Creates an item. It is durable when this answers.
    pub async fn create(&self, new: New) -> Result<SharedItem, Error> {
        created(self.ask(Command::Create(new.into_create()?)).await?.answer)
    }

    /// Creates many, each with its own outcome.
    pub async fn create_all(&self, news: impl IntoIterator<Item = New>) -> Vec<Result<SharedItem, Error>> {
        let commands: Vec<Result<Create, Error>> = news.into_iter().map(New::into_create).collect();
        let good = commands.iter().filter_map(|command| command.as_ref().ok());
        let requests: Vec<Request> =
            good.map(|create| self.request(Command::Create(create.clone()))).collect();
        let mut replies = self.ask_all(requests).await.into_iter();
        let outcome = |command: Result<Create, Error>| {
            command?;
            created(replies.next().expect("every request has its reply")?.answer)
        };
        commands.into_iter().map(outcome).collect()
    }

    pub async fn cancel(&self, item: ItemId, reason: impl Into<String>) -> Result<SharedItem, Error> {
        let (reason, offers) = (Some(reason.into()), Effects::default());
        let cancel = Cancel { item, reason, expected_version: None, offers };
        match self.ask(Command::Cancel(cancel)).await?.answer {
            Answer::Done(item) | Answer::Same(item) => Ok(item),
            no => Err(Error::Refused(Box::new(no))),
        }
    }

    /// Takes a plain event of its lifecycle: `redrive`, `approve`.
    pub async fn advance(&self, item: ItemId, event: &str) -> Result<SharedItem, Error> {
        match self.ask(Command::Move(Move::new(item, event.parse()?))).await?.answer {
            Answer::Done(item) | Answer::Same(item) => Ok(item),
            no => Err(Error::Refused(Box::new(no))),
        }
    }

    pub fn item(&self, id: ItemId) -> Asked<'_, Result<Item, Error>> {
        Box::pin(async move {
            let (kept, store) = (self.inner.kept.clone(), self.store.clone());
            let found = self.beside(async move { kept.item(&store, id).await }).await?;
            found.ok_or(Error::NotFound(id))
        })
    }

    /// An item with its payload, output, executions, records and messages.
    pub fn whole(&self, id: ItemId) -> Asked<'_, Result<Whole, Error>> {
        Box::pin(async move {
            let (kept, store) = (self.inner.kept.clone(), self.store.clone());
            let found = self.beside(async move { kept.whole(&store, id).await }).await?;
            found.ok_or(Error::NotFound(id))
        })
    }

    pub fn list(&self, query: Query) -> Asked<'_, Result<Vec<Item>, Error>> {
        Box::pin(async move {
            let (kept, store) = (self.inner.kept.clone(), self.store.clone());
            let query = Query { store: Some(store), ..query };
            self.beside(async move { kept.list(&query).await }).await
        })
    }

    /// An item's entries, oldest first.
    pub fn history(&self, id: ItemId) -> Asked<'_, Result<Vec<Sealed>, Error>> {
        Box::pin(async move {
            let (kept, store) = (self.inner.kept.clone(), self.store.clone());
            self.beside(async move { kept.history(&store, id).await }).await
        })
    }

    /// The log after a position, oldest first, with the position of each entry. What was read once never changes.
    pub fn log(&self, after: u64, limit: usize) -> Asked<'_, Result<Vec<(u64, Sealed)>, Error>> {
        Box::pin(async move {
            let kept = self.inner.kept.clone();
            let read = async move {
                kept.sequence(usize::MAX).await?;
                kept.log(after, limit).await
            };
            self.beside(read).await
        })
    }

    /// Where the log ends. Kept elsewhere it proves later that nothing before it was changed.
    pub async fn head(&self) -> Result<Head, Error> {
        let kept = self.inner.kept.clone();
        let read = async move {
            kept.sequence(usize::MAX).await?;
            kept.head().await
        };
        self.beside(read).await
    }

    /// By how much the clock that judges leases is behind the log. None: by less than
    /// [`CLOCK_NOISE`](tenure_core::time::CLOCK_NOISE).
    pub async fn clock_behind(&self) -> Result<Option<Duration>, Error> {
        let kept = self.inner.kept.clone();
        self.beside(async move { kept.behind().await }).await
    }

    /// The lifecycles in force.
    pub fn lifecycles(&self) -> Arc<Tables> {
        self.inner.kept.tables()
    }

    /// Lifecycles of this database that this program can not read: a newer one has put them there. What is under them is left
    /// to who can.
    pub fn foreign_lifecycles(&self) -> Vec<Foreign> {
        self.inner.kept.foreign()
    }

    /// Puts a lifecycle in force, or a new version of one, from its Markdown. Items keep the version they were created under.
    pub async fn add_lifecycle(&self, source: impl Into<String>) -> Result<(), Error> {
        let (kept, source) = (self.inner.kept.clone(), source.into());
        self.beside(async move { kept.add_table(&source).await }).await
    }

    /// Waits until an item has come to rest: it succeeded, failed or was stopped.
    pub fn wait(&self, id: ItemId, patience: Duration) -> Asked<'_, Result<Whole, Error>> {
        Box::pin(async move {
            let resting = self.inner.bells.wait_for(id);
            let looked = async {
                let mut pause = WAIT_MIN;
                loop {
                    // Told of it between the look and the wait, it would be waited for in vain.
                    let mut told = std::pin::pin!(resting.notify.notified());
                    told.as_mut().enable();
                    let item = self.item(id).await?;
                    if item.phase().is_ended() {
                        return self.whole(id).await;
                    }
                    // Another process may end it: nobody rings for that.
                    let _ = tokio::time::timeout(pause, told).await;
                    pause = (pause * 2).min(WAIT_MAX);
                }
            };
            tokio::time::timeout(patience, looked).await.unwrap_or(Err(Error::StillOpen(id)))
        })
    }

    /// A worker of this name. It works once it is started.
    pub fn worker(&self, name: impl Into<String>) -> WorkerBuilder {
        WorkerBuilder::new(self.clone(), name.into())
    }

    /// Ends what this engine does by itself, for a process that is about to end: nothing more is leased, the workers of this
    /// process (schedules and webhooks too) have so long to finish what they do, and the rest is given back, so that another
    /// process has it at once and not when a lease ends. Dropped without it, an engine leaves its leases as a crash would.
    /// It answers as before, to who asks.
    ///
    /// ```
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let tenure = tenure::Tenure::open("memory:").await?;
    /// // … until the process is told to end:
    /// tenure.close(std::time::Duration::from_secs(20)).await;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # }).unwrap();
    /// ```
    pub async fn close(&self, grace: Duration) {
        self.inner.closing.close(grace).await;
    }

    /// What an answer of this engine has survived.
    pub fn durability(&self) -> Durability {
        self.inner.durability
    }

    /// What the engine has done and met so far.
    pub fn counters(&self) -> &Counters {
        &self.inner.counters
    }

    pub(crate) fn request(&self, command: Command) -> Request {
        Request { store: self.store.clone(), actor: self.api.clone(), command }
    }

    /// Asks for anything, as who this handle is for. A no is an answer like any other.
    pub fn ask(&self, command: Command) -> Asked<'_, Result<Reply, Error>> {
        Box::pin(async move {
            let request = self.request(command);
            let gather = &self.inner.gather;
            let reply = match self.when_full {
                WhenFull::Wait => gather.ask(request.clone()).await?,
                WhenFull::Refuse => gather.try_ask(request.clone()).await?,
            };
            let again = self.inner.offers.again(&self.inner.kept, &request, &reply).await?;
            let (request, reply) = match again {
                Some(again) => (again.clone(), gather.ask(again).await?),
                None => (request, reply),
            };
            self.inner.counters.heard(&request, &reply);
            self.inner.bells.heard(&request, &reply);
            Ok(reply)
        })
    }

    /// Asks for many things at once, each with its own answer.
    pub async fn ask_each(&self, commands: Vec<Command>) -> Vec<Result<Reply, Error>> {
        let requests = commands.into_iter().map(|command| self.request(command)).collect();
        self.ask_all(requests).await.into_iter().map(|reply| reply.map_err(Error::from)).collect()
    }

    /// Asks for many things as many callers of one engine, each with its own answer. What comes together is written together.
    pub async fn ask_as(asked: Vec<(Tenure, Command)>) -> Vec<Result<Reply, Error>> {
        let Some((first, _)) = asked.first() else { return Vec::new() };
        let first = first.clone();
        let requests = asked.into_iter().map(|(caller, command)| caller.request(command)).collect();
        first.ask_all(requests).await.into_iter().map(|reply| reply.map_err(Error::from)).collect()
    }

    pub(crate) fn ask_all(
        &self,
        requests: Vec<Request>,
    ) -> Asked<'_, Vec<Result<Reply, tenure_databases::Error>>> {
        Box::pin(async move {
            let gather = &self.inner.gather;
            let replies = match self.when_full {
                WhenFull::Wait => gather.ask_all(requests.clone()).await,
                WhenFull::Refuse => gather.try_ask_all(requests.clone()).await,
            };
            for (request, reply) in requests.iter().zip(&replies) {
                if let Ok(reply) = reply {
                    self.inner.counters.heard(request, reply);
                    self.inner.bells.heard(request, reply);
                }
            }
            replies
        })
    }

    /// Reads in the engine's own threads, so that a connection belongs to the engine and not to whoever asks.
    pub(crate) async fn beside<T: Send + 'static>(
        &self,
        read: impl Future<Output = Result<T, tenure_databases::Error>> + Send + 'static,
    ) -> Result<T, Error> {
        Ok(self.inner.background.run(read).await?)
    }
}

/// How soon a waiter looks again by itself, and how late at most.
const WAIT_MIN: Duration = Duration::from_millis(20);
const WAIT_MAX: Duration = Duration::from_secs(1);

fn created(answer: Answer) -> Result<SharedItem, Error> {
    match answer {
        Answer::Created(item) | Answer::Coalesced(item) => Ok(item),
        no => Err(Error::Refused(Box::new(no))),
    }
}
