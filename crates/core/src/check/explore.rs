//! Exhaustive exploration: every state that can be reached, breadth first, over the real `decide`.
//!
//! Two worlds are the same state when nothing that can still happen differs: times count only by how far ahead they
//! are, versions and hashes do not count at all. Breadth first, so the first way found to a state is a shortest one.

use alloc::collections::{BTreeMap, BTreeSet, VecDeque};
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::hash::{Hash as _, Hasher};

use super::Finding;
use super::actions::{Action, Worker, actions, prop_mark};
use super::invariants;
use crate::actor::{Actor, Role};
use crate::answer::Answer;
use crate::body::Body;
use crate::decide::{Decision, decide};
use crate::draw::Draw;
use crate::execution::Lease;
use crate::hash::Hash;
use crate::id::ItemId;
use crate::item::{Item, SharedItem};
use crate::lifecycle::effect::Effect;
use crate::lifecycle::event::Event;
use crate::lifecycle::guard::Guard;
use crate::lifecycle::settings::{Limit, Settings};
use crate::lifecycle::tables::Tables;
use crate::lifecycle::{Phase, StateId, Table, shipped};
use crate::request::{Command, Create, Request};
use crate::time::Time;
use crate::world::{Change, World};

mod payloads;

/// What is explored.
#[derive(Clone, Debug)]
pub struct Setup {
    pub world: World,
    pub workers: Vec<Worker>,
    /// How often one item may be leased. Past that a state counts as explored: with a table of k attempts nothing new
    /// comes after k + 1.
    pub fences_max: u64,
    /// Stop after so many states; a table this large is reported, not silently cut.
    pub states_max: usize,
}

#[derive(Clone, Debug, Default)]
pub struct Explored {
    pub states: usize,
    pub steps: usize,
    pub finding: Option<Finding>,
    /// For every state of the first item, a world in which it is in that state.
    pub witnesses: BTreeMap<StateId, World>,
}

const START: Time = Time::from_micros(1_700_000_000_000_000);
/// Two attempts show everything that more would: one that is not the last, and the last.
const ATTEMPTS: u32 = 2;

impl Setup {
    /// One item of the table and two workers, once for every way its payload guards can turn out. What several items do
    /// to each other is the kernel's business, not the table's: that is explored in the kernel's own tests.
    pub fn for_table(table: &Table) -> Vec<Setup> {
        let payloads = payloads::variants(table);
        let fences_max = u64::from(ATTEMPTS) + 1;
        payloads.iter().filter_map(|payload| Setup::new(table, payload, 1, fences_max)).collect()
    }

    /// So many items that share one payload, and so one key. None where no create row takes this payload.
    pub fn new(table: &Table, payload: &Body, items: usize, fences_max: u64) -> Option<Setup> {
        let mut tables = Tables::default();
        let table = tables.add(bare(table));
        let mut world = World::new(Arc::new(tables));
        world.now = START;
        let workers = ["a", "b"].map(|name| worker(&mut world, &table, name)).to_vec();
        let mut draw = Draw::new(7);
        let role = table.roles_of(&Event::Create).iter().next()?;
        let actor = Actor::new(role, "somebody".parse().ok()?);
        for _ in 0..items {
            let attempts = table.settings.attempts.map(|_| ATTEMPTS);
            let create = Create { attempts, ..Create::new(table.kind.clone(), payload.clone()) };
            let request = Request {
                store: "check".parse().ok()?,
                actor: actor.clone(),
                command: Command::Create(create),
            };
            let decision = decide(&world, &request, &mut draw);
            if !decision.answer.is_yes() {
                return None;
            }
            world.apply(decision.changes);
        }
        Some(Setup { world, workers, fences_max, states_max: 200_000 })
    }
}

/// The table without what needs other kinds or real payloads, and without limits, which only say "later": its own moves are
/// what is explored.
fn bare(table: &Table) -> Table {
    let mut rows = table.rows.clone();
    for row in &mut rows {
        row.effects.retain(Effect::is_automatic);
    }
    let (kind, states) = (table.kind.clone(), table.states.clone());
    let settings = Settings {
        concurrency: Limit::default(),
        rate: Limit::default(),
        retry_budget: None,
        breaker: None,
        ..table.settings.clone()
    };
    Table::new(kind, String::new(), states, rows, settings, None)
}

fn worker(world: &mut World, table: &Table, name: &str) -> Worker {
    let roles = table.roles_of(&Event::Lease);
    let role =
        if roles.names(Role::Worker) { Role::Worker } else { roles.iter().next().unwrap_or(Role::Worker) };
    let mut actor = Actor::new(role, name.parse().expect("a valid id"));
    actor.incarnation = "p1".parse().ok();
    let asks = table.rows.iter().any(|row| row.guards.contains(&Guard::LiveSession));
    let session = asks.then(|| session(world, &actor));
    Worker { actor, session }
}

