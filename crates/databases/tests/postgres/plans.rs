//! Plans: by the index they were made for, whatever the statistics say; and never more than was asked for.

use tenure_core::request::Need;
use tenure_databases::postgres::{SETTINGS, claim_statements};
use tenure_databases::{BatchId, Database, Tx};

use crate::kit::*;
use crate::schema;
use crate::sized::sized;

/// Those of every connection that Tenure opens.
fn settings() -> String {
    let set = |setting: &str| format!("set {};", setting.trim());
    SETTINGS.split("-c ").filter(|setting| !setting.trim().is_empty()).map(set).collect()
}

/// The statement of a claim, as the server has it prepared, with its plan.
async fn explain(kit: &Kit, settings: &str, statement: &str) -> String {
    let client = schema::raw().await;
    client.batch_execute(&format!("set search_path = {}; {settings}", kit.schema)).await.unwrap();
    let rows = client.query(&format!("explain {statement}"), &[]).await.unwrap();
    rows.iter().map(|row| row.get::<_, String>(0)).collect::<Vec<_>>().join("\n")
}

/// The statements that a claim really makes, under the settings that its connections have, prepared as they are: with a plan made for
/// what is bound, and with the one that is kept for anything.
async fn claims_go_by_their_indexes(kit: &Kit) {
    for mode in ["force_custom_plan", "force_generic_plan"] {
        claims_go_by_them(kit, &format!("{} set plan_cache_mode = {mode};", settings()), "using").await;
    }
}

/// Behind a pooler a session has the server's own settings, and each statement a plan for what is bound. It may be another plan, as long
/// as it goes by the index.
async fn claims_go_by_their_indexes_behind_a_pooler(kit: &Kit) {
    claims_go_by_them(kit, "set plan_cache_mode = force_custom_plan;", "").await;
}

async fn claims_go_by_them(kit: &Kit, mode: &str, how: &str) {
    let lane = "(integer, bigint, uuid, bigint)";
    let first = "(1, -9223372036854775808, '00000000-0000-0000-0000-000000000000', 16)";
    for (name, text) in claim_statements(&kit.schema, 16) {
        let (types, bound, indexes): (&str, &str, &[&str]) = match name {
            "ready" => (lane, first, &["items_ready"]),
            "one behind" => (lane, first, &["lanes_free", "items_pkey"]),
            "all behind" => (lane, first, &["lanes_free", "items_of_lane", "items_pkey"]),
            "any due" => ("(integer, bigint)", "(1, 0)", &["items_scheduled", "items_retried"]),
            "promote put off" => {
                ("(integer, bigint, integer[])", "(1, 0, '{1}')", &["items_retried", "lanes_pkey"])
            }
            "promote" => {
                ("(integer, bigint, integer[])", "(1, 0, '{1}')", &["items_scheduled", "lanes_pkey"])
            }
            other => panic!("a statement that nobody has looked at: {other}"),
        };
        let prepared = format!("{mode} prepare claim {types} as {text}");
        let plan = explain(kit, &prepared, &format!("execute claim {bound}")).await;
        for index in indexes {
            assert!(plan.contains(&format!("{how} {index} ")), "{name}, {mode}: {index}\n{plan}");
        }
        // What is left to sort are the few that were found.
        assert!(!plan.contains("Seq Scan on items"), "{name}, {mode}\n{plan}");
        assert!(name != "ready" || !plan.contains("Sort"), "{name}, {mode}\n{plan}");
    }
}

