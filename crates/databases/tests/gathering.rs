//! Group commit: who asks at the same time shares a transaction and gets an answer of their own.
//!
//! Nothing here waits for time to pass. Where an order matters a transaction is held until all is as the test wants it.

#[path = "faults/faulty.rs"]
mod faulty;
#[path = "conformance/schema.rs"]
#[allow(dead_code, reason = "another test program uses the rest")]
mod schema;
#[path = "gathering/standing.rs"]
mod standing;

use std::collections::BTreeSet;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;

use tenure_core::answer::Answer;
use tenure_core::body::Body;
use tenure_core::code::Code;
use tenure_core::id::{ExecutionId, Fence, ItemId};
use tenure_core::lifecycle::shipped;
use tenure_core::request::{Command, Commit, Create, Effects, Request, Start, Take, Terms};
use tenure_databases::batch::{BATCH_MAX, Reply};
use tenure_databases::gather::{Gather, Options, Writers};
use tenure_databases::{Database, Error, Query, postgres, sqlite};
use tokio::task::JoinSet;

use faulty::{Fault, Faulty, STEPS, Step, create, creates, request};

const BOTH: [Writers; 2] = [Writers::Thread, Writers::TASKS];

fn on_a_runtime(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().expect("a runtime");
    runtime.block_on(test);
}

fn start(writers: Writers) -> (Arc<Faulty>, Gather) {
    start_with(Options::new(writers, 7), [])
}

fn start_with(options: Options, faults: impl IntoIterator<Item = Fault>) -> (Arc<Faulty>, Gather) {
    let database = Arc::new(Faulty::new(faults));
    (database.clone(), Gather::start(database, options))
}

async fn count(database: &Faulty) -> usize {
    database.list(&Query { limit: 1_000, ..Query::default() }).await.expect("reading works").len()
}

fn away() -> Error {
    Error::Unavailable("connection refused".to_string())
}

fn id(reply: &Result<Reply, Error>) -> ItemId {
    match reply {
        Ok(Reply { answer: Answer::Created(item), .. }) => item.id,
        other => panic!("not created: {other:?}"),
    }
}

fn is_fresh(reply: &Result<Reply, Error>) -> bool {
    reply.as_ref().is_ok_and(|reply| reply.fresh)
}

type Asked<'a> = Pin<Box<dyn Future<Output = Result<Reply, Error>> + Send + 'a>>;

/// Asks, and comes back when it is in the queue; the answer may be there already.
async fn ask(gather: &Gather, request: Request) -> Asked<'_> {
    let mut asked: Asked<'_> = Box::pin(gather.ask(request));
    match poll_fn(|context| Poll::Ready(asked.as_mut().poll(context))).await {
        Poll::Pending => asked,
        Poll::Ready(reply) => Box::pin(std::future::ready(reply)),
    }
}

async fn waits(asked: &mut Asked<'_>) {
    poll_fn(|context| match asked.as_mut().poll(context) {
        Poll::Pending => Poll::Ready(()),
        Poll::Ready(reply) => panic!("answered already: {reply:?}"),
    })
    .await;
}

async fn ask_each(gather: &Gather, requests: Vec<Request>) -> Vec<Asked<'_>> {
    let mut asked = Vec::new();
    for request in requests {
        asked.push(ask(gather, request).await);
    }
    asked
}

async fn replies(asked: Vec<Asked<'_>>) -> Vec<Result<Reply, Error>> {
    let mut replies = Vec::new();
    for asked in asked {
        replies.push(asked.await);
    }
    replies
}

// covers: K-02, K-03
#[test]
fn each_of_64_callers_gets_its_own_answer_and_finds_it_written() {
    on_a_runtime(async {
        for writers in BOTH {
            let (database, gather) = start(writers);
            let mut callers = JoinSet::new();
            for caller in 0..64 {
                let (database, gather) = (database.clone(), gather.clone());
                callers.spawn(async move {
                    for turn in 0..10 {
                        let body = Body::json(format!("[{caller},{turn}]")).expect("JSON");
                        let create = Create::new("job".parse().unwrap(), body.clone());
                        let id = id(&gather.ask(request("api:test", Command::Create(create))).await);
                        let whole = database.whole(&"default".parse().unwrap(), id).await.unwrap();
                        assert_eq!(whole.expect("it is written").payload, Some(body), "{writers:?}");
                    }
                });
            }
            callers.join_all().await;
            assert_eq!(count(&database).await, 640);
            gather.close().await;
        }
    });
}