/// A session that outlives the exploration.
fn session(world: &mut World, actor: &Actor) -> ItemId {
    let table =
        shipped::tables().current(&"session".parse().expect("a kind")).expect("sessions ship").clone();
    let id = ItemId(u128::from(actor.id.as_bytes().first().copied().unwrap_or(0)));
    let active =
        table.state_ids().find(|id| table.phase(*id) == Phase::Active).expect("a session can be held");
    let never = Time::from_micros(i64::MAX);
    let lease = Lease {
        owner: actor.owner(),
        since: START,
        started: None,
        committed: None,
        heartbeat: START,
        expires: never,
        window_ends: None,
        session: None,
        request: None,
    };
    let item = Item {
        id,
        store: "check".parse().expect("a store"),
        table,
        state: active,
        version: 1,
        fence: crate::id::Fence(1),
        failures: 0,
        interruptions: 0,
        attempts: None,
        key: None,
        priority: 0,
        run_at: START,
        wait_max: None,
        lease: Some(lease),
        committed: None,
        cancel: None,
        open_steps: Vec::new(),
        links: Vec::new(),
        origin: None,
        reason: None,
        payload: prop_mark(),
        output: None,
        erased: false,
        trace: None,
        request: None,
        created_by: actor.clone(),
        created: START,
        updated: START,
        head: Hash([0; 32]),
    };
    world.items.insert(id, Arc::new(item));
    id
}

struct Node {
    /// Without its log: every step folds its own entries onto what was there, and nothing else reads them.
    world: World,
    parent: usize,
    action: Option<Action>,
}

pub fn explore(setup: &Setup) -> Explored {
    let mut explored = Explored::default();
    let mut nodes: Vec<Node> = Vec::new();
    let mut known: BTreeMap<Vec<u8>, usize> = BTreeMap::new();
    let mut ways_back: Vec<Vec<usize>> = Vec::new();
    let mut queue = VecDeque::new();
    let world = World { entries: BTreeMap::new(), ..setup.world.clone() };
    known.insert(key(&world), 0);
    nodes.push(Node { world, parent: 0, action: None });
    ways_back.push(Vec::new());
    queue.push_back(0);
    while let Some(at) = queue.pop_front() {
        let Some(world) = nodes.get(at).map(|node| node.world.clone()) else { break };
        witness(&world, &mut explored);
        if let Err(what) = invariants::state(&world) {
            explored.finding = Some(finding(&nodes, at, what));
            break;
        }
        for action in actions(&world, &setup.workers, setup.fences_max) {
            let (decision, after) = perform(&world, &action);
            explored.steps += 1;
            let Some(after) = after else { continue };
            if let Err(what) = invariants::step(&world, &action, &decision, &after) {
                nodes.push(Node { world: after, parent: at, action: Some(action) });
                explored.finding = Some(finding(&nodes, nodes.len() - 1, what));
                explored.states = known.len();
                return explored;
            }
            let next = *known.entry(key(&after)).or_insert_with(|| {
                nodes.push(Node { world: after, parent: at, action: Some(action) });
                ways_back.push(Vec::new());
                queue.push_back(nodes.len() - 1);
                nodes.len() - 1
            });
            if let Some(ways) = ways_back.get_mut(next) {
                ways.push(at);
            }
        }
        if known.len() > setup.states_max {
            let what = format!("more than {} states; the table is too large to be checked", setup.states_max);
            explored.finding = Some(finding(&nodes, at, what));
            break;
        }
    }
    explored.states = known.len();
    if explored.finding.is_none() {
        explored.finding = stuck(&nodes, &ways_back, setup.fences_max);
    }
    explored
}

/// What an action does. None: nothing changes.
fn perform(world: &World, action: &Action) -> (Decision, Option<World>) {
    match action {
        Action::Ask(request) => {
            let decision = decide(world, request, &mut Draw::new(7));
            let after = (!decision.changes.is_empty()).then(|| {
                let mut after = world.clone();
                after.apply(decision.changes.clone());
                after.entries.clear();
                after
            });
            (decision, after)
        }
        Action::Wait(until) => {
            let decision = Decision { answer: Answer::Leased(Vec::new()), changes: Vec::new() };
            (decision, Some(World { now: *until, ..world.clone() }))
        }
    }
}

