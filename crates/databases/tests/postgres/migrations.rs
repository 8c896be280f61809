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