#[test]
fn threads_that_wait_each_get_their_own_answer() {
    let (database, gather) = start(Writers::Thread);
    let mut ids = BTreeSet::new();
    std::thread::scope(|scope| {
        let caller = |caller: usize| {
            let gather = gather.clone();
            let names = (0..10).map(move |turn| format!("{caller}-{turn}"));
            scope.spawn(move || -> Vec<ItemId> {
                names.map(|name| id(&gather.ask_blocking(create(&name)))).collect()
            })
        };
        let callers: Vec<_> = (0..64).map(caller).collect();
        callers.into_iter().for_each(|caller| ids.extend(caller.join().expect("it was answered")));
    });
    assert_eq!(ids.len(), 640);
    assert!(database.commits() <= 640);
}

// covers: K-02
#[test]
fn what_comes_while_a_batch_is_written_is_the_next_one() {
    on_a_runtime(async {
        let (database, gather) = start(Writers::Thread);
        let mut hold = database.hold();
        let first = ask(&gather, create("first")).await;
        hold.reached().await;
        assert_eq!(gather.queue_len(), 0, "the writer has taken it");
        let others = ask_each(&gather, creates(64)).await;
        assert_eq!(gather.queue_len(), 64);
        hold.release();
        assert!(is_fresh(&first.await));
        assert!(replies(others).await.iter().all(is_fresh));
        assert_eq!((database.commits(), count(&database).await), (2, 65));
    });
}

// covers: K-03
#[test]
fn nobody_is_told_yes_before_the_commit() {
    on_a_runtime(async {
        for step in STEPS.into_iter().filter(|step| *step != Step::Claim) {
            let (database, gather) = start_with(Options::new(Writers::Thread, 7), [Fault::At(step, away())]);
            let mut hold = database.hold();
            let mut first = ask(&gather, create("first")).await;
            hold.reached().await;
            waits(&mut first).await;
            hold.release();
            assert_eq!(first.await, Err(away()), "{step:?}");
            assert_eq!(count(&database).await, 0, "{step:?}");
            assert!(is_fresh(&gather.ask(create("first")).await), "{step:?}: the writer goes on");
        }
    });
}

// covers: K-02
#[test]
fn one_bad_request_of_a_hundred_callers_fails_alone() {
    on_a_runtime(async {
        for writers in BOTH {
            let (database, gather) = start(writers);
            database.faults.lock().unwrap().poison = Some("n42".to_string());
            let hold = database.hold();
            let mut requests = creates(99);
            let schema = Create::new("claim".parse().unwrap(), Body::json(*b"{}").unwrap());
            requests.insert(7, request("api:test", Command::Create(schema)));
            let replies = replies(ask_each_held(&gather, requests, hold).await).await;
            for (index, reply) in replies.iter().enumerate() {
                match index {
                    7 => assert_eq!(reply.as_ref().unwrap().answer.code(), Some(Code::SchemaViolation)),
                    43 => assert!(matches!(reply, Err(Error::Statement(_))), "{reply:?}"),
                    _ => assert!(is_fresh(reply), "{index}: {reply:?}"),
                }
            }
            assert_eq!(count(&database).await, 98, "{writers:?}");
            gather.close().await;
        }
    });
}

async fn ask_each_held<'a>(gather: &'a Gather, requests: Vec<Request>, hold: faulty::Hold) -> Vec<Asked<'a>> {
    let asked = ask_each(gather, requests).await;
    hold.release();
    asked
}

