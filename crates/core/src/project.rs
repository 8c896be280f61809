//! From entries to rows: the one place that says what an entry *does* to an item.
//!
//! `decide` writes every item through this function, and so do replay and verify. An item is therefore what its entries
//! say by construction, and an entry that the item's table, chain or execution does not allow is refused here, whoever
//! wrote it: at run time that is a bug, in a replayed log it is tampering.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

use crate::actor::Role;
use crate::draw::longest_jittered;
use crate::entry::{Birth, Cancelled, Committed, Entry, Facts, Grant, Moved, Sealed};
use crate::execution::{self, End, Execution, Lease, Mark, Status, Step};
use crate::hash::Hash;
use crate::id::{ExecutionId, Fence, ItemId};
use crate::item::Item;
use crate::lifecycle::event::Event;
use crate::lifecycle::guard::Guard;
use crate::lifecycle::tables::Tables;
use crate::lifecycle::{Phase, SharedTable, StateId, To};
use crate::time::{CLOCK_NOISE, Time};

/// The rows that one entry makes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Projection {
    pub item: Item,
    /// Executions that committed or ended by it: none, one, or at a take-over the one that was taken over.
    pub execution: Option<Execution>,
}

/// An entry that does not fit what came before it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Broken {
    pub item: ItemId,
    pub version: u64,
    pub why: String,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "entry {} of item {}: {}", self.version, self.item, self.why)
    }
}

pub fn project(before: Option<&Item>, entry: &Sealed, tables: &Tables) -> Result<Projection, Broken> {
    let result = match (before, &entry.facts) {
        (None, Facts::Create(birth)) => create(entry, birth, tables),
        (None, _) => Err("an item begins with its create".to_string()),
        (Some(_), Facts::Create(_)) => Err("an item is created once".to_string()),
        (Some(before), _) => chain(before, entry).and_then(|()| step(before, entry)),
    };
    result.map_err(|why| Broken { item: entry.item, version: entry.version, why })
}

type Projected = Result<Projection, String>;

fn create(entry: &Sealed, birth: &Birth, tables: &Tables) -> Projected {
    let table = tables.version(&birth.lifecycle).ok_or("its lifecycle is not known here")?;
    let state = table.state_named(&entry.state).ok_or("its lifecycle has no such state")?;
    let legal =
        |row: &&crate::lifecycle::Row| row.to == To::State(state) && row.actors.allow(entry.actor.role);
    table.rows_from(None, &Event::Create).find(legal).ok_or("no create row leads there for this actor")?;
    if entry.version != 1 || entry.previous.is_some() || entry.fence != Fence(0) || table.kind != birth.kind {
        return Err("a create is version 1, follows nothing and has claim_version 0".to_string());
    }
    Ok(Projection { item: born(entry, birth, table, state, entry.hash()), execution: None })
}

/// The item as its create made it.
pub fn born(entry: &Entry, birth: &Birth, table: &SharedTable, state: StateId, head: Hash) -> Item {
    Item {
        id: entry.item,
        store: entry.store.clone(),
        table: table.clone(),
        state,
        version: 1,
        fence: Fence(0),
        failures: 0,
        interruptions: 0,
        attempts: birth.attempts.or(table.settings.attempts),
        key: birth.key.clone(),
        priority: birth.priority.unwrap_or(table.settings.priority),
        run_at: birth.run_at.unwrap_or(entry.at),
        wait_max: match birth.run_at {
            None => Some(Duration::ZERO),
            Some(run_at) if birth.estimated => Some(run_at.since(entry.at).saturating_add(CLOCK_NOISE)),
            Some(_) => None,
        },
        lease: None,
        committed: None,
        cancel: None,
        open_steps: Vec::new(),
        links: birth.links.clone(),
        origin: birth.origin.or(entry.cause.as_ref().map(|cause| cause.item)),
        reason: None,
        payload: birth.payload,
        output: None,
        erased: false,
        trace: None,
        request: None,
        created_by: entry.actor.clone(),
        created: entry.at,
        updated: entry.at,
        head,
    }
}

