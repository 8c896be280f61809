//! The desk of a system: what a process does for it by itself.
//!
//! ```text
//! log ─▶ turn after turn ─▶ a store with work ─▶ its workers, while it has a place
//! ```
//!
//! Once there are more stores than places it looks now and then where work is, and stores [take turns](staff).
//!
//! Any number of processes may do this on one database. A turn that fails is counted and taken again. What a turn does with what it
//! reads, and how far that was, is the system's own.

pub(crate) mod staff;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tenure::core::word::Store;
use tenure::databases::backlog::Backlog;
use tenure::databases::outside::now;
use tenure::{Error, Tenure, Worker};
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::time::{Stopwatch, pause};
use staff::{Places, Staff};

/// The database is away: no sooner is it asked again.
const AWAY: Duration = Duration::from_millis(500);
/// Each store has workers of its own, which look for work now and then: a hundred with two workers each are 200 looks a second.
const STORES_MAX: usize = 100;

/// A system that goes on by itself.
pub(crate) trait System: Send + 'static {
    /// Whoever has items of these in a store has work for it.
    const KINDS: &'static [&'static str];

    fn tenure(&self) -> &Tenure;

    fn places(&self) -> Places {
        Places::new(STORES_MAX)
    }

    /// So many stores had work and no place when it was looked. They get their turn.
    fn stores_waited(&self, _stores: usize) {}

    /// The workers of a store.
    fn workers(&mut self, store: &Store) -> Result<Vec<Worker>, Error>;

    /// Where it goes on in the log.
    fn begins(&mut self) -> impl Future<Output = Result<u64, Error>> + Send;

    /// Reads on, acts upon what it read, and employs workers where there is work. Answers how far it has read.
    fn turn(
        &mut self,
        after: u64,
        employed: &mut Employed,
    ) -> impl Future<Output = Result<u64, Error>> + Send;
}

/// The workers of this process, by their stores.
#[derive(Debug)]
pub(crate) struct Employed {
    staff: Staff,
    /// There are more stores than places.
    is_crowded: bool,
    looked: Stopwatch,
}

impl Employed {
    fn new(places: Places) -> Employed {
        Employed { staff: Staff::new(places), is_crowded: false, looked: Stopwatch::start() }
    }

    /// Workers for a store that has none yet, now or when it has its turn.
    pub fn employ(&mut self, system: &mut impl System, store: &Store) -> Result<(), Error> {
        let has_place = self.staff.employ(store, || system.workers(store))?;
        self.is_crowded |= !has_place;
        Ok(())
    }

    /// For what is there already, in whatever store.
    async fn begin<S: System>(&mut self, system: &mut S) -> Result<u64, Error> {
        self.look(system).await?;
        system.begins().await
    }

    async fn turn<S: System>(&mut self, system: &mut S, after: u64) -> Result<u64, Error> {
        if self.is_crowded && self.looked.elapsed() >= self.staff.places().look_every {
            self.look(system).await?;
        }
        system.turn(after, self).await
    }

    /// Where work is. As long as all of them fit, each store that ever had some keeps its workers.
    async fn look<S: System>(&mut self, system: &mut S) -> Result<(), Error> {
        let backlog = system.tenure().backlog_of_all().await?;
        let (mut all, mut busy) = (BTreeSet::from([system.tenure().store().clone()]), BTreeSet::new());
        for one in backlog.iter().filter(|one| S::KINDS.contains(&one.kind.as_str())) {
            all.insert(one.store.clone());
            if has_work(one) {
                busy.insert(one.store.clone());
            }
        }
        self.is_crowded = all.len() > self.staff.places().stores_max;
        let looked = self.staff.look(if self.is_crowded { &busy } else { &all }).await;
        for store in &looked.next {
            self.staff.place(store, || system.workers(store))?;
        }
        self.is_crowded |= looked.waiting > 0;
        system.stores_waited(looked.waiting);
        self.looked = Stopwatch::start();
        Ok(())
    }
}

/// Something runs, could run, or waits for a time that has come.
fn has_work(of: &Backlog) -> bool {
    let is_due = of.scheduled > 0 && of.first_at.is_some_and(|first| first <= now());
    of.active > 0 || of.ready > 0 || is_due
}

/// What this process does for a system. Dropped, it stops and nobody waits for it.
#[derive(Debug)]
pub struct Running(Standing);

impl Running {
    /// Follows the log for a system, on these threads. Turns that fail are counted.
    pub(crate) fn start(mut system: impl System, threads: &Handle, failed: Arc<AtomicU64>) -> Running {
        Running(Standing::start(threads, |mut stopped| async move {
            let mut employed = Employed::new(system.places());
            tokio::select! {
                // True, or whoever could have said so is gone.
                _ = stopped.wait_for(|stop| *stop) => {}
                () = turns(&mut system, &mut employed, &failed) => {}
            }
            drained(employed.staff.into_workers()).await;
        }))
    }

    /// Takes up nothing more, lets what runs come to its end for as long as the grace lasts, and gives back the rest.
    pub async fn drain(mut self) {
        self.0.drain().await;
    }
}

