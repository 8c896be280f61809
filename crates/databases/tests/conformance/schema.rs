//! Schemas of their own on the PostgreSQL server for tests: made for one test, dropped with it.

use std::sync::atomic::{AtomicU32, Ordering};

use tokio_postgres::{Client, NoTls};

/// The server. A test that needs it fails without it; it is never skipped.
pub fn server() -> String {
    std::env::var("TENURE_TEST_POSTGRES").expect(
        "TENURE_TEST_POSTGRES names no PostgreSQL server; run the tests with ./check or .ci/postgres COMMAND",
    )
}

/// A name that nobody else has: of this process, and of this call in it.
pub fn fresh() -> String {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    format!("test_{}_{}", std::process::id(), NUMBER.fetch_add(1, Ordering::SeqCst))
}

/// Few connections: tests run beside each other, and a server has a hundred.
pub fn url(schema: &str) -> String {
    format!("{}?schema={schema}&connections=3", server())
}

/// A connection as any program has one.
pub async fn raw() -> Client {
    let (client, connection) = tokio_postgres::connect(&server(), NoTls).await.expect("the server is there");
    #[expect(clippy::disallowed_methods, reason = "it ends with its client")]
    tokio::spawn(connection);
    client
}

pub async fn drop(schema: &str) {
    let script = format!("set client_min_messages = error; drop schema if exists {schema} cascade");
    raw().await.batch_execute(&script).await.expect("a schema can be dropped");
}
