//! The second wall: what psql is refused.

use tenure_core::answer::Answer;
use tenure_core::request::{Command, Commit, Create, Finish, Request};
use tenure_core::time::Time;
use tenure_databases::Database;
use tenure_databases::follow::Follow;

use crate::kit::*;

/// Tries a statement and answers why it was refused.
async fn refused(kit: &Kit, statement: &str) -> String {
    match kit.raw.batch_execute(statement).await {
        Ok(()) => panic!("not refused: {statement}"),
        Err(error) => error.as_db_error().map_or_else(|| error.to_string(), |error| error.to_string()),
    }
}

// covers: K-21, K-40
#[test]
fn what_the_kernel_would_never_do_is_refused_to_everybody() {
    with(async |kit| {
        created(&kit.database, new("job", "{}")).await;
        created(&kit.database, new("job", "{}")).await;
        let leases = lease(&kit.database, "worker:a/1", "job", 2).await;
        assert!(ask(&kit.database, commit("worker:a/1", leases[0].execution)).await.is_yes());
        while kit.database.sequence(100).await.unwrap() > 0 {}
        kit.database.set_mark(&"m".parse().unwrap(), 7).await.unwrap();
        let done = "where committed is not null";
        let live = "where owner is not null";
        let step = "version = version + 1, head = sha256('x')";
        for (statement, why) in [
            (format!("update items set state = 0, {step} {done}"), "no such move"),
            (format!("update items set state = 0 {live}"), "version grow by one"),
            (format!("update items set version = version + 2, head = sha256('x') {live}"), "grow by one"),
            (format!("update items set version = version + 1 {live}"), "a step has an entry"),
            (format!("update items set fence = fence - 1, {step} {live}"), "never falls"),
            (format!("update items set committed = null, {step} {done}"), "stays committed"),
            (format!("update items set id = gen_random_uuid() {live}"), "id of an item"),
            (format!("update items set lifecycle = lifecycle + 1 {live}"), "keeps its lifecycle"),
            (format!("update items set queue = queue + 1 {live}"), "keeps its lifecycle, queue"),
            (format!("update items set created = 0 {live}"), "time of creation"),
            (format!("update items set owner = null {live}"), "items_"),
            (format!("delete from items {live}"), "never deleted"),
            ("truncate items".to_string(), "never deleted"),
            ("update executions set rest = ''".to_string(), "never changes"),
            ("delete from executions".to_string(), "never deleted"),
            (
                "insert into executions select item, 0, fence, 4, rest from executions".to_string(),
                "executions_pkey",
            ),
            (
                "insert into executions select item, 7, 7, 4, rest from executions".to_string(),
                "one_committed",
            ),
            (
                "insert into executions select item, 6, 7, 5, rest from executions".to_string(),
                "executions_seat",
            ),
            ("update segments set lines = ''".to_string(), "append-only"),
            ("update segments set seq = 0".to_string(), "append-only"),
            ("update segments set pos = pos + 1".to_string(), "given once"),
            ("update segments set pos = null, chain = null".to_string(), "given once"),
            ("update marks set value = 6".to_string(), "only grows"),
            ("delete from segments".to_string(), "append-only"),
            ("truncate segments".to_string(), "append-only"),
            ("truncate marks".to_string(), "only grows"),
        ] {
            let said = refused(&kit, &statement).await;
            assert!(said.contains(why), "{statement}: {said}");
        }
        let next = ask(&kit.database, commit("worker:a/1", leases[1].execution)).await;
        assert!(next.is_yes(), "nothing of it happened: {next:?}");
    });
}