// fault: P2
#[test]
fn a_claim_goes_by_its_index_with_no_rows_with_many_and_with_old_statistics() {
    with(async |kit| {
        claims_go_by_their_indexes(&kit).await;
        // The statistics are those of a table of three rows.
        created(&kit.database, new("job", "{}")).await;
        kit.raw
            .batch_execute("alter table items set (autovacuum_enabled = off); analyze items")
            .await
            .unwrap();
        let copies = "insert into items select gen_random_uuid(), queue, lifecycle, state, n % 3, rank + n, version, \
                      fence, run_at, created, updated, key, exclusive, owner, heartbeat, expires, window_ends, \
                      session, committed, segment, head, payload_hash, payload, rest \
                      from (select * from items limit 1) i, generate_series(1, 30000) n";
        kit.raw.batch_execute(copies).await.unwrap();
        claims_go_by_their_indexes(&kit).await;
        claims_go_by_their_indexes_behind_a_pooler(&kit).await;
        // So does counting who comes before an item.
        let ahead = "select count(*) from (select from items where queue = 1 and slot = 2 \
                     and (rank, id) < (9223372036854775807, gen_random_uuid()) order by rank, id limit 1024) a";
        let plan = explain(&kit, "select 1", ahead).await;
        assert!(plan.contains("items_ready") && !plan.contains("Seq Scan"), "{plan}");
        // A list of what failed, or of what is held, reads no other rows.
        let some =
            "update items set slot = 0, rank = -1 where id in (select id from items where slot = 0 limit 50)";
        kit.raw.batch_execute(some).await.unwrap();
        let nil = "'00000000-0000-0000-0000-000000000000'";
        for (after, order) in [(">", ""), ("<", " desc")] {
            let failed = format!(
                "select i.id from unnest(array[1, 2]) as q (queue) cross join lateral (select * from items i \
                 where i.queue = q.queue and i.slot = 0 and i.rank < 0 and i.rank = -1 and i.id {after} {nil} \
                 order by i.queue, i.rank, i.id{order} limit 16) i order by i.id{order} limit 16"
            );
            let plan = explain(&kit, "select 1", &failed).await;
            assert!(plan.contains("items_ended_badly"), "{plan}");
            assert!(!plan.contains("Seq Scan") && !plan.contains("items_pkey"), "{plan}");
            let held = format!(
                "select i.id from items i where i.id {after} {nil} and i.queue = any(array[1, 2]) and i.slot = 3 \
                 order by i.id{order} limit 16"
            );
            let plan = explain(&kit, "select 1", &held).await;
            assert!(plan.contains("items_active"), "{plan}");
        }
        let update = "update items i set slot = 2 from unnest(array[gen_random_uuid()], array[1::bigint]) u (id, was) \
                      where i.id = u.id and i.version = u.was";
        let plan = explain(&kit, "set enable_hashjoin = off; set enable_mergejoin = off", update).await;
        assert!(plan.contains("Index Scan using items_pkey"), "{plan}");
    });
}

/// With any plan that the server could choose, a claim locks no more than it offers, and offers no more than was asked for.
// fault: P3
#[test]
fn a_claim_never_locks_more_than_was_asked_for() {
    with(async |kit| {
        let creates: Vec<_> = (0..40).map(|_| create(new("job", "{}"))).collect();
        tried(&kit.database, &creates).await;
        let kind = "job".parse().unwrap();
        let free = "select count(*) from (select id from items where slot = 2 for update skip locked) free";
        let free = kit.raw.prepare(free).await.unwrap();
        for off in ["nothing", "nestloop", "hashjoin", "mergejoin", "indexscan", "material", "sort"] {
            let option = format!("&options=-c%20enable_{off}%3Doff");
            let option = if off == "nothing" { "" } else { &option };
            let database = open(&format!("{}{option}", schema::url(&kit.schema))).await;
            for round in 0..sized(25, 1_500) {
                let wanted = 1 + round % 9;
                let id = BatchId(round as u128);
                let mut tx = database.begin(id).await.unwrap();
                let mut world = tx.lock(&Need::default()).await.unwrap();
                let offered = tx.claim(&mut world, &store(), &kind, None, wanted).await.unwrap();
                assert_eq!(offered.len(), wanted, "{off}");
                let left: i64 = kit.raw.query_one(&free, &[]).await.unwrap().get(0);
                assert_eq!(left as usize, 40 - wanted, "{off}: so many are locked and no more");
                drop(tx);
                // The rollback has been sent, and is over when whoever comes next finds everything free.
                while kit.raw.query_one(&free, &[]).await.unwrap().get::<_, i64>(0) < 40 {}
            }
        }
    });
}
