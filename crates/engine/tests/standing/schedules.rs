//! Each time of a schedule is created once, whatever happens in between.

use std::collections::BTreeSet;
use std::time::Duration;

use tenure::core::entry::Facts;
use tenure::{CatchUp, Done, Job, New, Schedule, Tenure};

use crate::kit::{PATIENCE, ago, all, on_each, on_files, until};

const HOUR: Duration = Duration::from_secs(3600);
const TEN_MINUTES: Duration = Duration::from_secs(600);

/// An hourly schedule that began this many hours and ten minutes ago: so many times and one more are overdue, and the next
/// is far away.
fn overdue(name: &str, hours: u32, rule: CatchUp) -> Schedule {
    Schedule::new(name, "every 1 h").from(ago(HOUR * hours + TEN_MINUTES)).catch_up(rule)
}

/// Until what is due was dealt with. A tick that failed waits a second or so, and one whose node died until its lease ends: they
/// are not meant.
async fn next_is_ahead(tenure: &Tenure, name: &str) {
    let soon = ago(Duration::ZERO).after(TEN_MINUTES);
    until("the tick that waits for the next time", async || {
        let schedules = tenure.schedules().await.unwrap();
        let next = schedules.iter().find(|one| &*one.name == name)?.next?;
        (next > soon).then_some(())
    })
    .await;
    assert_eq!(tenure.counters().failed(), 0, "no tick failed on the way");
}

