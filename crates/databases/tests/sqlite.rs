//! What only a database in a file has to show: opening, several handles on one file, copies, damage; in `sqlite/`, the inbox.

#[path = "sqlite/inbox.rs"]
mod inbox;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use rusqlite::Connection;
use tempfile::TempDir;
use tenure_core::answer::{Answer, Granted};
use tenure_core::body::Body;
use tenure_core::draw::Draw;
use tenure_core::hash::Hash;
use tenure_core::id::{ExecutionId, ItemId};
use tenure_core::lifecycle::shipped;
use tenure_core::lifecycle::tables::Tables;
use tenure_core::replay::fold;
use tenure_core::request::*;
use tenure_core::time::Time;
use tenure_core::word::Store;
use tenure_databases::batch;
use tenure_databases::look::Look;
use tenure_databases::sqlite::migrate::{self, MIGRATIONS, Migration};
use tenure_databases::sqlite::{Durability, OpenError, Options, Sqlite};
use tenure_databases::{BatchId, Commit, Database, Error, Overdue, Query, Settled, Tx};

const START: i64 = 1_794_774_300_000_000;
const SECOND: Duration = Duration::from_secs(1);

/// A folder with a database, and a clock that all of its handles go by.
struct Place {
    folder: TempDir,
    clock: Arc<AtomicI64>,
}

impl Place {
    fn new() -> Place {
        Place { folder: tempfile::tempdir().expect("a folder"), clock: Arc::new(AtomicI64::new(START)) }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("tenure.db")
    }

    fn options(&self) -> Options {
        let clock = self.clock.clone();
        Options {
            tables: shipped::tables(),
            clock: Some(Arc::new(move || Time::from_micros(clock.load(Ordering::SeqCst)))),
            relaxed: true,
            ..Options::default()
        }
    }

    fn open(&self) -> Sqlite {
        Sqlite::open(&self.path(), self.options()).expect("it opens")
    }

    fn stranger(&self) -> Connection {
        Connection::open(self.path()).expect("it opens")
    }

    fn wait(&self, span: Duration) {
        self.clock.fetch_add(span.as_micros() as i64, Ordering::SeqCst);
    }
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().expect("a runtime").block_on(future)
}

fn store() -> Store {
    "default".parse().unwrap()
}

fn body(text: &str) -> Body {
    Body::json(text).expect("JSON")
}

fn request(actor: &str, command: Command) -> Request {
    Request { store: store(), actor: actor.parse().unwrap(), command }
}

fn new(kind: &str, payload: &str) -> Command {
    Command::Create(Create::new(kind.parse().unwrap(), body(payload)))
}

/// No two requests of a test draw the same.
fn draw() -> Draw {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    Draw::new(NEXT.fetch_add(1, Ordering::SeqCst))
}

fn ask(database: &Sqlite, actor: &str, command: Command) -> Answer {
    let replies = block_on(batch::run(database, &[request(actor, command)], &mut draw()));
    replies.into_iter().next().unwrap().expect("the database works").answer
}

fn create(database: &Sqlite, kind: &str, payload: &str) -> ItemId {
    match ask(database, "api:test", new(kind, payload)) {
        Answer::Created(item) => item.id,
        other => panic!("not created: {other:?}"),
    }
}

fn acquire(database: &Sqlite, max: usize) -> Vec<Granted> {
    let acquire = Acquire { kinds: vec!["job".parse().unwrap()], max, terms: Terms::default() };
    match ask(database, "worker:a/1", Command::Acquire(acquire)) {
        Answer::Leased(leases) => leases,
        other => panic!("not leased: {other:?}"),
    }
}

fn commit(database: &Sqlite, execution: ExecutionId) -> Answer {
    assert!(ask(database, "worker:a/1", Command::Start(Start { execution })).is_yes());
    let (effects, attests, output) = (Effects::default(), Vec::new(), Some(body("7")));
    let commit =
        tenure_core::request::Commit { execution, output, effects, finish: true, session: None, attests };
    ask(database, "worker:a/1", Command::Commit(commit))
}

