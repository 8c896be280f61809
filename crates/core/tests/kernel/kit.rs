//! A bench to put the kernel on: a world, a clock that stands still until it is moved, and actors by name.
#![allow(dead_code)]

use std::sync::Arc;
use std::time::Duration;

use tenure_core::actor::Actor;
use tenure_core::answer::{Answer, Granted};
use tenure_core::body::Body;
use tenure_core::decide::{Decision, decide};
use tenure_core::draw::Draw;
use tenure_core::entry::Entry;
use tenure_core::execution::{Execution, Status};
use tenure_core::id::{ExecutionId, ItemId};
use tenure_core::item::Item;
use tenure_core::lifecycle::guard::Guard;
use tenure_core::lifecycle::parse::parse;
use tenure_core::lifecycle::shipped;
use tenure_core::replay::fold;
use tenure_core::request::*;
use tenure_core::time::Time;
use tenure_core::world::{Change, World};

pub const START: Time = Time::from_micros(1_794_774_300_000_000);

pub struct Bench {
    pub world: World,
    pub draw: Draw,
    pub store: &'static str,
}

impl Bench {
    /// All shipped lifecycles.
    pub fn new() -> Bench {
        let mut world = World::new(Arc::new(shipped::tables()));
        world.now = START;
        Bench { world, draw: Draw::new(42), store: "default" }
    }

    /// The shipped ones and one more, given as the text of its file.
    pub fn with(source: &str) -> Bench {
        let mut bench = Bench::new();
        let mut tables = shipped::tables();
        tables.add(parse(source).expect("the lifecycle parses"));
        bench.world.tables = Arc::new(tables);
        bench
    }

    pub fn wait(&mut self, span: Duration) {
        self.world.now = self.world.now.after(span);
    }

    pub fn request(&self, actor: &str, command: Command) -> Request {
        Request { store: self.store.parse().unwrap(), actor: self::actor(actor), command }
    }

    /// Decides without applying.
    pub fn decide(&mut self, actor: &str, command: Command) -> Decision {
        let request = self.request(actor, command);
        decide(&self.world, &request, &mut self.draw.clone())
    }

    /// Decides and applies; whatever was written must be what the log says.
    pub fn ask(&mut self, actor: &str, command: Command) -> Answer {
        let request = self.request(actor, command);
        let decision = decide(&self.world, &request, &mut self.draw);
        assert!(
            decision.changes.is_empty() || decision.answer.is_yes(),
            "a no writes nothing: {decision:#?}"
        );
        let touched: Vec<ItemId> = entries(&decision).iter().map(|entry| entry.item).collect();
        self.world.apply(decision.changes);
        // What was removed is in the log alone.
        for item in touched.into_iter().filter(|item| self.world.items.contains_key(item)) {
            assert_eq!(self.folded(item), self.item(item).as_logged(), "an item is what its entries say");
        }
        decision.answer
    }

    pub fn item(&self, id: ItemId) -> &Item {
        &self.world.items[&id]
    }

    pub fn state(&self, id: ItemId) -> &str {
        self.item(id).state_name()
    }

    pub fn history(&self, id: ItemId) -> Vec<Entry> {
        self.world.history(id).cloned().collect()
    }

    /// What was done to an item, in one word an entry: `create lease start commit`.
    pub fn story(&self, id: ItemId) -> String {
        let words: Vec<String> = self.world.history(id).map(|entry| entry.action.to_string()).collect();
        words.join(" ")
    }

    pub fn folded(&self, id: ItemId) -> Item {
        fold(&self.history(id), &self.world.tables).expect("the log replays")
    }

    pub fn create(&mut self, actor: &str, kind: &str, payload: &str) -> ItemId {
        let create = Create::new(kind.parse().unwrap(), body(payload));
        match self.ask(actor, Command::Create(create)) {
            Answer::Created(item) => item.id,
            other => panic!("not created: {other:?}"),
        }
    }

    pub fn job(&mut self) -> ItemId {
        self.create("api:test", "job", "{}")
    }

    /// A lease on this item, not started.
    pub fn take(&mut self, actor: &str, item: ItemId) -> ExecutionId {
        match self.ask(actor, Command::Take(Take { item, terms: Terms::default() })) {
            Answer::Leased(leases) => leases[0].execution,
            other => panic!("not leased: {other:?}"),
        }
    }

    /// A lease on this item, started.
    pub fn run(&mut self, actor: &str, item: ItemId) -> ExecutionId {
        let execution = self.take(actor, item);
        assert!(self.ask(actor, start(execution)).is_yes());
        execution
    }

