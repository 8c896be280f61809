//! Connections that are lent again: nobody finds on one what somebody else left there.

use tenure_core::lifecycle::shipped;
use tenure_core::request::Create;
use tenure_databases::Database;
use tenure_databases::doctor::Patient;
use tokio::pin;

use crate::kit::*;
use crate::schema;

/// Whoever stopped waiting in the middle of a transaction has left it open. Nothing is written inside it.
// covers: K-02
#[test]
fn what_was_given_up_in_the_middle_is_no_transaction_of_the_next() {
    with(async |kit| {
        let url = format!("{}?schema={}&connections=1", schema::server(), kit.schema);
        let database = open(&url).await;
        created(&database, new("job", "{}")).await;
        let job = shipped::tables().current(&"job".parse().unwrap()).cloned().unwrap();
        let source = job.source.replace("| attempts | 5 ", "| attempts | 7 ");
        // Of a kind that was never there, so that its queue is new too.
        for (what, held, next) in [
            ("place", "select from segments where pos is null for update", new("job", "{}")),
            ("add", "select from lifecycles for update", pass("d1")),
        ] {
            kit.raw.batch_execute(&format!("begin; {held}")).await.unwrap();
            {
                let given_up = async {
                    match what {
                        "place" => drop(database.sequence(10).await),
                        _ => drop(database.add_table(&source).await),
                    }
                };
                let waits = somebody_waits(&kit);
                pin!(given_up, waits);
                tokio::select! {
                    () = given_up => panic!("somebody has what it needs"),
                    () = waits => {}
                }
            }
            kit.raw.batch_execute("rollback").await.unwrap();
            let item = created(&database, next).await;
            let seen =
                format!("select count(*) from items join queues using (queue) where id = '{:032x}'", item.0);
            let seen: i64 = kit.raw.query_one(&seen, &[]).await.unwrap().get(0);
            assert_eq!(seen, 1, "{what}: what was answered is there for everybody");
        }
    });
}

/// A connection that remembers a statement whose answer has other types by now is not asked for ever.
#[test]
fn a_schema_that_changes_under_a_running_process_costs_it_a_connection_and_no_request() {
    with(async |kit| {
        let url = format!("{}?schema={}&connections=1", schema::server(), kit.schema);
        let database = open(&url).await;
        created(&database, pass("d1")).await;
        created(&database, pass("d1")).await;
        kit.raw.batch_execute("alter table lanes alter column key type varchar").await.unwrap();
        created(&database, pass("d1")).await;
        assert_eq!(lease(&database, "worker:a/1", "run", 1).await.len(), 1);
    });
}

/// A pooler gives every transaction another session: nothing of ours may be in one.
#[test]
fn nothing_is_left_in_a_session_behind_a_pooler() {
    with(async |kit| {
        let url = format!("{}?schema={}&connections=1&pooler=1", schema::server(), kit.schema);
        let pooled = open(&url).await;
        let long = format!("\"{}\"", "x".repeat(5_000));
        for number in 0..3 {
            created(&pooled, new("job", &long)).await;
            created(&pooled, pass("d1")).await;
            created(
                &pooled,
                Create { name: Some(format!("n{number}").parse().unwrap()), ..new("job", "{}") },
            )
            .await;
        }
        for kind in ["job", "run", "run", "job"] {
            let leases = lease(&pooled, "worker:a/1", kind, 2).await;
            assert!(!leases.is_empty(), "{kind}");
            for lease in leases {
                assert!(ask(&pooled, commit("worker:a/1", lease.execution)).await.is_yes());
            }
        }
        assert!(log(&pooled).await.len() >= 20);
        pooled.tell("me job").await.unwrap();
        let report = tenure_databases::verify::database(&pooled, None, |_| {}).await.unwrap();
        assert!(report.is_sound(), "{report:#?}");
        let session = "select (select count(*) from pg_prepared_statements), (select count(*) from pg_listening_channels()), \
                       (select count(*) from pg_locks where pid = pg_backend_pid() and locktype = 'advisory'), \
                       (select count(*) from pg_cursors where is_holdable)";
        // On the one connection that did all of it.
        let found = Patient::ask(&pooled, session).await.unwrap().remove(0);
        let found: Vec<i64> = found.iter().map(|value| value.number()).collect();
        assert_eq!(found, [0; 4]);
        let direct = open(&format!("{}?schema={}&connections=1", schema::server(), kit.schema)).await;
        created(&direct, new("job", "{}")).await;
        let found = Patient::ask(&direct, session).await.unwrap().remove(0);
        assert!(found[0].number() > 0, "where there is no pooler statements are prepared");
    });
}