// covers: K-04
#[test]
fn a_hundred_callers_with_one_name_make_one_item_and_all_get_its_id() {
    on_a_runtime(async {
        for writers in BOTH {
            let (database, gather) = start(writers);
            let mut callers = JoinSet::new();
            for _ in 0..100 {
                let gather = gather.clone();
                callers.spawn(async move { gather.ask(create("one")).await });
            }
            let replies = callers.join_all().await;
            assert_eq!(replies.iter().map(id).collect::<BTreeSet<_>>().len(), 1);
            assert_eq!(replies.iter().filter(|reply| is_fresh(reply)).count(), 1);
            assert_eq!(count(&database).await, 1, "{writers:?}");
            gather.close().await;
        }
    });
}

/// The key of a create that is being written is asked for again, by the same writer and by another one.
// covers: K-04, K-30
#[test]
fn a_key_that_is_in_flight_is_one_item_and_both_get_it() {
    on_a_runtime(async {
        for writers in BOTH {
            let (database, gather) = start(writers);
            let mut hold = database.hold();
            let mut first = ask(&gather, create("one")).await;
            hold.reached().await;
            let second = ask(&gather, create("one")).await;
            waits(&mut first).await;
            hold.release();
            let (first, second) = (first.await, second.await);
            assert_eq!(id(&first), id(&second), "{writers:?}");
            assert!(is_fresh(&first) != is_fresh(&second), "{writers:?}: {first:?} {second:?}");
            assert_eq!(count(&database).await, 1, "{writers:?}");
            // Whoever was first and failed leaves the key to the next.
            database.faults.lock().unwrap().coming.push_back(Fault::At(Step::Commit, away()));
            let mut hold = database.hold();
            let first = ask(&gather, create("two")).await;
            hold.reached().await;
            hold.release();
            assert_eq!(first.await, Err(away()), "{writers:?}");
            assert!(is_fresh(&gather.ask(create("two")).await), "{writers:?}");
            gather.close().await;
        }
    });
}

#[test]
fn who_stops_waiting_disturbs_nobody() {
    on_a_runtime(async {
        let (database, gather) = start(Writers::Thread);
        let mut hold = database.hold();
        let begun = ask(&gather, create("begun")).await;
        hold.reached().await;
        let mut others = ask_each(&gather, creates(10)).await;
        drop(begun);
        others.truncate(5);
        hold.release();
        assert!(replies(others).await.iter().all(is_fresh));
        assert!(!is_fresh(&gather.ask(create("begun")).await), "what was begun is finished");
        assert!(is_fresh(&gather.ask(create("n9")).await), "what was not begun is left out");
    });
}

#[test]
fn a_database_that_is_away_is_away_for_all_callers_and_then_it_goes_on() {
    on_a_runtime(async {
        for writers in BOTH {
            let (database, gather) = start_with(Options::new(writers, 7), [Fault::At(Step::Commit, away())]);
            let mut hold = database.hold();
            let first = ask(&gather, create("first")).await;
            hold.reached().await;
            hold.release();
            assert_eq!(first.await, Err(away()));
            assert!(is_fresh(&gather.ask(create("first")).await), "{writers:?}");
            gather.close().await;
        }
    });
}

// covers: K-02
#[test]
fn a_bug_costs_the_request_that_meets_it() {
    on_a_runtime(async {
        for writers in BOTH {
            let (database, gather) = start(writers);
            database.faults.lock().unwrap().bug = Some("n42".to_string());
            let hold = database.hold();
            let replies = replies(ask_each_held(&gather, creates(100), hold).await).await;
            for (index, reply) in replies.iter().enumerate() {
                match (index, reply) {
                    (42, Err(Error::Statement(why))) => assert!(why.contains("a bug that one request meets")),
                    (42, other) => panic!("{other:?}"),
                    _ => assert!(is_fresh(reply), "{index}: {reply:?}"),
                }
            }
            assert_eq!(count(&database).await, 99, "{writers:?}");
            gather.close().await;
        }
    });
}

// covers: K-02
#[test]
fn a_commit_that_panics_happens_once() {
    on_a_runtime(async {
        for happened in [true, false] {
            let options = Options::new(Writers::Thread, 7);
            let (database, gather) = start_with(options, [Fault::Panic { happened }]);
            // Without a name nothing else stands between this create and a second one.
            let create = Create::new("job".parse().unwrap(), Body::json(*b"{}").unwrap());
            let reply = gather.ask(request("api:test", Command::Create(create))).await;
            assert!(is_fresh(&reply), "{happened}: {reply:?}");
            assert_eq!((database.commits(), count(&database).await), (1, 1), "{happened}");
        }
    });
}