/// What the wall itself reads.
// covers: K-01
#[test]
fn a_lifecycle_that_was_added_is_not_changed() {
    with(async |kit| {
        created(&kit.database, new("job", "{}")).await;
        for statement in [
            "insert into moves select min(lifecycle), 0, 2 from lifecycles where kind = 'job'",
            "insert into moves values (1000, 0, 2)",
            "update moves set to_state = 0",
            "delete from moves",
            "truncate moves",
            "insert into states select min(lifecycle), 77, 'DONE', 'succeeded' from lifecycles where kind = 'job'",
            "insert into states values (1000, 0, 'DONE', 'succeeded')",
            "update states set phase = 'succeeded'",
            "delete from states",
            "truncate states",
            "update lifecycles set kind = 'other' where kind = 'job'",
            "update lifecycles set hash = sha256('x') where kind = 'job'",
            "update lifecycles set complete = false",
            "delete from lifecycles",
            "truncate lifecycles",
        ] {
            let said = refused(&kit, statement).await;
            assert!(said.contains("never changed"), "{statement}: {said}");
        }
        for statement in ["update queues set store = 'other'", "delete from queues", "truncate queues"] {
            let said = refused(&kit, statement).await;
            assert!(said.contains("always means the same"), "{statement}: {said}");
        }
        let job =
            tenure_core::lifecycle::shipped::tables().current(&"job".parse().unwrap()).cloned().unwrap();
        let other = job.source.replace("| attempts | 5 ", "| attempts | 7 ");
        assert_ne!(other, *job.source);
        for source in [&other, &*job.source, &other] {
            kit.database.add_table(source).await.unwrap();
        }
        let sql = "select count(*), count(*) filter (where in_force), bool_and(complete) from lifecycles \
                   where kind = 'job'";
        let row = kit.raw.query_one(sql, &[]).await.unwrap();
        let found = (row.get::<_, i64>(0), row.get::<_, i64>(1), row.get::<_, bool>(2));
        assert_eq!(found, (2, 1, true), "which of them is in force may change");
        created(&kit.database, new("job", "{}")).await;
    });
}

#[test]
fn only_what_has_ended_for_good_leaves_and_with_its_own_segment_of_the_log() {
    with(async |kit| {
        created(&kit.database, new("job", "{}")).await;
        created(&kit.database, new("job", "{}")).await;
        let leases = lease(&kit.database, "worker:a/1", "job", 1).await;
        assert!(ask(&kit.database, commit("worker:a/1", leases[0].execution)).await.is_yes());
        let mark = |version: &str, segment: &str, of: &str| {
            format!(
                "insert into leaving (item, version, segment) select id, {version}, {segment} from items where {of}"
            )
        };
        let done = "committed is not null";
        let last = "(select max(segment) from segments)";
        let go = "delete from executions; delete from items where committed is not null";
        for (statements, why) in [
            (mark("version", last, "committed is null"), "ended for good"),
            (mark("version + 1", last, done), "ended for good"),
            (format!("{}; {go}", mark("version", last, done)), "is in the log"),
            (format!("{}; {go}", mark("version", "0", done)), "is in the log"),
            (format!("{}; delete from items", mark("version", last, done)), "never deleted"),
            ("delete from executions".to_string(), "never deleted"),
        ] {
            let said = refused(&kit, &statements).await;
            assert!(said.contains(why), "{statements}: {said}");
        }
        let count: i64 = kit.raw.query_one("select count(*) from items", &[]).await.unwrap().get(0);
        let marks: i64 = kit.raw.query_one("select count(*) from leaving", &[]).await.unwrap().get(0);
        assert_eq!((count, marks), (2, 0));
    });
}

// covers: K-31
#[test]
fn a_second_running_item_of_a_key_is_refused() {
    with(async |kit| {
        created(&kit.database, pass("d1")).await;
        created(&kit.database, pass("d1")).await;
        assert_eq!(lease(&kit.database, "worker:a/1", "run", 2).await.len(), 1);
        let theft = "update items i set slot = 3, owner = a.owner, heartbeat = a.heartbeat, expires = a.expires, \
            exclusive = a.exclusive, state = a.state, fence = 1, version = i.version + 1, head = sha256('x') \
            from items a where a.slot = 3 and i.slot = 4";
        let said = refused(&kit, theft).await;
        assert!(said.contains("items_one_running_a_key"), "{said}");
        // Nor one that does not say which key it runs.
        let said = refused(&kit, &theft.replace("exclusive = a.exclusive, ", "")).await;
        assert!(said.contains("one of a key runs at a time"), "{said}");
        // Keys that exclude nobody are no reason to refuse anything.
        let keyed = || Create { key: Some("k".parse().unwrap()), ..new("job", "{}") };
        created(&kit.database, keyed()).await;
        created(&kit.database, keyed()).await;
        assert_eq!(lease(&kit.database, "worker:a/1", "job", 2).await.len(), 2);
    });
}

