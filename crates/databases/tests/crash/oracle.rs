//! What must be so after a fault: everything that was answered is there, nothing is half there, and nothing is stuck.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use tenure_core::answer::Answer;
use tenure_core::draw::Draw;
use tenure_core::execution::Status;
use tenure_core::id::{ExecutionId, Fence, ItemId};
use tenure_core::item::Item;
use tenure_core::lifecycle::event::Event;
use tenure_core::request::{Request, Terms};
use tenure_core::time::Time;
use tenure_databases::batch::{self, Reply};
use tenure_databases::look::Look;
use tenure_databases::{Database, Overdue, PAGE_MAX, Query, verify};

use crate::requests::*;
use crate::writer::{create_of, fast_clock};

/// What children were answered.
#[derive(Clone, Debug, Default)]
pub struct Acks {
    pub lines: usize,
    pub errors: Vec<String>,
    /// What was created, in the order of the answers.
    pub order: Vec<ItemId>,
    created: BTreeMap<String, ItemId>,
    committed: BTreeMap<ItemId, Fence>,
    leased: BTreeSet<ExecutionId>,
    finished: BTreeSet<ExecutionId>,
    ended: BTreeMap<ExecutionId, Event>,
    renewed: BTreeMap<ExecutionId, i64>,
    noted: BTreeSet<(ItemId, String, String)>,
    cancelled: BTreeSet<ItemId>,
}

impl Acks {
    pub fn of(lines: impl IntoIterator<Item = String>) -> Acks {
        let mut acks = Acks::default();
        lines.into_iter().for_each(|line| acks.hear(&line));
        acks
    }

    /// Takes a line. Two answers that can not both be true are a fault of whoever gave them.
    pub fn hear(&mut self, line: &str) {
        let words: Vec<&str> = line.split(' ').collect();
        let id = |text: &str| text.parse::<ItemId>().expect("an id");
        let run =
            |item: &str, fence: &str| ExecutionId { item: id(item), fence: Fence(fence.parse().unwrap()) };
        self.lines += 1;
        match words[..] {
            ["created", name, item] => {
                self.order.push(id(item));
                let before = self.created.insert(name.to_string(), id(item));
                assert!(before.is_none_or(|before| before == id(item)), "{name} made two items: {line}");
            }
            ["leased", item, fence] => {
                assert!(self.leased.insert(run(item, fence)), "leased twice: {line}");
            }
            ["committed", item, fence] => {
                let fence = run(item, fence).fence;
                let before = self.committed.insert(id(item), fence);
                assert!(before.is_none_or(|before| before == fence), "committed twice: {line}");
            }
            ["finished", item, fence] => drop(self.finished.insert(run(item, fence))),
            ["failed", item, fence] => drop(self.ended.insert(run(item, fence), Event::Fail)),
            ["released", item, fence] => drop(self.ended.insert(run(item, fence), Event::Release)),
            ["renewed", item, fence, until] => {
                self.renewed.insert(run(item, fence), until.parse().expect("microseconds"));
            }
            ["noted", item, label, name] => {
                self.noted.insert((id(item), label.to_string(), name.to_string()));
            }
            ["cancelled", item] => drop(self.cancelled.insert(id(item))),
            ["error", ..] => self.errors.push(line.to_string()),
            ["open" | "end" | "swept" | "checkpoint", ..] => {}
            _ => panic!("a child said `{line}`"),
        }
    }

    pub fn hear_all(&mut self, lines: &[String]) {
        lines.iter().for_each(|line| self.hear(line));
    }

    /// Takes what another round was answered.
    pub fn merge(&mut self, other: Acks) {
        let both = |one: &ItemId, before: Option<Fence>, fence: Fence| {
            assert!(before.is_none_or(|before| before == fence), "{one} committed in two rounds");
        };
        self.lines += other.lines;
        self.errors.extend(other.errors);
        self.order.extend(other.order);
        self.created.extend(other.created);
        for (item, fence) in other.committed {
            both(&item, self.committed.insert(item, fence), fence);
        }
        for run in other.leased {
            assert!(self.leased.insert(run), "{run} was leased in two rounds");
        }
        self.finished.extend(other.finished);
        self.ended.extend(other.ended);
        self.renewed.extend(other.renewed);
        self.noted.extend(other.noted);
        self.cancelled.extend(other.cancelled);
    }

    fn items(&self) -> BTreeSet<ItemId> {
        let executions = self.leased.iter().chain(&self.finished).chain(self.ended.keys());
        let mut items: BTreeSet<ItemId> = executions.map(|execution| execution.item).collect();
        items.extend(self.created.values());
        items.extend(self.committed.keys());
        items.extend(self.cancelled.iter());
        items.extend(self.noted.iter().map(|(item, _, _)| item));
        items
    }
}

/// Everything that was answered is there, and the whole database is what its log says.
pub async fn check<D: Database + Look>(database: &D, acks: &Acks) {
    let report = verify::database(database, None, |_| {}).await.expect("it can be read");
    assert!(report.is_sound(), "{report:#?}");
    names_answer_again(database, acks).await;
    for item in acks.items() {
        nothing_is_missing(database, acks, item).await;
    }
}

/// Repeating a create answers with the first item and writes nothing: the name and the effect are one write (I4).
async fn names_answer_again<D: Database>(database: &D, acks: &Acks) {
    let created: Vec<(&String, &ItemId)> = acks.created.iter().collect();
    for some in created.chunks(100) {
        let requests: Vec<Request> = some.iter().map(|(name, _)| create(create_of(name))).collect();
        for ((name, item), reply) in some.iter().zip(ask(database, &requests).await) {
            let Answer::Created(found) = &reply.answer else { panic!("{name}: {reply:?}") };
            assert!(found.id == **item && !reply.fresh, "{name} made {item}, and is answered with {reply:?}");
        }
    }
}

