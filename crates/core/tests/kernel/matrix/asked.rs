//! What can be asked of an item, and the asking.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tenure_core::actor::{Actor, Role, Roles};
use tenure_core::answer::Answer;
use tenure_core::decide::decide;
use tenure_core::draw::Draw;
use tenure_core::id::{ExecutionId, ItemId};
use tenure_core::item::{Item, Link};
use tenure_core::lifecycle::event::Event;
use tenure_core::lifecycle::guard::Guard;
use tenure_core::lifecycle::{Row, Table, To};
use tenure_core::request::*;
use tenure_core::word::{EventName, Store};
use tenure_core::world::World;

use super::as_holder;
use super::shown::Cell;
use crate::kit::{body, record};

/// A line of a page.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Asked {
    Lease,
    Start,
    Renew,
    Progress,
    Commit,
    CommitAndFinish,
    Finish,
    Fail,
    FailForGood,
    Release,
    Expire,
    TimeOut,
    Orphan,
    Cancel,
    Plain(EventName),
    Note,
    Link,
    Erase,
    /// The same on an item that has used up its other attempts.
    Last(Box<Asked>),
}

impl Asked {
    pub fn all(table: &Table, item: &Item) -> Vec<Asked> {
        let mut all = vec![Asked::Lease, Asked::Start, Asked::Renew, Asked::Progress, Asked::Commit];
        all.extend([Asked::CommitAndFinish, Asked::Finish, Asked::Fail, Asked::FailForGood]);
        all.extend([Asked::Release, Asked::Expire, Asked::TimeOut, Asked::Orphan]);
        if item.lease.is_some() && item.attempts.is_some() {
            let last = [Asked::Fail, Asked::Expire, Asked::TimeOut, Asked::Orphan];
            all.extend(last.map(|asked| Asked::Last(Box::new(asked))));
        }
        all.push(Asked::Cancel);
        for row in &table.rows {
            if let Event::Plain(name) = &row.event
                && !all.contains(&Asked::Plain(name.clone()))
            {
                all.push(Asked::Plain(name.clone()));
            }
        }
        all.extend([Asked::Note, Asked::Link, Asked::Erase]);
        all
    }

    /// The events whose rows this may take.
    pub fn events(&self) -> Vec<Event> {
        match self {
            Asked::Lease => vec![Event::Lease],
            Asked::Commit => vec![Event::Commit],
            Asked::CommitAndFinish => vec![Event::Commit, Event::Finish],
            Asked::Finish => vec![Event::Finish],
            Asked::Fail | Asked::FailForGood => vec![Event::Fail],
            Asked::Release => vec![Event::Release],
            // A sweep finds out by itself what is due: the table may have only one of the two, and what has committed
            // is finished.
            Asked::Expire | Asked::Orphan => vec![Event::Expire, Event::Orphan, Event::Finish],
            Asked::TimeOut => vec![Event::TimeOut, Event::Finish],
            Asked::Cancel => vec![Event::Cancel],
            Asked::Plain(name) => vec![Event::Plain(name.clone())],
            Asked::Start | Asked::Renew | Asked::Progress => Vec::new(),
            Asked::Note | Asked::Link | Asked::Erase => Vec::new(),
            Asked::Last(asked) => asked.events(),
        }
    }

    /// The roles that may ask at all, read from the table in the simplest way; None where several events play a part.
    pub fn judged_by(&self, table: &Table) -> Option<Roles> {
        match self {
            Asked::Lease | Asked::Start | Asked::Renew | Asked::Progress => {
                Some(table.roles_of(&Event::Lease))
            }
            Asked::Finish => Some(table.roles_of(&Event::Finish)),
            Asked::Fail | Asked::FailForGood => Some(table.roles_of(&Event::Fail)),
            Asked::Release => Some(table.roles_of(&Event::Release)),
            Asked::Cancel => Some(table.roles_of(&Event::Cancel)),
            Asked::Plain(name) => Some(table.roles_of(&Event::Plain(name.clone()))),
            Asked::Expire | Asked::TimeOut | Asked::Orphan => Some(Roles::NONE.with(Role::System)),
            Asked::Note | Asked::Link | Asked::Erase => Some(table.roles_of(&Event::Create)),
            Asked::Commit | Asked::CommitAndFinish => None,
            Asked::Last(asked) => asked.judged_by(table),
        }
    }
}

