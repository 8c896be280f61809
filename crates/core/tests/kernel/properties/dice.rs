//! Random requests. Half of them are what a well-behaved caller would send at that moment; the rest is anything.

use std::time::Duration;

use tenure_core::actor::{Actor, Role};
use tenure_core::id::{ExecutionId, Fence, ItemId};
use tenure_core::item::{Item, Link};
use tenure_core::lifecycle::event::Event;
use tenure_core::lifecycle::guard::Guard;
use tenure_core::lifecycle::{Phase, Row};
use tenure_core::request::*;
use tenure_core::word::{EventName, Key, Label};
use tenure_core::world::World;

use super::Play;
use crate::kit::{actor, body};

const ACTORS: [&str; 11] = [
    "api:x",
    "orchestrator:o",
    "worker:a/1",
    "worker:a/2",
    "worker:b/1",
    "worker:b",
    "human:a/1",
    "human:h",
    "system:engine",
    "admin:root",
    "api:a/1",
];

/// Kinds with payloads that fit them; few keys, so that items meet.
const KINDS: [(&str, &str); 20] = [
    ("job", "{}"),
    ("job", "[1]"),
    ("run", r#"{"document_id":"d1"}"#),
    ("run", r#"{"document_id":"d2"}"#),
    ("claim", r#"{"domain":"d","text":"t"}"#),
    ("todo", r#"{"title":"t"}"#),
    ("session", "{}"),
    ("session", r#"{"n":1}"#),
    ("ticket", r#"{"title":"t"}"#),
    ("ticket_ready", r#"{"ticket_id":"t1"}"#),
    ("work_order", r#"{"event_id":"e1","ticket_id":"t1"}"#),
    ("gate", r#"{"work_order_id":"w1","ticket_id":"t1"}"#),
    ("blocker", r#"{"ticket_id":"t1","reason":"r"}"#),
    ("validation", r#"{"claim_id":"c","truthbit_id":"b","validator_key":"v1"}"#),
    ("verdict", r#"{"claim_id":"c"}"#),
    ("expense", r#"{"employee":"e1","amount":7}"#),
    ("expense", r#"{"employee":"e1","amount":700}"#),
    ("parcel", "{}"),
    ("desk", r#"{"room":"r1"}"#),
    ("desk", r#"{"room":"r2"}"#),
];

pub const EVENTS: [&str; 20] = [
    "enqueue",
    "approve",
    "schedule",
    "block",
    "pass",
    "retry",
    "resolve",
    "close",
    "submit",
    "invalidate",
    "supersede",
    "abandon",
    "reject",
    "hold",
    "let-go",
    "find",
    "mend",
    "shut",
    "explode",
    "x",
];

pub struct Dice<'n> {
    numbers: std::slice::Iter<'n, u16>,
}

impl<'n> Dice<'n> {
    pub fn new(numbers: &'n [u16]) -> Dice<'n> {
        Dice { numbers: numbers.iter() }
    }

    /// One of so many; the first when the numbers have run out.
    pub fn of(&mut self, sides: usize) -> usize {
        usize::from(self.numbers.next().copied().unwrap_or(0)) % sides.max(1)
    }

    fn percent(&mut self, chance: usize) -> bool {
        // The smallest number, to which a failing case shrinks, is the plain choice.
        self.of(100) >= 100 - chance
    }

    pub fn pick<'a, T>(&mut self, list: &'a [T]) -> Option<&'a T> {
        let at = self.of(list.len());
        list.get(at)
    }

    pub fn clock(&mut self, world: &mut World) {
        const STEPS: [i64; 10] = [0, 1, 3, 20, 61, 130, -5, -100, 3_700, -3_700];
        let seconds = if self.percent(15) { STEPS[self.of(STEPS.len())] } else { 0 };
        let span = Duration::from_secs(seconds.unsigned_abs());
        world.now = if seconds < 0 { world.now.before(span) } else { world.now.after(span) };
    }

    pub fn request(&mut self, play: &mut Play) -> Request {
        let verb = self.verb(&play.world);
        let world = &mut play.world;
        if verb >= 92 && !play.sent.is_empty() {
            return self.pick(&play.sent).expect("something was sent").clone();
        }
        let item = self.item(world, verb);
        let elsewhere = if self.percent(3) { "other" } else { "default" };
        let store = match (&item, self.percent(4)) {
            (Some(item), false) if verb >= 12 => item.store.to_string(),
            _ => elsewhere.to_string(),
        };
        let (command, right) = match (verb, item) {
            (0..12, _) | (_, None) => self.create(world, play.theme),
            (12..30, Some(item)) => self.take(world, &item),
            (30..44, Some(item)) => {
                (Command::Start(Start { execution: self.execution(&item) }), holder(&item))
            }
            (44..48, Some(item)) => {
                let lease = self.percent(20).then(|| Duration::from_secs(5));
                (Command::Renew(Renew { execution: self.execution(&item), lease }), holder(&item))
            }
            (48..52, Some(item)) => self.progress(&item),
            (52..62, Some(item)) => self.commit(world, &item),
            (62..65, Some(item)) => {
                (Command::Finish(Finish { execution: self.execution(&item) }), holder(&item))
            }
            (65..69, Some(item)) => self.fail(world, &item),
            (69..71, Some(item)) => {
                let (execution, reason, attests) = (self.execution(&item), self.reason(), self.attests());
                let delay = self.percent(20).then(|| Duration::from_secs(9));
                (Command::Release(Release { execution, reason, delay, attests }), holder(&item))
            }
            (71..78, Some(item)) => self.sweep(world, &item),
            (78..86, Some(item)) => self.plain(world, &item),
            (86..89, Some(item)) => self.cancel(world, &item),
            (89, Some(item)) => (Command::Prune(Prune { item: item.id }), Some(actor("system:engine"))),
            (_, Some(item)) => self.append(world, &item),
        };
        let actor = match right {
            Some(actor) if !self.percent(25) => actor,
            _ => actor(ACTORS[self.of(ACTORS.len())]),
        };
        Request { store: store.parse().unwrap(), actor, command }
    }

    /// Which verb, by its place in `request`. Where nobody holds anything, mostly what gets something held.
    fn verb(&mut self, world: &World) -> usize {
        let verb = self.of(100);
        let some = |phase: Phase| world.items.values().any(|item| item.phase() == phase);
        let idle = (30..78).contains(&verb) && live(world).is_empty() && !self.percent(15);
        match idle {
            true if some(Phase::Ready) => 12,
            true if some(Phase::Waiting) => 78,
            true if some(Phase::Active) => 71,
            true => 0,
            false => verb,
        }
    }

    /// An item: mostly one of which this verb can be asked, now and then one that is not there.
    fn item(&mut self, world: &World, verb: usize) -> Option<Item> {
        let of_phase = |fits: fn(Phase) -> bool| -> Vec<&Item> {
            world.items.values().map(|item| &**item).filter(|item| fits(item.phase())).collect()
        };
        let fitting = match verb {
            12..30 => of_phase(|phase| phase == Phase::Ready),
            30..71 => live(world),
            71..78 => of_phase(|phase| phase == Phase::Active),
            78..86 => of_phase(|phase| phase != Phase::Active),
            89 => of_phase(Phase::is_ended),
            _ => of_phase(|phase| !phase.is_ended()),
        };
        let anything = self.percent(20) || fitting.is_empty();
        let list = if anything { of_phase(|_| true) } else { fitting };
        let item = self.pick(&list).map(|item| (*item).clone());
        let gone = self.percent(2);
        item.map(|item| if gone { Item { id: ItemId(1), ..item } } else { item })
    }

    /// Mostly the live one; else any other, also one that never was.
    fn execution(&mut self, item: &Item) -> ExecutionId {
        let fence = if self.percent(20) { Fence(self.of(5) as u64) } else { item.fence };
        ExecutionId { item: item.id, fence }
    }

    fn reason(&mut self) -> Option<String> {
        (!self.percent(15)).then(|| "because".to_string())
    }

    fn attests(&mut self) -> Vec<Guard> {
        if self.percent(15) { Vec::new() } else { Guard::ATTESTED.to_vec() }
    }

    fn name(&mut self) -> Option<Key> {
        [None, Some("n1"), Some("n2"), None][self.of(4)].map(|name| name.parse().unwrap())
    }

    fn terms(&mut self, world: &World) -> Terms {
        let is_session = |item: &&Item| &*item.table.kind == "session" && item.phase() == Phase::Active;
        let sessions: Vec<ItemId> =
            world.items.values().map(|item| &**item).filter(is_session).map(|item| item.id).collect();
        Terms {
            lease: self.percent(10).then(|| Duration::from_secs(20)),
            start: self.percent(40),
            session: self.pick(&sessions).copied(),
            request: self.name(),
            attests: self.attests(),
        }
    }

    /// A play is about a few kinds that stand together, so that their items meet and get far.
    fn create(&mut self, world: &World, theme: usize) -> (Command, Option<Actor>) {
        let (kind, _) = KINDS[(theme + self.of(6)) % KINDS.len()];
        let create = self.a_create(world, Some(kind));
        let table = world.tables.current(&create.kind).expect("a known kind");
        let roles = table.roles_of(&Event::Create);
        let right = ACTORS.into_iter().map(actor).find(|actor| roles.names(actor.role));
        (Command::Create(create), right)
    }

    pub fn a_create(&mut self, world: &World, kind: Option<&str>) -> Create {
        let fits: Vec<_> =
            KINDS.into_iter().filter(|(known, _)| kind.is_none_or(|kind| kind == *known)).collect();
        let (kind, payload) = *self.pick(&fits).unwrap_or(&KINDS[0]);
        let mut create = Create::new(kind.parse().unwrap(), body(payload));
        create.name = self.name();
        let extra = self.of(100);
        create.take = (kind == "session" || extra % 7 == 6).then(|| self.terms(world));
        match extra {
            60..70 => create.attempts = Some(1 + extra as u32 % 3),
            70..75 => create.priority = Some(5),
            75..80 => create.run_at = Some(world.now.after(Duration::from_secs(30))),
            80..90 => create.links = self.link(world).into_iter().collect(),
            90..95 => create.origin = self.link(world).map(|link| link.to),
            95..98 => create.key = Some("d1".parse().unwrap()),
            98 => create.attempts = Some(0),
            _ => {}
        }
        create
    }

    fn link(&mut self, world: &World) -> Option<Link> {
        let label = ["depends", "blocker", "related"][self.of(3)].parse().unwrap();
        let ids: Vec<ItemId> = world.items.keys().copied().collect();
        self.pick(&ids).map(|to| Link { label, to: *to })
    }

    fn take(&mut self, world: &mut World, item: &Item) -> (Command, Option<Actor>) {
        let terms = self.terms(world);
        let roles = item.table.roles_of(&Event::Lease);
        let able: Vec<Actor> =
            ACTORS.into_iter().map(actor).filter(|actor| roles.names(actor.role)).collect();
        let right = self.pick(&able).cloned();
        if !self.percent(30) {
            return (Command::Take(Take { item: item.id, terms }), right);
        }
        let kinds = vec![item.table.kind.clone()];
        let now = world.now;
        let ready = |item: &&Item| item.slot(now) == tenure_core::item::Slot::Ready;
        let mut offers: Vec<&Item> = world.items.values().map(|item| &**item).filter(ready).collect();
        offers.sort_by_key(|item| (item.rank(), item.id));
        world.offers = offers.into_iter().map(|item| item.id).collect();
        (Command::Acquire(Acquire { kinds, max: 1 + self.of(2), terms }), right)
    }

    fn progress(&mut self, item: &Item) -> (Command, Option<Actor>) {
        let steps = |some: bool| -> Vec<Label> {
            let step = "extract".parse().unwrap();
            if some { vec![step] } else { Vec::new() }
        };
        let records = (0..self.of(3)).map(|_| self.a_record()).collect();
        let (opens, closes) = (steps(self.percent(50)), steps(self.percent(20)));
        let execution = self.execution(item);
        (Command::Progress(Progress { execution, records, opens, closes }), holder(item))
    }

    fn commit(&mut self, world: &World, item: &Item) -> (Command, Option<Actor>) {
        let completing = [Event::Commit, Event::Finish];
        let rows = item.table.rows.iter().filter(|row| completing.contains(&row.event));
        let effects = self.effects(world, rows.collect());
        let session = item.lease.as_ref().and_then(|lease| lease.session);
        let commit = Commit {
            execution: self.execution(item),
            output: self.percent(50).then(|| body("1")),
            effects,
            finish: self.percent(40),
            session,
            attests: self.attests(),
        };
        (Command::Commit(commit), holder(item))
    }

    fn fail(&mut self, world: &World, item: &Item) -> (Command, Option<Actor>) {
        let rows = item.table.rows.iter().filter(|row| row.event == Event::Fail);
        let offers = self.effects(world, rows.collect());
        let fail = Fail {
            execution: self.execution(item),
            reason: "it broke".into(),
            permanent: self.percent(30),
            retry_after: self.percent(20).then(|| Duration::from_secs(7)),
            offers,
        };
        (Command::Fail(fail), holder(item))
    }

    fn sweep(&mut self, world: &World, item: &Item) -> (Command, Option<Actor>) {
        let due = match (self.of(4), &item.lease) {
            (2, Some(lease)) => Due::Orphan { heartbeat: lease.heartbeat },
            (3, Some(lease)) if lease.session.is_some() => {
                Due::Lapsed { session: lease.session.expect("it was just looked at") }
            }
            _ => Due::Time,
        };
        let rows = item.table.rows.iter().filter(|row| row.actors.names(Role::System));
        let offers = self.effects(world, rows.collect());
        let fence = self.execution(item).fence;
        (Command::Sweep(Sweep { item: item.id, fence, due, offers }), Some(actor("system:engine")))
    }

    fn plain(&mut self, world: &World, item: &Item) -> (Command, Option<Actor>) {
        let possible: Vec<&Row> = item
            .table
            .rows
            .iter()
            .filter(|row| row.from == Some(item.state) && matches!(row.event, Event::Plain(_)))
            .collect();
        let row = self.pick(&possible).copied();
        let name: EventName = match row {
            Some(row) if !self.percent(20) => row.event.as_str().parse().unwrap(),
            _ => EVENTS[self.of(EVENTS.len())].parse().unwrap(),
        };
        let role = row.and_then(|row| row.actors.iter().next());
        let right = role.and_then(|role| ACTORS.into_iter().map(actor).find(|actor| actor.role == role));
        let effects = self.effects(world, row.into_iter().collect());
        let step = Move {
            reason: self.reason(),
            expected_version: self.percent(10).then_some(item.version),
            run_at: self.percent(10).then(|| world.now.after(Duration::from_secs(15))),
            effects,
            session: item.lease.as_ref().and_then(|lease| lease.session),
            attests: self.attests(),
            ..Move::new(item.id, name)
        };
        (Command::Move(step), right)
    }

    fn cancel(&mut self, world: &World, item: &Item) -> (Command, Option<Actor>) {
        let rows: Vec<&Row> = item.table.rows.iter().filter(|row| row.event == Event::Cancel).collect();
        let offers = self.effects(world, rows);
        let expected_version = self.percent(10).then_some(item.version + self.of(2) as u64);
        let cancel = Cancel { item: item.id, reason: self.reason(), expected_version, offers };
        (Command::Cancel(cancel), Some(actor("api:x")))
    }

    fn append(&mut self, world: &World, item: &Item) -> (Command, Option<Actor>) {
        let id = item.id;
        let right = Some(actor(["api:x", "human:h", "worker:a/1"][self.of(3)]));
        let command = match self.of(3) {
            0 => Command::Note(Note {
                item: id,
                records: (0..1 + self.of(2)).map(|_| self.a_record()).collect(),
            }),
            1 => {
                let add: Vec<Link> = self.link(world).into_iter().collect();
                let remove = if self.percent(40) { item.links.clone() } else { Vec::new() };
                Command::Link(Relink { item: id, add, remove })
            }
            _ => Command::Erase(Erase { item: id, reason: self.reason() }),
        };
        (command, right)
    }
}

/// Items under a lease that has not run out.
fn live(world: &World) -> Vec<&Item> {
    let is_live = |item: &&Item| item.lease.as_ref().is_some_and(|lease| lease.is_live(world.now));
    world.items.values().map(|item| &**item).filter(is_live).collect()
}

/// Whoever holds the item, as a worker.
fn holder(item: &Item) -> Option<Actor> {
    let lease = item.lease.as_ref()?;
    Some(Actor {
        role: Role::Worker,
        id: lease.owner.id.clone(),
        incarnation: lease.owner.incarnation.clone(),
    })
}