/// Whether the entry is the next link of the item's chain.
fn chain(before: &Item, entry: &Entry) -> Result<(), String> {
    if entry.version != before.version.saturating_add(1) {
        return Err(format!("follows version {}, not {}", before.version, entry.version.saturating_sub(1)));
    }
    if entry.previous != Some(before.head) {
        return Err("does not name the hash of the entry before it".to_string());
    }
    if entry.store != before.store {
        return Err("is in another store than its item".to_string());
    }
    if entry.at < before.updated {
        return Err("is older than the entry before it".to_string());
    }
    Ok(())
}

fn step(before: &Item, entry: &Sealed) -> Projected {
    let to = before.table.state_named(&entry.state).ok_or("the lifecycle has no such state")?;
    let mut next = Next {
        item: Item {
            version: entry.version,
            updated: entry.at,
            head: entry.hash(),
            // What moves nothing leaves the last move the last: repeated after a note it is still a repeat.
            request: before.request.filter(|_| to == before.state && entry.action != Event::Lease),
            state: to,
            ..before.clone()
        },
        entry,
        before,
        to,
        execution: None,
    };
    match &entry.facts {
        Facts::Create(_) => return Err("an item is created once".to_string()),
        Facts::Lease(grant) => next.lease(grant)?,
        Facts::Progress(progress) => {
            next.stays(before.fence)?;
            next.live("progress")?;
            next.item.open_steps.retain(|step| !progress.closes.contains(step));
            for step in &progress.opens {
                if !next.item.open_steps.contains(step) {
                    next.item.open_steps.push(step.clone());
                }
            }
        }
        Facts::Commit(commit) => next.commit(commit)?,
        Facts::End(ended) => {
            next.row(&entry.action)?;
            if let Some(on) = &ended.on
                && !(*on == Event::Release && entry.action == Event::Fail && before.interruptions_spent())
            {
                return Err(format!("{} does not come of {on} here", entry.action));
            }
            next.end(&entry.action, Step::Abort, ended.reason.clone())?;
            if let Some(run_at) = ended.run_at {
                next.put_off(run_at);
            }
        }
        Facts::Cancel(cancel) => next.cancel(cancel)?,
        Facts::Move(moved) => next.plain(moved)?,
        Facts::Note(_) => next.stays(before.fence)?,
        Facts::Link(linked) => {
            next.stays(before.fence)?;
            next.item.links.retain(|link| !linked.remove.contains(link));
            next.item.links.extend(linked.add.iter().cloned());
        }
        Facts::Bare(bare) => next.bare(bare.reason.as_deref())?,
    }
    Ok(Projection { item: next.item, execution: next.execution })
}

/// The item on its way from one entry to the next.
struct Next<'a> {
    item: Item,
    entry: &'a Entry,
    before: &'a Item,
    to: StateId,
    execution: Option<Execution>,
}

