//! validate: is the list itself sound? The workspace, a receipt for every Verified task, store boundaries, the chain of the log
//! and the hashes of the receipts. The task that is being decided is not looked at: no check depends on what it decides.
//!
//! Whoever looks at every task is also told of tasks that wait for each other. What others prove is none the worse for those, so
//! that they keep nobody from finishing a task.

use std::collections::BTreeMap;
use std::time::Duration;

use tenure::core::code::Code;
use tenure::core::entry::{Entry, Facts as Said};
use tenure::core::id::ItemId;
use tenure::core::item::Item;
use tenure::databases::{PAGE_MAX, Query, Whole};

use super::circles::Waits;
use super::refusal::{Error, Refusal};
use super::task::{RECEIPT, Task};
use super::workspace::Facts;
use super::{KIND, Todos};
use crate::time::within;

/// Tasks that are read with their bodies at once.
const AT_ONCE: usize = 100;

/// A check that takes longer than this is not waited for.
pub const LIMIT: Duration = Duration::from_secs(120);
/// Less than this is no time to look at anything.
pub const LIMIT_MIN: Duration = Duration::from_secs(1);
/// More faults than this are one fault.
pub(super) const FAULTS_MAX: usize = 20;

/// How much is looked at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scope {
    /// Every task.
    All,
    /// Those that something happened to since everything was found sound.
    Since,
}

/// What was found.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Report {
    /// Tasks looked at.
    pub looked_at: u64,
    /// By the name of the check, in words.
    pub faults: Vec<Fault>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    /// One of the [`CHECKS`].
    pub check: &'static str,
    pub task: Option<ItemId>,
    pub what: String,
}

/// The checks, in the order they are made. The last is made where every task is looked at.
pub const CHECKS: [&str; 5] = ["workspace", "receipts", "stores", "log", "dependencies"];

impl Scope {
    /// The checks that are made.
    pub fn checks(self) -> &'static [&'static str] {
        match self {
            Scope::All => &CHECKS,
            Scope::Since => &CHECKS[..CHECKS.len() - 1],
        }
    }
}

/// What has happened to a task since the mark.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Touched {
    /// It was written down and nothing else: there is no receipt, it names no other task, and its history is that one entry, which was
    /// read. A list of thousands is long, and most of it is this.
    OnlyAdded,
    Changed,
}

/// What the first entry that is seen of an item tells.
fn by(entry: &Entry) -> Touched {
    let Said::Create(birth) = &entry.facts else { return Touched::Changed };
    let is_first = entry.version == 1 && entry.previous.is_none();
    match is_first && birth.kind.as_str() == KIND && birth.links.is_empty() {
        true => Touched::OnlyAdded,
        false => Touched::Changed,
    }
}

impl Report {
    pub fn is_sound(&self) -> bool {
        self.faults.is_empty()
    }

    pub(super) fn add(&mut self, check: &'static str, task: Option<ItemId>, what: impl Into<String>) {
        if self.faults.len() < FAULTS_MAX {
            self.faults.push(Fault { check, task, what: what.into() });
        }
    }
}

impl Todos {
    /// Looks at the list, no longer than it may take. `except` is the task that is being decided.
    pub async fn validate(
        &self,
        scope: Scope,
        except: Option<ItemId>,
        workspace: Option<&Facts>,
        limit: Duration,
    ) -> Result<Report, Error> {
        let too_late = |detail: String| {
            Error::from(Refusal::new(Code::ValidateTimeoutOrLock, detail).with("which", "timeout"))
        };
        // A future that is ready at once would be heard even so.
        if limit.is_zero() {
            return Err(too_late("no time is left to validate; nothing was changed".to_string()));
        }
        match within(limit, self.look(scope, except, workspace)).await {
            Err(_) => Err(too_late(format!(
                "validating took longer than {} s; nothing was changed",
                limit.as_secs()
            ))),
            Ok(looked) => looked,
        }
    }

