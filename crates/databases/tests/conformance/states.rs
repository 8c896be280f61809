//! Every state of the kinds of the five systems, with every event of the kind and every role: an item moves exactly if its table has
//! the row and the guards of the row hold, and is left alone otherwise.
//!
//! The expectation is read from the tables in the simplest way; the kernel is not asked for it.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use serde_json::Value;
use tenure_core::actor::Role;
use tenure_core::id::{ExecutionId, Fence, ItemId};
use tenure_core::item::Item;
use tenure_core::lifecycle::event::Event;
use tenure_core::lifecycle::guard::Guard;
use tenure_core::lifecycle::shipped::{SHIPPED, Shipped};
use tenure_core::lifecycle::{Row, StateId, Table, To};
use tenure_core::request::*;
use tenure_core::time::Time;
use tenure_databases::Database;

use crate::harness::{Bench, Harness};
use crate::requests::*;

/// A request about an item.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Asked {
    event: Event,
    role: Role,
    with: With,
}

/// How much of what guards ask for comes with a request.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum With {
    Nothing,
    /// A reason, a live session, and every guard that a system can attest.
    Everything,
    /// The same, and that trying again is useless.
    Permanent,
}

const WITHS: [With; 3] = [With::Nothing, With::Everything, With::Permanent];

/// The kinds of the five systems, but for work orders: each of their ends must also move a ticket, and the tests of tickets do that.
fn kinds() -> Vec<&'static str> {
    let is_tried = |shipped: &&Shipped| {
        !matches!(shipped.system, "engine" | "server") && shipped.file != "work_order.md"
    };
    let shipped = SHIPPED.iter().filter(is_tried);
    shipped.map(|shipped| shipped.file.strip_suffix(".md").expect("a lifecycle is Markdown")).collect()
}

/// One bench, and a kind on it.
struct Scene<'a, H: Harness> {
    bench: &'a Bench<H>,
    table: &'a Table,
    /// One that lives; another takes its place when it has lapsed.
    session: Cell<ItemId>,
}