/// It committed and is not done: the one moment in which an execution may still change.
// covers: K-20, K-21
#[test]
fn an_execution_that_committed_is_done_and_nothing_else() {
    with(async |kit| {
        created(&kit.database, new("job", "{}")).await;
        let leases = lease(&kit.database, "worker:a/1", "job", 1).await;
        let Request { store, actor, command: Command::Commit(commit) } =
            commit("worker:a/1", leases[0].execution)
        else {
            panic!("a commit")
        };
        let half = Request { store, actor, command: Command::Commit(Commit { finish: false, ..commit }) };
        assert!(ask(&kit.database, half).await.is_yes());
        for change in [
            "status = 5, seat = fence",
            "status = 5",
            "seat = fence",
            "status = 3",
            "status = 4, seat = fence",
            "status = 4, fence = fence + 1",
            "status = 4, item = gen_random_uuid()",
        ] {
            let said = refused(&kit, &format!("update executions set {change}")).await;
            assert!(said.contains("never changes"), "{change}: {said}");
        }
        let second = "insert into executions select item, 0, fence + 1, 3, rest from executions";
        let said = refused(&kit, second).await;
        assert!(said.contains("executions_pkey"), "{said}");
        let execution = leases[0].execution;
        let finish = request("worker:a/1", Command::Finish(Finish { execution }));
        assert!(ask(&kit.database, finish).await.is_yes(), "what may be is let through");
    });
}