fn ids(leases: &[Granted]) -> Vec<ItemId> {
    leases.iter().map(|lease| lease.execution.item).collect()
}

/// Every item is what its entries say, and the chain over the log is the one that is kept.
fn verify(database: &Sqlite) -> usize {
    block_on(async {
        let (mut chain, mut position) = (Hash::ZERO, 0);
        loop {
            let page = database.log(position, 100).await.unwrap();
            for (found, entry) in &page {
                assert_eq!(*found, position + 1, "no position is left out");
                position = *found;
                chain = chain.link(&entry.hash());
            }
            if page.is_empty() {
                break;
            }
        }
        let head = database.head().await.unwrap();
        assert_eq!((head.position, head.chain), (position, chain));
        let items = database.list(&Query { limit: 1_000, ..Query::default() }).await.unwrap();
        for item in &items {
            let history = database.history(&item.store, item.id).await.unwrap();
            assert_eq!(fold(&history, &database.tables()), Ok(item.as_logged()));
        }
        items.len()
    })
}

fn refused(opened: Result<Sqlite, OpenError>) -> String {
    opened.expect_err("it is refused").to_string()
}

#[test]
fn what_is_not_ours_is_refused_with_words() {
    let place = Place::new();
    let missing = place.folder.path().join("missing/tenure.db");
    assert!(refused(Sqlite::open(&missing, place.options())).contains("does not exist; create it first"));

    let text = place.folder.path().join("notes.txt");
    std::fs::write(&text, "these are only notes, and long enough to be looked at".repeat(50)).unwrap();
    assert!(refused(Sqlite::open(&text, place.options())).contains("is not a Tenure database"));
    assert!(std::fs::read_to_string(&text).unwrap().starts_with("these are"), "it was left alone");

    let other = place.folder.path().join("other.db");
    Connection::open(&other).unwrap().execute_batch("create table theirs (a)").unwrap();
    assert!(refused(Sqlite::open(&other, place.options())).contains("is not a Tenure database"));
    let tables = "select count(*) from sqlite_schema";
    let count: i64 = Connection::open(&other).unwrap().query_row(tables, [], |row| row.get(0)).unwrap();
    assert_eq!(count, 1, "it was left alone");

    drop(place.open());
    place.stranger().pragma_update(None, "user_version", 999).unwrap();
    let newer = refused(Sqlite::open(&place.path(), place.options()));
    assert!(newer.contains("has schema 999") && newer.contains("use the newer Tenure"), "{newer}");
}

#[test]
fn what_was_written_is_there_when_it_is_opened_again() {
    let place = Place::new();
    let first = place.open();
    let long = format!("\"{}\"", "x".repeat(600));
    let (short, long) = (create(&first, "job", "{}"), create(&first, "job", &long));
    assert_eq!(first.durability(), Durability::Relaxed);
    drop(first);
    let options = Options { relaxed: false, tables: Tables::default(), ..place.options() };
    let again = Sqlite::open(&place.path(), options).unwrap();
    assert_eq!(again.durability(), Durability::Full, "unless it is asked for");
    assert_eq!(again.tables().iter().count(), shipped::SHIPPED.len(), "lifecycles are kept");
    for (id, length) in [(short, 2), (long, 602)] {
        let whole = block_on(again.whole(&store(), id)).unwrap().unwrap();
        assert_eq!(whole.payload.unwrap().bytes().len(), length);
    }
    assert_eq!(ids(&acquire(&again, 5)), [short, long]);
    assert_eq!(verify(&again), 2);
}

#[test]
fn a_long_body_is_erased_like_a_short_one() {
    let place = Place::new();
    let database = place.open();
    let item = create(&database, "job", &format!("\"{}\"", "x".repeat(600)));
    commit(&database, acquire(&database, 1).remove(0).execution);
    assert!(ask(&database, "api:test", Command::Erase(Erase { item, reason: None })).is_yes());
    let whole = block_on(database.whole(&store(), item)).unwrap().unwrap();
    assert_eq!((whole.payload, whole.item.erased), (None, true));
    let left: i64 = place.stranger().query_row("select count(*) from bodies", [], |row| row.get(0)).unwrap();
    assert_eq!(left, 0, "not only hidden");
    assert_eq!(verify(&database), 1);
}

