//! Work that comes from elsewhere, workers that have none, kinds that nobody knows.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tenure::core::lifecycle::event::Event;
use tenure::{Done, Error, Job, New, Tenure};

use crate::place::{PATIENCE, actions, jobs, on_each, until_so};
use crate::program::Program;
use crate::requests::{acquire_with, leases, request};
use crate::sized::sized;
use crate::steps::gather;

// L7: no bell of this process rings for what another creates. It is told by the server or seen in the file; that a look alone finds
// work is shown in `idle.rs`.
#[test]
fn l7_work_from_another_process_is_found_without_a_wake_up() {
    on_each(async |url| {
        let tenure = Tenure::open(url.clone()).await.unwrap();
        let worker = tenure.worker("w").handle("job", async |_: Job| Ok(Done::default())).start().unwrap();
        // It has looked in vain, and sleeps.
        until_so(|| tenure.counters().acquires() >= 3).await;
        let mut child = Program::start(&format!("creator {url} c 3"));
        for _ in 0..3 {
            let created = child.line().expect("it creates");
            let id = created.strip_prefix("created ").unwrap().parse().unwrap();
            let whole = tenure.wait(id, PATIENCE).await.unwrap();
            assert_eq!(&**whole.item.state_name(), "SUCCEEDED");
        }
        worker.drain().await;
    });
}

/// Long enough for whoever spins to be seen.
const IDLE: Duration = Duration::from_secs(2);

// L8: one item, 200 idle workers (1,000 with `TENURE_ROUNDS=full`): each looks, one gets it, and nobody looks again and again.
// covers: K-52
#[test]
fn l8_many_idle_workers_and_one_item_are_one_lease_and_few_looks() {
    let count = sized(200, 1_000);
    on_each(async |url| {
        let tenure = Tenure::open(url).await.unwrap();
        let runs = Arc::new(AtomicUsize::new(0));
        let start = |number: usize| {
            let runs = runs.clone();
            let handler = move |_: Job| {
                runs.fetch_add(1, Ordering::SeqCst);
                async { Ok(Done::default()) }
            };
            tenure.worker(format!("w{number}")).handle("job", handler).start().unwrap()
        };
        let workers: Vec<_> = (0..count).map(start).collect();
        until_so(|| tenure.counters().acquires() >= count as u64).await;
        let before = tenure.counters().acquires();
        let [item] = jobs(&tenure, 1).await[..] else { panic!("one job") };
        tenure.wait(item, PATIENCE).await.unwrap();
        let looks = tenure.counters().acquires() - before;
        // The bell wakes each once, and some look by themselves just then; whoever spins looks thousands of times.
        assert!(looks <= 8 * count as u64, "{looks} looks for one item");
        assert_eq!((runs.load(Ordering::SeqCst), tenure.counters().leased()), (1, 1));
        // While nothing happens they look ever less often. Nobody has a handler for this one, so it stays as it is.
        let before = tenure.counters().acquires();
        let other = tenure.create(New::of("run", &serde_json::json!({ "document_id": "d1" }))).await.unwrap();
        assert!(matches!(tenure.wait(other.id, IDLE).await, Err(Error::StillOpen(_))));
        let looks = tenure.counters().acquires() - before;
        assert!(looks <= 20 * count as u64, "{looks} looks for nothing");
        for worker in workers {
            worker.drain().await;
        }
    });
}

// L5: a kind for which nobody here has a handler, and which this program did not ship with. It is left alone, and its lost
// lease is recovered all the same.
// covers: K-25
#[test]
fn l5_a_kind_without_a_handler_is_left_alone_and_still_recovered() {
    on_each(async |url| {
        let source = tenure::core::lifecycle::shipped::SHIPPED.iter().find(|file| file.file == "job.md");
        let parcel = source.unwrap().source.replace("# job\n", "# parcel\n");
        {
            // The deploy that knew it, before it was taken back.
            let newer = Tenure::builder(url.clone()).without_loops().open().await.unwrap();
            newer.add_lifecycle(parcel).await.unwrap();
            newer.create(New::of("parcel", &1)).await.unwrap();
        }
        let terms = tenure::core::request::Terms {
            lease: Some(std::time::Duration::from_secs(1)),
            ..Default::default()
        };
        let lease = request("worker:gone/1", acquire_with(&["parcel"], 1, terms));
        let leased = leases(gather(&url).await.ask(lease).await.unwrap().answer);
        let parcel = leased[0].item.id;

        let tenure = Tenure::open(url).await.unwrap();
        let worker = tenure.worker("w").handle("job", async |_: Job| Ok(Done::default())).start().unwrap();
        until_so(|| tenure.counters().swept() == 1).await;
        let [job] = jobs(&tenure, 1).await[..] else { panic!("one job") };
        tenure.wait(job, PATIENCE).await.unwrap();
        let history = tenure.history(parcel).await.unwrap();
        assert_eq!(actions(&history), [Event::Create, Event::Lease, Event::Expire]);
        assert_eq!(&**tenure.item(parcel).await.unwrap().state_name(), "PENDING");
        assert_eq!(tenure.counters().failed_turns(), 0, "{:?}", tenure.counters().last_failure());
        worker.drain().await;
    });
}
