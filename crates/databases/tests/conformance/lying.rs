//! A database whose rows were changed behind its back: somebody with SQL and without scruples.
//!
//! It tells one lie about one item, and `verify` must name that item and what is wrong.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tenure_core::control::{Control, QueueKey};
use tenure_core::entry::{Entry, Sealed};
use tenure_core::id::{Fence, ItemId, RecordId};
use tenure_core::item::Item;
use tenure_core::lifecycle::StateId;
use tenure_core::lifecycle::tables::Tables;
use tenure_core::request::Command;
use tenure_core::time::Time;
use tenure_core::word::{Kind, Store};
use tenure_core::world::{Lane, LaneKey, NameKey, Named, Record};
use tenure_databases::look::{Ahead, Look, Outline, SetAside};
use tenure_databases::verify::{self, At, Fault};
use tenure_databases::{
    BatchId, Database, Error, Found, Head, Order, Overdue, PAGE_MAX, Query, Settled, Whole,
};

use crate::files::database_is_sound;
use crate::harness::{Bench, Harness};
use crate::requests::*;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Lie {
    State,
    Fence,
    Version,
    Priority,
    Payload,
    Output,
    RecordGone,
    RecordBody,
    ExecutionGone,
    ExecutionOwner,
    RowGone,
    HistoryCut,
    HistoryForged,
    LogGap,
    LogForged,
    LogSwapped,
    LogCut,
    Head,
    NameGone,
    NameOther,
    LaneEmpty,
    LaneOther,
}

struct Lying<'a, D> {
    inner: &'a D,
    item: ItemId,
    lie: Lie,
}

impl<D: Database> Lying<'_, D> {
    fn row(&self, item: &mut Item) {
        match self.lie {
            Lie::State => item.state = StateId(0),
            Lie::Fence => item.fence = Fence(7),
            Lie::Version => item.version += 1,
            Lie::Priority => item.priority = 9,
            _ => {}
        }
    }

    fn forge(&self, entry: &mut Sealed) {
        let mut forged: Entry = (**entry).clone();
        forged.actor = actor("worker:mallory/1");
        *entry = Sealed::new(forged);
    }
}

impl<D: Database> Database for Lying<'_, D> {
    type Tx<'t>
        = D::Tx<'t>
    where
        Self: 't;

    fn begin(&self, batch: BatchId) -> impl Future<Output = Result<D::Tx<'_>, Error>> + Send {
        self.inner.begin(batch)
    }

    fn settle(&self, batch: BatchId) -> impl Future<Output = Result<Settled, Error>> + Send {
        self.inner.settle(batch)
    }

    fn tables(&self) -> Arc<Tables> {
        self.inner.tables()
    }

    fn add_table(&self, source: &str) -> impl Future<Output = Result<(), Error>> + Send {
        self.inner.add_table(source)
    }

    fn item(&self, store: &Store, id: ItemId) -> impl Future<Output = Result<Option<Item>, Error>> + Send {
        self.inner.item(store, id)
    }

    async fn whole(&self, store: &Store, id: ItemId) -> Result<Option<Whole>, Error> {
        let mut whole = self.inner.whole(store, id).await?;
        if let Some(whole) = whole.as_mut().filter(|_| id == self.item) {
            self.row(&mut whole.item);
            match self.lie {
                Lie::Payload => whole.payload = Some(body("[]")),
                Lie::Output => whole.output = Some(body("8")),
                Lie::RecordGone => whole.records.clear(),
                Lie::RecordBody => whole.records[0].body = Some(body("[]")),
                Lie::ExecutionGone => whole.executions.clear(),
                Lie::ExecutionOwner => whole.executions[0].owner = actor("worker:mallory/1").owner(),
                _ => {}
            }
        }
        Ok(whole)
    }

    async fn list(&self, query: &Query) -> Result<Vec<Item>, Error> {
        let mut items = self.inner.list(query).await?;
        items.retain(|item| self.lie != Lie::RowGone || item.id != self.item);
        items.iter_mut().filter(|item| item.id == self.item).for_each(|item| self.row(item));
        Ok(items)
    }

    async fn history(&self, store: &Store, id: ItemId) -> Result<Vec<Sealed>, Error> {
        let mut history = self.inner.history(store, id).await?;
        if id == self.item {
            match self.lie {
                Lie::HistoryCut => history.truncate(history.len() - 1),
                Lie::HistoryForged => {
                    history.iter_mut().last().into_iter().for_each(|entry| self.forge(entry))
                }
                _ => {}
            }
        }
        Ok(history)
    }

    async fn log(&self, after: u64, limit: usize) -> Result<Vec<(u64, Sealed)>, Error> {
        let mut page = self.inner.log(after, limit).await?;
        let at = page.iter().position(|(_, entry)| entry.item == self.item && entry.version == 2);
        match (self.lie, at) {
            (Lie::LogGap, Some(at)) => drop(page.remove(at)),
            (Lie::LogForged, Some(at)) => self.forge(&mut page[at].1),
            (Lie::LogSwapped, Some(at)) => page.swap(at, at + 1),
            (Lie::LogCut, _) => drop(page.pop()),
            _ => {}
        }
        Ok(page)
    }

    fn sequence(&self, limit: usize) -> impl Future<Output = Result<usize, Error>> + Send {
        self.inner.sequence(limit)
    }

    async fn head(&self) -> Result<Head, Error> {
        let mut head = self.inner.head().await?;
        if self.lie == Lie::Head {
            head.chain = tenure_core::hash::Hash::ZERO;
        }
        Ok(head)
    }

    fn due(
        &self,
        what: Overdue,
        after: Option<ItemId>,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<Found>, Error>> + Send {
        self.inner.due(what, after, limit)
    }

    fn upcoming(
        &self,
        store: &Store,
        kinds: &[Kind],
    ) -> impl Future<Output = Result<Vec<(Kind, Duration)>, Error>> + Send {
        self.inner.upcoming(store, kinds)
    }

    fn control(&self, key: &QueueKey) -> impl Future<Output = Result<(Control, u32), Error>> + Send {
        self.inner.control(key)
    }
}