// covers: K-36
#[test]
fn what_is_due_is_created_and_run() {
    on_each(async |url| {
        let tenure = Tenure::open(url).await.unwrap();
        let worker = tenure.worker("w").handle("job", async |_: Job| Ok(Done::default())).start().unwrap();
        let schedule = overdue("report", 0, CatchUp::All)
            .creates(New::job(&"report").key("k").priority(3).max_attempts(2));
        let item = tenure.schedule(schedule.clone()).await.unwrap();
        let job = until("the job", async || all(&tenure, "job").await.pop()).await;
        let whole = tenure.wait(job.id, PATIENCE).await.unwrap();
        assert_eq!(whole.payload.unwrap().bytes(), br#""report""#);
        until("the count of it", async || (tenure.counters().occurrences() == 1).then_some(())).await;
        assert_eq!(
            (whole.item.key.as_deref(), whole.item.priority, whole.item.attempts),
            (Some("k"), 3, Some(2))
        );
        let Facts::Create(birth) = &tenure.history(job.id).await.unwrap()[0].facts.clone() else { panic!() };
        let at = ago(TEN_MINUTES + HOUR);
        let name = birth.name.clone().unwrap();
        let (id, time) = name.split_once('@').unwrap();
        assert_eq!(id, item.id.to_string());
        assert!(time.parse::<tenure::core::time::Time>().unwrap() > at);
        // The same again is the same; another under its name is refused.
        assert_eq!(tenure.schedule(schedule.clone()).await.unwrap().id, item.id);
        let other = tenure.schedule(schedule.zone("Europe/Berlin")).await.unwrap_err();
        assert!(other.to_string().contains("remove that one first"), "{other}");
        next_is_ahead(&tenure, "report").await;
        assert_eq!(all(&tenure, "job").await.len(), 1);
        worker.drain().await;
    });
}

// covers: K-36
#[test]
fn after_three_hours_of_downtime_each_rule_makes_what_it_says() {
    on_each(async |url| {
        let tenure = Tenure::open(url).await.unwrap();
        for (name, rule, made, dropped) in
            [("skip", CatchUp::Skip, 0, 4), ("one", CatchUp::One, 1, 3), ("all", CatchUp::All, 4, 0)]
        {
            let counted = tenure.counters().occurrences_dropped();
            let before = all(&tenure, "job").await.len();
            tenure.schedule(overdue(name, 3, rule).creates(New::job(&name))).await.unwrap();
            next_is_ahead(&tenure, name).await;
            assert_eq!(all(&tenure, "job").await.len() - before, made, "{name}");
            assert_eq!(tenure.counters().occurrences_dropped() - counted, dropped, "{name}");
        }
    });
}

/// Engines that die in the middle, and others that go on: the catch-up of 2,000 times, in many commits; of 10,000 with
/// `TENURE_ROUNDS=full`.
// covers: K-36
#[test]
fn two_engines_make_thousands_of_times_and_none_twice() {
    let full = std::env::var("TENURE_ROUNDS").is_ok_and(|size| size == "full");
    let each = if full { 1_000 } else { 200 };
    on_files(async |url| {
        let engines = [Tenure::open(url.clone()).await.unwrap(), Tenure::open(url.clone()).await.unwrap()];
        let names: Vec<String> = (0..10).map(|number| format!("s{number}")).collect();
        for name in &names {
            let schedule = overdue(name, each, CatchUp::All).catch_up_max(each).creates(New::job(name));
            engines[0].schedule(schedule).await.unwrap();
        }
        // Two die where they are while they are at it, and a third carries on.
        until("some of it", async || (all(&engines[0], "job").await.len() > each as usize).then_some(()))
            .await;
        drop(engines);
        let tenure = Tenure::open(url).await.unwrap();
        for name in &names {
            next_is_ahead(&tenure, name).await;
        }
        let jobs = all(&tenure, "job").await;
        assert_eq!(jobs.len(), 10 * each as usize, "as many of each as there were times, and none twice");
        let mut made = BTreeSet::new();
        for job in jobs.iter().step_by(97) {
            let Facts::Create(birth) = &tenure.history(job.id).await.unwrap()[0].facts.clone() else {
                panic!()
            };
            assert!(made.insert(birth.name.clone().unwrap()), "every time has its own name");
        }
        let ticks = all(&tenure, "tick").await;
        let waiting = ticks.iter().filter(|tick| !tick.phase().is_ended()).count();
        assert_eq!(waiting, 10, "one unfinished tick a schedule");
    });
}

// covers: K-36
#[test]
fn paused_it_creates_nothing_and_resumed_it_goes_on() {
    on_each(async |url| {
        let tenure = Tenure::open(url).await.unwrap();
        tenure.schedule(overdue("p", 2, CatchUp::All).creates(New::job(&1))).await.unwrap();
        next_is_ahead(&tenure, "p").await;
        assert_eq!(&**tenure.pause_schedule("p").await.unwrap().state_name(), "PAUSED");
        let paused = tenure.schedules().await.unwrap().pop().unwrap();
        assert_eq!((&*paused.state, paused.next), ("PAUSED", None));
        assert_eq!(&**tenure.resume_schedule("p").await.unwrap().state_name(), "ACTIVE");
        next_is_ahead(&tenure, "p").await;
        assert_eq!(all(&tenure, "job").await.len(), 3);
        assert_eq!(&**tenure.remove_schedule("p").await.unwrap().state_name(), "REMOVED");
        assert_eq!(tenure.schedules().await.unwrap(), []);
        assert!(tenure.pause_schedule("p").await.unwrap_err().to_string().contains("no schedule is named"));
        // The name is free, for another expression too.
        tenure.schedule(Schedule::new("p", "0 3 1 1 *").creates(New::job(&2))).await.unwrap();
        next_is_ahead(&tenure, "p").await;
        assert_eq!(all(&tenure, "job").await.len(), 3);
    });
}

// covers: K-36
#[test]
fn a_schedule_that_lost_its_tick_or_never_had_one_gets_it() {
    on_files(async |url| {
        // Its creator died between the two creates, or knew nothing of ticks.
        let lonely = Tenure::builder(url.clone()).without_loops().open().await.unwrap();
        let payload = serde_json::json!({
            "name": "lonely", "times": "every 1 h", "catch_up": "all",
            "from": ago(HOUR + TEN_MINUTES), "creates": {"kind": "job", "payload": 7},
        });
        lonely.create(New::of("schedule", &payload)).await.unwrap();
        let broken =
            serde_json::json!({"name": "broken", "times": "now and then", "creates": {"kind": "job"}});
        lonely.create(New::of("schedule", &broken)).await.unwrap();
        assert_eq!(all(&lonely, "tick").await.len(), 0);
        drop(lonely);

        let tenure = Tenure::open(url).await.unwrap();
        next_is_ahead(&tenure, "lonely").await;
        assert_eq!(all(&tenure, "job").await.len(), 2);
        until("the one that can not fire", async || {
            tenure.counters().last_failure().filter(|why| why.contains("now and then"))
        })
        .await;
        assert_eq!(all(&tenure, "tick").await.iter().filter(|tick| !tick.phase().is_ended()).count(), 1);
    });
}

#[test]
fn a_schedule_with_a_last_time_ends_with_it() {
    on_each(async |url| {
        let tenure = Tenure::open(url).await.unwrap();
        // Its only time was in 2025, and counts from before that.
        let once = Schedule::new("once", "0 0 0 1 1 * 2025").from("2024-01-01T00:00:00Z".parse().unwrap());
        let schedule = tenure.schedule(once.catch_up(CatchUp::All).creates(New::job(&1))).await.unwrap();
        let ended = tenure.wait(schedule.id, PATIENCE).await.unwrap();
        assert_eq!(&**ended.item.state_name(), "ENDED");
        assert_eq!(all(&tenure, "job").await.len(), 1);
        assert_eq!(tenure.schedules().await.unwrap(), []);
    });
}

/// A kind that coalesces gets one create a commit; what it can not take is said and nothing is lost.
#[test]
fn times_of_a_kind_that_coalesces_are_made_one_by_one() {
    on_each(async |url| {
        let tenure = Tenure::open(url).await.unwrap();
        let verdict = New::of("verdict", &serde_json::json!({"claim_id": "c"}));
        tenure.schedule(overdue("v", 3, CatchUp::All).creates(verdict)).await.unwrap();
        next_is_ahead(&tenure, "v").await;
        assert_eq!(all(&tenure, "verdict").await.len(), 1, "one stands for all, as its lifecycle says");
        assert_eq!(tenure.counters().failed(), 0);
    });
}
