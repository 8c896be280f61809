//! Nodes that have nothing to do: what becomes ready is found, and nobody spins.

use std::time::Duration;

use tenure::databases::measure::Since;
use tenure::databases::outside::now;
use tenure::{Done, Job, New, Tenure};

use crate::place::{PATIENCE, on_each, until_so};

// Nothing is written when its time comes, so no file changes and nobody is told; and nobody here runs the loop that rings for it.
// Only a look finds it.
// fault: L7
#[test]
fn l7_what_becomes_due_without_a_word_is_found_by_who_looks() {
    on_each(async |url| {
        let open = async || Tenure::builder(url.clone()).without_loops().open().await.unwrap();
        let (tenure, other) = (open().await, open().await);
        let worker = tenure.worker("w").handle("job", async |_: Job| Ok(Done::default())).start().unwrap();
        let soon = now().after(Duration::from_secs(2));
        let job = other.create(New::job(&1).run_at(soon)).await.unwrap();
        let whole = other.wait(job.id, PATIENCE).await.unwrap();
        assert_eq!(&**whole.item.state_name(), "SUCCEEDED");
        assert!(whole.executions[0].leased_at >= soon);
        worker.drain().await;
    });
}

/// Writes of another kind, and how far they are apart: each could be noticed by itself.
const WRITES: u64 = 100;
const APART: Duration = Duration::from_millis(25);

// Who writes knows of what. A worker looks ever less often by itself, up to once a second; one that is woken for every write of its own
// process looks as often as something is written.
// covers: K-52
#[test]
fn what_a_process_writes_of_one_kind_wakes_nobody_who_waits_for_another() {
    on_each(async |url| {
        let began = Since::now();
        let tenure = Tenure::builder(url).without_loops().open().await.unwrap();
        let worker = tenure.worker("w").handle("run", async |_: Job| Ok(Done::default())).start().unwrap();
        let mut apart = tokio::time::interval(APART);
        for number in 0..WRITES {
            apart.tick().await;
            tenure.create(New::job(&number)).await.unwrap();
        }
        let looks = tenure.counters().acquires();
        let most = began.micros() / 1_000_000 + 20;
        assert!(looks <= most, "{looks} looks beside {WRITES} writes");
        worker.drain().await;
    });
}

/// How far apart the turns of an idle loop are at least.
const LOOPS: [(&str, Duration); 6] = [
    ("sweep", Duration::from_secs(1)),
    ("due", Duration::from_secs(1)),
    ("retention", Duration::from_secs(5)),
    ("inbox", Duration::from_millis(500)),
    ("sequence", Duration::from_millis(200)),
    ("outbox", Duration::from_millis(300)),
];

// A loop that rests is never early, however slow the machine is: so no more turns are possible than fit into the time that has
// passed. One that spins takes thousands.
// covers: K-52
#[test]
fn the_loops_of_an_idle_engine_rest_between_their_turns() {
    on_each(async |url| {
        let began = Since::now();
        let tenure = Tenure::open(url).await.unwrap();
        let handler = async |_: Job| Ok(Done::default());
        let worker = tenure.worker("w").handle("job", handler).start().unwrap();
        // With one, the log is followed too.
        let hook = tenure::Webhook::new("hook", "https://example.com").secret("env:NONE");
        tenure.webhook(hook).await.unwrap();
        let turns = |of: &str| tenure.counters().turns().get(of).copied().unwrap_or_default();
        until_so(|| turns("sweep") >= 5 && turns("outbox") >= 5).await;
        let counted = tenure.counters().turns();
        let passed = Duration::from_micros(began.micros());
        for (name, count) in &counted {
            let (_, apart) = LOOPS.iter().find(|(known, _)| known == name).expect("every loop is known here");
            // The first comes at once; what was created rings for one more, and is followed in one more.
            let most = passed.as_micros() / apart.as_micros() + 4;
            assert!(u128::from(*count) <= most, "{name}: {count} turns in {passed:?}");
        }
        // A worker looks ever less often, up to once a second, but for the bells of what was created.
        let looks = tenure.counters().acquires();
        let most = passed.as_secs() + 20;
        assert!(looks <= most, "{looks} looks in {passed:?}");
        worker.drain().await;
    });
}
