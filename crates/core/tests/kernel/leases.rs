//! Leases: who may hold an item, from when to when, and what a heartbeat does.

use std::time::Duration;

use tenure_core::answer::Answer;
use tenure_core::execution::Remaining;
use tenure_core::request::*;
use tenure_core::world::Change;

use crate::kit::*;

fn until(bench: &Bench, item: tenure_core::id::ItemId) -> Duration {
    bench.item(item).lease.as_ref().unwrap().expires.since(START)
}

fn asking(item: tenure_core::id::ItemId, lease: Duration) -> Command {
    Command::Take(Take { item, terms: Terms { lease: Some(lease), ..Terms::default() } })
}

// covers: K-10, K-11, K-02
#[test]
fn an_acquire_moves_the_item_and_gives_the_lease_in_one_decision() {
    let mut bench = Bench::new();
    let job = bench.job();
    bench.wait(seconds(5));
    bench.offer("job");
    let leases = bench.acquire("worker:a/1", "job", 1);
    let item = bench.item(job);
    let lease = item.lease.as_ref().unwrap();
    let now = bench.world.now;
    assert_eq!((bench.state(job), leases[0].execution, item.fence.0), ("RUNNING", item.execution_id(), 1));
    assert_eq!(lease.owner.to_string(), "a/1", "one process incarnation, without its role");
    assert_eq!((lease.since, lease.heartbeat, lease.expires), (now, now, now.after(seconds(60))));
    assert_eq!(bench.story(job), "create lease");
    assert_eq!(bench.history(job)[1].fence.0, 1, "the entry carries its claim_version");
}

// covers: K-10
#[test]
fn a_lease_is_expired_from_the_very_moment_it_ends() {
    let end = seconds(60);
    for (now, live) in [(end - MICROSECOND, true), (end, false), (end + MICROSECOND, false)] {
        let mut bench = Bench::new();
        let job = bench.job();
        let execution = bench.run("worker:a/1", job);
        bench.wait(now);
        let held = if live { "yes" } else { "LEASE_LOST" };
        let command = |name: &str| match name {
            "renew" => renew(execution),
            "commit" => commit(execution),
            "fail" => fail(execution),
            "release" => release(execution),
            _ => progress(execution, record("step", "1", "{}"), &[], &[]),
        };
        for name in ["renew", "commit", "fail", "release", "progress"] {
            assert_eq!(bench.refusal("worker:a/1", command(name)), held, "{name} at {now:?}");
        }
        let taken = if live { "CLAIM_CONFLICT" } else { "yes" };
        assert_eq!(bench.refusal("worker:b/1", take(job)), taken, "take at {now:?}");
        let swept = bench.sweep(job);
        assert_eq!(matches!(swept, Answer::Same(_)), live, "sweep at {now:?}");
    }
}

// covers: K-10, K-12, J-08
#[test]
fn a_take_over_ends_the_old_execution_and_raises_the_fence() {
    let mut bench = Bench::new();
    let job = bench.job();
    let old = bench.run("worker:a/1", job);
    bench.wait(seconds(60));
    let new = bench.take("worker:b/1", job);
    assert_eq!((old.fence.0, new.fence.0), (1, 2));
    assert_eq!(bench.story(job), "create lease start expire lease");
    let ended = bench.execution(old).ended.unwrap();
    assert_eq!((ended.cause.as_str(), ended.reason.as_deref()), ("expire", Some("its lease ended")));
    assert_eq!(bench.item(job).failures, 1, "an expiry counts, however it was found");
}

// covers: K-12, J-08
#[test]
fn the_fence_grows_with_every_acquire_and_is_never_reset() {
    let mut bench = Bench::new();
    let job = bench.created("api:test", Create { attempts: Some(1000), ..new("job", "{}") }).id;
    for round in 1..=12 {
        let execution = bench.run("worker:a/1", job);
        assert_eq!(execution.fence.0, round);
        match round % 3 {
            0 => bench.ask("worker:a/1", release(execution)),
            1 => bench.ask("worker:a/1", fail(execution)),
            _ => bench.expire(job),
        };
        assert_eq!(bench.item(job).fence.0, round, "the end of a lease leaves it alone");
        bench.wait_until_due(job);
    }
    let attempts: Vec<u64> = bench.world.executions_of(job).map(|execution| execution.id.fence.0).collect();
    assert_eq!(attempts, (1..=12).collect::<Vec<u64>>(), "every attempt is kept under its own number");
}

