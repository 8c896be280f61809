//! The second wall: what the schema itself refuses, from any program that can open the file.
//!
//! Every test writes past Tenure, with a connection of its own, as `sqlite3` at a shell would.

use std::path::PathBuf;
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
use tenure_databases::batch;
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
        for table in ["items", "executions", "segments", "moves"] {
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
    wall.refuses(second, "UNIQUE constraint failed");
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
    wall.refuses(lease, "UNIQUE constraint failed");
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
    wall.refuses("insert into marks values ('n', -1)", "CHECK");
    let value: i64 = wall.stranger().query_row("select value from marks", [], |row| row.get(0)).unwrap();
    assert_eq!(value, 7);
}

#[test]
fn a_lifecycle_that_was_added_is_not_changed() {
    let wall = Wall::new();
    wall.refuses("delete from moves", "never changed");
    wall.refuses("update moves set to_state = 0", "never changed");
}

#[test]
fn only_what_has_ended_for_good_leaves_and_with_the_next_segment_of_the_log() {
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
    // A mark that was left behind counts for nothing once anything else has happened.
    wall.stranger().execute_batch(&one).unwrap();
    wall.job();
    wall.refuses("delete from items where state = 2", "is not deleted");
    wall.refuses("delete from executions", "is not deleted");
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
