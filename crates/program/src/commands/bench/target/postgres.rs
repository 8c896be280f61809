//! A scratch schema on a PostgreSQL server.

use std::sync::Arc;

use tenure_core::lifecycle::shipped;
use tenure_databases::gather::{Gather, Options, Writers};
use tenure_databases::postgres::{self, Postgres};
use tokio::task::JoinSet;
use tokio_postgres::{Client, NoTls};

use crate::commands::bench::limits::Sample;
use crate::commands::bench::limits::postgres::{failed, sample};
use crate::commands::bench::store::Stage;
use crate::outcome::Error;
use tenure_databases::outside::chance;

/// As many clients as a busy service has; the server's own bench is quickest about there.
const CLIENTS: usize = 32;

#[derive(Debug)]
pub struct Server {
    url: String,
    /// How every schema of this bench begins.
    prefix: String,
    made: usize,
    /// Those that were made and not dropped yet.
    schemas: Vec<String>,
    /// What moves the bytes of our own connections.
    connections: JoinSet<()>,
}

impl Server {
    pub fn new(url: &str) -> Server {
        let prefix = format!("tenure_bench_{:012x}", chance() >> 16);
        Server { url: url.to_string(), prefix, made: 0, schemas: Vec::new(), connections: JoinSet::new() }
    }

    pub async fn clear(&mut self) -> Result<(), Error> {
        while let Some(schema) = self.schemas.last().cloned() {
            self.drop_schema(&schema).await?;
            self.schemas.pop();
        }
        Ok(())
    }

    pub async fn make(&mut self) -> Result<Stage, Error> {
        self.made += 1;
        let schema = format!("{}_{}", self.prefix, self.made);
        self.schemas.push(schema.clone());
        let theirs = theirs(&self.url);
        let mark = if theirs.contains('?') { '&' } else { '?' };
        let url = format!("{theirs}{mark}schema={schema}");
        let options = postgres::Options { tables: shipped::tables(), clock: None };
        let database = Postgres::connect(&url, options).await?;
        let gather = Gather::start(Arc::new(database), Options::new(Writers::TASKS, chance()));
        Ok(Stage { gather })
    }

    pub async fn sample(&mut self, n: usize) -> Result<Vec<Sample>, Error> {
        let mut clients = Vec::new();
        for _ in 0..CLIENTS {
            clients.push(self.connect().await?);
        }
        let schema = format!("{}_bare", self.prefix);
        let samples = sample(clients, &schema, n).await;
        self.drop_schema(&schema).await?;
        samples
    }

    pub async fn pin(&mut self) -> Result<Pin, Error> {
        let client = self.connect().await?;
        let snapshot = "begin isolation level repeatable read; select count(*) from pg_class";
        client.batch_execute(snapshot).await.map_err(failed)?;
        Ok(Pin(client))
    }

    pub async fn remove(mut self) -> Result<(), Error> {
        let bare = format!("{}_bare", self.prefix);
        self.drop_schema(&bare).await?;
        self.clear().await
    }

    async fn drop_schema(&mut self, schema: &str) -> Result<(), Error> {
        let client = self.connect().await?;
        let drop = format!("set client_min_messages = warning; drop schema if exists {schema} cascade");
        client.batch_execute(&drop).await.map_err(failed)
    }

    async fn connect(&mut self) -> Result<Client, Error> {
        let (client, connection) =
            tokio_postgres::connect(&theirs(&self.url), NoTls).await.map_err(failed)?;
        self.connections.spawn(async move {
            // Whoever uses the client is told what went wrong.
            let _ = connection.await;
        });
        Ok(client)
    }
}

/// An old snapshot, kept open.
#[derive(Debug)]
pub struct Pin(Client);

impl Pin {
    pub async fn release(self) -> Result<(), Error> {
        self.0.batch_execute("rollback").await.map_err(failed)
    }
}

/// The URL without the parameters that only Tenure knows.
fn theirs(url: &str) -> String {
    let Some((base, query)) = url.split_once('?') else { return url.to_string() };
    let is_ours =
        |part: &&str| ["schema=", "pooler=", "connections="].iter().any(|name| part.starts_with(name));
    let theirs: Vec<&str> = query.split('&').filter(|part| !is_ours(part)).collect();
    if theirs.is_empty() { base.to_string() } else { format!("{base}?{}", theirs.join("&")) }
}