impl<D: Look> Look for Lying<'_, D> {
    async fn now(&self) -> Result<Time, Error> {
        self.inner.now().await
    }

    async fn latest(&self) -> Result<Time, Error> {
        self.inner.latest().await
    }

    async fn ahead(&self, item: &Item, most: usize) -> Result<Ahead, Error> {
        self.inner.ahead(item, most).await
    }

    async fn outlines(&self, query: &Query) -> Result<Vec<Outline>, Error> {
        self.inner.outlines(query).await
    }

    async fn lane(&self, key: &LaneKey) -> Result<Lane, Error> {
        let mut lane = self.inner.lane(key).await?;
        match self.lie {
            Lie::LaneEmpty => lane = Lane::default(),
            Lie::LaneOther => lane.running.push(ItemId(7)),
            _ => {}
        }
        Ok(lane)
    }

    async fn named(&self, key: &NameKey) -> Result<Option<Named>, Error> {
        let named = self.inner.named(key).await?;
        Ok(match (self.lie, named) {
            (Lie::NameGone, _) => None,
            (Lie::NameOther, Some(Named::Created { digest, head, .. })) => {
                Some(Named::Created { item: ItemId(7), digest, head })
            }
            (_, named) => named,
        })
    }

    async fn linked(
        &self,
        to: ItemId,
        order: Order,
        after: Option<ItemId>,
        limit: usize,
    ) -> Result<Vec<ItemId>, Error> {
        self.inner.linked(to, order, after, limit).await
    }

    async fn record(&self, id: RecordId) -> Result<Option<Record>, Error> {
        self.inner.record(id).await
    }

    async fn set_aside(&self, store: &Store, id: ItemId) -> Result<Option<SetAside>, Error> {
        self.inner.set_aside(store, id).await
    }
}

