//! Random requests: every command, about the items there are, often by whoever may and sometimes by whoever may not.
//!
//! A request is a function of a seed and of the items it may be about, so a failing case is a list of numbers and shrinks
//! by leaving some out. Few keys, names and records, so that requests get in each other's way.

use std::time::Duration;

use tenure_core::actor::{Actor, Role};
use tenure_core::draw::Draw;
use tenure_core::execution::Status;
use tenure_core::id::{ExecutionId, Fence, ItemId};
use tenure_core::item::{Item, Link};
use tenure_core::lifecycle::Phase;
use tenure_core::lifecycle::event::Event;
use tenure_core::lifecycle::guard::Guard;
use tenure_core::lifecycle::settings::Rate;
use tenure_core::lifecycle::tables::Tables;
use tenure_core::request::*;
use tenure_core::time::Time;
use tenure_core::word::{EventName, Kind};

use crate::requests::*;

/// What requests can be about.
pub struct Scene<'a> {
    pub tables: &'a Tables,
    pub items: &'a [Item],
    pub now: Time,
}

struct Dice(Draw);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        (self.0.number() % bound as u64) as usize
    }

    fn one_in(&mut self, bound: usize) -> bool {
        self.below(bound) == 0
    }

    fn pick<T: Clone>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())].clone()
    }

    fn sometimes<T>(&mut self, make: impl FnOnce(&mut Dice) -> T) -> Option<T> {
        self.one_in(3).then(|| make(self))
    }
}

const KINDS: [&str; 17] = [
    "job",
    "job",
    "job",
    "job",
    "run",
    "run",
    "run",
    "verdict",
    "verdict",
    "ticket_ready",
    "validation",
    "todo",
    "session",
    "claim",
    "ticket",
    "work_order",
    "document",
];

