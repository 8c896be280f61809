//! The second wall: what the schema itself refuses, from any program that can open the file.
//!
//! Every test writes past Tenure, with a connection of its own, as `sqlite3` at a shell would; the last ones with the SQLite that
//! Python has, which is older than ours, and with the commands of docs/inbox.md.

use std::path::PathBuf;
use std::process::{Command as Process, Output};
use std::sync::Arc;

use rusqlite::Connection;
use tempfile::TempDir;
use tenure_core::answer::Answer;
use tenure_core::body::Body;
use tenure_core::draw::Draw;
use tenure_core::id::{ExecutionId, ItemId};
use tenure_core::lifecycle::shipped;
use tenure_core::request::{Command, Commit, Create, Effects, Erase, Request, Take, Terms};
use tenure_core::time::Time;
use tenure_databases::batch::{self, inbox};
use tenure_databases::sqlite::{Options, Sqlite};
use tenure_databases::{Database, Query};

struct Wall {
    database: Sqlite,
    path: PathBuf,
    _folder: TempDir,
}

fn body(text: &str) -> Body {
    Body::json(text).expect("JSON")
}

impl Wall {
    fn new() -> Wall {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("tenure.db");
        let options = Options {
            tables: shipped::tables(),
            clock: Some(Arc::new(|| Time::from_micros(1_794_774_300_000_000))),
            relaxed: true,
            ..Options::default()
        };
        let database = Sqlite::open(&path, options).expect("it opens");
        Wall { database, path, _folder: folder }
    }

    /// A connection that knows nothing of Tenure.
    fn stranger(&self) -> Connection {
        Connection::open(&self.path).expect("it opens")
    }

    fn ask(&self, actor: &str, command: Command) -> Answer {
        let store = "default".parse().unwrap();
        let request = Request { store, actor: actor.parse().unwrap(), command };
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let mut draw = Draw::new(self.log_length());
        let replies = runtime.block_on(batch::run(&self.database, &[request], &mut draw));
        replies.into_iter().next().unwrap().expect("the database works").answer
    }

    fn log_length(&self) -> u64 {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(self.database.head()).unwrap().position
    }

    fn create(&self, kind: &str, payload: &str) -> ItemId {
        match self.ask("api:test", Command::Create(Create::new(kind.parse().unwrap(), body(payload)))) {
            Answer::Created(item) => item.id,
            other => panic!("not created: {other:?}"),
        }
    }

    fn job(&self) -> ItemId {
        self.create("job", "{}")
    }

    fn run(&self, item: ItemId) -> ExecutionId {
        let terms = Terms { start: true, ..Terms::default() };
        match self.ask("worker:a/1", Command::Take(Take { item, terms })) {
            Answer::Leased(leases) => leases[0].execution,
            other => panic!("not leased: {other:?}"),
        }
    }

    fn commit(&self, execution: ExecutionId) {
        let (effects, attests) = (Effects::default(), Vec::new());
        let output = Some(body("7"));
        let commit = Commit { execution, output, effects, finish: true, session: None, attests };
        assert!(self.ask("worker:a/1", Command::Commit(commit)).is_yes());
    }

    /// A stranger's statement is refused, in these words, and nothing has changed.
    #[track_caller]
    fn refuses(&self, sql: &str, words: &str) {
        let before = self.dump();
        let error = self.stranger().execute_batch(sql).expect_err("it is refused").to_string();
        assert!(error.contains(words), "{sql}: {error}");
        assert_eq!(self.dump(), before, "{sql}");
    }

    fn dump(&self) -> String {
        let connection = self.stranger();
        let mut dump = String::new();
        for table in
            ["items", "executions", "segments", "lifecycles", "states", "moves", "queues", "marks", "leaving"]
        {
            let mut statement = connection.prepare(&format!("select * from {table} order by 1, 2")).unwrap();
            let columns = statement.column_count();
            let mut rows = statement.query([]).unwrap();
            while let Some(row) = rows.next().unwrap() {
                for column in 0..columns {
                    dump.push_str(&format!("{:?} ", row.get_ref(column).unwrap()));
                }
            }
        }
        dump
    }
}

#[test]
fn a_state_is_not_set_by_hand() {
    let wall = Wall::new();
    let done = wall.job();
    wall.commit(wall.run(done));
    wall.job();
    // PENDING is 0, RUNNING 1, SUCCEEDED 2.
    wall.refuses(
        "update items set state = 2, version = version + 1, head = x'00' where state = 0",
        "no such move",
    );
    wall.refuses("update items set state = 0, version = version + 1 where state = 2", "no such move");
    wall.refuses("update items set state = 77, version = version + 1", "no such move");
}