#[test]
fn people_can_read_what_is_there() {
    with(async |kit| {
        let item = created(&kit.database, new("job", r#"{"n":1}"#)).await;
        let query =
            "select id, kind, state, payload, created_at > now() - interval '1 hour' from tenure_items";
        let row = kit.raw.query_one(query, &[]).await.unwrap();
        let (id, kind, state): (&str, &str, &str) = (row.get(0), row.get(1), row.get(2));
        let found = kit.database.item(&store(), item).await.unwrap().unwrap();
        assert_eq!((id, kind, state), (&*item.to_string(), "job", found.state_name().as_str()));
        assert_eq!((row.get::<_, &str>(3), row.get::<_, bool>(4)), (r#"{"n":1}"#, true));
    });
}

/// It is set aside for good, also when the acquire that met it leased nothing.
#[test]
fn a_damaged_row_that_stands_alone_is_set_aside() {
    with(async |kit| {
        created(&kit.database, new("job", "{}")).await;
        kit.raw.batch_execute("update items set rest = '\\xff'").await.unwrap();
        assert_eq!(lease(&kit.database, "worker:a/1", "job", 1).await, []);
        let row = kit.raw.query_one("select count(*), min(slot) from quarantine, items", &[]).await.unwrap();
        assert_eq!((row.get::<_, i64>(0), row.get::<_, Option<i16>>(1)), (1, Some(-1)));
    });
}

/// An item that somebody broke is set aside; the others go on.
#[test]
fn a_damaged_row_costs_itself_alone() {
    with(async |kit| {
        let broken = created(&kit.database, new("job", "{}")).await;
        let whole = created(&kit.database, new("job", "{}")).await;
        kit.raw
            .batch_execute(
                "update items set rest = '\\xff' where id = (select min(id::text)::uuid from items)",
            )
            .await
            .unwrap();
        let leases = lease(&kit.database, "worker:a/1", "job", 2).await;
        assert_eq!(leases.iter().map(|lease| lease.item.id).collect::<Vec<_>>(), [whole]);
        let row = kit.raw.query_one("select count(*), min(why) from quarantine", &[]).await.unwrap();
        assert_eq!(row.get::<_, i64>(0), 1, "{:?}", row.get::<_, Option<String>>(1));
        let failed = tried(&kit.database, &[request("api:test", take(broken))]).await.remove(0);
        assert!(failed.unwrap_err().to_string().contains(&broken.to_string()), "it is named");
    });
}

fn take(item: tenure_core::id::ItemId) -> tenure_core::request::Command {
    use tenure_core::request::{Command, Take, Terms};
    Command::Take(Take { item, terms: Terms::default() })
}

/// The commands of docs/inbox.md.
#[test]
fn a_program_makes_work_in_its_own_transaction() {
    with(async |kit| {
        let page = include_str!("../../../../docs/inbox.md");
        let (_, block) = page.split_once("## PostgreSQL\n\n```sql\n").expect("a block");
        let (block, _) = block.split_once("```").expect("its end");
        kit.raw.batch_execute(&block.replace("commit;", "rollback;")).await.unwrap();
        kit.raw.batch_execute(block).await.unwrap();
        let turn = tenure_databases::batch::inbox::take_in(&*kit.database, 10, &mut draw()).await.unwrap();
        assert_eq!((turn.taken, turn.refused), (1, 0));
        let row = kit.raw.query_one("select kind, payload from tenure_items", &[]).await.unwrap();
        assert_eq!((row.get::<_, &str>(0), row.get::<_, &str>(1)), ("job", r#"{"order": 7}"#));
    });
}

/// Whatever a program puts into the inbox becomes an item, or stays with the reason; its own transaction never fails, and no other row
/// waits for it. A time that never comes, or that no number holds, is not waited for.
// covers: K-51
#[test]
fn the_inbox_takes_anything() {
    with(async |kit| {
        kit.raw
            .batch_execute(
                "insert into tenure_inbox (kind, payload) values ('job', '{}'); \
                 insert into tenure_inbox (kind, payload, run_at) values ('job', '{}', 'infinity'); \
                 insert into tenure_inbox (kind, payload, run_at) values ('job', '{}', '294276-12-31'); \
                 insert into tenure_inbox (kind, payload, run_at) values ('job', '{}', '10000-01-01 00:00:00+00'); \
                 insert into tenure_inbox (kind, payload, run_at) values ('job', '{}', '-infinity'); \
                 insert into tenure_inbox (kind, payload, run_at) values ('job', '{}', '4713-01-01 BC'); \
                 insert into tenure_inbox (payload) values ('not json'); \
                 insert into tenure_inbox (kind, payload) values (repeat('job', 1000000), '{}'); \
                 insert into tenure_inbox (kind, payload) values ('job', '\"' || repeat('x', 1048575) || '\"'); \
                 insert into tenure_inbox (kind, payload) values ('job', '\"' || repeat('x', 1048574) || '\"')",
            )
            .await
            .unwrap();
        let turn = tenure_databases::batch::inbox::take_in(&*kit.database, 20, &mut draw()).await.unwrap();
        assert_eq!((turn.taken, turn.refused), (3, 7));
        let left = kit.raw.query("select id, error from tenure_inbox order by id", &[]).await.unwrap();
        let left: Vec<(i64, String)> = left.iter().map(|row| (row.get(0), row.get(1))).collect();
        let told = [
            "run_at is infinity; the latest is 9999-12-31T23:59:59.999999Z",
            "run_at is 294276-12-31",
            "run_at is 10000-01-01",
            "the earliest is 0000-01-01",
            "kind is missing",
            "not a kind",
            "1048577 bytes",
        ];
        assert_eq!(left.iter().map(|row| row.0).collect::<Vec<_>>(), [2, 3, 4, 6, 7, 8, 9]);
        for ((id, why), told) in left.iter().zip(told) {
            assert!(why.contains(told), "row {id}: {why}");
        }
        let Answer::Leased(leases) = ask(&kit.database, acquire("worker:a/1", "job", 9)).await else {
            panic!("not leased")
        };
        assert_eq!(leases.len(), 3);
    });
}

// covers: K-51
// fault: I7
#[test]
fn the_inbox_takes_every_time_of_the_year_9999_exactly() {
    with(async |kit| {
        let times = [
            "1969-12-31 23:59:59",
            "9999-12-30 22:00:01",
            "9999-12-31 23:59:59",
            "9999-12-31 23:59:59.999999",
        ];
        for time in times {
            let row = "insert into tenure_inbox (kind, payload, run_at) values ('job', '{}', $1::text::timestamptz)";
            kit.raw.execute(row, &[&format!("{time}+00")]).await.unwrap();
        }
        let turn = tenure_databases::batch::inbox::take_in(&*kit.database, 20, &mut draw()).await.unwrap();
        assert_eq!((turn.taken, turn.refused), (4, 0));
        let query = tenure_databases::Query { limit: 9, ..Default::default() };
        let items = kit.database.list(&query).await.unwrap();
        let taken: Vec<String> = items.iter().map(|item| item.run_at.to_string()).collect();
        let exact =
            times.map(|time| format!("{}Z", time.replace(' ', "T")).parse::<Time>().unwrap().to_string());
        assert_eq!(taken, exact);
    });
}

/// Five hundred rows of the longest payloads are half a gigabyte, which no turn takes into memory.
#[test]
fn a_turn_takes_so_many_bytes_and_no_more() {
    with(async |kit| {
        let long = "insert into tenure_inbox (kind, payload) select 'job', '\"' || repeat('x', 1048574) || '\"' \
                    from generate_series(1, 18)";
        kit.raw.batch_execute(long).await.unwrap();
        for wanted in [16, 2, 0] {
            let turn =
                tenure_databases::batch::inbox::take_in(&*kit.database, 512, &mut draw()).await.unwrap();
            assert_eq!((turn.taken, turn.refused), (wanted, 0));
        }
    });
}