impl<H: Harness> Scene<'_, H> {
    /// Every kind finds what it asks for in this payload, and no two items share a key.
    fn payload(&self, number: usize) -> String {
        let awaiting = number.is_multiple_of(2);
        format!(
            r#"{{"document_id":"k{number}","claim_id":"k{number}","ticket_id":"k{number}","validator_key":"k{number}",
                "truthbit_id":"t","title":"t","domain":"d","text":"t","event_id":"e","reason":"r","type":"primary_artifact",
                "uri":"urn:x","captured_at":"2026-01-01T00:00:00Z","agent_id":"a","name":"n.txt","media_type":"text/plain",
                "size":1,"sha256":"{number:064x}","work_order_id":"w{number}","awaiting":{awaiting}}}"#
        )
    }

    /// A new item, by the first role that may create it.
    async fn created(&self, begin: Begin, number: usize) -> ItemId {
        let roles = self.table.roles_of(&Event::Create);
        let role = roles.iter().next().expect("a role may create it");
        let attempts = self.table.settings.attempts.filter(|_| begin.is_last).map(|_| 1);
        let payload = self.payload(2 * number + usize::from(begin.is_odd));
        let create = Create { attempts, ..new(&self.table.kind, &payload) };
        let answer = self.bench.ask(&actor_of(role), Command::Create(create)).await;
        match answer {
            tenure_core::answer::Answer::Created(item) => item.id,
            other => panic!("{}: {other:?}", self.table.kind),
        }
    }

    /// None: the request needs a lease, and the item was never held.
    fn command(&self, item: &Item, asked: &Asked) -> Option<Command> {
        let has_all = asked.with != With::Nothing;
        let attests = if has_all { Guard::ATTESTED.to_vec() } else { Vec::new() };
        let (session, reason) =
            (has_all.then_some(self.session.get()), has_all.then(|| "because".to_string()));
        let (id, execution) = (item.id, ExecutionId { item: item.id, fence: item.fence });
        let offers = Effects::default();
        let is_held = item.fence.0 > 0;
        let under_lease = |command| is_held.then_some(command);
        match &asked.event {
            Event::Lease => Some(Command::Take(Take {
                item: id,
                terms: Terms { session, attests, start: true, ..Terms::default() },
            })),
            Event::Commit => {
                let (output, effects, finish) = (Some(body("1")), offers, false);
                under_lease(Command::Commit(Commit { execution, output, effects, finish, session, attests }))
            }
            Event::Finish => under_lease(finish(execution)),
            Event::Fail => {
                let (reason, permanent) = ("because".to_string(), asked.with == With::Permanent);
                under_lease(Command::Fail(Fail { execution, reason, permanent, retry_after: None, offers }))
            }
            Event::Release => {
                under_lease(Command::Release(Release { execution, reason, delay: None, attests }))
            }
            Event::Expire | Event::TimeOut => under_lease(sweep(execution).command),
            Event::Orphan => {
                let heartbeat = item.lease.as_ref().map_or(item.updated, |lease| lease.heartbeat);
                let (fence, due) = (item.fence, Due::Orphan { heartbeat });
                under_lease(Command::Sweep(Sweep { item: id, fence, due, offers }))
            }
            Event::Cancel => {
                Some(Command::Cancel(Cancel { item: id, reason, expected_version: None, offers }))
            }
            Event::Plain(name) => {
                Some(Command::Move(Move { reason, session, attests, ..Move::new(id, name.clone()) }))
            }
            Event::Create | Event::Start | Event::Renew | Event::Progress | Event::Note => None,
            Event::Link | Event::Erase | Event::Prune => None,
        }
    }

    /// Makes a held item ready for the event: its lease or window has ended, or it has committed and can be finished.
    async fn prepare(&self, id: ItemId, event: &Event) {
        let item = self.bench.item(id).await;
        let Some(lease) = &item.lease else { return };
        match event {
            Event::Expire => self.bench.clock.set(lease.expires),
            Event::TimeOut => self.outlast(&item, lease.window_ends.expect("its kind has a window")).await,
            Event::Finish => {
                let committed =
                    self.bench.ask(&actor_of(Role::Worker), commit_only(item.execution_id())).await;
                assert!(committed.is_yes(), "{committed:?}");
            }
            _ => {}
        }
    }

    /// Renews the lease until the window ends.
    async fn outlast(&self, item: &Item, window_ends: Time) {
        let expires = async || self.bench.item(item.id).await.lease.expect("it is held").expires;
        while expires().await < window_ends {
            self.bench.wait(Duration::from_secs(20));
            self.bench.ask(&actor_of(Role::Worker), renew(item.execution_id())).await;
        }
        self.bench.clock.set(window_ends);
    }

    /// A session that the clock has left behind is followed by another.
    async fn be_in_session(&self) {
        let renewed = self.bench.ask(&actor_of(Role::Worker), renew_session(self.session.get())).await;
        if !renewed.is_yes() {
            self.session.set(session(self.bench).await);
        }
    }

    /// An item in this state, ready for the event.
    async fn reached(&self, way: &Way, number: usize, event: &Event) -> Item {
        self.be_in_session().await;
        let id = self.created(way.begin, number).await;
        for asked in &way.asked {
            self.prepare(id, &asked.event).await;
            self.be_in_session().await;
            let command = self.command(&self.bench.item(id).await, asked).expect("it is on the way");
            let answer = self.bench.ask(&actor_of(asked.role), command).await;
            assert!(answer.is_yes(), "{} {asked:?}: {answer:?}", self.table.kind);
        }
        self.prepare(id, event).await;
        self.bench.item(id).await
    }
}

fn actor_of(role: Role) -> String {
    format!("{role}:a/1")
}