// covers: K-40
#[test]
fn a_version_grows_by_one_with_every_step() {
    let wall = Wall::new();
    wall.job();
    wall.refuses("update items set version = version + 1", "the version grows by one");
    wall.refuses("update items set version = version + 2, head = x'00'", "the version grows by one");
    wall.refuses("update items set head = x'00'", "the version grows by one");
    wall.refuses("update items set fence = fence + 1", "the version grows by one");
    wall.refuses("update items set version = version - 1", "an_item_has_a_version");
}

#[test]
fn a_fence_never_falls() {
    let wall = Wall::new();
    wall.run(wall.job());
    wall.refuses("update items set fence = fence - 1, version = version + 1", "claim version never falls");
    wall.refuses(
        "update items set fence = -1, version = version + 1",
        "a_fence_is_no_less_than_what_committed",
    );
}

#[test]
fn an_item_stays_what_it_is() {
    let wall = Wall::new();
    wall.job();
    for change in ["id = randomblob(16)", "queue = queue + 1", "lifecycle = 2", "created = 0"] {
        wall.refuses(&format!("update items set {change}"), "keeps its id, queue, lifecycle");
    }
    for change in ["key = 'k'", "payload_hash = x'00'"] {
        wall.refuses(&format!("update items set {change}"), "keeps its key and its payload");
    }
    wall.refuses("delete from items", "an item is not deleted");
    wall.refuses("update items set slot = 9", "there_is_such_a_slot");
    wall.refuses("update items set slot = 3", "an_item_is_leased_while_it_is_active");
}

// covers: K-21
#[test]
fn a_second_execution_never_commits() {
    let wall = Wall::new();
    let item = wall.job();
    wall.commit(wall.run(item));
    let second =
        "insert into executions (item, seat, fence, status, rest) select item, 0, 2, 3, rest from executions";
    wall.refuses(second, "does not change");
    let elsewhere =
        "insert into executions (item, seat, fence, status, rest) select item, 2, 2, 3, rest from executions";
    wall.refuses(elsewhere, "the_committed_one_has_the_first_seat");
    wall.refuses("update executions set fence = 2", "does not change");
    wall.refuses("update executions set status = 3", "does not change");
    wall.refuses("delete from executions", "is not deleted");
    wall.refuses("update items set committed = null, version = version + 1, head = x'00'", "commits once");
    wall.refuses("update items set committed = 2, fence = 2, version = version + 1", "commits once");
}