#[test]
fn two_handles_on_one_file_write_in_turn() {
    let place = Place::new();
    let (one, other) = (place.open(), place.open());
    let mut created = Vec::new();
    for round in 0..10 {
        let kinds = ["job", "todo"];
        let payload = r#"{"title":"t"}"#;
        created.push(create(&one, kinds[round % 2], payload));
        created.push(create(&other, kinds[(round + 1) % 2], payload));
        place.wait(Duration::from_millis(1));
    }
    for database in [&one, &other] {
        let listed = block_on(database.list(&Query { limit: 100, ..Query::default() })).unwrap();
        assert!(created.iter().all(|id| listed.iter().any(|item| item.id == *id)));
        assert_eq!(verify(database), 20);
    }
    let (mine, theirs) = (acquire(&one, 3), acquire(&other, 100));
    assert!(ids(&mine).iter().all(|id| !ids(&theirs).contains(id)), "nothing is leased twice");
}

#[test]
fn what_another_process_wrote_is_seen_also_of_what_was_leased_here() {
    let place = Place::new();
    let (here, there) = (place.open(), place.open());
    let job = create(&here, "job", "{}");
    let lease = acquire(&here, 1).remove(0);
    let renew = Command::Renew(Renew { execution: lease.execution, lease: None });
    let asked = |answer: Answer| matches!(answer, Answer::Renewed { cancel_requested: true, .. });
    let (reason, offers) = (Some("enough".to_string()), Effects::default());
    let cancel = Command::Cancel(Cancel { item: job, reason, expected_version: None, offers });
    assert!(ask(&there, "api:shop", cancel).is_yes());
    assert!(asked(ask(&here, "worker:a/1", renew)), "the worker learns that it was cancelled elsewhere");
    assert_eq!(verify(&here), 1);
}

#[test]
fn handles_in_parallel_lose_no_write() {
    let place = Place::new();
    let handles = [place.open(), place.open(), place.open()];
    std::thread::scope(|scope| {
        for database in &handles {
            scope.spawn(move || {
                for _ in 0..20 {
                    create(database, "job", "{}");
                    for lease in acquire(database, 1) {
                        commit(database, lease.execution);
                    }
                }
            });
        }
    });
    for database in &handles {
        assert_eq!(verify(database), 60);
    }
}

#[test]
fn a_lifecycle_that_another_handle_adds_is_in_force_with_the_next_transaction() {
    let place = Place::new();
    let (one, other) = (place.open(), place.open());
    let old = create(&other, "job", "{}");
    let source = shipped::SHIPPED.iter().find(|shipped| shipped.file == "job.md").unwrap().source;
    let patient = source.replace("| attempts | 5 ", "| attempts | 9 ");
    assert_ne!(patient, source);
    block_on(one.add_table(&patient)).unwrap();
    let new = create(&other, "job", "{}");
    let version = |id| block_on(other.item(&store(), id)).unwrap().unwrap().table.hash();
    assert_ne!(version(old), version(new));
    assert_eq!(other.tables().current(&"job".parse().unwrap()).unwrap().hash(), version(new));
    // Opening ships only what the file never had: what somebody put in force stays in force.
    let third = place.open();
    assert_eq!(third.tables().current(&"job".parse().unwrap()).unwrap().hash(), version(new));
    block_on(third.add_table(source)).unwrap();
    let back = create(&one, "job", "{}");
    assert_eq!(block_on(one.item(&store(), back)).unwrap().unwrap().table.hash(), version(old));
    assert_eq!(verify(&one), 3);
}

