//! Many processes at once: exclusive keys, the order of the log, locks in the wrong order.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tenure_core::id::ItemId;
use tenure_core::request::Create;
use tenure_databases::Database;
use tenure_databases::postgres::{Postgres, WORDS_BYTES_MAX};
use tokio::task::JoinSet;

use crate::kit::*;
use crate::schema;
use crate::sized::sized;

/// A claim that waits for the lock of another session has not returned after this time.
const PATIENCE: Duration = Duration::from_secs(60);

fn literal(id: ItemId) -> String {
    <Postgres as tenure_databases::doctor::Patient>::literal(id)
}

/// Claims and commits until nothing is left; whatever it meets, it never sees two of a key running.
async fn claimer(kit: Arc<Kit>, database: Arc<Postgres>, worker: String) -> usize {
    let mut done = 0;
    // Others may hold what is left: only when nothing is ready or active is it over.
    loop {
        for lease in lease(&database, &worker, "run", 2).await {
            let twice = "select count(*) from (select key from items where slot = 3 and key is not null \
                         group by queue, key having count(*) > 1) twice";
            let twice: i64 = kit.raw.query_one(twice, &[]).await.unwrap().get(0);
            assert_eq!(twice, 0, "two of one key run");
            assert!(ask(&database, commit(&worker, lease.execution)).await.is_yes());
            done += 1;
        }
        let open = "select count(*) from items where slot in (1, 2, 3, 4)";
        if kit.raw.query_one(open, &[]).await.unwrap().get::<_, i64>(0) == 0 {
            return done;
        }
    }
}

async fn exhausted(kit: Arc<Kit>, claimers: usize, runs: usize) {
    let url = format!("{}?schema={}&connections=1", schema::server(), kit.schema);
    // As many processes would: a handle of its own for each, as far as the server has connections.
    let mut databases = Vec::new();
    for _ in 0..claimers.min(16) {
        databases.push(Arc::new(open(&url).await));
    }
    let mut set = JoinSet::new();
    for number in 0..claimers {
        let database = databases[number % databases.len()].clone();
        set.spawn(claimer(kit.clone(), database, format!("worker:w{number}/1")));
    }
    let done: usize = set.join_all().await.into_iter().sum();
    assert_eq!(done, runs, "every run was done once and none starved");
    let left: i64 =
        kit.raw.query_one("select count(*) from lanes where running <> ''", &[]).await.unwrap().get(0);
    assert_eq!(left, 0, "no lane is held by nobody");
}

// covers: K-31
#[test]
fn one_hot_key_runs_one_at_a_time_and_to_the_end() {
    with(async |kit| {
        let count = sized(30, 400);
        let runs: Vec<_> = (0..count).map(|_| create(pass("hot"))).collect();
        tried(&kit.database, &runs).await;
        exhausted(kit, 4, count).await;
    });
}

