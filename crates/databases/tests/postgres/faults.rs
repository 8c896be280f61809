//! A server that goes away: connections that end at any step, timeouts, too many connections.

use std::sync::Arc;

use tenure_core::request::{Create, Need};
use tenure_databases::{BatchId, Commit, Database, Error, Settled, Tx};

use crate::kit::*;
use crate::schema;

/// Ends every connection of this schema's database but our own raw one.
async fn kill(kit: &Kit) {
    let kill = "select pg_terminate_backend(pid, 5000) from pg_stat_activity \
                where application_name = $1 and pid <> pg_backend_pid()";
    kit.raw.query(kill, &[&kit.schema]).await.unwrap();
}

/// A database whose connections carry the name of its schema, so that they can be found.
async fn named(kit: &Kit) -> tenure_databases::postgres::Postgres {
    open(&format!("{}&application_name={}", schema::url(&kit.schema), kit.schema)).await
}

fn once(name: &str) -> Create {
    Create { name: Some(name.parse().unwrap()), ..new("job", "{}") }
}

#[test]
fn a_connection_that_is_lost_between_batches_is_replaced() {
    with(async |kit| {
        let database = named(&kit).await;
        created(&database, once("a")).await;
        kill(&kit).await;
        // The loss may be noticed by the first one who asks; nothing else is.
        let first = tried(&database, &[create(once("b"))]).await.remove(0);
        assert!(matches!(first, Ok(_) | Err(Error::Unavailable(_))), "{first:?}");
        let again = tried(&database, &[create(once("b"))]).await.remove(0);
        assert!(again.expect("it has healed").answer.is_yes());
        assert_eq!(count(&kit).await, 2, "nothing is there twice");
    });
}

async fn count(kit: &Kit) -> i64 {
    kit.raw.query_one("select count(*) from items", &[]).await.unwrap().get(0)
}

#[test]
fn a_connection_that_is_lost_in_a_transaction_leaves_nothing() {
    with(async |kit| {
        let database = named(&kit).await;
        let request = create(once("a"));
        for lost_after in 0..3 {
            let mut tx = database.begin(BatchId(lost_after)).await.unwrap();
            let mut need = Need::default();
            request.needs(&tx.tables(), &mut need);
            if lost_after == 0 {
                kill(&kit).await;
            }
            let world = match (tx.lock(&need).await, lost_after) {
                (Ok(world), _) => world,
                // It has lost its connection, and knows.
                (Err(Error::Unavailable(_)), 0) => continue,
                (Err(other), _) => panic!("{other}"),
            };
            let decision = tenure_core::decide::decide(&world, &request, &mut draw());
            let rows: Vec<_> = decision.changes.clone();
            let planned =
                rows.iter().filter(|row| !matches!(row, tenure_core::world::Change::Entry(_))).count();
            if lost_after == 0 {
                // It had no connection to lose yet: with a new one it works.
                assert_eq!(tx.write(&rows).await, Ok(planned));
                continue;
            }
            if lost_after == 1 {
                kill(&kit).await;
                let lost = tx.write(&rows).await;
                assert!(matches!(lost, Err(Error::Unavailable(_))), "{lost:?}");
                continue;
            }
            assert_eq!(tx.write(&rows).await, Ok(planned));
            kill(&kit).await;
            let entries: Vec<_> = rows
                .iter()
                .filter_map(|row| match row {
                    tenure_core::world::Change::Entry(entry) => Some(entry.clone()),
                    _ => None,
                })
                .collect();
            tx.append(&entries).await.unwrap();
            // The segment travels with COMMIT, so whether it arrived has to be asked.
            let outcome = tx.commit().await;
            assert!(matches!(outcome, Commit::Unknown | Commit::Not(Error::Unavailable(_))), "{outcome:?}");
            assert_eq!(settled(&database, BatchId(lost_after)).await, Settled::NeverWill);
        }
        assert_eq!(count(&kit).await, 0);
        assert!(tried(&database, &[request]).await.remove(0).is_ok(), "it has healed");
    });
}

/// A connection may turn out to be lost when it is asked; the next one is new.
async fn settled(database: &tenure_databases::postgres::Postgres, batch: BatchId) -> Settled {
    match database.settle(batch).await {
        Ok(settled) => settled,
        Err(_) => database.settle(batch).await.expect("it has healed"),
    }
}