#[test]
fn another_process_that_writes_is_waited_for_and_not_for_ever() {
    let place = Place::new();
    let options = Options { busy: Duration::from_millis(1), ..place.options() };
    let database = Sqlite::open(&place.path(), options).unwrap();
    let stranger = place.stranger();
    stranger.execute_batch("begin immediate").unwrap();
    let error = block_on(database.begin(BatchId(1))).unwrap_err();
    let Error::Locked(why) = &error else { panic!("{error:?}") };
    assert!(why.contains("busy") && error.is_retryable(), "{why}");
    assert_eq!(
        block_on(database.list(&Query { limit: 1, ..Query::default() })),
        Ok(vec![]),
        "reading goes on"
    );
    stranger.execute_batch("rollback").unwrap();
    create(&database, "job", "{}");
}

/// A transaction that creates a job in a queue that did not exist, and is not committed.
async fn half(database: &Sqlite) -> tenure_databases::sqlite::SqliteTx {
    let request = request("api:test", new("job", "{}"));
    let mut tx = database.begin(BatchId(1)).await.unwrap();
    let mut need = Need::default();
    request.needs(&tx.tables(), &mut need);
    let world = tx.lock(&need).await.unwrap();
    let decision = tenure_core::decide::decide(&world, &request, &mut Draw::new(1));
    for change in &decision.changes {
        tx.write(std::slice::from_ref(change)).await.unwrap();
    }
    tx
}

#[test]
fn what_is_not_committed_leaves_nothing_behind() {
    let place = Place::new();
    let (database, other) = (place.open(), place.open());
    drop(block_on(half(&database)));
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let _tx = block_on(half(&database));
        panic!("somebody's mistake");
    }));
    assert!(panicked.is_err());
    let rows: i64 = place
        .stranger()
        .query_row("select (select count(*) from items) + (select count(*) from queues)", [], |row| {
            row.get(0)
        })
        .unwrap();
    assert_eq!(rows, 0);
    // The number that the queue would have had is another's now.
    let todo = create(&other, "todo", r#"{"title":"t"}"#);
    let job = create(&database, "job", "{}");
    assert_eq!(ids(&acquire(&database, 9)), [job]);
    assert_eq!(&*block_on(database.item(&store(), todo)).unwrap().unwrap().table.kind, "todo");
}

#[test]
fn a_batch_is_settled_by_looking_for_it() {
    let place = Place::new();
    let database = place.open();
    block_on(async {
        let mut tx = half(&database).await;
        let request = request("api:test", new("job", "{}"));
        let world = tx.lock(&Need::default()).await.unwrap();
        let decision = tenure_core::decide::decide(&world, &request, &mut Draw::new(2));
        let entries: Vec<_> = decision
            .changes
            .iter()
            .filter_map(|change| match change {
                tenure_core::world::Change::Entry(entry) => Some(entry.clone()),
                _ => None,
            })
            .collect();
        tx.append(&entries).await.unwrap();
        assert_eq!(tx.commit().await, Commit::Done);
        assert_eq!(database.settle(BatchId(1)).await, Ok(Settled::Committed));
        assert_eq!(database.settle(BatchId(2)).await, Ok(Settled::NeverWill));
        drop(database.begin(BatchId(3)).await.unwrap());
    });
}

