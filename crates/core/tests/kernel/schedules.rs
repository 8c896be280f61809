//! Schedules and their ticks: one unfinished tick, and nothing created for who was called off.

use tenure_core::answer::Answer;
use tenure_core::id::ItemId;
use tenure_core::request::*;

use crate::kit::*;

const SCHEDULE: &str = r#"{"name":"n","times":"0 3 * * *","creates":{"kind":"job"}}"#;

fn tick(schedule: ItemId) -> Create {
    new("tick", &format!(r#"{{"schedule":"{schedule}","at":"2026-01-01T03:00:00.000000Z"}}"#))
}

/// What firing writes: an item, the next tick, and the question to the schedule.
fn fires(schedule: ItemId, event: &str) -> Effects {
    let creates = vec![named("job", "1", "time"), tick(schedule)];
    Effects { creates, ..moving(schedule, event) }
}

// covers: K-36
#[test]
fn a_tick_of_a_schedule_that_is_not_active_creates_nothing() {
    for (event, state) in [("pause", "PAUSED"), ("remove", "REMOVED")] {
        let mut bench = Bench::new();
        let schedule = bench.create("api:t", "schedule", SCHEDULE);
        let first = bench.created("api:cron", tick(schedule)).id;
        let firing = bench.run("api:cron", first);
        // Between its reading and its writing somebody calls it off.
        assert!(bench.ask("human:eva", step(schedule, event)).is_yes());
        let before = bench.everything();
        let commit = || commit_with(firing, fires(schedule, "fire"));
        assert_eq!(bench.refusal("api:cron", commit()), "TRANSITION_REFUSED", "{state}");
        assert_eq!(bench.everything(), before, "nothing was written");
        if state == "PAUSED" {
            assert!(bench.ask("human:eva", step(schedule, "resume")).is_yes());
            assert!(bench.ask("api:cron", commit()).is_yes());
            assert_eq!(bench.item(schedule).version, 3, "asking it writes nothing of its own");
        }
    }
}

// covers: K-36
#[test]
fn there_is_one_unfinished_tick_of_a_schedule() {
    let mut bench = Bench::new();
    let schedule = bench.create("api:t", "schedule", SCHEDULE);
    let first = bench.created("api:cron", tick(schedule)).id;
    let again = |bench: &mut Bench| match bench.ask("api:cron", Command::Create(tick(schedule))) {
        Answer::Coalesced(item) => item.id,
        other => panic!("{other:?}"),
    };
    assert_eq!(again(&mut bench), first);
    let firing = bench.run("api:cron", first);
    assert_eq!(again(&mut bench), first, "also while it fires");
    assert!(bench.ask("api:cron", commit_with(firing, fires(schedule, "fire"))).is_yes());
    let next = again(&mut bench);
    assert_ne!(next, first);
    // The last one ends its schedule, and no other comes.
    let last = bench.run("api:cron", next);
    let ends = Effects { creates: Vec::new(), ..fires(schedule, "end") };
    assert!(bench.ask("api:cron", commit_with(last, ends)).is_yes());
    assert_eq!(bench.state(schedule), "ENDED");
}