/// Turn after turn. One that fails is counted and taken again.
async fn turns<S: System>(system: &mut S, employed: &mut Employed, failed: &AtomicU64) {
    let mut begun: Option<u64> = None;
    loop {
        let turned = match begun {
            None => employed.begin(system).await,
            Some(after) => employed.turn(system, after).await,
        };
        match turned {
            Ok(read_to) => begun = Some(read_to),
            Err(_) => {
                failed.fetch_add(1, Ordering::Relaxed);
                pause(AWAY).await;
            }
        }
    }
}

/// Lets all of them come to their end, at once.
pub(crate) async fn drained(workers: impl IntoIterator<Item = Worker>) {
    let mut draining = JoinSet::new();
    for worker in workers {
        draining.spawn(worker.drain());
    }
    while draining.join_next().await.is_some() {}
}

/// Something that goes on until it is told to stop. Dropped, it is gone.
#[derive(Debug)]
pub(crate) struct Standing {
    stop: watch::Sender<bool>,
    tasks: JoinSet<()>,
}

impl Standing {
    /// It gets what will tell it to stop, and ends by itself then.
    pub fn start<F: Future<Output = ()> + Send + 'static>(
        threads: &Handle,
        work: impl FnOnce(watch::Receiver<bool>) -> F,
    ) -> Standing {
        let (stop, stopped) = watch::channel(false);
        let mut tasks = JoinSet::new();
        tasks.spawn_on(work(stopped), threads);
        Standing { stop, tasks }
    }

    pub fn stop(&self) {
        self.stop.send_replace(true);
    }

    /// Tells it to stop, and waits until it has.
    pub async fn drain(&mut self) {
        self.stop();
        while self.tasks.join_next().await.is_some() {}
    }
}

#[cfg(test)]
mod tests {
    use tenure::core::actor::{Actor, Role};
    use tenure::core::entry::Facts;
    use tenure::core::id::ItemId;
    use tenure::{Done, Job, New};

    use super::*;

    /// Jobs of any store, for two stores at once.
    struct Jobs {
        tenure: Tenure,
        waited: Arc<AtomicU64>,
    }

    impl System for Jobs {
        const KINDS: &'static [&'static str] = &["job"];

        fn tenure(&self) -> &Tenure {
            &self.tenure
        }

        fn places(&self) -> Places {
            Places { stores_max: 2, turn: Duration::ZERO, look_every: Duration::ZERO }
        }

        fn stores_waited(&self, stores: usize) {
            self.waited.fetch_add(stores as u64, Ordering::Relaxed);
        }

        fn workers(&mut self, store: &Store) -> Result<Vec<Worker>, Error> {
            let tenure = acting(&self.tenure, store.as_str(), Role::Worker);
            let work = async |job: Job| match job.payload::<bool>()? {
                // There is always another.
                true => Done::default().create(New::job(&true)),
                false => Ok(Done::default()),
            };
            Ok(vec![tenure.worker("w").concurrency(1).handle("job", work).start()?])
        }

        async fn begins(&mut self) -> Result<u64, Error> {
            Ok(self.tenure.head().await?.position)
        }

        async fn turn(&mut self, after: u64, employed: &mut Employed) -> Result<u64, Error> {
            let page = self.tenure.log_or_wait(after, 100, Duration::from_millis(20)).await?;
            for (_, entry) in &page {
                if let Facts::Create(_) = entry.facts {
                    employed.employ(self, &entry.store)?;
                }
            }
            Ok(page.last().map_or(after, |(last, _)| *last))
        }
    }

    fn acting(tenure: &Tenure, store: &str, role: Role) -> Tenure {
        tenure.acting(store.parse().unwrap(), Actor::new(role, "w".parse().unwrap()))
    }

    async fn job(tenure: &Tenure, store: &str, is_endless: bool) -> ItemId {
        acting(tenure, store, Role::Api).create(New::job(&is_endless)).await.unwrap().id
    }

    async fn is_done(tenure: &Tenure, store: &str, job: ItemId) {
        let whole = acting(tenure, store, Role::Api).wait(job, Duration::from_secs(60)).await.unwrap();
        assert_eq!(whole.item.state_name().as_str(), "SUCCEEDED");
    }

    // covers: C-13
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn more_stores_than_places_take_turns_also_where_some_have_work_without_end() {
        let tenure = Tenure::builder("memory:").store("z").open().await.unwrap();
        let mut before = Vec::new();
        for store in ["a", "b", "c", "d", "e"] {
            before.push((store, job(&tenure, store, store < "c").await));
        }
        let waited: Arc<AtomicU64> = Arc::default();
        let jobs = Jobs { tenure: tenure.clone(), waited: waited.clone() };
        let running = Running::start(jobs, &Handle::current(), Arc::default());
        for (store, job) in before {
            is_done(&tenure, store, job).await;
        }
        // Also one that comes while the places are taken, and one that had its turn before.
        for store in ["f", "c"] {
            is_done(&tenure, store, job(&tenure, store, false).await).await;
        }
        assert!(waited.load(Ordering::Relaxed) > 0);
        running.drain().await;
    }
}