// Another program has locked the row of the first item, for as long as it likes.
// covers: K-10
// fault: F18
#[test]
fn a_claim_goes_past_a_row_that_another_session_has_locked() {
    with(async |kit| {
        for (kind, payload) in [("job", "{}"), ("run", r#"{"document_id":"a"}"#)] {
            let first = created(&kit.database, new(kind, payload)).await;
            let second = created(&kit.database, new(kind, &payload.replace('a', "b"))).await;
            let lock = format!("begin; select 1 from items where id = {} for update", literal(first));
            kit.raw.batch_execute(&lock).await.unwrap();
            let claim = tokio::time::timeout(PATIENCE, lease(&kit.database, "worker:w/1", kind, 2));
            let leased = claim.await.expect("it does not wait for the stranger");
            assert_eq!(leased.iter().map(|one| one.item.id).collect::<Vec<_>>(), [second], "{kind}");
            kit.raw.batch_execute("rollback").await.unwrap();
            let leased = lease(&kit.database, "worker:w/1", kind, 2).await;
            assert_eq!(leased.iter().map(|one| one.item.id).collect::<Vec<_>>(), [first], "{kind}");
        }
    });
}

// covers: K-31
#[test]
fn many_claimers_over_many_keys_take_everything_once() {
    with(async |kit| {
        let (keys, claimers) = (sized(40, 10_000), sized(8, 64));
        let runs: Vec<_> = (0..3 * keys).map(|number| create(pass(&format!("d{}", number % keys)))).collect();
        for part in runs.chunks(1_000) {
            tried(&kit.database, part).await;
        }
        exhausted(kit, claimers, 3 * keys).await;
    });
}

// covers: K-45
#[test]
fn under_writers_and_sequencers_every_entry_has_one_place_and_keeps_it() {
    with(async |kit| {
        // Those who drew their numbers one after the other commit in any order.
        before_each_commit(&kit, "perform pg_sleep(random() * 0.01)").await;
        let writing = Arc::new(AtomicBool::new(true));
        let mut readers = JoinSet::new();
        for _ in 0..2 {
            let (database, writing) = (kit.database.clone(), writing.clone());
            readers.spawn(async move {
                let mut read: Vec<(u64, tenure_core::hash::Hash)> = Vec::new();
                while writing.load(Ordering::SeqCst) {
                    database.sequence(50).await.unwrap();
                    let after = read.last().map_or(0, |(position, _)| *position);
                    let page = database.log(after, 100).await.unwrap();
                    read.extend(page.iter().map(|(position, entry)| (*position, entry.hash())));
                }
                read
            });
        }
        let mut writers = JoinSet::new();
        for number in 0..sized(4, 48) {
            let url = format!("{}?schema={}&connections=1", schema::server(), kit.schema);
            writers.spawn(async move {
                let database = open(&url).await;
                let worker = format!("worker:w{number}/1");
                for _ in 0..sized(8, 200) {
                    tried(&database, &[create(new("job", "{}")), create(new("job", "{}"))]).await;
                    for held in lease(&database, &worker, "job", 2).await {
                        ask(&database, commit(&worker, held.execution)).await;
                    }
                }
            });
        }
        writers.join_all().await;
        writing.store(false, Ordering::SeqCst);
        let read = readers.join_all().await;
        let log = log(&kit.database).await;
        let places: BTreeMap<u64, _> =
            log.iter().map(|(position, entry)| (*position, entry.hash())).collect();
        assert!(log.iter().map(|(position, _)| *position).eq(1..=log.len() as u64), "no gap and none twice");
        for (position, hash) in read.into_iter().flatten() {
            assert_eq!(places.get(&position), Some(&hash), "what was read stays where it was");
        }
        let mut versions: BTreeMap<ItemId, u64> = BTreeMap::new();
        let mut seen = BTreeSet::new();
        for (_, entry) in &log {
            let version = versions.entry(entry.item).or_default();
            assert_eq!(entry.version, *version + 1, "each item's entries are in order");
            *version = entry.version;
            assert!(seen.insert(entry.hash()), "every entry is there once");
        }
        let head = kit.database.head().await.unwrap();
        let chain =
            log.iter().fold(tenure_core::hash::Hash::ZERO, |chain, (_, entry)| chain.link(&entry.hash()));
        assert_eq!((head.position, head.chain), (log.len() as u64, chain));
    });
}

/// From now on every segment of the log does this before it is committed.
async fn before_each_commit(kit: &Kit, what: &str) {
    let script = format!(
        "create function before_commit() returns trigger language plpgsql as $$ begin {what}; return null; end $$; \
         create constraint trigger before_commit after insert on segments deferrable initially deferred \
         for each row execute function before_commit()"
    );
    kit.raw.batch_execute(&script).await.unwrap();
}

/// The key of a create that is written and not committed yet. Whoever asks for it waits, and both get one item: the first one's, or
/// if its connection is lost whosever comes first.
// covers: K-04, K-30
#[test]
fn a_key_that_is_in_flight_is_waited_for() {
    with(async |kit| {
        // Any number that nobody else on the server uses: the schema is named by this process.
        let lock_number = std::process::id() << 8;
        let lock = i64::from(lock_number);
        before_each_commit(&kit, &format!("perform pg_advisory_xact_lock_shared({lock})")).await;
        let other = open(&schema::url(&kit.schema)).await;
        for name in ["kept", "lost"] {
            let request = create(Create { name: Some(name.parse().unwrap()), ..new("job", "{}") });
            kit.raw.query("select pg_advisory_lock($1)", &[&lock]).await.unwrap();
            let first = tried(&kit.database, std::slice::from_ref(&request));
            let second = async {
                let held = "select count(*) from pg_locks where locktype = 'advisory' and not granted and objid = $1";
                let watch = schema::raw().await;
                while watch.query_one(held, &[&lock_number]).await.unwrap().get::<_, i64>(0) == 0 {}
                let freed = async {
                    somebody_waits(&kit).await;
                    // Its commit goes on, or its connection is gone.
                    if name == "lost" {
                        let end = "select pg_terminate_backend(pid, 5000) from pg_locks \
                                   where locktype = 'advisory' and not granted and objid = $1";
                        assert_eq!(kit.raw.query(end, &[&lock_number]).await.unwrap().len(), 1);
                    }
                    kit.raw.query("select pg_advisory_unlock($1)", &[&lock]).await.unwrap();
                };
                tokio::join!(tried(&other, std::slice::from_ref(&request)), freed).0
            };
            let (first, second) = tokio::join!(first, second);
            let both: Vec<_> =
                first.into_iter().chain(second).map(|reply| reply.expect("it is answered")).collect();
            assert_eq!(both[0].answer, both[1].answer);
            assert!(both[0].fresh != both[1].fresh, "{both:?}");
        }
        assert_eq!(kit.raw.query_one("select count(*) from items", &[]).await.unwrap().get::<_, i64>(0), 2);
    });
}

/// Under a stricter isolation than ours, what another transaction has changed is an error (40001) and not a newer row: a batch
/// tries again.
// fault: P4
#[test]
fn a_serialization_failure_never_reaches_a_caller() {
    with(async |kit| {
        let strict = "-c%20default_transaction_isolation%3Drepeatable%5C%20read";
        let strict = open(&format!("{}&options={strict}", schema::url(&kit.schema))).await;
        for round in 0..sized(20, 500) {
            created(&kit.database, new("job", "{}")).await;
            let leases = lease(&kit.database, "worker:a/1", "job", 1).await;
            // A renewal by somebody who is slow to commit: the batch waits for the row, and finds it newer than its snapshot.
            let renewal = "begin; update items set heartbeat = heartbeat + 1 where slot = 3";
            kit.raw.batch_execute(renewal).await.unwrap();
            let commits = [commit("worker:a/1", leases[0].execution)];
            let (replies, ()) = tokio::join!(tried(&strict, &commits), async {
                somebody_waits(&kit).await;
                kit.raw.batch_execute("commit").await.unwrap();
            });
            for reply in replies {
                assert!(reply.expect("the batch was tried again").answer.is_yes(), "round {round}");
            }
        }
    });
}

/// A stranger locks two items in the opposite order. One of the two is told of a deadlock; a batch tries again.
// fault: P4
#[test]
fn a_deadlock_with_a_stranger_never_reaches_a_caller() {
    with(async |kit| {
        // Whoever waits for so long looks for a deadlock, once: the batch before the stranger, and after that one has come.
        kit.raw.batch_execute("set deadlock_timeout = '5s'").await.unwrap();
        let soon = "-c%20deadlock_timeout%3D200ms";
        let batches = open(&format!("{}&options={soon}", schema::url(&kit.schema))).await;
        let (rounds, mut lost) = (sized(10, 500), 0);
        for round in 0..rounds {
            for _ in 0..2 {
                created(&kit.database, new("job", "{}")).await;
            }
            let leases = lease(&kit.database, "worker:a/1", "job", 2).await;
            let mut ids: Vec<String> =
                leases.iter().map(|lease| format!("{:032x}", lease.item.id.0)).collect();
            ids.sort();
            let lock = |id: &str| format!("select from items where id = '{id}' for update");
            kit.raw.batch_execute(&format!("begin; {}", lock(&ids[1]))).await.unwrap();
            let commits: Vec<_> = leases.iter().map(|lease| commit("worker:a/1", lease.execution)).collect();
            let stranger = async {
                // Once the batch waits for the second it holds the first. On a busy machine it may have looked too early.
                somebody_waits(&kit).await;
                lost += usize::from(kit.raw.batch_execute(&lock(&ids[0])).await.is_ok());
                kit.raw.batch_execute("rollback").await.unwrap();
            };
            let (replies, ()) = tokio::join!(tried(&batches, &commits), stranger);
            for reply in replies {
                assert!(reply.expect("the batch was tried again").answer.is_yes(), "round {round}");
            }
        }
        assert!(lost >= rounds / 2, "the batch is the one that loses: {lost} of {rounds}");
    });
}

#[test]
fn what_one_process_tells_the_others_hear() {
    with(async |kit| {
        let url = schema::url(&kit.schema);
        let (here, there) = (open(&url).await, open(&url).await);
        let mut listener = there.listen().await.unwrap().expect("nothing is between them");
        here.tell("me job run").await.unwrap();
        assert_eq!(listener.next().await.as_deref(), Some("me job run"));
        let longest = "x".repeat(WORDS_BYTES_MAX);
        here.tell(&longest).await.unwrap();
        assert_eq!(listener.next().await, Some(longest));
        let lost = "select pg_terminate_backend(pid, 5000) from pg_stat_activity where query like $1";
        let listening = format!("listen \"tenure_{}\"", kit.schema);
        assert_eq!(kit.raw.query(lost, &[&listening]).await.unwrap().len(), 1);
        assert_eq!(listener.next().await, None, "that the connection is lost is heard too");
        let pooled = open(&format!("{url}&pooler=1")).await;
        assert!(pooled.listen().await.unwrap().is_none(), "behind a pooler nobody hears");
        pooled.tell("me job").await.unwrap();
    });
}