// covers: K-31
#[test]
fn a_second_one_of_a_key_never_runs() {
    let wall = Wall::new();
    let pass = || wall.create("run", r#"{"document_id":"d1"}"#);
    let (first, _second) = (pass(), pass());
    wall.run(first);
    // As if it were leased: everything a lease has, and a legal move.
    let lease = "update items set state = 1, slot = 3, version = version + 1, fence = 1, owner = 'b/1', heartbeat = 1,
        expires = 1, exclusive = key where slot = 2";
    wall.refuses(lease, "one of a key runs");
    // Nor one that does not say which key it runs.
    wall.refuses(&lease.replace(", exclusive = key", ""), "one of a key runs");
    // Keys that exclude nobody are no reason to refuse anything.
    for _ in 0..2 {
        let job =
            Create { key: Some("k".parse().unwrap()), ..Create::new("job".parse().unwrap(), body("{}")) };
        match wall.ask("api:test", Command::Create(job)) {
            Answer::Created(item) => wall.run(item.id),
            other => panic!("not created: {other:?}"),
        };
    }
}

// covers: K-40
#[test]
fn the_log_is_only_appended_to() {
    let wall = Wall::new();
    wall.job();
    wall.job();
    wall.refuses("delete from segments", "append-only");
    wall.refuses("delete from segments where segment = 2", "append-only");
    wall.refuses("update segments set lines = x'00'", "append-only");
    wall.refuses("update segments set chain = x'00' where segment = 1", "append-only");
    let again =
        "insert into segments select segment, randomblob(16), entries, at, lines, chain from segments";
    wall.refuses(again, "append-only");
    let instead =
        "insert or replace into segments select segment, batch, entries, at, x'00', chain from segments";
    wall.refuses(instead, "append-only");
    let hole = "insert into segments select max(segment) + 2, batch, entries, at, lines, chain from segments";
    wall.refuses(hole, "append-only");
}

#[test]
fn a_mark_never_falls() {
    let wall = Wall::new();
    wall.stranger().execute_batch("insert into marks values ('m', 7)").unwrap();
    wall.refuses("update marks set value = 6", "only grows");
    wall.refuses("update marks set name = 'n'", "only grows");
    wall.refuses("insert or replace into marks values ('m', 6)", "only grows");
    wall.refuses("insert into marks values ('n', -1)", "CHECK");
    let value: i64 = wall.stranger().query_row("select value from marks", [], |row| row.get(0)).unwrap();
    assert_eq!(value, 7);
}

#[test]
fn a_lifecycle_that_was_added_is_not_changed() {
    let wall = Wall::new();
    wall.job();
    let changes = [
        "delete from moves",
        "update moves set to_state = 0",
        "insert into moves values (1, 0, 2)",
        "insert or replace into moves select * from moves",
        "delete from states",
        "update states set phase = 'succeeded'",
        "insert into states values (1, 77, 'DONE', 'succeeded')",
        "insert or replace into states select lifecycle, state, name, 'succeeded' from states",
        "delete from lifecycles",
        "update lifecycles set kind = 'other'",
        "update lifecycles set hash = randomblob(32)",
        "update lifecycles set lifecycle = lifecycle + 100",
        "update lifecycles set complete = 0",
        "insert or replace into lifecycles select lifecycle, hash, kind, 'other', in_force, 0 from lifecycles",
        "insert or replace into lifecycles (hash, kind, source, in_force, complete) \
         select hash, kind, source, 0, 0 from lifecycles",
        "insert or replace into lifecycles (hash, kind, source, in_force) values (x'00', 'job', '', 1)",
        // Those of a lifecycle that is yet to come.
        "insert into moves values (1000, 0, 2)",
        "insert into states values (1000, 0, 'DONE', 'succeeded')",
    ];
    for change in changes {
        wall.refuses(change, "never changed");
    }
}

/// Which version is in force is Tenure's to change, and no version goes with it.
#[test]
fn a_lifecycle_that_is_put_in_force_drives_no_other_out() {
    let wall = Wall::new();
    let add = |source: &str| {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(wall.database.add_table(source)).unwrap();
    };
    let first = shipped::tables().current(&"job".parse().unwrap()).unwrap().source.to_string();
    let other = first.replace("| attempts | 5 ", "| attempts | 7 ");
    assert_ne!(first, other);
    add(&other);
    let instead = "update or replace lifecycles set in_force = 1 where kind = 'job'";
    wall.refuses(instead, "never changed");
    add(&first);
    add(&other);
    let sql = "select count(*), sum(in_force), sum(complete) from lifecycles where kind = 'job'";
    let numbers = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
    let found: (i64, i64, i64) = wall.stranger().query_row(sql, [], numbers).unwrap();
    assert_eq!(found, (2, 1, 2));
    wall.job();
}

#[test]
fn the_number_of_a_queue_always_means_the_same() {
    let wall = Wall::new();
    wall.job();
    for change in [
        "update queues set store = 'other'",
        "delete from queues",
        "insert or replace into queues select queue, 'other', kind from queues",
        "insert or replace into queues select queue + 1, store, kind from queues",
    ] {
        wall.refuses(change, "always means the same");
    }
}

/// SQLite fires no trigger for the rows that a REPLACE drives out.
// covers: K-05, K-21, K-31
#[test]
fn no_row_takes_the_place_of_another() {
    let wall = Wall::new();
    let done = wall.job();
    wall.commit(wall.run(done));
    let columns = "id, queue, lifecycle, slot, laned, rank, version, fence, run_at, created, updated, key, segment, head, \
        payload_hash, payload, rest";
    let again = |what: &str, set: &str, from: &str| {
        format!(
            "insert or replace into items ({what}{columns}, state) select {set}, 0 from items where {from}"
        )
    };
    wall.refuses(&again("", columns, "state = 2"), "takes the place of another");
    let elsewhere = columns.replacen("id", "randomblob(16)", 1);
    wall.refuses(
        &again("rowid, ", &format!("rowid, {elsewhere}"), "state = 2"),
        "takes the place of another",
    );
    let raise = "insert into items (id, queue, lifecycle, slot, laned, rank, version, fence, run_at, created, updated, \
        segment, head, payload_hash, rest, state) select id, queue, lifecycle, slot, laned, rank, version, fence, run_at, \
        created, updated, segment, head, payload_hash, rest, 0 from items where true \
        on conflict (id) do update set state = 0";
    wall.refuses(raise, "takes the place of another");
    wall.job();
    for rowid in ["rowid", "oid", "_rowid_"] {
        let push = format!("update or replace items set {rowid} = 1 where state = 0");
        wall.refuses(&push, "takes the place of another");
    }
    for seat in ["item, 0, fence, 3, x''", "item, seat, fence, status, x''"] {
        let other = format!(
            "insert or replace into executions (item, seat, fence, status, rest) select {seat} from executions"
        );
        wall.refuses(&other, "does not change");
    }
    let pass = || wall.create("run", r#"{"document_id":"d1"}"#);
    let (first, _second) = (pass(), pass());
    wall.run(first);
    wall.refuses("update or replace items set exclusive = key where slot = 2", "one of a key runs");
    let third = again("exclusive, ", &format!("key, {elsewhere}"), "slot = 2 and key is not null");
    wall.refuses(&third, "one of a key runs");
}

#[test]
fn only_what_has_ended_for_good_leaves_and_after_the_segment_of_the_log_that_says_so() {
    let wall = Wall::new();
    wall.job();
    let done = wall.job();
    wall.commit(wall.run(done));
    let mark = |segment: &str, of: &str| {
        format!(
            "insert into leaving (item, version, segment) select id, version, {segment} from items where {of}"
        )
    };
    let next = "(select max(segment + entries) from segments)";
    // PENDING is 0, SUCCEEDED 2.
    wall.refuses(&mark(next, "state = 0"), "ended for good");
    wall.refuses(&mark("1", "state = 2"), "ended for good");
    let other_version = mark(next, "state = 2").replace("version, (", "version + 1, (");
    wall.refuses(&other_version, "ended for good");
    let one = mark(next, "state = 2");
    wall.refuses(&format!("begin; {one}; delete from items where state = 0; commit"), "is not deleted");
    wall.refuses(&format!("begin; {one}; update leaving set item = x'00'; commit"), "ended for good");
    wall.refuses(&format!("begin; {one}; delete from executions; commit"), "is not deleted");
    wall.refuses(&format!("begin; {one}; delete from items where state = 2; commit"), "is not deleted");
    // A mark that somebody left behind is gone with whatever happens next.
    wall.stranger().execute_batch(&one).unwrap();
    wall.refuses("delete from items where state = 2", "is not deleted");
    wall.job();
    wall.refuses("delete from items where state = 2", "is not deleted");
    wall.refuses("delete from executions", "is not deleted");
    let left: i64 = wall.stranger().query_row("select count(*) from leaving", [], |row| row.get(0)).unwrap();
    assert_eq!(left, 0);
}

/// A list of what failed reads no other rows, and one of what is held neither.
#[test]
fn lists_go_by_their_indexes() {
    let wall = Wall::new();
    let connection = wall.stranger();
    let plan = |condition: &str| {
        let sql = format!("explain query plan select * from items i where {condition}");
        let mut statement = connection.prepare(&sql).unwrap();
        let steps = statement.query_map([], |row| row.get::<_, String>(3)).unwrap();
        steps.map(Result::unwrap).collect::<Vec<_>>().join("; ")
    };
    for order in ["", " desc"] {
        let failed = plan(&format!(
            "i.id > x'' and (i.lifecycle, i.state) in (values (1, 3)) and i.slot = 0 and i.rank < 0 \
             and i.rank = -1 and i.queue = 1 order by i.id{order}"
        ));
        assert!(failed.contains("items_ended_badly") && !failed.contains("TEMP B-TREE"), "{failed}");
        let held = plan(&format!("i.id > x'' and i.slot = 3 and i.queue = 1 order by i.id{order}"));
        assert!(held.contains("items_active") && !held.contains("TEMP B-TREE"), "{held}");
        // Of several kinds what is held is sorted: that is little.
        let held = plan(&format!("i.id > x'' and i.slot = 3 and i.queue in (1, 2) order by i.id{order}"));
        assert!(held.contains("items_active"), "{held}");
        let all = plan(&format!("i.id > x'' order by i.id{order}"));
        assert!(all.contains("USING INDEX sqlite_autoindex_items") && !all.contains("TEMP B-TREE"), "{all}");
    }
}

/// What the wall is not there for still works from outside.
#[test]
fn erasing_and_reading_are_let_through() {
    let wall = Wall::new();
    let item = wall.job();
    wall.commit(wall.run(item));
    assert!(wall.ask("api:test", Command::Erase(Erase { item, reason: None })).is_yes());
    let connection = wall.stranger();
    let sql = "select id, store, kind, state, phase, version, claim_version, created_at from tenure_items";
    let shown: (String, String, String, String, String, i64, i64, String) = connection
        .query_row(sql, [], |row| {
            Ok((
                row.get(0)?,
                row.get(1)?,
                row.get(2)?,
                row.get(3)?,
                row.get(4)?,
                row.get(5)?,
                row.get(6)?,
                row.get(7)?,
            ))
        })
        .unwrap();
    let text = |text: &str| text.to_string();
    let expected = (
        item.to_string(),
        text("default"),
        text("job"),
        text("SUCCEEDED"),
        text("succeeded"),
        4,
        1,
        text("2026-11-15T20:25:00.000Z"),
    );
    assert_eq!(shown, expected);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let all = runtime.block_on(wall.database.list(&Query { limit: 9, ..Query::default() })).unwrap();
    assert_eq!(all.len(), 1);
}

/// A program in Python, given the file. Its SQLite is the machine's.
fn python(wall: &Wall, program: &str) -> Output {
    let run = Process::new("python3").arg("-c").arg(program).arg(&wall.path).output();
    run.unwrap_or_else(|why| panic!("python3: {why}; ./check sees to it"))
}

/// What it printed. It must have ended well.
#[track_caller]
fn printed(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{}", text(&output.stderr));
    text(&output.stdout)
}

fn take_in(wall: &Wall) -> inbox::Turn {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(inbox::take_in(&wall.database, 10, &mut Draw::new(wall.log_length()))).unwrap()
}

/// A block of docs/inbox.md: the first one in that language.
fn of_the_page(language: &str) -> &'static str {
    let page = include_str!("../../../docs/inbox.md");
    let (_, rest) = page.split_once(&format!("```{language}\n")).expect("a block");
    rest.split_once("```").expect("its end").0
}

/// One that can not read a view can not read the file: not even the inbox would be open to it.
#[test]
fn an_older_sqlite_reads_the_file_and_is_refused_like_ours() {
    let wall = Wall::new();
    let item = wall.job();
    wall.commit(wall.run(item));
    let tried = r#"
import sqlite3, sys
database = sqlite3.connect(sys.argv[1], isolation_level=None)
print(*database.execute("select id, state from tenure_items").fetchone())
for change in [
    "update items set state = 0",
    "insert or replace into executions select item, seat, fence, status, x'' from executions",
    "insert or replace into items select * from items",
    "insert into moves values (1, 2, 0)",
    "delete from items",
]:
    try:
        database.execute(change)
        print("let through:", change)
    except sqlite3.IntegrityError as no:
        assert str(no).startswith("tenure: "), no
"#;
    assert_eq!(printed(&python(&wall, tried)), format!("{item} SUCCEEDED\n"));
}

#[test]
fn a_program_in_python_makes_work_in_its_own_transaction() {
    let wall = Wall::new();
    wall.stranger().execute_batch(of_the_page("sql")).unwrap();
    assert_eq!(printed(&python(&wall, of_the_page("python"))), "");
    // It fails before its transaction ends: then there was no work.
    let undone =
        of_the_page("python").replace('8', "9").replace("for row in", "    raise SystemExit(1)\nfor row in");
    assert!(!python(&wall, &undone).status.success());
    let turn = take_in(&wall);
    assert_eq!((turn.taken, turn.refused), (2, 0));
    let reader = "import sqlite3, sys\nfor row in sqlite3.connect(sys.argv[1]).execute(\"select kind, state from tenure_items\"): print(*row)";
    assert_eq!(printed(&python(&wall, reader)), "job PENDING\njob PENDING\n");
    // The same keys once more make nothing new; what is no work stays with its reason.
    let again = "delete from orders; insert into tenure_inbox (kind) values ('jop')";
    wall.stranger().execute_batch(again).unwrap();
    wall.stranger().execute_batch(of_the_page("sql")).unwrap();
    let turn = take_in(&wall);
    assert_eq!((turn.taken, turn.refused), (1, 1));
    let count = |sql: &str| wall.stranger().query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!((count("select count(*) from items"), count("select count(error) from tenure_inbox")), (2, 1));
}