async fn nothing_is_missing<D: Database>(database: &D, acks: &Acks, id: ItemId) {
    let whole = database.whole(&store(), id).await.expect("it can be read");
    let whole = whole.unwrap_or_else(|| panic!("{id} was answered and is missing"));
    let history = database.history(&store(), id).await.expect("it can be read");
    let did = |fence: Fence, action: Event| {
        history.iter().any(|entry| entry.fence == fence && entry.action == action)
    };
    let runs = |of: &BTreeSet<ExecutionId>| -> Vec<Fence> {
        of.iter().filter(|run| run.item == id).map(|run| run.fence).collect()
    };
    for fence in runs(&acks.leased) {
        assert!(did(fence, Event::Lease), "{id} was leased under {fence}: {history:#?}");
    }
    for (run, event) in acks.ended.iter().filter(|(run, _)| run.item == id) {
        // Who lets go of what was to be cancelled ends it so.
        let ended = did(run.fence, event.clone()) || did(run.fence, Event::Cancel);
        assert!(ended, "{run} ended by {event}: {history:#?}");
    }
    let lasting = whole.executions.iter().filter(|one| one.status() != Status::Aborted);
    let lasting: Vec<Fence> = lasting.map(|one| one.id.fence).collect();
    assert!(lasting.len() <= 1, "{id} committed twice: {lasting:?}");
    if let Some(fence) = acks.committed.get(&id) {
        assert_eq!(
            (whole.item.committed, &lasting[..]),
            (Some(*fence), &[*fence][..]),
            "{id}: what committed"
        );
    }
    for fence in runs(&acks.finished) {
        assert_eq!(whole.item.committed, Some(fence), "{id}: what finished committed before");
        assert!(whole.item.phase().is_ended(), "{id} has finished");
    }
    for (run, until) in acks.renewed.iter().filter(|(run, _)| run.item == id) {
        let lease = whole.item.lease.as_ref().filter(|_| whole.item.fence == run.fence);
        let lasts = lease.is_none_or(|lease| lease.expires >= Time::from_micros(*until));
        assert!(lasts, "{run} was renewed until {until}: {lease:?}");
    }
    for (_, label, name) in acks.noted.iter().filter(|(item, _, _)| *item == id) {
        let there = whole.records.iter().any(|record| *record.label == **label && *record.name == **name);
        assert!(there, "{id} has no record {label} {name}");
    }
    if acks.cancelled.contains(&id) {
        let said = history.iter().any(|entry| entry.action == Event::Cancel);
        assert!(said, "{id} was cancelled: {history:#?}");
    }
}

async fn ask<D: Database>(database: &D, requests: &[Request]) -> Vec<Reply> {
    let replies = batch::run(database, requests, &mut Draw::new(fast_clock().micros().unsigned_abs())).await;
    replies.into_iter().map(|reply| reply.expect("the database works")).collect()
}

/// A clock that goes ahead of the children's by as much as it is told.
#[derive(Clone, Debug, Default)]
pub struct Ahead(Arc<AtomicI64>);

impl Ahead {
    pub fn clock(&self) -> tenure_databases::memory::Clock {
        let ahead = self.0.clone();
        Arc::new(move || Time::from_micros(fast_clock().micros() + ahead.load(Ordering::SeqCst)))
    }

    fn by(&self, span: Duration) {
        self.0.fetch_add(i64::try_from(span.as_micros()).expect("a short span"), Ordering::SeqCst);
    }
}

/// As many turns as attempts and backoffs can need, and then some.
const TURNS_MAX: usize = 400;

/// Nothing is stuck: with time going on and a worker who does its work, every item comes to its end. `ahead` is the
/// database's clock.
pub async fn nothing_is_stuck<D: Database>(database: &D, ahead: &Ahead) {
    for turn in 0..TURNS_MAX {
        ahead.by(Duration::from_secs(3_600));
        let due = database.due(Overdue::Time, None, PAGE_MAX).await.expect("it can be read");
        let sweeps = due.iter().map(|due| sweep(ExecutionId { item: due.item, fence: due.fence }));
        ask_some(database, sweeps.collect()).await;
        let terms = Terms { start: true, ..Terms::default() };
        let acquire = request("worker:last/1", acquire_with(&["run", "job"], 200, terms));
        let leases = leases(ask(database, &[acquire]).await.remove(0).answer);
        ask_some(
            database,
            leases.iter().map(|lease| request("worker:last/1", commit(lease.execution))).collect(),
        )
        .await;
        if leases.is_empty() && due.is_empty() && turn > 0 {
            break;
        }
    }
    for item in items(database).await {
        assert!(item.phase().is_ended(), "stuck: {item:#?}");
    }
}

async fn ask_some<D: Database>(database: &D, requests: Vec<Request>) {
    for some in requests.chunks(200) {
        ask(database, some).await;
    }
}

pub async fn items<D: Database>(database: &D) -> Vec<Item> {
    let mut items: Vec<Item> = Vec::new();
    loop {
        let after = items.last().map(|item| item.id);
        let page = database.list(&Query { after, limit: PAGE_MAX, ..Query::default() }).await.unwrap();
        if page.is_empty() {
            return items;
        }
        items.extend(page);
    }
}