    pub fn acquire(&mut self, actor: &str, kind: &str, max: usize) -> Vec<Granted> {
        self.offer(kind);
        let acquire = Acquire { kinds: vec![kind.parse().unwrap()], max, terms: Terms::default() };
        match self.ask(actor, Command::Acquire(acquire)) {
            Answer::Leased(leases) => leases,
            other => panic!("not leased: {other:?}"),
        }
    }

    /// What a database would offer: ready and due, by rank.
    pub fn offer(&mut self, kind: &str) {
        let now = self.world.now;
        let ready =
            |item: &&Item| &*item.table.kind == kind && item.slot(now) == tenure_core::item::Slot::Ready;
        let mut items: Vec<&Item> = self.world.items.values().map(|item| &**item).filter(ready).collect();
        items.sort_by_key(|item| (item.rank(), item.id));
        self.world.offers = items.into_iter().map(|item| item.id).collect();
    }

    /// The engine's sweep of one item, with the fence as it is now.
    pub fn sweep(&mut self, item: ItemId) -> Answer {
        let fence = self.item(item).fence;
        self.ask(
            "system:engine",
            Command::Sweep(Sweep { item, fence, due: Due::Time, offers: Effects::default() }),
        )
    }
}

pub fn actor(text: &str) -> Actor {
    text.parse().expect("role:id or role:id/incarnation")
}

pub fn body(text: &str) -> Body {
    Body::json(text.as_bytes().to_vec()).expect("JSON")
}

pub fn record(label: &str, name: &str, text: &str) -> NewRecord {
    NewRecord { label: label.parse().unwrap(), name: name.parse().unwrap(), body: body(text) }
}

pub fn entries(decision: &Decision) -> Vec<&Entry> {
    fn entry(change: &Change) -> Option<&Entry> {
        match change {
            Change::Entry(entry) => Some(entry),
            _ => None,
        }
    }
    decision.changes.iter().filter_map(entry).collect()
}

pub fn start(execution: ExecutionId) -> Command {
    Command::Start(Start { execution })
}

pub fn renew(execution: ExecutionId) -> Command {
    Command::Renew(Renew { execution, lease: None })
}

/// Commits without finishing.
pub fn commit(execution: ExecutionId) -> Command {
    commit_with(execution, Effects::default())
}

/// As the system of the kind commits: of a claim it says that its decomposer ran, of a work order that its bundle is there.
pub fn commit_with(execution: ExecutionId, effects: Effects) -> Command {
    let attests = vec![Guard::Decomposition, Guard::OutputBundle, Guard::TerminalReason, Guard::RunRecord];
    Command::Commit(Commit { execution, output: None, effects, finish: false, session: None, attests })
}

pub fn finish(execution: ExecutionId) -> Command {
    Command::Finish(Finish { execution })
}

pub fn fail(execution: ExecutionId) -> Command {
    let (reason, offers) = ("it broke".to_string(), Effects::default());
    Command::Fail(Fail { execution, reason, permanent: false, retry_after: None, offers })
}

pub fn release(execution: ExecutionId) -> Command {
    Command::Release(Release { execution, reason: None, delay: None, attests: Vec::new() })
}

pub fn step(item: ItemId, event: &str) -> Command {
    Command::Move(Move::new(item, event.parse().unwrap()))
}

pub fn cancel(item: ItemId) -> Command {
    let reason = Some("not needed".to_string());
    Command::Cancel(Cancel { item, reason, expected_version: None, offers: Effects::default() })
}

impl Bench {
    /// Answers whether this would be refused, and with which code; writes nothing.
    pub fn refusal(&mut self, actor: &str, command: Command) -> String {
        code(&self.decide(actor, command).answer)
    }

    pub fn created(&mut self, actor: &str, create: Create) -> Item {
        match self.ask(actor, Command::Create(create)) {
            Answer::Created(item) => Item::clone(&item),
            other => panic!("not created: {other:?}"),
        }
    }

    /// A session held by this actor, made and held in one transaction.
    pub fn session(&mut self, actor: &str) -> ItemId {
        let create = Create { take: Some(Terms::default()), ..new("session", "{}") };
        match self.ask(actor, Command::Create(create)) {
            Answer::Leased(leases) => leases[0].execution.item,
            other => panic!("no session: {other:?}"),
        }
    }

    /// A todo, claimed and started by this actor under this session.
    pub fn claim(&mut self, actor: &str, todo: ItemId, session: ItemId) -> ExecutionId {
        match self.ask(actor, Command::Take(Take { item: todo, terms: in_session(session) })) {
            Answer::Leased(leases) => leases[0].execution,
            other => panic!("not claimed: {other:?}"),
        }
    }

    /// Ends the live lease of an item by letting it run out.
    pub fn expire(&mut self, item: ItemId) -> Answer {
        let lease = self.item(item).lease.clone().expect("it is held");
        self.world.now = lease.expires.max(self.world.now);
        self.sweep(item)
    }