impl fmt::Display for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Asked::Lease => "lease",
            Asked::Start => "start",
            Asked::Renew => "renew",
            Asked::Progress => "progress",
            Asked::Commit => "commit",
            Asked::CommitAndFinish => "commit+finish",
            Asked::Finish => "finish",
            Asked::Fail => "fail",
            Asked::FailForGood => "fail for good",
            Asked::Release => "release",
            Asked::Expire => "expire",
            Asked::TimeOut => "time-out",
            Asked::Orphan => "orphan",
            Asked::Cancel => "cancel",
            Asked::Plain(name) => name,
            Asked::Note => "note",
            Asked::Link => "link",
            Asked::Erase => "erase",
            Asked::Last(asked) => return write!(f, "last {asked}"),
        };
        f.write_str(text)
    }
}

pub fn leads_to(row: &Row, table: &Table, name: &str) -> bool {
    matches!(row.to, To::State(to) if table.name(to) == name)
}

/// A world, and the item in it that is asked about.
pub struct Scene {
    pub world: World,
    pub store: Store,
    item: ItemId,
    /// What a link would lead to, and a session of the workers where there is one.
    other: ItemId,
    session: Option<ItemId>,
}

impl Scene {
    pub fn new(mut world: World) -> Scene {
        let is_session = |item: &&Item| &*item.table.kind == "session" && item.payload.0 == [0; 32];
        let session = world.items.values().map(|item| &**item).find(is_session).map(|item| item.id);
        let item = world
            .items
            .values()
            .map(|item| &**item)
            .find(|item| !is_session(item))
            .expect("a world has its item")
            .clone();
        let other = Item { id: ItemId(7), ..item.clone() };
        world.items.insert(other.id, other.into());
        Scene { store: item.store.clone(), item: item.id, other: ItemId(7), session, world }
    }

    pub fn item(&self) -> &Item {
        &self.world.items[&self.item]
    }

    pub fn holder(&self, role: Role) -> Actor {
        as_holder(&self.world, self.item, role)
    }

    /// Makes it happen.
    pub fn do_as(&mut self, actor: &Actor, asked: &Asked) {
        let mut world = self.world.clone();
        let command = self.command(&mut world, asked).expect("it can be asked for");
        let request = Request { store: self.store.clone(), actor: actor.clone(), command };
        let decision = decide(&world, &request, &mut Draw::new(3));
        assert!(decision.answer.is_yes(), "{asked}: {:?}", decision.answer);
        self.world.apply(decision.changes);
    }

    /// What would come of it.
    pub fn ask(&self, actor: &Actor, asked: &Asked) -> Cell {
        let mut world = self.world.clone();
        let Some(command) = self.command(&mut world, asked) else { return Cell::NotAsked };
        let request = Request { store: self.store.clone(), actor: actor.clone(), command };
        let decision = decide(&world, &request, &mut Draw::new(3));
        let (was, written) = (self.item().state, !decision.changes.is_empty());
        world.apply(decision.changes);
        let item = &world.items[&self.item];
        let cell = match &decision.answer {
            Answer::Forbidden { .. } => Cell::Forbidden,
            Answer::NotFound(_) => Cell::NotFound,
            answer => match answer.code() {
                Some(code) => Cell::Refused(code.as_str().to_string()),
                None if item.state != was => Cell::Moved(item.state_name().to_string()),
                None if written => Cell::Written,
                None => Cell::Same,
            },
        };
        let is_no = !matches!(cell, Cell::Moved(_) | Cell::Written | Cell::Same);
        assert!(!(is_no && written), "a no writes nothing");
        cell
    }