async fn session<H: Harness>(bench: &Bench<H>) -> ItemId {
    let session = bench.create(new("session", r#"{"agent_id":"a"}"#)).await;
    bench.take(&actor_of(Role::Worker), session).await;
    session
}

fn renew_session(session: ItemId) -> Command {
    renew(ExecutionId { item: session, fence: Fence(1) })
}

/// How a new item comes into a state.
#[derive(Clone, Debug)]
struct Way {
    begin: Begin,
    asked: Vec<Asked>,
}

/// The choices at the creation of an item.
#[derive(Clone, Copy, Debug)]
struct Begin {
    /// The payload of a gate decides in which state it begins.
    is_odd: bool,
    /// It has one attempt.
    is_last: bool,
}

const BEGINS: [Begin; 4] = [
    Begin { is_odd: false, is_last: false },
    Begin { is_odd: true, is_last: false },
    Begin { is_odd: false, is_last: true },
    Begin { is_odd: true, is_last: true },
];

/// A short way into each state, by rows.
fn ways(table: &Table, begins: &[(Begin, StateId)]) -> BTreeMap<StateId, Way> {
    let mut ways: BTreeMap<StateId, Way> = BTreeMap::new();
    for (begin, state) in begins {
        extend(table, *begin, *state, &mut ways);
    }
    ways
}

/// Adds the states that such a beginning leads to.
fn extend(table: &Table, begin: Begin, first: StateId, ways: &mut BTreeMap<StateId, Way>) {
    let mut mine = BTreeMap::from([(first, Way { begin, asked: Vec::new() })]);
    let mut queue = VecDeque::from([first]);
    while let Some(from) = queue.pop_front() {
        for row in table.rows.iter().filter(|row| row.from == Some(from) && row.is_exit()) {
            let To::State(to) = row.to else { continue };
            let role = row.actors.iter().find(|role| *role == Role::Worker).or(row.actors.iter().next());
            let (Some(role), false) = (role, mine.contains_key(&to)) else { continue };
            let is_permanent = row.guards.contains(&Guard::Permanent);
            let with = if is_permanent { With::Permanent } else { With::Everything };
            let asked = Asked { event: row.event.clone(), role, with };
            // An earlier row of the same event would be taken instead.
            if taken(table, from, &asked, Tried::Planned(begin)) == Some(row) {
                let before = mine[&from].asked.iter().cloned();
                mine.insert(to, Way { begin, asked: before.chain([asked]).collect() });
                queue.push_back(to);
            }
        }
    }
    for (state, way) in mine {
        ways.entry(state).or_insert(way);
    }
}

/// The item that a row is taken for.
#[derive(Clone, Copy)]
enum Tried<'a> {
    /// There is none yet.
    Planned(Begin),
    Item(&'a Item, &'a Value),
}

/// The row that the table says.
fn taken<'a>(table: &'a Table, from: StateId, asked: &Asked, tried: Tried) -> Option<&'a Row> {
    let attempts_left = match tried {
        Tried::Planned(begin) => !begin.is_last || table.settings.attempts.is_none(),
        Tried::Item(item, _) => item.attempts_left(),
    };
    let is_held = match tried {
        Tried::Planned(_) => true,
        Tried::Item(item, _) => item.lease.is_some(),
    };
    let holds = |guard: &Guard| match guard {
        Guard::AttemptsLeft => attempts_left,
        Guard::AttemptsExhausted => !attempts_left,
        Guard::Permanent => asked.with == With::Permanent,
        Guard::Reason => asked.with != With::Nothing || asked.event == Event::Fail,
        Guard::Owner => is_held,
        Guard::Payload(comparison) => match tried {
            Tried::Planned(_) => true,
            Tried::Item(_, payload) => comparison.holds(payload),
        },
        Guard::NoOtherRunning | Guard::DependenciesDone | Guard::BlockersClosed | Guard::SameProof => true,
        Guard::LiveSession => asked.with != With::Nothing,
        attested => {
            assert!(
                Guard::ATTESTED.contains(attested),
                "a guard that this test knows nothing of: {attested}"
            );
            asked.with != With::Nothing
        }
    };
    // Only the engine sweeps.
    let is_swept = matches!(asked.event, Event::Expire | Event::TimeOut | Event::Orphan);
    let may = |row: &&Row| match is_swept {
        true => asked.role == Role::System,
        false => row.actors.allow(asked.role),
    };
    table.rows_from(Some(from), &asked.event).filter(may).find(|row| row.guards.iter().all(holds))
}