#[test]
fn what_was_settled_as_never_can_not_be_committed_afterwards() {
    with(async |kit| {
        let request = create(once("a"));
        let mut tx = kit.database.begin(BatchId(9)).await.unwrap();
        let mut need = Need::default();
        request.needs(&tx.tables(), &mut need);
        let world = tx.lock(&need).await.unwrap();
        let decision = tenure_core::decide::decide(&world, &request, &mut draw());
        let (entries, rows): (Vec<_>, Vec<_>) = decision
            .changes
            .into_iter()
            .partition(|change| matches!(change, tenure_core::world::Change::Entry(_)));
        assert_eq!(tx.write(&rows).await, Ok(rows.len()));
        assert_eq!(kit.database.settle(BatchId(9)).await, Ok(Settled::NeverWill));
        assert_eq!(kit.database.settle(BatchId(9)).await, Ok(Settled::NeverWill), "and so again");
        let entries: Vec<_> = entries
            .into_iter()
            .filter_map(|change| match change {
                tenure_core::world::Change::Entry(entry) => Some(entry),
                _ => None,
            })
            .collect();
        tx.append(&entries).await.unwrap();
        assert!(matches!(tx.commit().await, Commit::Not(Error::LostRace(_))));
        assert_eq!(count(&kit).await, 0);
    });
}

#[test]
fn a_statement_that_takes_too_long_is_a_server_that_is_away() {
    with(async |kit| {
        created(&kit.database, new("job", "{}")).await;
        let leases = lease(&kit.database, "worker:a/1", "job", 1).await;
        let url = format!("{}&options=-c%20statement_timeout%3D200", schema::url(&kit.schema));
        let hasty = open(&url).await;
        kit.raw.batch_execute("begin; select from items for update").await.unwrap();
        let failed = tried(&hasty, &[commit("worker:a/1", leases[0].execution)]).await.remove(0);
        assert!(matches!(failed, Err(Error::Unavailable(_))), "{failed:?}");
        kit.raw.batch_execute("rollback").await.unwrap();
        assert!(ask(&hasty, commit("worker:a/1", leases[0].execution)).await.is_yes(), "later it works");
    });
}

/// What the server says when its disk is full, at a row and at the commit. Nothing of the batch is there; later it works.
#[test]
fn a_server_whose_disk_is_full_is_away() {
    with(async |kit| {
        let full = "create function full_disk() returns trigger language plpgsql as $$ \
                    begin raise exception 'could not extend file' using errcode = 'disk_full'; end $$";
        kit.raw.batch_execute(full).await.unwrap();
        let row = "create trigger full_disk before insert on items for each row execute function full_disk()";
        let commit = "create constraint trigger full_disk after insert on segments deferrable initially deferred \
                      for each row execute function full_disk()";
        for (number, (trigger, table)) in [(row, "items"), (commit, "segments")].into_iter().enumerate() {
            kit.raw.batch_execute(trigger).await.unwrap();
            let name = format!("n{number}");
            let failed = tried(&kit.database, &[create(once(&name)), create(new("job", "{}"))]).await;
            let away = |reply: &Result<_, Error>| matches!(reply, Err(error) if error.is_retryable());
            assert!(failed.iter().all(away), "{failed:?}");
            assert_eq!(count(&kit).await, number as i64);
            kit.raw.batch_execute(&format!("drop trigger full_disk on {table}")).await.unwrap();
            assert!(tried(&kit.database, &[create(once(&name))]).await.remove(0).unwrap().fresh);
        }
    });
}

#[test]
fn a_server_that_has_no_connection_left_is_away() {
    with(async |kit| {
        let role = format!("{}_few", kit.schema);
        let script =
            format!("create role {role} login superuser connection limit 0 password 'few'; select 1",);
        kit.raw.batch_execute(&script).await.unwrap();
        let place = schema::server().rsplit_once('@').map(|(_, place)| place.to_string()).unwrap();
        // A superuser has no limit, so it is one no longer.
        kit.raw.batch_execute(&format!("alter role {role} nosuperuser")).await.unwrap();
        let url = format!("postgres://{role}:few@{place}?schema={}", kit.schema);
        let options = tenure_databases::postgres::Options::default();
        let failed = tenure_databases::postgres::Postgres::connect(&url, options).await.unwrap_err();
        let shown = failed.to_string();
        kit.raw.batch_execute(&format!("drop role {role}")).await.unwrap();
        assert!(shown.contains("53300") && shown.contains("unavailable"), "{shown}");
    });
}

/// A transaction that is dropped lets go of what it locked, though nobody waits for its end.
#[test]
fn a_dropped_transaction_is_rolled_back() {
    with(async |kit| {
        let database =
            Arc::new(open(&format!("{}?schema={}&connections=1", schema::server(), kit.schema)).await);
        let item = created(&database, new("job", "{}")).await;
        let mut tx = database.begin(BatchId(1)).await.unwrap();
        let need = Need { items: [item].into(), ..Need::default() };
        tx.lock(&need).await.unwrap();
        drop(tx);
        kit.raw.batch_execute("select from items for update").await.unwrap();
        assert_eq!(lease(&database, "worker:a/1", "job", 1).await.len(), 1);
    });
}