impl Scene<'_> {
    pub fn request(&self, seed: u64) -> Request {
        let mut dice = Dice(Draw::new(seed));
        let number = dice.below(39);
        let item = self.fitting(&mut dice, number).or_else(|| self.item(&mut dice));
        let (event, command) = self.command(&mut dice, number, item);
        let kind = match (&command, item) {
            (Command::Create(create), _) => create.kind.clone(),
            (Command::Acquire(acquire), _) => acquire.kinds[0].clone(),
            (_, Some(item)) => item.table.kind.clone(),
            (_, None) => "job".parse().unwrap(),
        };
        let holder = item.and_then(|item| item.lease.as_ref()).map(|lease| lease.owner.clone());
        let is_free = matches!(
            command,
            Command::Create(_) | Command::Acquire(_) | Command::Sweep(_) | Command::Control(_)
        );
        let mut actor =
            Actor::new(self.role(&mut dice, &kind, &event), dice.pick(&["a", "b"]).parse().unwrap());
        actor.incarnation = dice.sometimes(|dice| dice.pick(&["1", "2"]).parse().unwrap());
        if matches!(command, Command::Control(_)) && !dice.one_in(6) {
            actor.role = dice.pick(&[Role::Admin, Role::Human]);
        }
        if let Some(holder) = holder.filter(|_| !is_free && !dice.one_in(8)) {
            (actor.id, actor.incarnation) = (holder.id, holder.incarnation);
        }
        let request = Request { store: store(), actor, command };
        if dice.one_in(12) { in_store("other", request) } else { request }
    }

    /// One that the command is likely to do something to.
    fn fitting(&self, dice: &mut Dice, number: usize) -> Option<&Item> {
        let fits = |item: &&Item| {
            let lease = item.lease.as_ref().filter(|lease| lease.is_live(self.now));
            let status = lease.map(|lease| lease.status());
            match number {
                9..=12 => item.phase() == Phase::Ready,
                13 => status == Some(Status::Leased),
                14..=19 => status == Some(Status::InProgress),
                20 | 21 => status == Some(Status::Committed),
                22..=24 => matches!(status, Some(Status::Leased | Status::InProgress)),
                28 => !item.phase().is_ended(),
                31 => item.phase().is_ended() && !item.erased,
                32 | 33 => item.due(self.now).is_some(),
                34..=36 => item.kept_until(self.tables).is_some_and(|until| until <= self.now),
                _ => false,
            }
        };
        let fitting: Vec<&Item> = self.items.iter().filter(fits).collect();
        (!fitting.is_empty() && !dice.one_in(6)).then(|| dice.pick(&fitting))
    }

    /// One of the youngest, mostly: requests about the same item are what matters.
    fn item(&self, dice: &mut Dice) -> Option<&Item> {
        let back = if dice.one_in(4) { self.items.len() } else { self.items.len().min(5) };
        (back > 0).then(|| &self.items[self.items.len() - 1 - dice.below(back)])
    }

    fn id(&self, dice: &mut Dice, item: Option<&Item>) -> ItemId {
        item.filter(|_| !dice.one_in(40)).map_or(ItemId(7), |item| item.id)
    }

    /// A role that may, mostly.
    fn role(&self, dice: &mut Dice, kind: &Kind, event: &Event) -> Role {
        let may: Vec<Role> = match event {
            Event::Prune => vec![Role::System],
            _ => self.tables.current(kind).map_or(vec![], |table| table.roles_of(event).iter().collect()),
        };
        if may.is_empty() || dice.one_in(12) { dice.pick(&Role::ALL) } else { dice.pick(&may) }
    }

    fn execution(&self, dice: &mut Dice, item: Option<&Item>) -> ExecutionId {
        let fence = item.map_or(Fence(1), |item| item.fence);
        let fence = match dice.below(16) {
            0 => Fence(fence.0.saturating_sub(1)),
            1 => fence.next(),
            _ if item.is_some_and(|item| item.lease.is_none()) => fence.next(),
            _ => fence,
        };
        ExecutionId { item: self.id(dice, item), fence }
    }

    fn command(&self, dice: &mut Dice, number: usize, item: Option<&Item>) -> (Event, Command) {
        let execution = self.execution(dice, item);
        let target = self.id(dice, item);
        match number {
            0..=6 => (Event::Create, Command::Create(self.create(dice))),
            7 | 8 => (Event::Lease, Command::Acquire(self.acquire(dice))),
            9..=12 => (Event::Lease, Command::Take(Take { item: target, terms: self.terms(dice) })),
            13 => (Event::Lease, start(execution)),
            14 => (Event::Lease, renew(execution)),
            15 | 16 => {
                let records = self.records(dice);
                let opens = dice.sometimes(|_| "x".parse().unwrap()).into_iter().collect();
                let closes = dice.sometimes(|_| "x".parse().unwrap()).into_iter().collect();
                (Event::Lease, Command::Progress(Progress { execution, records, opens, closes }))
            }
            17..=19 => self.commit(dice, item, execution),
            20 | 21 => (Event::Finish, finish(execution)),
            22 => {
                let (permanent, offers) = (dice.one_in(3), self.effects(dice));
                let (reason, retry_after) =
                    ("it broke".to_string(), dice.sometimes(|_| Duration::from_secs(20)));
                (Event::Fail, Command::Fail(Fail { execution, reason, permanent, retry_after, offers }))
            }
            23 | 24 => {
                let (delay, attests) = (dice.sometimes(|_| Duration::from_secs(20)), self.attests(dice));
                (Event::Release, Command::Release(Release { execution, reason: None, delay, attests }))
            }
            25..=27 => self.plain(dice, item, target),
            28 => {
                let reason = (!dice.one_in(4)).then(|| "not needed".to_string());
                let expected_version = dice.sometimes(|_| item.map_or(1, |item| item.version));
                let offers = self.effects(dice);
                (Event::Cancel, Command::Cancel(Cancel { item: target, reason, expected_version, offers }))
            }
            29 => (Event::Create, Command::Note(Note { item: target, records: self.records(dice) })),
            30 => {
                let mut links = || dice.sometimes(|dice| self.link(dice)).into_iter().collect();
                let (add, remove) = (links(), links());
                (Event::Create, Command::Link(Relink { item: target, add, remove }))
            }
            31 => (Event::Create, erase(target)),
            37.. => (Event::Lease, Command::Control(self.order(dice))),
            34..=36 => (Event::Prune, Command::Prune(Prune { item: target })),
            _ => (Event::Expire, Command::Sweep(self.sweep(dice, item, execution))),
        }
    }

    fn commit(&self, dice: &mut Dice, item: Option<&Item>, execution: ExecutionId) -> (Event, Command) {
        let by_commit = item.is_some_and(|item| item.table.rows.iter().any(|row| row.event == Event::Commit));
        let (finish, session) = (dice.one_in(5), self.session(dice));
        let output = dice.sometimes(|_| body("7"));
        let effects = if dice.one_in(3) { self.effects(dice) } else { Effects::default() };
        let attests = self.attests(dice);
        let commit = Commit { execution, output, effects, finish, session, attests };
        (if by_commit { Event::Commit } else { Event::Finish }, Command::Commit(commit))
    }

    /// An event that some row of the item has, mostly one of its state.
    fn plain(&self, dice: &mut Dice, item: Option<&Item>, target: ItemId) -> (Event, Command) {
        let mut events: Vec<EventName> = Vec::new();
        for row in item.iter().flat_map(|item| &item.table.rows) {
            let possible = row.from == item.map(|item| item.state) || dice.one_in(6);
            if let (Event::Plain(event), true) = (&row.event, possible) {
                events.push(event.clone());
            }
        }
        let event = if events.is_empty() { "approve".parse().unwrap() } else { dice.pick(&events) };
        let step = Move {
            expected_version: dice.sometimes(|_| item.map_or(1, |item| item.version)),
            reason: dice.sometimes(|_| "because".to_string()),
            run_at: dice.sometimes(|_| self.now.after(Duration::from_secs(20))),
            effects: if dice.one_in(2) { Effects::default() } else { self.effects(dice) },
            session: self.session(dice),
            attests: self.attests(dice),
            ..Move::new(target, event.clone())
        };
        (Event::Plain(event), Command::Move(step))
    }

    fn sweep(&self, dice: &mut Dice, item: Option<&Item>, execution: ExecutionId) -> Sweep {
        let lease = item.and_then(|item| item.lease.as_ref());
        let session = lease.and_then(|lease| lease.session).or_else(|| self.session(dice));
        let due = match (dice.below(4), session) {
            (0, Some(session)) => Due::Lapsed { session },
            (1, _) => Due::Orphan { heartbeat: lease.map_or(self.now, |lease| lease.heartbeat) },
            _ => Due::Time,
        };
        Sweep { item: execution.item, fence: execution.fence, due, offers: self.effects(dice) }
    }

    fn create(&self, dice: &mut Dice) -> Create {
        let kind = dice.pick(&KINDS);
        let key = dice.pick(&["k1", "k2"]);
        let payload = format!(
            r#"{{"document_id":"{key}","claim_id":"{key}","ticket_id":"{key}","validator_key":"{key}","truthbit_id":"t",
                "title":"t","domain":"d","text":"t","event_id":"e","reason":"r"}}"#
        );
        Create {
            name: dice.sometimes(|dice| dice.pick(&["n1", "n2", "n3", "n4"]).parse().unwrap()),
            key: None,
            priority: dice.sometimes(|dice| dice.pick(&[-1, 1, 2])),
            run_at: dice.sometimes(|_| self.now.after(Duration::from_secs(20))),
            attempts: dice.sometimes(|dice| dice.pick(&[1, 2])),
            links: dice.sometimes(|dice| self.link(dice)).into_iter().collect(),
            origin: None,
            take: dice.one_in(6).then(|| self.terms(dice)),
            ..new(kind, &payload)
        }
    }

    fn acquire(&self, dice: &mut Dice) -> Acquire {
        let mut kinds: Vec<Kind> = Vec::new();
        for _ in 0..1 + dice.below(3) {
            kinds.push(dice.pick(&["job", "run", "verdict", "todo", "ticket_ready"]).parse().unwrap());
        }
        Acquire { kinds, max: 1 + dice.below(4), terms: self.terms(dice) }
    }

    /// What an operator says about a kind. More often that it may go on than that it may not, or soon nothing would.
    fn order(&self, dice: &mut Dice) -> Order {
        let kind = dice.pick(&["job", "job", "run", "verdict", "todo", "ticket_ready"]).parse().unwrap();
        let what = match dice.below(6) {
            0 => What::Pause,
            1 | 2 => What::Resume,
            _ => {
                let per = Duration::from_secs(dice.pick(&[5, 60]));
                let rate = dice.sometimes(|dice| Rate { count: dice.pick(&[1, 3]), per });
                What::Limit { concurrency: dice.pick(&[None, Some(1), Some(2), Some(5)]), rate }
            }
        };
        Order { kind, what, reason: "because".to_string() }
    }

    fn terms(&self, dice: &mut Dice) -> Terms {
        Terms {
            lease: dice.sometimes(|_| Duration::from_secs(30)),
            start: !dice.one_in(4),
            session: self.session(dice),
            request: dice.sometimes(|dice| dice.pick(&["r1", "r2", "r3"]).parse().unwrap()),
            attests: self.attests(dice),
        }
    }

    fn session(&self, dice: &mut Dice) -> Option<ItemId> {
        let sessions = self.items.iter().filter(|item| &*item.table.kind == "session");
        let sessions: Vec<ItemId> = sessions.map(|item| item.id).collect();
        (!sessions.is_empty() && !dice.one_in(3)).then(|| dice.pick(&sessions))
    }

    fn attests(&self, dice: &mut Dice) -> Vec<Guard> {
        if dice.one_in(5) { Vec::new() } else { Guard::ATTESTED.to_vec() }
    }

    fn link(&self, dice: &mut Dice) -> Link {
        let other = self.item(dice);
        Link { label: dice.pick(&["depends", "blocker"]).parse().unwrap(), to: self.id(dice, other) }
    }

    fn records(&self, dice: &mut Dice) -> Vec<NewRecord> {
        let mut one = || {
            let label = dice.pick(&["step", "artifact", "receipt", "verdict", "truthbit", "pause_state"]);
            record(label, dice.pick(&["a", "b"]), dice.pick(&["1", "1", "2"]))
        };
        vec![one()]
    }

    fn effects(&self, dice: &mut Dice) -> Effects {
        let mut effects = Effects::default();
        if dice.one_in(2) {
            return effects;
        }
        if dice.one_in(3) {
            effects.records = self.records(dice);
        }
        if dice.one_in(4) {
            let create = Create { take: None, ..self.create(dice) };
            let kind = dice.pick(&["verdict", "ticket_ready", "blocker", "document", "todo"]);
            effects.creates.push(Create { kind: kind.parse().unwrap(), ..create });
        }
        if dice.one_in(4) {
            let target = self.item(dice);
            let item = self.id(dice, target);
            let event = dice.pick(&["block", "schedule", "close", "pass", "approve"]).parse().unwrap();
            effects.moves.push(EffectMove { item, event, reason: None });
        }
        if dice.one_in(6) {
            effects.messages.push(NewMessage { label: "news".parse().unwrap(), body: body("3") });
        }
        effects
    }
}