/// The events that are tried: those of the table. Which of several a sweep finds due is for the tests of sweeps.
fn events(table: &Table) -> BTreeSet<Event> {
    let events = table.rows.iter().map(|row| row.event.clone());
    events.filter(|event| !matches!(event, Event::Create | Event::TimeOut | Event::Orphan)).collect()
}

/// All that is tried with an event.
fn asked_with(event: &Event) -> impl Iterator<Item = Asked> {
    let with = |role| WITHS.map(|with| Asked { event: event.clone(), role, with });
    Role::ALL.into_iter().flat_map(with).collect::<Vec<_>>().into_iter()
}

pub async fn an_item_moves_exactly_if_its_table_has_the_row_and_the_guards_hold<H: Harness>(
    bench: &Bench<H>,
) {
    let (mut moved, mut stayed) = (0, 0);
    for kind in kinds() {
        let tables = bench.database().tables();
        let table = tables.current(&kind.parse().unwrap()).expect("a shipped kind").clone();
        let scene = Scene { bench, table: &table, session: Cell::new(session(bench).await) };
        let mut begins = Vec::new();
        for (number, begin) in BEGINS.into_iter().enumerate() {
            begins.push((begin, bench.item(scene.created(begin, number).await).await.state));
        }
        let ways = ways(&table, &begins);
        let missed: Vec<&str> = table
            .state_ids()
            .filter(|state| !ways.contains_key(state))
            .map(|state| table.name(state))
            .collect();
        assert_eq!(missed, [""; 0], "no way was found into these states of {kind}");
        let mut number = BEGINS.len();
        for (state, way) in &ways {
            for event in events(&table) {
                number += 1;
                let item = scene.reached(way, number, &event).await;
                assert_eq!(item.state, *state, "{kind} {}", table.name(*state));
                let payload = bench.whole(item.id).await.payload.expect("nothing was erased");
                let payload = payload.value().expect("it is JSON");
                let row = |asked: &Asked| {
                    taken(&table, *state, asked, Tried::Item(&item, &payload)).filter(|row| row.is_exit())
                };
                // All that leaves it where it is, on one item; then what moves it, each on its own.
                let stays: Vec<Asked> = asked_with(&event).filter(|asked| row(asked).is_none()).collect();
                let ask = |item: &Item, asked: &Asked| {
                    scene.command(item, asked).map(|command| request(&actor_of(asked.role), command))
                };
                let requests: Vec<Request> = stays.iter().filter_map(|asked| ask(&item, asked)).collect();
                stayed += requests.len();
                let replies = bench.batch(&requests).await;
                let wrote = replies.iter().position(|reply| reply.fresh).map(|at| &requests[at]);
                let what = format!("{kind} {} {event}", table.name(*state));
                assert_eq!(wrote, None, "{what}: no row says so");
                assert_eq!(bench.item(item.id).await.version, item.version, "{what}");
                for asked in asked_with(&event).filter(|asked| row(asked).is_some()) {
                    let row = row(&asked).expect("it was filtered");
                    number += 1;
                    let item = scene.reached(way, number, &event).await;
                    let Some(request) = ask(&item, &asked) else { continue };
                    let reply = bench.reply(request).await;
                    assert!(reply.answer.is_yes() && reply.fresh, "{what} {asked:?}: {:?}", reply.answer);
                    let To::State(to) = row.to else { panic!("{what}: an exit has a state") };
                    // The holder is asked to stop, and moves it.
                    let is_asked = event == Event::Cancel && item.lease.is_some();
                    let to = if is_asked { *state } else { to };
                    assert_eq!(bench.state(item.id).await, table.name(to), "{what} {asked:?}");
                    moved += 1;
                }
            }
        }
    }
    eprintln!("{moved} moved, {stayed} did not");
    assert!(moved > 300 && stayed > 3_000, "{moved} moved, {stayed} did not");
}