impl Next<'_> {
    /// The move must be a row of the table, and the actor in its cell.
    fn row(&self, event: &Event) -> Result<(), String> {
        let table = &self.before.table;
        let role = self.entry.actor.role;
        let found = table
            .rows_from(Some(self.before.state), event)
            .any(|row| row.to == To::State(self.to) && row.actors.allow(role));
        if found {
            return Ok(());
        }
        let (from, to) = (table.name(self.before.state), table.name(self.to));
        Err(format!("the lifecycle has no row {from} {event} → {to} for {role}"))
    }

    fn stays(&self, fence: Fence) -> Result<(), String> {
        if self.to != self.before.state {
            return Err(format!("{} moves no item", self.entry.action));
        }
        self.fenced(fence)
    }

    fn fenced(&self, fence: Fence) -> Result<(), String> {
        if self.entry.fence == fence {
            return Ok(());
        }
        Err(format!("claim_version is {}, but {fence} is in force", self.entry.fence))
    }

    fn mark(&self) -> Mark {
        Mark { at: self.entry.at, version: self.entry.version, state: self.to }
    }

    fn live(&mut self, what: &str) -> Result<&mut Lease, String> {
        self.item.lease.as_mut().ok_or_else(|| format!("{what} needs a lease, and none is held"))
    }

    fn lease(&mut self, grant: &Grant) -> Result<(), String> {
        let entry = self.entry;
        self.row(&Event::Lease)?;
        self.fenced(self.before.fence.next())?;
        if self.before.committed.is_some() {
            return Err("a committed item is never leased again".to_string());
        }
        let same_owner = self.before.lease.as_ref().is_some_and(|lease| lease.owner.id == entry.actor.id);
        match self.before.phase() {
            Phase::Ready => {}
            Phase::Active if same_owner && entry.actor.owner() != self.holder()? => {
                self.end(&Event::Lease, Step::Abort, Some("taken over by its own owner".to_string()))?;
                // Who asked for it to stop asked for the work to stop, not one incarnation of its owner.
                self.item.cancel = self.before.cancel.clone();
            }
            _ => return Err("only a ready item is leased".to_string()),
        }
        let since = grant.at.unwrap_or(entry.at);
        if since > entry.at {
            return Err("was leased after its own time".to_string());
        }
        self.item.fence = entry.fence;
        self.item.lease = Some(Lease {
            owner: entry.actor.owner(),
            since,
            started: grant.started.then_some(since),
            committed: None,
            heartbeat: since,
            expires: since,
            window_ends: self.before.table.settings.window.map(|window| since.after(window)),
            session: grant.session,
            request: grant.request.clone(),
        });
        Ok(())
    }

    fn holder(&self) -> Result<crate::actor::Owner, String> {
        let lease = self.before.lease.as_ref().ok_or("an active item has a lease")?;
        Ok(lease.owner.clone())
    }

    fn commit(&mut self, commit: &Committed) -> Result<(), String> {
        let table = self.before.table.clone();
        if self.before.committed.is_some() {
            return Err("a second commit".to_string());
        }
        self.fenced(self.before.fence)?;
        let at_commit = table.has_row(self.before.state, &Event::Commit);
        self.item.output = commit.output;
        self.item.committed = Some(self.before.fence);
        let mark = self.mark();
        let lease = self.live("commit")?;
        if execution::next(lease.status(), Step::Commit) != Some(Status::Committed) {
            return Err(format!("an execution that is {} can not commit", lease.status()));
        }
        lease.committed = Some(mark);
        if at_commit {
            self.row(&Event::Commit)?;
            self.end(&Event::Commit, Step::Finish, None)
        } else if commit.finish {
            self.row(&Event::Finish)?;
            self.end(&Event::Finish, Step::Finish, None)
        } else {
            self.execution = self.item.live_execution();
            self.stays(self.before.fence)
        }
    }

    /// Ends the live execution.
    fn end(&mut self, cause: &Event, step: Step, reason: Option<String>) -> Result<(), String> {
        let mark = self.mark();
        let status = self.live(cause.as_str())?.status();
        let expected = if step == Step::Abort { Status::Aborted } else { Status::Done };
        if execution::next(status, step) != Some(expected) {
            return Err(format!("an execution that is {status} does not become {expected}"));
        }
        if *cause != Event::Lease {
            self.fenced(self.before.fence)?;
        }
        let execution = self.item.live_execution().ok_or("an execution ends while it lives")?;
        let (on, permanent) = match &self.entry.facts {
            Facts::Cancel(cancelled) => (cancelled.on.clone(), false),
            Facts::End(ended) => (ended.on.clone(), ended.permanent),
            _ => (None, false),
        };
        let end = End { mark, cause: cause.clone(), on, permanent, reason: reason.clone() };
        self.execution = Some(Execution { ended: Some(end), ..execution });
        self.item.lease = None;
        self.item.cancel = None;
        self.item.open_steps.clear();
        if cause.is_failure() {
            self.item.failures = self.item.failures.saturating_add(1);
        } else if matches!(cause, Event::Release | Event::Lease) {
            self.item.interruptions = self.item.interruptions.saturating_add(1);
        }
        self.because(reason.as_deref());
        Ok(())
    }

    fn because(&mut self, reason: Option<&str>) {
        if let Some(reason) = reason {
            self.item.reason = Some(reason.into());
        }
    }

    fn cancel(&mut self, cancel: &Cancelled) -> Result<(), String> {
        self.item.request = cancel.request;
        if cancel.asked {
            self.item.cancel = Some(crate::item::CancelAsked {
                actor: self.entry.actor.clone(),
                reason: cancel.reason.clone(),
            });
            self.stays(self.before.fence)?;
            return self.live("asking to stop").map(|_| ());
        }
        self.row(&Event::Cancel)?;
        match (self.before.phase(), self.before.table.settings.derived) {
            (Phase::Active, _) => self.end(&Event::Cancel, Step::Abort, cancel.reason.clone()),
            // A derived state moves by executions alone: the cancel is one that was aborted before it began.
            (_, true) => {
                self.fenced(self.before.fence.next())?;
                self.item.fence = self.entry.fence;
                self.execution = Some(self.never_ran(cancel.reason.clone()));
                self.because(cancel.reason.as_deref());
                Ok(())
            }
            (_, false) => {
                self.because(cancel.reason.as_deref());
                self.fenced(self.before.fence)
            }
        }
    }

    fn never_ran(&self, reason: Option<String>) -> Execution {
        Execution {
            id: ExecutionId { item: self.before.id, fence: self.entry.fence },
            owner: self.entry.actor.owner(),
            leased_at: self.entry.at,
            lease_expires_at: self.entry.at,
            started_at: None,
            committed: None,
            ended: Some(End { mark: self.mark(), cause: Event::Cancel, on: None, permanent: false, reason }),
            output: None,
        }
    }

    fn plain(&mut self, moved: &Moved) -> Result<(), String> {
        self.row(&self.entry.action)?;
        self.fenced(self.before.fence)?;
        if self.before.phase() == Phase::Active {
            self.end(&self.entry.action, Step::Abort, moved.reason.clone())?;
        }
        self.because(moved.reason.as_deref());
        self.item.request = moved.request;
        match moved.run_at {
            // The engine and orchestrators wait before a retry; any other role asks for an exact time.
            Some(run_at) if matches!(self.entry.actor.role, Role::System | Role::Orchestrator) => {
                self.put_off(run_at)
            }
            Some(run_at) => (self.item.run_at, self.item.wait_max) = (run_at, None),
            None => {}
        }
        // Whoever takes an item out of its failed state grants it a new budget.
        if self.before.phase() == Phase::Failed && !self.item.phase().is_ended() {
            self.item.failures = 0;
            self.item.interruptions = 0;
        }
        Ok(())
    }

    /// Schedules a retry, which never waits longer than the longest backoff of its kind. A worker or the retry budget may put it off
    /// for longer: then it never waits longer than twice that span, as a lease does.
    fn put_off(&mut self, run_at: Time) {
        let longest = longest_jittered(self.before.table.settings.backoff.longest());
        let wait = run_at.since(self.entry.at);
        let wait = if wait > longest { wait.saturating_mul(2) } else { longest };
        (self.item.run_at, self.item.wait_max) = (run_at, Some(wait.saturating_add(CLOCK_NOISE)));
    }

    fn bare(&mut self, reason: Option<&str>) -> Result<(), String> {
        let at = self.entry.at;
        match &self.entry.action {
            Event::Start => {
                self.stays(self.before.fence)?;
                let lease = self.live("start")?;
                if execution::next(lease.status(), Step::Start) != Some(Status::InProgress) {
                    return Err(format!("an execution that is {} can not start", lease.status()));
                }
                lease.started = Some(at);
                Ok(())
            }
            Event::Finish => {
                self.row(&Event::Finish)?;
                self.end(&Event::Finish, Step::Finish, None)
            }
            Event::Prune => {
                if self.entry.actor.role != Role::System {
                    return Err("only the engine removes an item".to_string());
                }
                if !self.before.table.is_final(self.before.state) {
                    return Err("only an item in a final state is removed".to_string());
                }
                self.because(reason);
                self.stays(self.before.fence)
            }
            Event::Erase => {
                self.item.erased = true;
                self.item.trace = None;
                self.because(reason);
                self.stays(self.before.fence)
            }
            other => Err(format!("{other} is no entry of this form")),
        }
    }
}

/// Whether this table lets an owner take its own item over from another incarnation of itself.
pub(crate) fn may_take_over(item: &Item) -> bool {
    item.table
        .rows_from(Some(item.state), &Event::Lease)
        .any(|row| row.is_no_op() && row.guards.contains(&Guard::Owner))
}
