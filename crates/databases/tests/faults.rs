//! A database that fails at each step of a transaction, once, a few times or always.
//!
//! Whatever fails, nothing is written twice or by half, and a fault that is about one request costs that one alone.

#[path = "faults/faulty.rs"]
mod faulty;

use std::io::Cursor;
use std::time::Duration;

use tenure_core::answer::Answer;
use tenure_core::body::Body;
use tenure_core::draw::Draw;
use tenure_core::item::Item;
use tenure_core::request::{Acquire, Command, Create, Request, Terms};
use tenure_databases::batch::inbox::{Turn, take_in};
use tenure_databases::batch::{self, PATIENCE, Reply};
use tenure_databases::export::export;
use tenure_databases::replay::{Replayed, Stopped, replay};
use tenure_databases::{Database, Error, Query};

use faulty::{Fault, Faulty, STEPS, Step, create, creates, request};

fn acquire() -> Request {
    let acquire = Acquire { kinds: vec!["job".parse().unwrap()], max: 1, terms: Terms::default() };
    request("worker:a/1", Command::Acquire(acquire))
}

fn run(database: &Faulty, requests: &[Request]) -> Vec<Result<Reply, Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(batch::run(database, requests, &mut Draw::new(1)))
}

fn items(database: &Faulty) -> Vec<Item> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let items = runtime.block_on(database.list(&Query { limit: 1_000, ..Query::default() }));
    items.expect("reading works")
}

fn times(count: usize, fault: Fault) -> Vec<Fault> {
    vec![fault; count]
}

fn lost() -> Error {
    Error::LostRace("deadlock detected".to_string())
}

fn away() -> Error {
    Error::Unavailable("connection refused".to_string())
}

// covers: K-02
// fault: P4
#[test]
fn a_race_that_is_lost_at_any_step_is_run_again() {
    let without = run(&Faulty::new([]), &[create("n"), acquire()]);
    for step in STEPS {
        for races in [1, 4, 20] {
            let database = Faulty::new(times(races, Fault::At(step, lost())));
            let replies = run(&database, &[create("n"), acquire()]);
            assert_eq!(replies, without, "{step:?}: the same ids as without the race");
            assert!(replies.iter().all(|reply| reply.as_ref().is_ok_and(|reply| reply.fresh)), "{replies:?}");
            assert_eq!((database.commits(), items(&database).len(), database.is_spent()), (1, 1, true));
            assert_eq!(database.pauses().len(), races, "a pause before each further try");
        }
    }
}

/// It is bounded by what was waited in all, and not by how often it was tried: a few milliseconds of bad luck reach nobody.
// fault: P4
#[test]
fn who_loses_every_race_for_five_seconds_is_told_so_and_nothing_is_written() {
    for step in STEPS {
        let database = Faulty::new(times(1_000, Fault::At(step, lost())));
        for reply in run(&database, &[create("n"), acquire()]) {
            assert_eq!(reply, Err(lost()), "{step:?}");
        }
        assert_eq!((database.commits(), items(&database)), (0, vec![]));
        let pauses = database.pauses();
        let waited: Duration = pauses.iter().sum();
        assert!(waited <= PATIENCE && waited > PATIENCE * 9 / 10, "{step:?}: {waited:?}");
        assert!((20..60).contains(&pauses.len()), "{step:?}: {}", pauses.len());
        assert!(pauses[0] <= Duration::from_millis(1) && pauses.last() >= Some(&Duration::from_millis(100)));
    }
}

/// Only who lost a race waits: whatever else failed is told at once.
#[test]
fn nobody_waits_for_anything_but_a_race() {
    for error in [away(), Error::Statement("bad".to_string()), Error::Unknown("?".to_string())] {
        for step in STEPS {
            let database = Faulty::new([Fault::At(step, error.clone())]);
            run(&database, &[create("n"), acquire()]);
            assert_eq!(database.pauses(), [], "{step:?} {error}");
        }
    }
}

// fault: P4
#[test]
fn rows_of_the_inbox_are_taken_in_after_races_that_were_lost() {
    let take = |database: &Faulty| {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        runtime.block_on(take_in(database, 10, &mut Draw::new(1)))
    };
    let database = Faulty::new(times(20, Fault::At(Step::Begin, lost())));
    assert_eq!(take(&database), Ok(Turn::default()));
    assert_eq!((database.is_spent(), database.pauses().len()), (true, 20));
    let database = Faulty::new(times(1_000, Fault::At(Step::Begin, lost())));
    assert_eq!(take(&database), Err(lost()));
    assert!(database.pauses().iter().sum::<Duration>() <= PATIENCE);
}

#[test]
fn a_database_that_is_away_is_away_for_everyone_at_once() {
    for step in STEPS {
        let database = Faulty::new([Fault::At(step, away())]);
        for reply in run(&database, &[create("n"), acquire()]) {
            assert_eq!(reply, Err(away()), "{step:?}");
        }
        assert_eq!((database.commits(), items(&database), database.is_spent()), (0, vec![], true));
        let again = run(&database, &[create("n"), acquire()]);
        assert!(again.iter().all(Result::is_ok), "it goes on when the fault is gone");
    }
}

