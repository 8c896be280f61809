//! The row of an item.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use tenure_core::actor::{Actor, Role};
use tenure_core::execution::{Lease, Mark};
use tenure_core::hash::Hash;
use tenure_core::id::{Fence, ItemId};
use tenure_core::item::{CancelAsked, Item, Link, Slot};
use tenure_core::lifecycle::{Phase, SharedTable, StateId};
use tenure_core::time::Time;
use tenure_core::trace::Trace;
use tenure_core::word::{Key, Store};

use super::bytes::{Reader, Writer, word};
use super::{Damaged, Memo, signed, unsigned};

/// A payload of at most so many bytes stands in its item's row; a longer one in `bodies`. 1.8 KB there cost a quarter of
/// the rate.
pub const INLINE_BYTES_MAX: usize = 512;

/// The columns of an item. The database adds its numbers for the queue, the lifecycle and the segment of the last
/// entry, and the payload's bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ItemRow<'a> {
    pub id: ItemId,
    pub state: u8,
    /// Which index holds the row, and its place in it: see [`rank`]. Derived, and true at the moment of writing: a scheduled row whose
    /// time has come is promoted by whoever claims.
    pub slot: Slot,
    pub rank: i64,
    pub version: i64,
    pub fence: i64,
    pub run_at: i64,
    /// In microseconds; see [`Item::wait_max`].
    pub wait: Option<i64>,
    pub created: i64,
    pub updated: i64,
    pub key: Option<Cow<'a, str>>,
    /// The key, while an item of an exclusive kind is active: a unique index over it says no to a second one.
    pub exclusive: Option<Cow<'a, str>>,
    pub owner: Option<Cow<'a, str>>,
    pub heartbeat: Option<i64>,
    pub expires: Option<i64>,
    pub window_ends: Option<i64>,
    pub session: Option<ItemId>,
    pub committed: Option<i64>,
    pub head: Hash,
    pub payload: Hash,
    pub rest: Cow<'a, [u8]>,
}

