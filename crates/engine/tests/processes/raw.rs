//! Statements that go past Tenure, on either database: what another program, or a newer one, may have done.

use std::time::Duration;

use rusqlite::{Connection, ErrorCode};
use tenure::databases::url::Url;

use crate::schema;

/// `@.` stands for the schema.
pub async fn run(url: &str, script: &str) {
    match url.parse().unwrap() {
        Url::Memory => panic!("nobody else can write there"),
        Url::Sqlite(path) => {
            let connection = Connection::open(path).unwrap();
            connection.busy_timeout(crate::place::PATIENCE).unwrap();
            connection.execute_batch(&script.replace("@.", "")).unwrap();
        }
        Url::Postgres(url) => {
            let (_, after) = url.reveal().split_once("schema=").expect("a test has a schema of its own");
            let schema = after.split('&').next().unwrap();
            let script = script.replace("@.", &format!("{schema}."));
            schema::raw().await.batch_execute(&script).await.unwrap();
        }
    }
}

/// Does nobody hold the one lock that a file has for who writes? A server has one a row.
pub fn may_write(url: &str) -> bool {
    let Url::Sqlite(path) = url.parse().unwrap() else { return true };
    let connection = Connection::open(path).unwrap();
    connection.busy_timeout(Duration::ZERO).unwrap();
    match connection.execute_batch("begin immediate; rollback") {
        Ok(()) => true,
        Err(error) => {
            assert_eq!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy), "{error}");
            false
        }
    }
}

pub fn is_sqlite(url: &str) -> bool {
    url.starts_with("sqlite:")
}
