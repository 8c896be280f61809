//! What can happen next: every request that anyone could send, and time.
//!
//! Workers are as hostile as the network can make them: each sends every command for every execution that ever existed,
//! its own or not, at any moment and any number of times. A crash needs no action of its own: whoever has crashed sends
//! nothing more, and every way in which one falls silent is among the ways explored.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::actor::{Actor, Role};
use crate::id::{ExecutionId, Fence, ItemId};
use crate::item::Item;
use crate::lifecycle::event::Event;
use crate::lifecycle::guard::Guard;
use crate::lifecycle::{Phase, Table};
use crate::request::{
    Cancel, Command, Commit, Due, Effects, Fail, Finish, Move, Release, Renew, Request, Start, Sweep, Take,
    Terms,
};
use crate::time::Time;
use crate::world::World;

/// One thing that can happen.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Action {
    Ask(Box<Request>),
    /// The clock moves to the next moment at which something is due.
    Wait(Time),
}

impl Action {
    /// In words, for a trace.
    pub fn describe(&self) -> String {
        match self {
            Action::Wait(_) => "time passes".into(),
            Action::Ask(request) => {
                let what = match &request.command {
                    Command::Create(_) => "create".into(),
                    Command::Acquire(_) => "acquire".into(),
                    Command::Take(_) => "lease".into(),
                    Command::Start(start) => format!("start (attempt {})", start.execution.fence),
                    Command::Renew(renew) => format!("renew (attempt {})", renew.execution.fence),
                    Command::Progress(progress) => format!("progress (attempt {})", progress.execution.fence),
                    Command::Commit(commit) if commit.finish => {
                        format!("commit and finish (attempt {})", commit.execution.fence)
                    }
                    Command::Commit(commit) => format!("commit (attempt {})", commit.execution.fence),
                    Command::Finish(finish) => format!("finish (attempt {})", finish.execution.fence),
                    Command::Fail(fail) if fail.permanent => {
                        format!("fail for good (attempt {})", fail.execution.fence)
                    }
                    Command::Fail(fail) => format!("fail (attempt {})", fail.execution.fence),
                    Command::Release(release) => format!("release (attempt {})", release.execution.fence),
                    Command::Move(step) => format!("{}", step.event),
                    Command::Cancel(_) => "cancel".into(),
                    Command::Note(_) => "note".into(),
                    Command::Link(_) => "link".into(),
                    Command::Erase(_) => "erase".into(),
                    Command::Control(_) => "control".into(),
                    Command::Sweep(_) => "sweep".into(),
                    Command::Prune(_) => "prune".into(),
                };
                format!("{}: {what}", request.actor)
            }
        }
    }
}

/// Everything that can happen in this world. Takes are left out for items that have been leased `fences_max` times.
pub fn actions(world: &World, workers: &[Worker], fences_max: u64) -> Vec<Action> {
    let mut actions = Vec::new();
    for item in world.items.values().filter(|item| !is_prop(item)) {
        for worker in workers {
            worker.actions(item, fences_max, &mut actions);
        }
        system_actions(item, &mut actions);
        table_actions(item, workers, &mut actions);
    }
    if let Some(next) = next_deadline(world) {
        actions.push(Action::Wait(next));
    }
    actions
}

/// Somebody who leases and works.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Worker {
    pub actor: Actor,
    /// The item that stands for its session, where the table asks for one.
    pub session: Option<ItemId>,
}

/// Items that are part of the scenery: sessions for the guard that asks for one.
fn is_prop(item: &Item) -> bool {
    item.payload == prop_mark()
}

/// The payload hash of scenery; no JSON text has it.
pub fn prop_mark() -> crate::hash::Hash {
    crate::hash::Hash([0; 32])
}

