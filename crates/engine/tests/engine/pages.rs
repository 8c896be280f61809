//! Readers that page, over more than one page and several stores: what matters is in the last page, which is short.

use std::collections::BTreeSet;
use std::time::Duration;

use tenure::core::answer::Answer;
use tenure::core::id::ItemId;
use tenure::core::request::{Acquire, Command, Terms};
use tenure::databases::PAGE_MAX;
use tenure::{Done, Job, New, Schedule, Tenure};

use crate::{PATIENCE, on_each, on_memory};

const STORES: [&str; 3] = ["default", "a", "b"];
/// An hour: nothing ends by itself here.
const LEASE: Duration = Duration::from_secs(3_600);

/// Jobs of a store that a process holds.
async fn held(tenure: &Tenure, store: &str, process: &str, count: usize) -> BTreeSet<ItemId> {
    let acting = |actor: &str| tenure.acting(store.parse().unwrap(), actor.parse().unwrap());
    let (maker, worker) = (acting("api:a"), acting(&format!("worker:w/{process}")));
    for part in (0..count).collect::<Vec<_>>().chunks(PAGE_MAX) {
        let made = maker.create_all(part.iter().map(New::job)).await;
        assert!(made.iter().all(Result::is_ok));
    }
    let mut held = BTreeSet::new();
    while held.len() < count {
        let terms = Terms { lease: Some(LEASE), ..Terms::default() };
        let max = (count - held.len()).min(PAGE_MAX);
        let acquire = Acquire { kinds: vec!["job".parse().unwrap()], max, terms };
        match worker.ask(Command::Acquire(acquire)).await.unwrap().answer {
            Answer::Leased(leases) => held.extend(leases.iter().map(|lease| lease.execution.item)),
            refused => panic!("{refused:?}"),
        }
    }
    held
}

//
// fault: W6
#[test]
fn what_dead_processes_hold_is_ended_in_every_store() {
    on_each(async |url| {
        let tenure = Tenure::builder(url).without_loops().open().await.unwrap();
        let kind = "job".parse().unwrap();
        for store in STORES {
            held(&tenure, store, "dead", 1).await;
            held(&tenure, store, "alive", 1).await;
        }
        assert_eq!(tenure.recover(&kind, |process| process.as_str() == "dead").await.unwrap(), STORES.len());
        for store in STORES {
            let acting = tenure.acting(store.parse().unwrap(), "api:a".parse().unwrap());
            let workers = acting.workers().await.unwrap();
            let owners: Vec<&str> = workers.iter().map(|worker| worker.owner_id.as_str()).collect();
            assert_eq!(owners, ["w/alive"], "in store {store}");
        }
        assert_eq!(tenure.recover(&kind, |process| process.as_str() == "dead").await.unwrap(), 0);
    });
}

//
// fault: W5, W6
#[test]
fn what_a_dead_process_holds_is_found_on_the_last_short_page() {
    on_memory(async |tenure| {
        // Ids are in the order of creation: the dead one's are behind a full page.
        held(&tenure, "a", "alive", PAGE_MAX).await;
        held(&tenure, "default", "dead", 2).await;
        let kind = "job".parse().unwrap();
        assert_eq!(tenure.recover(&kind, |process| process.as_str() == "dead").await.unwrap(), 2);
    });
}

// covers: K-19
// fault: W5
#[test]
fn a_worker_is_counted_with_all_that_it_holds() {
    on_memory(async |tenure| {
        held(&tenure, "default", "many", PAGE_MAX + 2).await;
        held(&tenure, "default", "last", 1).await;
        held(&tenure, "a", "elsewhere", 1).await;
        let workers = tenure.workers().await.unwrap();
        let counted: Vec<(&str, u64)> =
            workers.iter().map(|worker| (worker.owner_id.as_str(), worker.holds)).collect();
        assert_eq!(counted, [("w/last", 1), ("w/many", PAGE_MAX as u64 + 2)]);
    });
}

// covers: K-36
// fault: W5
#[test]
fn schedules_are_listed_to_the_last_short_page() {
    on_memory(async |tenure| {
        for number in 0..503 {
            let schedule = Schedule::new(format!("s{number:03}"), "every 24 h").creates(New::job(&number));
            tenure.schedule(schedule).await.unwrap();
        }
        let names: Vec<String> =
            tenure.schedules().await.unwrap().into_iter().map(|one| one.name.to_string()).collect();
        assert_eq!((names.len(), names.last().map(String::as_str)), (503, Some("s502")));
    });
}

// covers: K-26
// fault: W5
#[test]
fn a_subscriber_hears_the_messages_of_the_last_short_page() {
    on_memory(async |tenure| {
        let (heard, mut hears) = tokio::sync::mpsc::unbounded_channel();
        let hear = move |message: tenure::Message| {
            heard.send(message.payload::<usize>().unwrap()).unwrap();
            std::future::ready(Ok(()))
        };
        // Its mark begins here.
        drop(tenure.subscribe("s", &[], hear.clone()).await.unwrap());
        let send = async |job: Job| Done::default().message("sent", &job.payload::<usize>()?);
        let worker = tenure.worker("w").handle("job", send).start().unwrap();
        // Three entries each: more than two pages of the log, and the last one is short.
        let jobs = tenure.create_all((0..400_usize).map(|number| New::job(&number))).await;
        for job in jobs {
            tenure.wait(job.unwrap().id, PATIENCE).await.unwrap();
        }
        let _subscription = tenure.subscribe("s", &[], hear).await.unwrap();
        let mut numbers = BTreeSet::new();
        let all = async {
            while numbers.len() < 400 {
                numbers.insert(hears.recv().await.unwrap());
            }
        };
        tokio::time::timeout(PATIENCE, all).await.expect("it hears all of them");
        worker.drain().await;
    });
}