// covers: K-51
#[test]
fn a_row_that_can_not_be_read_costs_its_own_item_and_no_other() {
    let place = Place::new();
    let database = place.open();
    let mut jobs: Vec<ItemId> = (0..5).map(|_| create(&database, "job", "{}")).collect();
    jobs.sort();
    let bytes = |id: ItemId| id.0.to_be_bytes();
    let stranger = place.stranger();
    stranger.execute("update items set rest = x'ff' where id = ?1", [bytes(jobs[0])]).unwrap();
    stranger
        .execute("update items set payload = cast('[1' as blob) where id = ?1", [bytes(jobs[1])])
        .unwrap();
    stranger.execute("update items set rest = x'01', slot = 2 where id = ?1", [bytes(jobs[3])]).unwrap();

    // A request about it fails alone.
    let take = |item| request("worker:b/1", Command::Take(Take { item, terms: Terms::default() }));
    let requests: Vec<Request> = jobs.iter().map(|item| take(*item)).collect();
    let replies = block_on(batch::run(&database, &requests[..3], &mut draw()));
    let failed: Vec<bool> = replies.iter().map(Result::is_err).collect();
    assert_eq!(failed, [true, true, false]);
    let why = replies[0].as_ref().unwrap_err().to_string();
    assert!(why.contains(&jobs[0].to_string()), "{why}");

    // An acquire goes round it, and it is known from then on.
    assert_eq!(ids(&acquire(&database, 5)), [jobs[4]]);
    let quarantined: i64 =
        stranger.query_row("select count(*) from quarantine", [], |row| row.get(0)).unwrap();
    assert_eq!(quarantined, 3);
    assert!(acquire(&database, 5).is_empty());
    let listed = block_on(database.list(&Query { limit: 9, ..Query::default() })).unwrap();
    assert_eq!(listed.len(), 3, "lists show all but what is not even an item");
    place.wait(Duration::from_secs(61));
    assert_eq!(block_on(database.due(Overdue::Time, None, 9)).unwrap().len(), 2);
}

#[test]
fn damage_is_kept_even_when_there_was_nothing_else_to_lease() {
    let place = Place::new();
    let database = place.open();
    create(&database, "job", "{}");
    place.stranger().execute_batch("update items set rest = x'ff'").unwrap();
    assert!(acquire(&database, 1).is_empty());
    let sql = "select why from quarantine join items on items.id = quarantine.item where slot = -1";
    let why: String = place.stranger().query_row(sql, [], |row| row.get(0)).unwrap();
    assert!(!why.is_empty());
}

// covers: K-17
// fault: T6
#[test]
fn a_clock_that_was_ahead_is_not_remembered_across_a_restart() {
    let place = Place::new();
    for ahead in [3_600, 400 * 86_400] {
        place.clock.store(START + ahead * 1_000_000, Ordering::SeqCst);
        let item = create(&place.open(), "job", "{}");
        place.clock.store(START, Ordering::SeqCst);
        let database = place.open();
        assert_eq!(block_on(database.now()), Ok(Time::from_micros(START)));
        assert_eq!(block_on(database.behind()), Ok(Some(Duration::from_secs(ahead.unsigned_abs()))));
        let lease = acquire(&database, 1).remove(0).item.lease.clone().unwrap();
        assert_eq!((lease.since, lease.expires.since(lease.since)), (Time::from_micros(START), SECOND * 60));
        let history = block_on(database.history(&store(), item)).unwrap();
        assert!(history.is_sorted_by_key(|entry| entry.at));
        assert_eq!(block_on(database.due(Overdue::Time, None, 9)), Ok(vec![]));
        place.clock.store(START + 60_000_000, Ordering::SeqCst);
        let due = block_on(place.open().due(Overdue::Time, None, 9)).unwrap();
        assert_eq!(due.iter().map(|found| found.item).collect::<Vec<_>>(), [item]);
        let execution = block_on(database.item(&store(), item)).unwrap().unwrap().execution_id();
        let sweep = Sweep { item, fence: execution.fence, due: Due::Time, offers: Effects::default() };
        assert!(ask(&database, "system:engine", Command::Sweep(sweep)).is_yes());
        assert_eq!(ids(&acquire(&database, 9)), [item]);
    }
}

/// SQLite puts its log beside the file itself; so it is found there, and handles by either name are handles on one file.
#[test]
fn a_database_by_a_link_is_the_database_by_its_own_name() {
    let place = Place::new();
    let link = place.folder.path().join("link.db");
    std::os::unix::fs::symlink("tenure.db", &link).unwrap();
    let by_link = Sqlite::open(&link, place.options()).unwrap();
    assert_eq!(by_link.path(), place.path());
    let job = create(&by_link, "job", "{}");
    assert_eq!(ids(&acquire(&place.open(), 1)), [job]);
    assert_eq!(migrate::pending(&link).unwrap().len(), 0);
    assert_eq!(Sqlite::look(&link).unwrap().path(), place.path());
}