// covers: K-13
#[test]
fn a_renewal_moves_expiry_and_heartbeat_and_nothing_else() {
    let mut bench = Bench::new();
    let job = bench.job();
    let execution = bench.run("worker:a/1", job);
    bench.wait(seconds(20));
    let now = bench.world.now;
    let decision = bench.decide("worker:a/1", renew(execution));
    let expires = now.after(seconds(60));
    assert_eq!(decision.changes, [Change::Renew { execution, heartbeat: now, expires }]);
    let before = bench.item(job).as_logged();
    let remaining = Remaining { lease: seconds(60), window: None };
    assert_eq!(
        bench.ask("worker:a/1", renew(execution)),
        Answer::Renewed { expires, window_ends: None, remaining, cancel_requested: false }
    );
    assert_eq!(bench.item(job).as_logged(), before, "no version, no fence, no entry");
    assert_eq!(until(&bench, job), seconds(80));
}

// covers: K-13
#[test]
fn a_renewal_never_shortens_a_lease() {
    let mut bench = Bench::new();
    let job = bench.job();
    bench.ask("worker:a/1", asking(job, seconds(600)));
    let execution = bench.item(job).execution_id();
    bench.ask("worker:a/1", renew(execution));
    assert_eq!(until(&bench, job), seconds(600));
    bench.wait(seconds(590));
    bench.ask("worker:a/1", renew(execution));
    assert_eq!(until(&bench, job), seconds(650));
}

// covers: K-13
#[test]
fn a_renewal_that_races_a_commit_harms_nobody() {
    let mut bench = Bench::new();
    let job = bench.job();
    let execution = bench.run("worker:a/1", job);
    bench.ask("worker:a/1", commit(execution));
    let before = bench.everything();
    assert!(matches!(bench.ask("worker:a/1", renew(execution)), Answer::Renewed { .. }));
    assert_eq!(bench.everything(), before);
    bench.ask("worker:a/1", finish(execution));
    assert_eq!(bench.refusal("worker:a/1", renew(execution)), "LEASE_LOST");
}