    async fn look(
        &self,
        scope: Scope,
        except: Option<ItemId>,
        workspace: Option<&Facts>,
    ) -> Result<Report, Error> {
        let mut report = Report::default();
        let what = except.map_or("next".to_string(), |id| id.to_string());
        if let Err(refusal) = self.workspace(workspace, &what) {
            report.add("workspace", None, refusal.detail);
        }
        match scope {
            Scope::All => self.all(except, &mut report).await?,
            Scope::Since => self.since(except, &mut report).await?,
        }
        Ok(report)
    }

    async fn all(&self, except: Option<ItemId>, report: &mut Report) -> Result<(), Error> {
        let kind = Some(KIND.parse().map_err(tenure::Error::from)?);
        let mut query = Query { kind, limit: PAGE_MAX, ..Query::default() };
        let mut waits = Waits::default();
        loop {
            let page = self.tenure.list(query.clone()).await?;
            let items: Vec<&Item> = page.iter().filter(|item| Some(item.id) != except).collect();
            items.iter().for_each(|item| waits.add(item));
            for some in items.chunks(AT_ONCE) {
                for whole in self.tenure.wholes(some.iter().map(|item| item.id).collect()).await? {
                    self.one(whole, report).await?;
                }
            }
            match page.last() {
                Some(last) if page.len() == PAGE_MAX => query.after = Some(last.id),
                _ => return self.circles(waits, report).await,
            }
        }
    }

    /// What has happened since the mark. It moves on when all of that is sound.
    async fn since(&self, except: Option<ItemId>, report: &mut Report) -> Result<(), Error> {
        let reader = format!("todos/validated/{}", self.tenure.store());
        let mut position = self.tenure.mark(&reader).await?.unwrap_or(0);
        let began = position;
        let mut touched: BTreeMap<ItemId, Touched> = BTreeMap::new();
        loop {
            let page = self.tenure.log(position, PAGE_MAX).await?;
            for (_, entry) in page.iter().filter(|(_, entry)| entry.store == *self.tenure.store()) {
                touched
                    .entry(entry.item)
                    .and_modify(|so_far| *so_far = Touched::Changed)
                    .or_insert(by(entry));
            }
            match page.last() {
                Some((last, _)) => position = *last,
                None => break,
            }
            if page.len() < PAGE_MAX {
                break;
            }
        }
        for (id, how) in touched.into_iter().filter(|(id, _)| Some(*id) != except) {
            if how == Touched::OnlyAdded {
                report.looked_at += 1;
                continue;
            }
            match self.tenure.whole(id).await {
                Ok(whole) if whole.item.table.kind.as_str() == KIND => self.one(whole, report).await?,
                // Of another kind, or removed when it had been kept for long enough.
                Ok(_) | Err(tenure::Error::NotFound(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        if report.is_sound() && position > began {
            self.tenure.set_mark(&reader, position).await?;
        }
        Ok(())
    }

    async fn one(&self, whole: Whole, report: &mut Report) -> Result<(), Error> {
        report.looked_at += 1;
        let id = Some(whole.item.id);
        for record in whole.records.iter().filter(|record| &*record.label == RECEIPT) {
            let named = record.name.as_str() == record.hash.to_string();
            let kept = record.body.as_ref().is_none_or(|body| body.hash() == record.hash);
            if !named || !kept {
                report.add("receipts", id, format!("the receipt {} is not what its hash says", record.name));
            }
        }
        let task = Task::of(whole);
        if task.state() == "Verified" && task.receipts.is_empty() {
            report.add("receipts", id, "it is Verified and has no receipt");
        }
        for link in &task.item.links {
            if matches!(self.tenure.item(link.to).await, Err(tenure::Error::NotFound(_))) {
                report.add("stores", id, format!("its {} {} is not in this store", link.label, link.to));
            }
        }
        let history = self.tenure.history(task.item.id).await?;
        let mut before = None;
        for entry in &history {
            if entry.previous != before {
                report.add("log", id, format!("entry {} does not follow the one before it", entry.version));
            }
            before = Some(entry.hash());
        }
        // What has happened meanwhile is behind what was read first.
        if !history.iter().any(|entry| entry.hash() == task.item.head) {
            report.add("log", id, "its last entry is not in the log");
        }
        Ok(())
    }
}