fn witness(world: &World, explored: &mut Explored) {
    if let Some(item) = world.items.values().find(|item| item.payload != prop_mark()) {
        explored.witnesses.entry(item.state).or_insert_with(|| world.clone());
    }
}

/// A state from which no order of events brings every item to an end, or to the bound of the exploration.
fn stuck(nodes: &[Node], ways_back: &[Vec<usize>], fences_max: u64) -> Option<Finding> {
    let is_done = |item: &SharedItem| item.phase().is_ended() || item.fence.0 >= fences_max;
    let is_goal = |node: &Node| node.world.items.values().filter(|i| i.payload != prop_mark()).all(is_done);
    let mut good: BTreeSet<usize> =
        (0..).zip(nodes).filter(|(_, node)| is_goal(node)).map(|(at, _)| at).collect();
    let mut queue: VecDeque<usize> = good.iter().copied().collect();
    while let Some(at) = queue.pop_front() {
        for way in ways_back.get(at).into_iter().flatten() {
            if good.insert(*way) {
                queue.push_back(*way);
            }
        }
    }
    let at = (0..nodes.len()).find(|at| !good.contains(at))?;
    let state =
        subject(&nodes.get(at)?.world).map_or_else(|| "?".into(), |item| format!("`{}`", item.state_name()));
    Some(finding(
        nodes,
        at,
        format!("the item is stuck in {state}: nothing that can happen brings it to an end"),
    ))
}

/// The item a finding is about: the one that is not in a good end.
fn subject(world: &World) -> Option<&Item> {
    let items = || world.items.values().filter(|item| item.payload != prop_mark());
    items().find(|item| !item.phase().is_ended()).or_else(|| items().next()).map(|item| &**item)
}

fn finding(nodes: &[Node], at: usize, what: String) -> Finding {
    let mut trace = Vec::new();
    let mut line = None;
    let mut here = at;
    while let Some(node) = nodes.get(here) {
        let Some(action) = &node.action else { break };
        let moved = nodes.get(node.parent).and_then(|parent| moved(&parent.world, action));
        trace.push(match &moved {
            Some((row_line, text)) => format!("{} — {text} (line {row_line})", action.describe()),
            None => action.describe(),
        });
        line = line.or(moved.map(|(row_line, _)| row_line));
        here = node.parent;
    }
    trace.reverse();
    let state_line = nodes.get(at).and_then(|node| subject(&node.world)).map(|i| i.table.state(i.state).line);
    Finding { line: line.or(state_line).unwrap_or(1), what, trace }
}

/// The last row that a step took, as the table shows it.
fn moved(before: &World, action: &Action) -> Option<(u32, String)> {
    let (decision, after) = perform(before, action);
    let entry = decision.changes.iter().rev().find_map(|change| match change {
        Change::Entry(entry) => Some(entry),
        _ => None,
    })?;
    let after = after?;
    let item = after.items.get(&entry.item)?;
    let from = before.items.get(&entry.item).map(|item| item.state);
    let completing = [entry.action.clone(), Event::Finish];
    let rows = || completing.iter().flat_map(|event| item.table.rows_from(from, event));
    let row = rows().find(|row| row.to == crate::lifecycle::To::State(item.state))?;
    let from = from.map_or("—", |from| item.table.name(from));
    Some((row.line, format!("{from} → {}", item.state_name())))
}

/// What makes two worlds the same state, as bytes: what is hashed of the parts, and the whole of it, so that two states
/// are never taken for one.
fn key(world: &World) -> Vec<u8> {
    let ahead = |time: Time| time.since(world.now);
    let mut key = Bytes(Vec::with_capacity(256));
    for item in world.items.values() {
        let counts = (item.fence, item.failures, item.interruptions, item.committed);
        let ready = (item.phase() == Phase::Ready).then(|| ahead(item.run_at));
        (item.id, item.state, counts, ready, item.cancel.is_some()).hash(&mut key);
        (&item.open_steps, item.request).hash(&mut key);
        let lease = item.lease.as_ref().map(|lease| {
            let silent = world.now.since(lease.heartbeat);
            let times = (ahead(lease.expires), lease.window_ends.map(ahead), silent);
            (&lease.owner, lease.status(), times, &lease.request)
        });
        lease.hash(&mut key);
    }
    for (id, execution) in &world.executions {
        let end = execution.ended.as_ref().map(|end| (&end.cause, &end.on, end.permanent));
        (id, execution.status(), end).hash(&mut key);
    }
    key.0
}

/// Keeps what it is to hash.
struct Bytes(Vec<u8>);

impl Hasher for Bytes {
    fn write(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    fn finish(&self) -> u64 {
        0
    }
}