// covers: K-14
#[test]
fn a_lease_lasts_from_a_second_to_an_hour_or_what_its_lifecycle_says() {
    let mut bench = Bench::new();
    let job = bench.job();
    let event = bench.create("worker:w", "ticket_ready", r#"{"ticket_id":"t"}"#);
    let hour = seconds(3600);
    for (item, lease, expected) in [
        (job, seconds(1) - MICROSECOND, "INVALID_REQUEST"),
        (job, seconds(1), "yes"),
        (job, hour, "yes"),
        (job, hour + MICROSECOND, "INVALID_REQUEST"),
        (event, seconds(120), "yes"),
        (event, seconds(120) + MICROSECOND, "INVALID_REQUEST"),
    ] {
        assert_eq!(bench.refusal("worker:a/1", asking(item, lease)), expected, "take {lease:?}");
    }
    let execution = bench.take("worker:a/1", job);
    for (lease, expected) in
        [(Duration::ZERO, "INVALID_REQUEST"), (hour, "yes"), (hour * 2, "INVALID_REQUEST")]
    {
        let renew = Command::Renew(Renew { execution, lease: Some(lease) });
        assert_eq!(bench.refusal("worker:a/1", renew), expected, "renew {lease:?}");
    }
    assert_eq!(until(&bench, job), seconds(60), "by default");
}

// covers: K-15
#[test]
fn a_named_item_that_another_holds_is_refused_with_who_and_until_when() {
    let mut bench = Bench::new();
    let job = bench.job();
    bench.take("worker:a/1", job);
    let until = START.after(seconds(60));
    for other in ["worker:b/1", "worker:a/2", "worker:a"] {
        let answer = bench.ask(other, take(job));
        assert_eq!(code(&answer), "CLAIM_CONFLICT");
        assert_eq!(answer, Answer::Held { item: job, owner: "a/1".parse().unwrap(), until }, "{other}");
    }
}

// covers: K-15, K-31
#[test]
fn a_poller_that_loses_a_candidate_goes_on_to_the_next() {
    let mut bench = Bench::new();
    let run = |bench: &mut Bench, document: &str| {
        bench.create("api:test", "run", &format!(r#"{{"document_id":"{document}"}}"#))
    };
    let (held, same, free) = (run(&mut bench, "a"), run(&mut bench, "a"), run(&mut bench, "b"));
    bench.offer("run");
    bench.take("worker:x/1", held);
    // The list is stale: its first is held by now, its second shares the key of the first.
    bench.world.offers = vec![held, same, free];
    let acquire = Acquire { kinds: vec!["run".parse().unwrap()], max: 3, terms: Terms::default() };
    let Answer::Leased(leases) = bench.ask("worker:y/1", Command::Acquire(acquire)) else { panic!() };
    assert_eq!(leases.iter().map(|lease| lease.execution.item).collect::<Vec<_>>(), [free]);
    assert_eq!(bench.state(same), "QUEUED", "it waits as ready");
}

// covers: K-37, K-15
#[test]
fn an_acquire_stays_in_its_store_its_kinds_and_its_bound() {
    let mut bench = Bench::new();
    let jobs = [bench.job(), bench.job(), bench.job()];
    let claim = bench.create("api:test", "claim", r#"{"domain":"d","text":"t"}"#);
    bench.ask("orchestrator:o", step(claim, "enqueue"));
    bench.store = "elsewhere";
    let there = bench.job();
    bench.store = "default";
    bench.world.offers = vec![there, claim, jobs[0], jobs[1], jobs[2]];
    let ask = |max| Acquire { kinds: vec!["job".parse().unwrap()], max, terms: Terms::default() };
    let Answer::Leased(leases) = bench.ask("worker:a/1", Command::Acquire(ask(2))) else { panic!() };
    assert_eq!(leases.iter().map(|lease| lease.execution.item).collect::<Vec<_>>(), jobs[..2]);
    for max in [0, 1001] {
        assert_eq!(bench.refusal("worker:a/1", Command::Acquire(ask(max))), "INVALID_REQUEST");
    }
    assert_eq!(bench.refusal("api:x", Command::Acquire(ask(1))), "FORBIDDEN");
}

// covers: K-10, K-13, K-17
// fault: T6
#[test]
fn a_correction_of_seconds_ends_no_lease_and_one_of_an_hour_does() {
    let mut bench = Bench::new();
    let job = bench.job();
    let execution = bench.run("worker:a/1", job);
    // Set back by the length of the lease: it goes on, no entry is older than the one before it, and it is renewed by the clock.
    bench.world.now = START.before(seconds(60));
    assert!(bench.ask("worker:a/1", progress(execution, record("step", "1", "{}"), &[], &[])).is_yes());
    assert!(bench.ask("worker:a/1", renew(execution)).is_yes());
    assert_eq!(bench.item(job).lease.as_ref().unwrap().expires, START);
    assert_eq!(bench.sweep(job), Answer::Same(bench.world.items[&job].clone()));
    // Set back by more: it has ended, and its holder commits nothing, nor once another is in the same state.
    bench.world.now = START.before(seconds(121));
    let before = bench.everything();
    let writes = [renew(execution), commit(execution), fail(execution), release(execution)];
    for command in writes.clone() {
        assert_eq!(bench.refusal("worker:a/1", command), "LEASE_LOST");
    }
    assert_eq!(bench.everything(), before);
    let other = bench.run("worker:b/1", job);
    for command in writes {
        assert_eq!(bench.refusal("worker:a/1", command), "LEASE_LOST");
    }
    let lease = bench.item(job).lease.clone().unwrap();
    assert_eq!((lease.since, lease.expires), (bench.world.now, bench.world.now.after(seconds(60))));
    assert!(bench.ask("worker:b/1", commit(other)).is_yes());
    assert_eq!(bench.story(job), "create lease start progress expire lease start commit");
    let times: Vec<_> = bench.history(job).iter().map(|entry| entry.at).collect();
    assert!(times.is_sorted(), "{times:?}");
    assert_eq!(bench.folded(job), bench.item(job).as_logged());
}

// covers: K-13, K-17
#[test]
fn the_length_that_counts_is_the_one_that_was_granted_last() {
    let mut bench = Bench::new();
    let job = bench.job();
    let execution = bench.run("worker:a/1", job);
    let longer = Renew { execution, lease: Some(seconds(300)) };
    assert!(bench.ask("worker:a/1", Command::Renew(longer)).is_yes());
    bench.world.now = START.before(seconds(300));
    assert!(bench.ask("worker:a/1", renew(execution)).is_yes());
    assert_eq!(bench.item(job).lease.as_ref().unwrap().expires, START, "never shorter than it was granted");
    bench.world.now = START.before(seconds(300)).before(seconds(300));
    assert!(bench.item(job).lease.as_ref().unwrap().is_live(bench.world.now));
    bench.world.now = bench.world.now.before(MICROSECOND);
    assert!(!bench.item(job).lease.as_ref().unwrap().is_live(bench.world.now));
}

// covers: K-17, K-34
#[test]
fn a_window_is_as_long_as_it_is_by_the_clock_that_is_right() {
    let mut bench = Bench::new();
    bench.world.now = START.after(seconds(3_600));
    let run = bench.create("api:test", "run", r#"{"document_id":"d"}"#);
    bench.world.now = START;
    let execution = bench.run("worker:a/1", run);
    let lease = bench.item(run).lease.clone().unwrap();
    let window = bench.item(run).table.settings.window.unwrap();
    assert_eq!((lease.since, lease.window_ends), (START, Some(START.after(window))));
    assert_eq!(
        bench.history(run)[1].at,
        START.after(seconds(3_600)),
        "the entry is not older than the first"
    );
    assert_eq!(bench.folded(run), bench.item(run).as_logged());
    bench.world.now = START.before(window).before(seconds(1));
    assert_eq!(bench.refusal("worker:a/1", commit(execution)), "LEASE_LOST");
}

// covers: K-18
#[test]
fn a_lost_answer_is_asked_for_again() {
    let mut bench = Bench::new();
    let jobs = [bench.job(), bench.job(), bench.job()];
    bench.world.offers = jobs.to_vec();
    let terms = Terms { request: Some("r1".parse().unwrap()), ..Terms::default() };
    let acquire =
        || Command::Acquire(Acquire { kinds: vec!["job".parse().unwrap()], max: 2, terms: terms.clone() });
    let first = bench.ask("worker:a/1", acquire());
    let before = bench.everything();
    assert_eq!(bench.ask("worker:a/1", acquire()), first, "the same two leases, not the third job");
    assert_eq!(bench.everything(), before);
    // The id is its owner's: another incarnation with the same id is somebody else.
    let Answer::Leased(others) = bench.ask("worker:a/2", acquire()) else { panic!() };
    assert_eq!(others[0].execution.item, jobs[2]);
    bench.ask("worker:a/1", release(bench.item(jobs[0]).execution_id()));
    let Answer::Leased(left) = bench.ask("worker:a/1", acquire()) else { panic!() };
    assert_eq!(left.len(), 1, "only what is still held");
    bench.wait(seconds(60));
    assert_eq!(bench.ask("worker:a/1", acquire()), Answer::Leased(vec![]), "expired is not held");
}

// covers: K-18
#[test]
fn a_take_is_repeated_under_its_request_id() {
    let mut bench = Bench::new();
    let job = bench.job();
    let first = bench.ask("worker:a/1", take_under(job, "r1"));
    assert_eq!(bench.ask("worker:a/1", take_under(job, "r1")), first);
    assert_eq!(bench.refusal("worker:a/1", take_under(job, "r2")), "CLAIM_CONFLICT");
    assert_eq!(bench.refusal("worker:a/1", take(job)), "CLAIM_CONFLICT", "without an id it is no repeat");
    assert_eq!(bench.refusal("worker:b/1", take_under(job, "r1")), "CLAIM_CONFLICT");
    assert_eq!(bench.story(job), "create lease");
}

// covers: K-31, R-03
#[test]
fn one_item_of_a_key_is_held_at_a_time() {
    let mut bench = Bench::new();
    let document = r#"{"document_id":"d"}"#;
    let (first, second) = (bench.create("api:t", "run", document), bench.create("api:t", "run", document));
    let execution = bench.run("worker:a/1", first);
    assert_eq!(bench.refusal("worker:b/1", take(second)), "CLAIM_CONFLICT");
    assert_eq!(bench.state(second), "QUEUED");
    bench.store = "elsewhere";
    let there = bench.create("api:t", "run", document);
    bench.take("worker:b/1", there);
    bench.store = "default";
    bench.ask("worker:a/1", commit(execution));
    bench.take("worker:b/1", second);
}

// covers: K-24, J-06
#[test]
fn what_has_committed_is_never_leased_again() {
    let mut bench = Bench::new();
    let job = bench.job();
    let execution = bench.run("worker:a/1", job);
    bench.ask("worker:a/1", commit(execution));
    assert_eq!(bench.refusal("worker:b/1", take(job)), "CLAIM_CONFLICT", "committed, lease in force");
    bench.wait(seconds(61));
    assert_eq!(bench.refusal("worker:b/1", take(job)), "ALREADY_COMMITTED", "committed, lease over");
    bench.sweep(job);
    assert_eq!(bench.refusal("worker:b/1", take(job)), "ALREADY_COMMITTED", "done");
    bench.world.offers = vec![job];
    let acquire = Acquire { kinds: vec!["job".parse().unwrap()], max: 1, terms: Terms::default() };
    assert_eq!(bench.ask("worker:b/1", Command::Acquire(acquire)), Answer::Leased(vec![]));
}