#[test]
fn a_full_queue_makes_callers_wait_or_is_told_at_once() {
    on_a_runtime(async {
        let options = Options { queue_max: 2, ..Options::new(Writers::Thread, 7) };
        let (database, gather) = start_with(options, []);
        let mut hold = database.hold();
        let first = ask(&gather, create("first")).await;
        hold.reached().await;
        let mut asked = ask_each(&gather, creates(5)).await;
        let refused = gather.try_ask(create("other")).await;
        assert!(matches!(refused, Err(Error::Unavailable(_))), "{refused:?}");
        let refused = gather.try_ask_all(vec![create("other"), create("another")]).await;
        assert!(
            matches!(refused[..], [Err(Error::Unavailable(_)), Err(Error::Unavailable(_))]),
            "{refused:?}"
        );
        hold.release();
        asked.push(first);
        assert!(replies(asked).await.iter().all(is_fresh));
        assert!(is_fresh(&gather.try_ask(create("other")).await));
        assert!(gather.try_ask_all(vec![create("another")]).await.iter().all(is_fresh));
        assert_eq!(count(&database).await, 8);
    });
}

#[test]
fn a_bulk_call_stays_in_order_and_is_split_at_the_size_of_a_batch() {
    on_a_runtime(async {
        for writers in BOTH {
            let (database, gather) = start(writers);
            let replies = gather.ask_all(creates(2 * BATCH_MAX + 1)).await;
            assert_eq!(replies.len(), 2 * BATCH_MAX + 1);
            for (number, reply) in replies.iter().enumerate() {
                assert!(is_fresh(reply), "{number}: {reply:?}");
            }
            for part in replies.chunks(BATCH_MAX) {
                assert!(part.iter().map(id).is_sorted(), "{writers:?}");
            }
            assert_eq!(database.commits(), 3);
            assert_eq!(gather.ask_all(Vec::new()).await, []);
            gather.close().await;
        }
    });
}

#[test]
fn a_bulk_call_is_split_at_the_bytes_of_a_batch() {
    on_a_runtime(async {
        let options = Options { batch_bytes_max: 100_000, ..Options::new(Writers::Thread, 7) };
        let (database, gather) = start_with(options, []);
        let body = |bytes: usize| Body::json(format!("\"{}\"", "x".repeat(bytes))).unwrap();
        let large = |bytes| Create::new("job".parse().unwrap(), body(bytes));
        let sizes = [40_000, 40_000, 40_000, 200_000, 1];
        let requests = sizes.map(|bytes| request("api:test", Command::Create(large(bytes))));
        assert!(gather.ask_all(requests.to_vec()).await.iter().all(is_fresh));
        assert_eq!(database.commits(), 4, "two, one, the one that is too large, the last");

        let mut hold = database.hold();
        let first = ask(&gather, create("first")).await;
        hold.reached().await;
        let others = ask_each(&gather, requests.to_vec()).await;
        hold.release();
        assert!(is_fresh(&first.await) && replies(others).await.iter().all(is_fresh));
        assert_eq!(database.commits(), 4 + 1 + 4, "of many callers too");
    });
}

#[test]
fn requests_of_one_item_are_decided_in_order_of_arrival() {
    on_a_runtime(async {
        let (_, gather) = start(Writers::Thread);
        let item = id(&gather.ask(create("n")).await);
        let execution = ExecutionId { item, fence: Fence(1) };
        let commit = Commit {
            execution,
            output: None,
            effects: Effects::default(),
            finish: true,
            session: None,
            attests: Vec::new(),
        };
        let life = [
            Command::Take(Take { item, terms: Terms::default() }),
            Command::Start(Start { execution }),
            Command::Commit(commit),
        ];
        let life = life.map(|command| request("worker:a/1", command)).to_vec();
        let replies = gather.ask_all(life).await;
        assert!(replies.iter().all(is_fresh), "{replies:?}");
    });
}