    pub fn sweep_with(&mut self, item: ItemId, due: Due, offers: Effects) -> Answer {
        let fence = self.item(item).fence;
        self.ask("system:engine", Command::Sweep(Sweep { item, fence, due, offers }))
    }

    /// Waits until the item may be leased again.
    pub fn wait_until_due(&mut self, item: ItemId) {
        self.world.now = self.item(item).run_at.max(self.world.now);
    }

    pub fn status(&self, execution: ExecutionId) -> Status {
        self.execution(execution).status()
    }

    /// An execution, live or ended.
    pub fn execution(&self, id: ExecutionId) -> Execution {
        let live = self.item(id.item).live_execution().filter(|live| live.id == id);
        live.unwrap_or_else(|| Execution::clone(&self.world.executions[&id]))
    }

    /// Everything that is written, for "nothing changed".
    pub fn everything(&self) -> String {
        format!("{:?}", self.world)
    }
}

/// The code of a no, or `yes`.
pub fn code(answer: &Answer) -> String {
    answer.code().map_or("yes".to_string(), |code| code.to_string())
}

pub fn new(kind: &str, payload: &str) -> Create {
    Create::new(kind.parse().unwrap(), body(payload))
}

pub fn named(kind: &str, payload: &str, name: &str) -> Create {
    Create { name: Some(name.parse().unwrap()), ..new(kind, payload) }
}

pub fn in_session(session: ItemId) -> Terms {
    let attests = vec![Guard::Workspace];
    Terms { start: true, session: Some(session), attests, ..Terms::default() }
}

pub fn take_under(item: ItemId, request: &str) -> Command {
    Command::Take(Take { item, terms: Terms { request: Some(request.parse().unwrap()), ..Terms::default() } })
}

pub fn take(item: ItemId) -> Command {
    Command::Take(Take { item, terms: Terms::default() })
}

pub fn progress(execution: ExecutionId, record: NewRecord, opens: &[&str], closes: &[&str]) -> Command {
    let labels = |names: &[&str]| names.iter().map(|name| name.parse().unwrap()).collect();
    let (opens, closes) = (labels(opens), labels(closes));
    Command::Progress(Progress { execution, records: vec![record], opens, closes })
}

pub fn note(item: ItemId, record: NewRecord) -> Command {
    Command::Note(Note { item, records: vec![record] })
}

pub fn fail_for(execution: ExecutionId, reason: &str) -> Command {
    let offers = Effects::default();
    Command::Fail(Fail { execution, reason: reason.to_string(), permanent: false, retry_after: None, offers })
}

pub fn fail_for_good(execution: ExecutionId) -> Command {
    let (reason, offers) = ("it can not work".to_string(), Effects::default());
    Command::Fail(Fail { execution, reason, permanent: true, retry_after: None, offers })
}

/// A plain move with a reason.
pub fn step_for(item: ItemId, event: &str, reason: &str) -> Command {
    Command::Move(Move { reason: Some(reason.to_string()), ..Move::new(item, event.parse().unwrap()) })
}

/// A validation is handed in, as its system does that: it is the validator's own.
pub fn submit_with(item: ItemId, effects: Effects) -> Command {
    let attests = vec![Guard::Judgement];
    Command::Move(Move { effects, attests, ..Move::new(item, "submit".parse().unwrap()) })
}

pub fn step_with(item: ItemId, event: &str, effects: Effects) -> Command {
    let attests = vec![Guard::BlockersNamed];
    Command::Move(Move { effects, attests, ..Move::new(item, event.parse().unwrap()) })
}

/// `done`: commits a todo with a receipt, its gates passed.
pub fn done(execution: ExecutionId, session: ItemId, receipt: &str) -> Command {
    let effects = Effects { records: vec![record("receipt", receipt, "{}")], ..Effects::default() };
    let attests = Guard::ATTESTED.to_vec();
    Command::Commit(Commit {
        execution,
        output: None,
        effects,
        finish: false,
        session: Some(session),
        attests,
    })
}

pub fn moving(item: ItemId, event: &str) -> Effects {
    let reason = Some("by effect".to_string());
    Effects { moves: vec![EffectMove { item, event: event.parse().unwrap(), reason }], ..Effects::default() }
}

pub fn creating(create: Create) -> Effects {
    Effects { creates: vec![create], ..Effects::default() }
}

pub fn recording(record: NewRecord) -> Effects {
    Effects { records: vec![record], ..Effects::default() }
}

pub fn messaging(label: &str, text: &str) -> Effects {
    let message = NewMessage { label: label.parse().unwrap(), body: body(text) };
    Effects { messages: vec![message], ..Effects::default() }
}

pub fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

pub const MICROSECOND: Duration = Duration::from_micros(1);