    /// A create of the same kind and payload, in a world that has nothing yet.
    pub fn create(&self, role: Role) -> Cell {
        let mut world = World::new(self.world.tables.clone());
        world.now = self.world.now;
        let create = Create::new(self.item().table.kind.clone(), self.world.payloads[&self.item].clone());
        let actor = Actor::new(role, "somebody".parse().unwrap());
        let request = Request { store: self.store.clone(), actor, command: Command::Create(create) };
        let decision = decide(&world, &request, &mut Draw::new(3));
        match &decision.answer {
            Answer::Created(item) => Cell::Moved(item.state_name().to_string()),
            Answer::Forbidden { .. } => Cell::Forbidden,
            answer => Cell::Refused(format!("{answer:?}")),
        }
    }

    /// The request, and the world as it must be for it to come at the right time.
    fn command(&self, world: &mut World, asked: &Asked) -> Option<Command> {
        let (item, session) = (self.item, self.session);
        let execution = ExecutionId { item, fence: self.item().fence };
        let attests = Guard::ATTESTED.to_vec();
        let reason = Some("because".to_string());
        let held = self.item().fence.0 > 0;
        let under_lease = |command| held.then_some(command);
        match asked {
            Asked::Lease => {
                let terms = Terms { session, attests, ..Terms::default() };
                Some(Command::Take(Take { item, terms }))
            }
            Asked::Start => under_lease(Command::Start(Start { execution })),
            Asked::Renew => {
                world.now = world.now.after(Duration::from_secs(1));
                under_lease(Command::Renew(Renew { execution, lease: None }))
            }
            Asked::Progress => {
                let records = vec![record("step", "one", "{}")];
                let progress = Progress { execution, records, opens: Vec::new(), closes: Vec::new() };
                under_lease(Command::Progress(progress))
            }
            Asked::Commit | Asked::CommitAndFinish => {
                let (effects, finish) = (Effects::default(), *asked == Asked::CommitAndFinish);
                let commit = Commit { execution, output: Some(body("1")), effects, finish, session, attests };
                under_lease(Command::Commit(commit))
            }
            Asked::Finish => under_lease(Command::Finish(Finish { execution })),
            Asked::Fail | Asked::FailForGood => {
                let (permanent, offers) = (*asked == Asked::FailForGood, Effects::default());
                let reason = "because".to_string();
                under_lease(Command::Fail(Fail { execution, reason, permanent, retry_after: None, offers }))
            }
            Asked::Release => {
                under_lease(Command::Release(Release { execution, reason, delay: None, attests }))
            }
            Asked::Expire | Asked::TimeOut | Asked::Orphan => under_lease(self.sweep(world, asked)?),
            Asked::Cancel => {
                let (expected_version, offers) = (None, Effects::default());
                Some(Command::Cancel(Cancel { item, reason, expected_version, offers }))
            }
            Asked::Plain(name) => {
                Some(Command::Move(Move { reason, session, attests, ..Move::new(item, name.clone()) }))
            }
            Asked::Note => Some(Command::Note(Note { item, records: vec![record("remark", "one", "{}")] })),
            Asked::Link => {
                let add = vec![Link { label: "related".parse().unwrap(), to: self.other }];
                Some(Command::Link(Relink { item, add, remove: Vec::new() }))
            }
            Asked::Erase => Some(Command::Erase(Erase { item, reason })),
            Asked::Last(asked) => {
                let command = self.command(world, asked);
                Arc::make_mut(world.items.get_mut(&item)?).attempts = Some(1);
                command
            }
        }
    }

    /// A sweep at the moment when the lease, or the window, has just ended. None where no window is set.
    fn sweep(&self, world: &mut World, asked: &Asked) -> Option<Command> {
        let item = Arc::make_mut(world.items.get_mut(&self.item)?);
        let mut due = Due::Time;
        if let Some(lease) = &mut item.lease {
            match asked {
                Asked::Expire => world.now = lease.expires,
                Asked::Orphan => due = Due::Orphan { heartbeat: lease.heartbeat },
                _ => {
                    world.now = lease.window_ends?;
                    // Renewed until the last moment.
                    lease.expires = world.now;
                }
            }
        }
        let (fence, offers) = (item.fence, Effects::default());
        Some(Command::Sweep(Sweep { item: self.item, fence, due, offers }))
    }
}