#[test]
fn a_writer_that_is_slow_keeps_only_its_own_callers_waiting() {
    on_a_runtime(async {
        let (database, gather) = start(Writers::TASKS);
        let mut hold = database.hold();
        let mut slow = ask(&gather, create("slow")).await;
        hold.reached().await;
        for number in 0..3 {
            assert!(is_fresh(&gather.ask(create(&format!("quick{number}"))).await));
        }
        waits(&mut slow).await;
        hold.release();
        assert!(is_fresh(&slow.await));
        gather.close().await;
    });
}

// covers: K-03
#[test]
fn what_was_asked_is_answered_when_the_handles_go() {
    on_a_runtime(async {
        for writers in BOTH {
            let (database, gather) = start(writers);
            let mut hold = database.hold();
            let mut callers = JoinSet::new();
            for number in 0..20 {
                let gather = gather.clone();
                callers.spawn(async move { gather.ask(create(&format!("n{number}"))).await });
            }
            hold.reached().await;
            hold.release();
            gather.close().await;
            assert_eq!(count(&database).await, 20, "{writers:?}: closed means that all is written");
            assert!(callers.join_all().await.iter().all(is_fresh));
            assert_eq!(Arc::strong_count(&database), 1, "{writers:?}: no writer has it any more");
        }
    });
}

#[test]
fn dropping_the_last_handle_joins_the_thread() {
    let (database, gather) = start(Writers::Thread);
    assert!(is_fresh(&gather.clone().ask_blocking(create("n"))));
    assert!(gather.ask_all_blocking(creates(3)).iter().all(is_fresh));
    drop(gather);
    assert_eq!(Arc::strong_count(&database), 1, "the thread has ended and let go of the database");
}

/// Callers at once: each creates its own, all create one together, and one of them asks for what can not be.
async fn callers_of<D: Database + 'static>(database: Arc<D>, gather: &Gather) {
    let mut callers = JoinSet::new();
    for caller in 0..64 {
        let gather = gather.clone();
        callers.spawn(async move {
            let own = id(&gather.ask(create(&format!("n{caller}"))).await);
            let schema = Create::new("claim".parse().unwrap(), Body::json(*b"{}").unwrap());
            let refused = gather.ask(request("api:test", Command::Create(schema))).await;
            assert_eq!(refused.unwrap().answer.code(), Some(Code::SchemaViolation));
            let common = gather.ask(create("common")).await;
            (own, id(&common), is_fresh(&common))
        });
    }
    let replies = callers.join_all().await;
    assert_eq!(replies.iter().map(|(own, ..)| own).collect::<BTreeSet<_>>().len(), 64);
    assert_eq!(replies.iter().map(|(_, common, _)| common).collect::<BTreeSet<_>>().len(), 1);
    assert_eq!(replies.iter().filter(|(.., fresh)| *fresh).count(), 1);
    let all = database.list(&Query { limit: 1_000, ..Query::default() }).await.expect("reading works");
    assert_eq!(all.len(), 65);
}

// covers: K-02, K-04
#[test]
fn callers_of_sqlite_share_one_thread() {
    on_a_runtime(async {
        let folder = tempfile::tempdir().expect("a folder");
        let options = sqlite::Options { tables: shipped::tables(), ..sqlite::Options::default() };
        let database = sqlite::Sqlite::open(&folder.path().join("tenure.db"), options).expect("it opens");
        let database = Arc::new(database);
        let gather = Gather::start(database.clone(), Options::new(Writers::Thread, 7));
        callers_of(database, &gather).await;
        gather.close().await;
    });
}

// covers: K-02, K-04
#[test]
fn callers_of_postgres_share_two_tasks() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.expect("a runtime").block_on(async {
        let schema = schema::fresh();
        let options = postgres::Options { tables: shipped::tables(), clock: None };
        let database = postgres::Postgres::connect(&schema::url(&schema), options).await.expect("it opens");
        let database = Arc::new(database);
        let gather = Gather::start(database.clone(), Options::new(Writers::TASKS, 7));
        callers_of(database, &gather).await;
        gather.close().await;
        schema::drop(&schema).await;
    });
}