#[test]
fn a_backup_is_a_database_and_replaces_nothing() {
    let place = Place::new();
    let database = place.open();
    for _ in 0..20 {
        create(&database, "job", "{}");
    }
    let copy = place.folder.path().join("copy.db");
    let head = block_on(database.head()).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            (20..60).for_each(|_| {
                create(&database, "job", "{}");
            })
        });
        block_on(database.backup(&copy)).unwrap();
    });
    assert!(block_on(database.backup(&copy)).unwrap_err().to_string().contains("exists already"));
    let files = std::fs::read_dir(place.folder.path()).unwrap();
    let drafts = files.filter(|file| file.as_ref().unwrap().path().extension() == Some("part".as_ref()));
    assert_eq!(drafts.count(), 0, "no draft is left");
    // Looked at where it is, whatever place that is, it stays as it was made.
    let looked = Sqlite::look_at_copy(&copy).unwrap();
    let report = block_on(tenure_databases::verify::database(&looked, None, |_| {})).unwrap();
    assert!(report.is_sound() && report.entries >= 20, "{report:#?}");
    for beside in ["-wal", "-shm", "-journal"] {
        assert!(!copy.with_file_name(format!("copy.db{beside}")).exists(), "{beside}");
    }
    drop(looked);
    let copied = Sqlite::open(&copy, place.options()).unwrap();
    assert!(verify(&copied) >= 20);
    assert!(block_on(copied.head()).unwrap().position >= head.position);
    create(&copied, "job", "{}");
}

#[test]
fn an_older_schema_is_brought_up_to_date_or_left_as_it_was() {
    const STEPS: [&str; 3] = ["create table a (x);", "insert into a values (1);", "create table b (y);"];
    let count = MIGRATIONS.len();
    let number = MIGRATIONS[count - 1].number;
    for cut in 0..=STEPS.len() {
        let place = Place::new();
        assert_eq!(migrate::pending(&place.path()).unwrap().len(), count);
        assert_eq!(migrate::apply(&place.path()).unwrap().len(), count);
        assert_eq!(migrate::pending(&place.path()).unwrap().len(), 0);
        // One more breaks off after so many statements.
        let sql: String = STEPS[..cut].concat() + if cut < STEPS.len() { "nonsense;" } else { "" };
        let next = Migration { number: number + 1, name: "next", sql: sql.leak() };
        let mut connection = place.stranger();
        let ran = migrate::run(&mut connection, &place.path(), &[MIGRATIONS, &[next]].concat());
        let version: i32 = connection.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
        let sql = "select count(*) from sqlite_schema where name in ('a', 'b')";
        let tables: i64 = connection.query_row(sql, [], |row| row.get(0)).unwrap();
        match ran {
            Ok(done) => assert_eq!((cut, done.len(), version, tables), (3, 1, number + 1, 2)),
            Err(_) => assert_eq!((version, tables), (number, 0), "cut after {cut} statements"),
        }
    }
}

#[test]
fn that_somebody_else_wrote_is_noticed_once() {
    let place = Place::new();
    let (here, there) = (place.open(), place.open());
    let mut watch = here.watch().expect("it can be watched");
    assert_eq!(watch.has_changed(), Ok(false), "nobody wrote");
    let write = |writer| block_on(batch::run(writer, &[request("api:test", new("job", "{}"))], &mut draw()));
    for _ in 0..2 {
        write(&here);
        assert_eq!(watch.has_changed(), Ok(false), "what it writes itself it knows");
        write(&there);
        assert_eq!(watch.has_changed(), Ok(true));
        assert_eq!(watch.has_changed(), Ok(false), "it is told once");
        // Also if it has written itself since, and has looked by that.
        write(&there);
        write(&here);
        assert_eq!(watch.has_changed(), Ok(true));
    }
}