impl<'a> ItemRow<'a> {
    pub fn of(item: &'a Item, now: Time) -> ItemRow<'a> {
        let lease = item.lease.as_ref();
        let key = item.key.as_ref().map(|key| Cow::Borrowed(key.as_str()));
        let is_exclusive = item.table.is_exclusive() && item.phase() == Phase::Active;
        ItemRow {
            id: item.id,
            state: item.state.0,
            slot: item.slot(now),
            rank: rank(item),
            version: signed(item.version),
            fence: signed(item.fence.0),
            run_at: item.run_at.micros(),
            wait: item.wait_max.map(|wait| i64::try_from(wait.as_micros()).unwrap_or(i64::MAX)),
            created: item.created.micros(),
            updated: item.updated.micros(),
            exclusive: key.clone().filter(|_| is_exclusive),
            key,
            owner: lease.map(|lease| Cow::Owned(lease.owner.to_string())),
            heartbeat: lease.map(|lease| lease.heartbeat.micros()),
            expires: lease.map(|lease| lease.expires.micros()),
            window_ends: lease.and_then(|lease| lease.window_ends).map(Time::micros),
            session: lease.and_then(|lease| lease.session),
            committed: item.committed.map(|fence| signed(fence.0)),
            head: item.head,
            payload: item.payload,
            rest: Cow::Owned(write_rest(item)),
        }
    }

    /// The item. What no item can be is found here: the row was changed by hand, or by a stray program.
    pub fn read(&self, store: Store, table: SharedTable, memo: &mut Memo) -> Result<Item, Damaged> {
        let state = StateId(self.state);
        if usize::from(self.state) >= table.states.len() {
            return Err(Damaged(format!("its lifecycle has no state number {}", self.state)));
        }
        let mut reader = Reader::new(&self.rest);
        let rest = Rest::read(&mut reader, memo)?;
        reader.end()?;
        let item = Item {
            id: self.id,
            store,
            state,
            version: unsigned(self.version)?,
            fence: Fence(unsigned(self.fence)?),
            failures: rest.failures,
            interruptions: rest.interruptions,
            attempts: rest.attempts,
            key: self.key.as_deref().map(word::<Key>).transpose()?,
            priority: rest.priority,
            run_at: Time::from_micros(self.run_at),
            wait_max: self.wait.map(unsigned).transpose()?.map(Duration::from_micros),
            lease: self.lease(rest.held, memo)?,
            committed: self.committed.map(unsigned).transpose()?.map(Fence),
            cancel: rest.cancel,
            open_steps: rest.open_steps,
            links: rest.links,
            origin: rest.origin,
            reason: rest.reason,
            payload: self.payload,
            output: rest.output,
            erased: rest.erased,
            trace: rest.trace,
            request: rest.request,
            created_by: rest.created_by,
            created: Time::from_micros(self.created),
            updated: Time::from_micros(self.updated),
            head: self.head,
            table,
        };
        check(&item)?;
        Ok(item)
    }

    fn lease(&self, held: Option<Held>, memo: &mut Memo) -> Result<Option<Lease>, Damaged> {
        let (Some(held), Some(owner)) = (&held, &self.owner) else {
            return match (held, &self.owner) {
                (None, None) => Ok(None),
                _ => Err(Damaged::because("it is half leased")),
            };
        };
        let time = |column: Option<i64>| {
            column.map(Time::from_micros).ok_or_else(|| Damaged::because("its lease has no end"))
        };
        Ok(Some(Lease {
            owner: memo.owner(owner)?,
            since: held.since,
            started: held.started,
            committed: held.committed,
            heartbeat: time(self.heartbeat)?,
            expires: time(self.expires)?,
            window_ends: self.window_ends.map(Time::from_micros),
            session: self.session,
            request: held.request.clone(),
        }))
    }
}

/// A row that failed or was stopped is in no queue. Its rank says so, and an index over these holds no others.
pub const FAILED: i64 = -1;
pub const STOPPED: i64 = -2;

/// The place in its index. No moment since 1970 is below zero, head start and all.
fn rank(item: &Item) -> i64 {
    match item.phase() {
        Phase::Failed => FAILED,
        Phase::Stopped => STOPPED,
        Phase::Waiting | Phase::Ready | Phase::Active | Phase::Succeeded => item.rank().micros().max(0),
    }
}

/// What holds for every item whatever its lifecycle is.
fn check(item: &Item) -> Result<(), Damaged> {
    let wrong = if item.version == 0 {
        "it has no version"
    } else if (item.phase() == Phase::Active) != item.lease.is_some() {
        "it is active without a lease, or leased without being active"
    } else if item.committed.is_some_and(|fence| fence > item.fence) {
        "an execution committed that was never leased"
    } else if item.phase() == Phase::Ready && item.committed.is_some() {
        "it is ready and has committed"
    } else {
        return Ok(());
    };
    Err(Damaged::because(wrong))
}

/// What has no column.
struct Rest {
    failures: u32,
    interruptions: u32,
    attempts: Option<u32>,
    priority: i8,
    created_by: Actor,
    held: Option<Held>,
    cancel: Option<CancelAsked>,
    open_steps: Vec<tenure_core::word::Label>,
    links: Vec<Link>,
    origin: Option<ItemId>,
    reason: Option<Arc<str>>,
    output: Option<Hash>,
    erased: bool,
    trace: Option<Arc<Trace>>,
    request: Option<Hash>,
}

/// The part of a lease that no statement looks for.
struct Held {
    since: Time,
    started: Option<Time>,
    committed: Option<Mark>,
    request: Option<Key>,
}

/// The first byte; a reader refuses what it does not know.
const FORMAT: u8 = 1;
/// The same with a trace at its end, which the first readers did not know of.
const FORMAT_TRACED: u8 = 2;

// Which parts follow.
const ATTEMPTS: u64 = 1;
const LEASE: u64 = 1 << 1;
const STARTED: u64 = 1 << 2;
const COMMITTED: u64 = 1 << 3;
const LEASE_REQUEST: u64 = 1 << 4;
const CANCEL: u64 = 1 << 5;
const CANCEL_REASON: u64 = 1 << 6;
const OPEN_STEPS: u64 = 1 << 7;
const LINKS: u64 = 1 << 8;
const ORIGIN: u64 = 1 << 9;
const REASON: u64 = 1 << 10;
const OUTPUT: u64 = 1 << 11;
const ERASED: u64 = 1 << 12;
const REQUEST: u64 = 1 << 13;

fn write_rest(item: &Item) -> Vec<u8> {
    let lease = item.lease.as_ref();
    let flag = |is: bool, flag: u64| if is { flag } else { 0 };
    let flags = flag(item.attempts.is_some(), ATTEMPTS)
        | flag(lease.is_some(), LEASE)
        | flag(lease.is_some_and(|lease| lease.started.is_some()), STARTED)
        | flag(lease.is_some_and(|lease| lease.committed.is_some()), COMMITTED)
        | flag(lease.is_some_and(|lease| lease.request.is_some()), LEASE_REQUEST)
        | flag(item.cancel.is_some(), CANCEL)
        | flag(item.cancel.as_ref().is_some_and(|cancel| cancel.reason.is_some()), CANCEL_REASON)
        | flag(!item.open_steps.is_empty(), OPEN_STEPS)
        | flag(!item.links.is_empty(), LINKS)
        | flag(item.origin.is_some(), ORIGIN)
        | flag(item.reason.is_some(), REASON)
        | flag(item.output.is_some(), OUTPUT)
        | flag(item.erased, ERASED)
        | flag(item.request.is_some(), REQUEST);
    let mut out = Writer::with_capacity(96);
    out.byte(if item.trace.is_some() { FORMAT_TRACED } else { FORMAT });
    out.number(flags);
    out.number(item.failures.into());
    out.number(item.interruptions.into());
    out.byte(item.priority.to_le_bytes()[0]);
    write_actor(&mut out, &item.created_by);
    if let Some(attempts) = item.attempts {
        out.number(attempts.into());
    }
    if let Some(lease) = lease {
        out.time(lease.since);
        lease.started.iter().for_each(|started| out.time(*started));
        lease.committed.iter().for_each(|mark| write_mark(&mut out, mark));
        lease.request.iter().for_each(|request| out.text(request));
    }
    if let Some(cancel) = &item.cancel {
        write_actor(&mut out, &cancel.actor);
        cancel.reason.iter().for_each(|reason| out.text(reason));
    }
    if !item.open_steps.is_empty() {
        out.number(item.open_steps.len() as u64);
        item.open_steps.iter().for_each(|step| out.text(step));
    }
    if !item.links.is_empty() {
        out.number(item.links.len() as u64);
        for link in &item.links {
            out.text(&link.label);
            out.id(link.to);
        }
    }
    item.origin.iter().for_each(|origin| out.id(*origin));
    item.reason.iter().for_each(|reason| out.text(reason));
    item.output.iter().for_each(|output| out.hash(output));
    item.request.iter().for_each(|request| out.hash(request));
    if let Some(trace) = &item.trace {
        out.text(trace.parent());
        out.text(trace.state().unwrap_or_default());
    }
    out.into_bytes()
}

impl Rest {
    fn read(reader: &mut Reader<'_>, memo: &mut Memo) -> Result<Rest, Damaged> {
        let is_traced = match reader.byte()? {
            FORMAT => false,
            FORMAT_TRACED => true,
            _ => return Err(Damaged::because("it was written by a newer Tenure")),
        };
        let flags = reader.number()?;
        let has = |flag: u64| flags & flag != 0;
        let failures = reader.small()?;
        let interruptions = reader.small()?;
        let priority = i8::from_le_bytes([reader.byte()?]);
        let created_by = read_actor(reader, memo)?;
        let attempts = if has(ATTEMPTS) { Some(reader.small()?) } else { None };
        let held = match has(LEASE) {
            true => Some(Held {
                since: reader.time()?,
                started: if has(STARTED) { Some(reader.time()?) } else { None },
                committed: if has(COMMITTED) { Some(read_mark(reader)?) } else { None },
                request: if has(LEASE_REQUEST) { Some(reader.word()?) } else { None },
            }),
            false => None,
        };
        let cancel = match has(CANCEL) {
            true => Some(CancelAsked {
                actor: read_actor(reader, memo)?,
                reason: if has(CANCEL_REASON) { Some(reader.text()?.to_string()) } else { None },
            }),
            false => None,
        };
        let mut open_steps = Vec::new();
        for _ in 0..if has(OPEN_STEPS) { reader.number()? } else { 0 } {
            open_steps.push(reader.word()?);
        }
        let mut links = Vec::new();
        for _ in 0..if has(LINKS) { reader.number()? } else { 0 } {
            links.push(Link { label: reader.word()?, to: reader.id()? });
        }
        Ok(Rest {
            failures,
            interruptions,
            attempts,
            priority,
            created_by,
            held,
            cancel,
            open_steps,
            links,
            origin: if has(ORIGIN) { Some(reader.id()?) } else { None },
            reason: if has(REASON) { Some(reader.text()?.into()) } else { None },
            output: if has(OUTPUT) { Some(reader.hash()?) } else { None },
            erased: has(ERASED),
            request: if has(REQUEST) { Some(reader.hash()?) } else { None },
            trace: if is_traced { Some(read_trace(reader)?) } else { None },
        })
    }
}

fn read_trace(reader: &mut Reader<'_>) -> Result<Arc<Trace>, Damaged> {
    let trace = Trace::read(reader.text()?, reader.text()?);
    trace.map(Arc::new).ok_or_else(|| Damaged::because("its trace is none"))
}

fn write_actor(out: &mut Writer, actor: &Actor) {
    out.byte(actor.role as u8);
    out.text(&actor.owner().to_string());
}

fn read_actor(reader: &mut Reader<'_>, memo: &mut Memo) -> Result<Actor, Damaged> {
    let number = reader.byte()?;
    let role = Role::ALL.into_iter().find(|role| *role as u8 == number);
    let role = role.ok_or_else(|| Damaged(format!("there is no role number {number}")))?;
    let owner = memo.owner(reader.text()?)?;
    Ok(Actor { role, id: owner.id, incarnation: owner.incarnation })
}

pub(super) fn write_mark(out: &mut Writer, mark: &Mark) {
    out.time(mark.at);
    out.number(mark.version);
    out.byte(mark.state.0);
}

pub(super) fn read_mark(reader: &mut Reader<'_>) -> Result<Mark, Damaged> {
    Ok(Mark { at: reader.time()?, version: reader.number()?, state: StateId(reader.byte()?) })
}
