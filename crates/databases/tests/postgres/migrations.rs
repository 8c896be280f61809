//! The schema: made once, by whoever comes first, and never by a program that is too old for it.

use tenure_databases::postgres::migrate::{self, MIGRATIONS};
use tenure_databases::postgres::{OpenError, Options, Postgres};
use tokio::task::JoinSet;

use crate::kit::*;
use crate::schema;

#[test]
fn processes_that_open_a_new_database_at_once_make_one_schema() {
    with(async |kit| {
        let schema = schema::fresh();
        let url = format!("{}?schema={schema}&connections=1", schema::server());
        assert_eq!(migrate::pending(&url).await.unwrap(), MIGRATIONS);
        let mut set = JoinSet::new();
        for _ in 0..4 {
            let url = url.clone();
            set.spawn(async move { migrate::apply(&url).await.unwrap().len() });
        }
        let applied: usize = set.join_all().await.into_iter().sum();
        assert_eq!(applied, MIGRATIONS.len(), "each was applied once");
        assert_eq!(migrate::pending(&url).await.unwrap(), []);
        kit.raw
            .batch_execute(&format!("insert into {schema}.migrations values (999, '0999_later')"))
            .await
            .unwrap();
        let refused = Postgres::connect(&url, Options::default()).await.unwrap_err();
        assert!(matches!(refused, OpenError::Newer(_)), "{refused}");
        assert!(refused.to_string().contains("newer Tenure"), "{refused}");
        schema::drop(&schema).await;
    });
}

/// Another process learns of a lifecycle that came into force, and works on without sessions behind a pooler.
#[test]
fn without_sessions_everything_works_the_same() {
    with(async |kit| {
        let url = format!("{}&pooler=1", schema::url(&kit.schema));
        let pooled = open(&url).await;
        created(&pooled, new("job", "{}")).await;
        created(&pooled, pass("d1")).await;
        for kind in ["job", "run"] {
            let leases = lease(&pooled, "worker:a/1", kind, 5).await;
            assert_eq!(leases.len(), 1);
            assert!(ask(&pooled, commit("worker:a/1", leases[0].execution)).await.is_yes());
        }
        let prepared: i64 =
            kit.raw.query_one("select count(*) from pg_prepared_statements", &[]).await.unwrap().get(0);
        assert_eq!(prepared, 1, "only this one, on this connection");
        assert!(log(&pooled).await.len() >= 6);
    });
}