// covers: K-02
#[test]
fn a_commit_that_was_not_heard_of_happens_once() {
    for (happened, settles) in [(true, 0), (false, 0), (true, 3), (false, 3)] {
        let faults = [Fault::Unheard { happened }].into_iter().chain(times(settles, Fault::Settle(lost())));
        let database = Faulty::new(faults);
        // Without a name nothing but the settling stands between this create and a second one.
        let create = Create::new("job".parse().unwrap(), Body::json(b"{}".to_vec()).unwrap());
        let replies = run(&database, &[request("api:test", Command::Create(create))]);
        let Ok(Reply { answer: Answer::Created(item), fresh: true, .. }) = &replies[0] else {
            panic!("{replies:?}")
        };
        assert_eq!(items(&database), [Item::clone(item)], "{happened} {settles}");
        assert_eq!(database.commits(), 1);
    }
}

#[test]
fn an_outcome_that_can_not_be_found_out_is_unknown_and_not_tried_again() {
    for error in [lost(), away(), Error::Statement("syntax".to_string())] {
        let faults = [Fault::Unheard { happened: true }].into_iter().chain(times(99, Fault::Settle(error)));
        let database = Faulty::new(faults);
        let replies = run(&database, &creates(3));
        assert!(replies.iter().all(|reply| matches!(reply, Err(Error::Unknown(_)))), "{replies:?}");
        assert_eq!(
            (database.commits(), items(&database).len()),
            (1, 3),
            "what was written stays written once"
        );
    }
}

#[test]
fn one_request_that_breaks_a_statement_fails_alone() {
    for (count, bad) in [(1, 0), (2, 1), (7, 3), (100, 0), (100, 42), (100, 99)] {
        let database = Faulty::new([]);
        database.faults.lock().unwrap().poison = Some(format!("n{bad}"));
        let replies = run(&database, &creates(count));
        for (index, reply) in replies.iter().enumerate() {
            match index == bad {
                true => assert!(matches!(reply, Err(Error::Statement(_))), "{reply:?}"),
                false => assert!(reply.as_ref().is_ok_and(|reply| reply.fresh), "{index}: {reply:?}"),
            }
        }
        assert_eq!(items(&database).len(), count - 1);
        assert!(database.commits() <= 7, "halving a hundred takes seven steps: {}", database.commits());
    }
}

#[test]
fn rows_that_were_not_written_are_an_error_and_never_silent() {
    let database = Faulty::new(times(1, Fault::Short));
    let replies = run(&database, &[create("n")]);
    assert!(matches!(&replies[0], Err(Error::Statement(_))), "{replies:?}");
    assert_eq!((database.commits(), items(&database)), (0, vec![]), "the rest is rolled back with it");
}

#[test]
fn a_statement_error_at_any_step_costs_no_other_request() {
    for step in STEPS {
        let database = Faulty::new([Fault::At(step, Error::Statement("bad".to_string()))]);
        let mut requests = creates(4);
        requests.push(acquire());
        let replies = run(&database, &requests);
        assert!(replies.iter().all(Result::is_ok), "{step:?}: halved, it worked: {replies:?}");
        assert_eq!(items(&database).len(), 4);
    }
}

#[test]
fn an_empty_batch_asks_the_database_nothing() {
    let database = Faulty::new([Fault::At(Step::Begin, away())]);
    assert_eq!(run(&database, &[]), []);
    assert!(!database.is_spent());
}

/// A log of 600 creates, which takes two transactions to replay.
fn exported() -> Vec<u8> {
    let database = Faulty::new([]);
    run(&database, &creates(600)).into_iter().for_each(|reply| assert!(reply.is_ok()));
    export_of(&database)
}

fn export_of(database: &Faulty) -> Vec<u8> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let mut file = Vec::new();
    runtime.block_on(export(database, &mut file, |_| {})).unwrap();
    file
}

fn replay_into(database: &Faulty, file: &[u8]) -> Result<Replayed, Stopped> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(replay(Cursor::new(file), database, &mut Draw::new(5), |_| {}))
}

// covers: K-42
#[test]
fn a_replay_goes_on_after_a_lost_race_and_settles_a_commit_that_was_not_heard_of() {
    let file = exported();
    let lost = || Error::LostRace("somebody was first".to_string());
    let mut faults: Vec<Fault> = [Step::Begin, Step::Lock, Step::Write, Step::Append, Step::Commit]
        .map(|step| Fault::At(step, lost()))
        .into();
    faults.extend([Fault::Unheard { happened: true }, Fault::Unheard { happened: false }]);
    for fault in faults {
        let database = Faulty::new([fault.clone()]);
        let done = replay_into(&database, &file).unwrap();
        assert_eq!((done.head.position, done.known), (600, 0), "{fault:?}");
        assert_eq!(database.commits(), 2, "{fault:?}");
        assert!(database.is_spent() && export_of(&database) == file, "{fault:?}");
    }
}

// covers: K-44
#[test]
fn a_replay_that_broke_off_is_carried_on_where_it_stopped() {
    let file = exported();
    for step in [Step::Begin, Step::Lock, Step::Write, Step::Append, Step::Commit] {
        let database = Faulty::new([Fault::At(step, Error::Unavailable("no room".to_string()))]);
        let stopped = replay_into(&database, &file).unwrap_err();
        assert!(matches!(stopped, Stopped::Database { written: 0, .. }), "{stopped}");
        assert_eq!(replay_into(&database, &file).unwrap().known, 0);
        assert!(export_of(&database) == file);
    }
    let database = Faulty::new([]);
    database.faults.lock().unwrap().poison = Some("n550".to_string());
    let stopped = replay_into(&database, &file).unwrap_err();
    assert!(matches!(stopped, Stopped::Database { written: 500, .. }), "{stopped}");
    database.faults.lock().unwrap().poison = None;
    assert_eq!(replay_into(&database, &file).unwrap().known, 500);
    assert!(export_of(&database) == file);
}
