//! Limits held by several processes at once, each with its own writers, some of which die.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tenure_core::answer::Answer;
use tenure_core::request::*;
use tenure_databases::gather::{Gather, Options, Writers};
use tenure_databases::{Database, Overdue};
use tokio::task::JoinSet;

use crate::kit::*;
use crate::limited::limited;
use crate::schema;
use crate::sized::sized;

/// Of the kind, at once. In full more of them, since every death keeps a slot for a second.
fn limit() -> usize {
    sized(3, 40)
}

const PER_KEY: i64 = 2;

/// The most that run of the kind, and of one key, and how many are not done.
async fn seen(kit: &Kit) -> (i64, i64, i64) {
    let sql = "select count(*) filter (where slot = 3), coalesce((select max(n) from (select count(*) as n from items \
               where slot = 3 group by key) k), 0), count(*) filter (where slot in (1, 2, 3, 4)) from items";
    let row = kit.raw.query_one(sql, &[]).await.unwrap();
    (row.get(0), row.get(1), row.get(2))
}

fn leave(worker: &str, lease: tenure_core::id::ExecutionId, how: usize) -> Option<Request> {
    let release = Release { execution: lease, reason: None, delay: None, attests: Vec::new() };
    let fail = Fail {
        execution: lease,
        reason: "it broke".to_string(),
        permanent: false,
        retry_after: None,
        offers: Effects::default(),
    };
    match how % 7 {
        // It dies: nobody hears of it, and its lease ends.
        0 => None,
        1 => Some(request(worker, Command::Fail(fail))),
        2 => Some(request(worker, Command::Release(release))),
        _ => Some(commit(worker, lease)),
    }
}

/// Answers how often it died with something in hand.
async fn claimer(kit: Arc<Kit>, gather: Gather, number: usize) -> usize {
    let mut deaths = 0;
    let worker = format!("worker:w{number}/1");
    for round in 0.. {
        let reply = gather.ask(acquire(&worker, "task", 1 + (round + number) % 3)).await.unwrap();
        let Answer::Leased(leases) = reply.answer else { panic!("refused: {:?}", reply.answer) };
        let (kind, key, open) = seen(&kit).await;
        assert!(kind <= limit() as i64 && key <= PER_KEY, "{kind} run, {key} of one key");
        for (place, lease) in leases.iter().enumerate() {
            match leave(&worker, lease.execution, round + place + number) {
                // Its lease may have ended meanwhile: that is an answer too.
                Some(request) => drop(gather.ask(request).await.unwrap()),
                None => deaths += 1,
            }
        }
        if open == 0 {
            break;
        }
    }
    deaths
}

/// Ends what time has ended, as every node does.
async fn sweeper(kit: Arc<Kit>, working: Arc<AtomicBool>) {
    while working.load(Ordering::SeqCst) {
        for found in kit.database.due(Overdue::Time, None, 100).await.unwrap() {
            let sweep =
                Sweep { item: found.item, fence: found.fence, due: found.due, offers: Effects::default() };
            ask(&kit.database, request("system:engine", Command::Sweep(sweep))).await;
        }
        tokio::task::yield_now().await;
    }
}

// L6: slots are what is held, so none leaks.
// covers: K-38
#[test]
fn several_processes_never_exceed_a_limit_and_no_slot_leaks() {
    with(async |kit| {
        let concurrency = format!("{}, {PER_KEY} per key", limit());
        let settings =
            [("concurrency", &*concurrency), ("attempts", "unlimited"), ("lease", "1 s"), ("backoff", "0 s")];
        kit.database.add_table(&limited("task", &settings)).await.unwrap();
        let keys = sized(5, 50);
        let creates: Vec<_> = (0..sized(60, 20_000))
            .map(|number| {
                let key = Some(format!("k{}", number % keys).parse().unwrap());
                create(Create { key, ..new("task", "{}") })
            })
            .collect();
        for some in creates.chunks(1_000) {
            tried(&kit.database, some).await;
        }
        let url = format!("{}?schema={}&connections=3", schema::server(), kit.schema);
        let mut claimers = JoinSet::new();
        for process in 0..3 {
            let database = Arc::new(open(&url).await);
            let gather = Gather::start(database, Options::new(Writers::TASKS, 77 + process as u64));
            for number in 0..4 {
                claimers.spawn(claimer(kit.clone(), gather.clone(), process * 4 + number));
            }
        }
        let working = Arc::new(AtomicBool::new(true));
        let mut sweepers = JoinSet::new();
        sweepers.spawn(sweeper(kit.clone(), working.clone()));
        let patience = Duration::from_secs(sized(240, 3_600) as u64);
        let done = tokio::time::timeout(patience, claimers.join_all()).await;
        working.store(false, Ordering::SeqCst);
        sweepers.join_all().await;
        let deaths: usize = done.expect("all of it gets done: nothing starves").into_iter().sum();
        eprintln!("{deaths} died");
        assert!(deaths >= creates.len() / 10, "many die: {deaths}");
        assert_eq!(seen(&kit).await, (0, 0, 0));
        let left: i64 = kit.raw.query_one("select count(*) from lanes", &[]).await.unwrap().get(0);
        assert_eq!(left, 0, "no lane is left over");
    });
}

/// From the moment a pause is answered no lease is given, whoever is in the middle of asking.
// covers: K-38
#[test]
fn after_a_pause_was_answered_nobody_gets_a_lease() {
    with(async |kit| {
        let url = format!("{}?schema={}&connections=3", schema::server(), kit.schema);
        let others = [Arc::new(open(&url).await), Arc::new(open(&url).await)];
        for round in 0..10 {
            let jobs: Vec<_> = (0..40).map(|_| create(new("job", "{}"))).collect();
            tried(&kit.database, &jobs).await;
            let paused = Arc::new(AtomicBool::new(false));
            let mut claimers = JoinSet::new();
            for (number, database) in others.iter().enumerate() {
                let (database, paused) = (database.clone(), paused.clone());
                claimers.spawn(async move {
                    let worker = format!("worker:w{number}/1");
                    loop {
                        let before = paused.load(Ordering::SeqCst);
                        let leases = lease(&database, &worker, "job", 1).await;
                        assert!(!before || leases.is_empty(), "a lease after the pause");
                        for lease in &leases {
                            ask(&database, commit(&worker, lease.execution)).await;
                        }
                        if before {
                            return;
                        }
                    }
                });
            }
            let order = |what| Order { kind: "job".parse().unwrap(), what, reason: format!("round {round}") };
            let pause = request("admin:ops", Command::Control(order(What::Pause)));
            assert!(ask(&kit.database, pause).await.is_yes());
            // Leases that were given before it are seen by now.
            let held =
                "select coalesce(max(fence), 0) from (select sum(fence)::bigint as fence from items) f";
            let given: i64 = kit.raw.query_one(held, &[]).await.unwrap().get(0);
            paused.store(true, Ordering::SeqCst);
            claimers.join_all().await;
            let after: i64 = kit.raw.query_one(held, &[]).await.unwrap().get(0);
            assert_eq!(given, after, "a transaction that had begun gave a lease after the pause");
            let resume = request("admin:ops", Command::Control(order(What::Resume)));
            assert!(ask(&kit.database, resume).await.is_yes());
        }
    });
}