pub async fn every_lie_about_an_item_is_found<H: Harness>(bench: &Bench<H>) {
    bench.job().await;
    let item = bench.create(named("n", new("job", "{}"))).await;
    let execution = bench.run("worker:a/1", item).await;
    bench.ask("worker:a/1", progress(execution, record("note", "n", "1"))).await;
    bench.ask("worker:a/1", commit(execution)).await;
    bench.job().await;
    database_is_sound(bench).await;
    let lies = [
        (Lie::State, "state is PENDING and should be SUCCEEDED"),
        (Lie::Fence, "claim_version is 7 and should be 1"),
        (Lie::Version, "is at version 5, but its history has 4 entries"),
        (Lie::Priority, "is not what its entries say"),
        (Lie::Payload, "its payload was changed"),
        (Lie::Output, "its output was changed"),
        (Lie::RecordGone, "record note `n` is missing or was changed"),
        (Lie::RecordBody, "the body of record note `n` was changed"),
        (Lie::ExecutionGone, "has 0 ended executions and should have 1"),
        (Lie::ExecutionOwner, "mallory"),
        (Lie::RowGone, "is in the log, but not among the items"),
        (Lie::HistoryCut, "the log has version 4 of it"),
        (Lie::HistoryForged, "has another version 4 in its history than in the log"),
        (Lie::LogGap, "what was between is missing"),
        (Lie::LogForged, "one of the two was changed"),
        (Lie::LogSwapped, "what was between is missing"),
        (Lie::LogCut, "but its head counts 6"),
        (Lie::Head, "but the head is 0000"),
        (Lie::NameGone, "its idempotency key `n` is missing"),
        (Lie::NameOther, "its idempotency key `n` stands for another request"),
    ];
    for (lie, words) in lies {
        let lying = Lying { inner: bench.database(), item, lie };
        let report = verify::database(&lying, None, |_| {}).await.unwrap();
        let told = |fault: &Fault| fault.what.contains(words);
        let fault = report.faults.iter().find(|fault| told(fault));
        let Some(fault) = fault else { panic!("{lie:?} was not found: {report:#?}") };
        assert!(fault.at == At::Log || fault.item == Some(item), "{lie:?}: {report:#?}");
        let of_others = report.faults.iter().filter(|fault| fault.item.is_some_and(|other| other != item));
        let blames = lie != Lie::LogCut && of_others.count() > 0;
        assert!(!blames, "{lie:?} is not blamed on others: {report:#?}");
    }
}

/// More items than a reader has on a page, so that the last page is short.
pub async fn more_than_a_page<H: Harness>(bench: &Bench<H>) {
    let create = || request("api:test", Command::Create(new("job", "{}")));
    for count in [PAGE_MAX, 3] {
        let replies = bench.batch(&(0..count).map(|_| create()).collect::<Vec<_>>()).await;
        assert!(replies.iter().all(|reply| reply.fresh));
    }
}

pub async fn a_lie_in_the_last_short_page_is_found<H: Harness>(bench: &Bench<H>) {
    more_than_a_page(bench).await;
    let items = bench.items().await;
    assert_eq!(items.len(), PAGE_MAX + 3);
    // The last item, and the first of the last page.
    for (item, lie) in [(items[PAGE_MAX + 2].id, Lie::Priority), (items[PAGE_MAX].id, Lie::RowGone)] {
        let lying = Lying { inner: bench.database(), item, lie };
        let report = verify::database(&lying, None, |_| {}).await.unwrap();
        let [fault] = &report.faults[..] else { panic!("{lie:?}: {report:#?}") };
        assert_eq!(fault.item, Some(item), "{lie:?}");
    }
}

pub async fn every_lie_about_a_lane_is_found<H: Harness>(bench: &Bench<H>) {
    let (running, waiting) = (bench.pass("d1").await, bench.pass("d1").await);
    bench.run("worker:a/1", running).await;
    database_is_sound(bench).await;
    let of = "the lane of run `d1` in store default says";
    for (lie, words) in [
        (Lie::LaneEmpty, format!("{of} nothing, and should say running {running}")),
        (Lie::LaneOther, format!("{of} running {running}, running {}, and should", ItemId(7))),
    ] {
        let lying = Lying { inner: bench.database(), item: waiting, lie };
        let report = verify::database(&lying, None, |_| {}).await.unwrap();
        let [fault] = &report.faults[..] else { panic!("{lie:?}: {report:#?}") };
        assert!(fault.what.starts_with(&words), "{lie:?}: {report:#?}");
        assert_eq!(fault.item, Some(running));
    }
}
