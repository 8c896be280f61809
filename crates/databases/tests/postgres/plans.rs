//! Plans: by the index they were made for, whatever the statistics say; and never more than was asked for.

use crate::kit::*;
use crate::schema;

/// The statement of a claim, as the server has it prepared, with its plan.
async fn explain(kit: &Kit, settings: &str, statement: &str) -> String {
    let client = schema::raw().await;
    client.batch_execute(&format!("set search_path = {}; {settings}", kit.schema)).await.unwrap();
    let rows = client.query(&format!("explain {statement}"), &[]).await.unwrap();
    rows.iter().map(|row| row.get::<_, String>(0)).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_claim_goes_by_its_index_with_no_rows_with_many_and_with_old_statistics() {
    with(async |kit| {
        let claim = "select id from items where queue = 1 and slot = 2 and (rank, id) > (0, gen_random_uuid()) \
                     order by rank, id limit 16 for update skip locked";
        let empty = explain(&kit, "set enable_seqscan = off; set enable_bitmapscan = off", claim).await;
        assert!(empty.contains("items_ready"), "{empty}");
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
        for settings in ["select 1", "set enable_seqscan = off; set enable_bitmapscan = off"] {
            let plan = explain(&kit, settings, claim).await;
            assert!(plan.contains("Index Scan using items_ready"), "{plan}");
            assert!(!plan.contains("Sort"), "{plan}");
        }
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

/// With any plan that the server could choose, a claim locks no more than it offers.
#[test]
fn a_claim_never_locks_more_than_was_asked_for() {
    with(async |kit| {
        let creates: Vec<_> = (0..40).map(|_| create(new("job", "{}"))).collect();
        tried(&kit.database, &creates).await;
        for off in ["nestloop", "hashjoin", "mergejoin", "indexscan", "material", "sort"] {
            let url = format!("{}&options=-c%20enable_{off}%3Doff", schema::url(&kit.schema));
            let database = open(&url).await;
            let mut tx =
                tenure_databases::Database::begin(&database, tenure_databases::BatchId(1)).await.unwrap();
            let need = tenure_core::request::Need::default();
            let mut world = tenure_databases::Tx::lock(&mut tx, &need).await.unwrap();
            let kind = "job".parse().unwrap();
            let offered =
                tenure_databases::Tx::claim(&mut tx, &mut world, &store(), &kind, None, 5).await.unwrap();
            assert_eq!(offered.len(), 5, "{off}");
            let free =
                "select count(*) from (select id from items where slot = 2 for update skip locked) free";
            let free: i64 = kit.raw.query_one(free, &[]).await.unwrap().get(0);
            assert_eq!(free, 35, "{off}: five are locked and no more");
        }
    });
}