impl Worker {
    fn actions(&self, item: &Item, fences_max: u64, actions: &mut Vec<Action>) {
        let mut ask = |command: Command| {
            let (store, actor) = (item.store.clone(), self.actor.clone());
            actions.push(Action::Ask(Box::new(Request { store, actor, command })));
        };
        if item.fence.0 < fences_max {
            // A new name for every acquire: repeated, it is the same request.
            let request = format!("{}-{}", self.actor.owner(), item.fence.next()).parse().ok();
            let terms = Terms { session: self.session, request, attests: attested(), ..Terms::default() };
            ask(Command::Take(Take { item: item.id, terms }));
        }
        for fence in (1..=item.fence.0).map(Fence) {
            let execution = ExecutionId { item: item.id, fence };
            ask(Command::Start(Start { execution }));
            ask(Command::Renew(Renew { execution, lease: None }));
            for finish in [false, true] {
                let (effects, session) = (Effects::default(), self.session);
                ask(Command::Commit(Commit {
                    execution,
                    output: None,
                    effects,
                    finish,
                    session,
                    attests: attested(),
                }));
            }
            ask(Command::Finish(Finish { execution }));
            for permanent in [false, true] {
                let (reason, offers) = ("it broke".into(), Effects::default());
                ask(Command::Fail(Fail { execution, reason, permanent, retry_after: None, offers }));
            }
            ask(Command::Release(Release { execution, reason: None, delay: None, attests: attested() }));
        }
    }
}

fn attested() -> Vec<Guard> {
    Guard::ATTESTED.to_vec()
}

/// The sweeper, with a list that may be old, and one that believes a process to be dead.
fn system_actions(item: &Item, actions: &mut Vec<Action>) {
    let actor = Actor::new(Role::System, "sweeper".parse().expect("a valid id"));
    let mut sweep = |fence: Fence, due: Due| {
        let sweep = Sweep { item: item.id, fence, due, offers: Effects::default() };
        let command = Command::Sweep(sweep);
        actions.push(Action::Ask(Box::new(Request {
            store: item.store.clone(),
            actor: actor.clone(),
            command,
        })));
    };
    for fence in (1..=item.fence.0).map(Fence) {
        sweep(fence, Due::Time);
    }
    if let Some(lease) = &item.lease {
        sweep(item.fence, Due::Orphan { heartbeat: lease.heartbeat });
    }
}

/// Cancels and plain moves, each by every role that the table names for it.
fn table_actions(item: &Item, workers: &[Worker], actions: &mut Vec<Action>) {
    for (event, role) in asked_for(&item.table) {
        let actors: Vec<Actor> = match role {
            Role::Worker => workers.iter().map(|worker| worker.actor.clone()).collect(),
            role => alloc::vec![Actor::new(role, "somebody".parse().expect("a valid id"))],
        };
        for actor in actors {
            let reason = Some(String::from("because"));
            let command = match &event {
                Event::Cancel => Command::Cancel(Cancel {
                    item: item.id,
                    reason,
                    expected_version: None,
                    offers: Effects::default(),
                }),
                Event::Plain(name) => {
                    let session = workers.first().and_then(|worker| worker.session);
                    let step =
                        Move { reason, session, attests: attested(), ..Move::new(item.id, name.clone()) };
                    Command::Move(step)
                }
                _ => continue,
            };
            actions.push(Action::Ask(Box::new(Request { store: item.store.clone(), actor, command })));
        }
    }
}

/// The events that somebody asks for by name, with the roles that may.
fn asked_for(table: &Table) -> Vec<(Event, Role)> {
    let mut asked = Vec::new();
    for row in table.rows.iter().filter(|row| matches!(row.event, Event::Cancel | Event::Plain(_))) {
        for role in row.actors.iter() {
            let pair = (row.event.clone(), role);
            if !asked.contains(&pair) {
                asked.push(pair);
            }
        }
    }
    asked
}

fn next_deadline(world: &World) -> Option<Time> {
    let deadlines = world.items.values().filter(|item| !is_prop(item)).flat_map(|item| {
        let lease = item.lease.as_ref();
        let ready = (item.phase() == Phase::Ready).then_some(item.run_at);
        [lease.map(|lease| lease.expires), lease.and_then(|lease| lease.window_ends), ready]
    });
    deadlines.flatten().filter(|deadline| *deadline > world.now).min()
}
