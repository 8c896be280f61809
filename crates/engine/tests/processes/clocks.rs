//! Clocks on the wall that are wrong, and clocks that are set while somebody works.

use std::collections::BTreeSet;
use std::time::Duration;

use tenure::core::entry::Facts;
use tenure::core::item::Item;
use tenure::databases::Query;
use tenure::databases::outside::now;
use tenure::{CatchUp, New, Schedule, Tenure};

use crate::place::{PATIENCE, is_sound, jobs, on_postgres, on_sqlite, until};
use crate::program::Program;
use crate::shim::Shim;

const HOUR: i64 = 3_600;
const DAY: i64 = 24 * HOUR;

// T2: the clock of a worker's machine is a day ahead or a day behind. Its leases are the database's, and so are the times in the
// log; it renews and gives up by a clock that only goes on.
// covers: K-13, K-17
#[test]
fn t2_a_worker_whose_clock_is_a_day_off_works_like_any_other() {
    const LEASE: Duration = Duration::from_secs(2);
    on_postgres(async |url| {
        let folder = tempfile::tempdir().unwrap();
        let shim = Shim::build(folder.path());
        let tenure = Tenure::open(url.clone()).await.unwrap();
        for seconds in [DAY, -DAY] {
            let told = format!("worker {url} w {}", LEASE.as_millis());
            let mut child = Program::start_with(&told, &shim.with_clock(seconds));
            let open = child.until("open ").pop().unwrap();
            let there: i64 = open.trim_start_matches("open ").parse().unwrap();
            let off = (there - now().micros()) / 1_000_000;
            assert!((off - seconds).abs() < HOUR, "its clock is {off} s off");
            let [item] = jobs(&tenure, 1).await[..] else { panic!("one job") };
            child.until("begun ");
            let since = tenure.item(item).await.unwrap().lease.expect("it is held").since;
            // Renewed beyond what it was given at first.
            let far = since.after(LEASE);
            until(&tenure, item, |item| item.lease.as_ref().is_none_or(|lease| lease.heartbeat > far)).await;
            child.go_on();
            let whole = tenure.wait(item, PATIENCE).await.unwrap();
            assert_eq!((whole.item.fence.0, &**whole.item.state_name()), (1, "SUCCEEDED"));
            for entry in tenure.history(item).await.unwrap() {
                let off = (entry.at.micros() - now().micros()) / 1_000_000;
                assert!(off.abs() < HOUR, "{} is the server's time", entry.at);
            }
            child.kill();
        }
        assert_eq!(tenure.counters().swept(), 0);
    });
}

async fn all(tenure: &Tenure) -> Vec<Item> {
    let kind = Some("job".parse().unwrap());
    tenure.list(Query { kind, limit: 1_000, ..Query::default() }).await.unwrap()
}

/// The child creates a job and runs it, whatever time it is; then there are this many jobs.
async fn works_on(child: &mut Program, tenure: &Tenure, jobs: usize) {
    child.go_on();
    let created = child.until("created ").pop().unwrap();
    tenure.wait(created.split(' ').nth(1).unwrap().parse().unwrap(), PATIENCE).await.unwrap();
    becomes_so("due occurrences are created", async || all(tenure).await.len() >= jobs).await;
}

async fn becomes_so(what: &str, is_so: impl AsyncFn() -> bool) {
    let looked = async {
        let mut looks = tokio::time::interval(Duration::from_millis(20));
        while !is_so().await {
            looks.tick().await;
        }
    };
    assert!(tokio::time::timeout(PATIENCE, looked).await.is_ok(), "not within {PATIENCE:?}: {what}");
}

// T1: the clock of the machine that SQLite is on is set ahead, back, and ahead again, while an engine fires a schedule.
// covers: K-36
#[test]
fn t1_a_clock_that_is_set_ahead_and_back_fires_each_time_once() {
    on_sqlite(async |url| {
        let folder = tempfile::tempdir().unwrap();
        let shim = Shim::build(folder.path());
        let tenure = Tenure::builder(url.clone()).without_loops().open().await.unwrap();
        // Its first time was ten minutes ago, and its next are fifty minutes from now and every hour after that.
        let from = now().before(Duration::from_secs(600));
        let hourly = Schedule::new("hourly", "every 1 h").from(from).catch_up(CatchUp::All);
        let schedule = tenure.schedule(hourly.creates(New::job(&"hourly"))).await.unwrap();
        let mut child = Program::start_with(&format!("persistent {url}"), &shim.with_clock(0));
        assert_eq!(child.line().as_deref(), Some("open"));
        let mut others = 0;
        for (hours, times) in [(1, 2), (0, 2), (1, 2), (-1, 2), (3, 4), (2, 4)] {
            shim.set_clock(hours * HOUR);
            others += 1;
            works_on(&mut child, &tenure, others + times).await;
        }
        let mut names = BTreeSet::new();
        for job in all(&tenure).await {
            tenure.wait(job.id, PATIENCE).await.unwrap();
            let Facts::Create(birth) = &tenure.history(job.id).await.unwrap()[0].facts.clone() else {
                panic!()
            };
            names.extend(birth.name.clone().map(|name| name.to_string()));
        }
        let times = [0, 1, 2, 3].map(|hours| {
            let at = from.after(Duration::from_secs(3_600 * hours));
            format!("{}@{at}", schedule.id)
        });
        assert_eq!(names, BTreeSet::from(times));
        assert_eq!(all(&tenure).await.len(), others + 4);
        child.kill();
        drop(tenure);
        is_sound(&url).await;
    });
}

// T8: a schedule fires while the clock is ahead by 400 days; once it is right again, the schedule fires at its times.
// covers: K-17, K-36
#[test]
fn t8_a_schedule_that_fired_ahead_fires_at_its_times_again() {
    on_sqlite(async |url| {
        let folder = tempfile::tempdir().unwrap();
        let shim = Shim::build(folder.path());
        let tenure = Tenure::builder(url.clone()).without_loops().open().await.unwrap();
        let from = now().before(Duration::from_secs(600));
        let hourly = Schedule::new("hourly", "every 1 h").from(from);
        let schedule = tenure.schedule(hourly.creates(New::job(&"hourly"))).await.unwrap();
        let mut child = Program::start_with(&format!("persistent {url}"), &shim.with_clock(0));
        assert_eq!(child.line().as_deref(), Some("open"));
        let mut others = 0;
        for (hours, times) in [(9_600, 1), (0, 1), (1, 2), (2, 3)] {
            shim.set_clock(hours * HOUR);
            others += 1;
            works_on(&mut child, &tenure, others + times).await;
            // The tick after it, too: the clock is not moved past its time before it is there.
            let next = from.after(Duration::from_secs((hours.unsigned_abs() + 1) * 3_600));
            becomes_so("the next time is computed", async || {
                tenure.schedules().await.unwrap()[0].next == Some(next)
            })
            .await;
        }
        let mut names = BTreeSet::new();
        for job in all(&tenure).await {
            let Facts::Create(birth) = &tenure.history(job.id).await.unwrap()[0].facts.clone() else {
                panic!()
            };
            names.extend(birth.name.clone().map(|name| name.to_string()));
        }
        let times = [1, 2, 9_600].map(|hours| {
            let at = from.after(Duration::from_secs(3_600 * hours));
            format!("{}@{at}", schedule.id)
        });
        assert_eq!(names, BTreeSet::from(times));
        child.kill();
        drop(tenure);
        is_sound(&url).await;
    });
}
