//! Where a bench writes: scratch databases of its own, one after the other, and nothing of them is left.

use tenure_databases::url::SecretUrl;
use tokio_postgres::Client;

use super::limits::{self, Sample};
use crate::outcome::Error;
use crate::scratch::{Scratch, Server, failed};

/// As many clients as a busy service has; the server's own bench is quickest about there.
const CLIENTS: usize = 32;

#[derive(Debug)]
pub struct Target(Scratch);

/// What a measurement is held against.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Against {
    /// One durable write after another.
    One,
    /// As many durable writes as the machine can do.
    Many,
    /// The measurement knows better.
    Itself,
}

impl Target {
    pub fn open(url: &SecretUrl) -> Result<Target, Error> {
        let scratch = Scratch::open(url, "bench")?;
        // In memory nothing is durable, and nothing would be measured.
        if let Scratch::Sqlite(folder) = &scratch
            && let Some(sort) = folder.in_memory()
        {
            let folder = folder.path().parent().unwrap_or(folder.path()).display().to_string();
            return Err(Error::Bench(format!("{folder} is in memory ({sort}), where nothing is durable")));
        }
        Ok(Target(scratch))
    }

    pub fn store(&self) -> &'static str {
        self.0.store()
    }

    pub fn is_postgres(&self) -> bool {
        matches!(self.0, Scratch::Postgres(_))
    }

    /// The URL of an empty database. Those before it are removed.
    pub async fn fresh(&mut self) -> Result<SecretUrl, Error> {
        self.0.clear().await?;
        Ok(self.beside())
    }

    /// Another empty database beside those that there are.
    pub fn beside(&mut self) -> SecretUrl {
        self.0.place()
    }

    /// Samples the limits once.
    pub async fn sample(&mut self, n: usize) -> Result<Vec<Sample>, Error> {
        match &mut self.0 {
            Scratch::Sqlite(folder) => limits::sqlite::sample(folder.path(), n),
            Scratch::Postgres(server) => sample(server, n).await,
        }
    }

    /// The name of the limit.
    pub fn limit(&self, against: Against) -> Option<&'static str> {
        let (one, many) = match self.0 {
            Scratch::Sqlite(_) => (limits::sqlite::COMMIT_1, limits::sqlite::COMMIT_100),
            Scratch::Postgres(_) => (limits::postgres::INSERT_1, limits::postgres::INSERT_32),
        };
        match against {
            Against::One => Some(one),
            Against::Many => Some(many),
            Against::Itself => None,
        }
    }

    /// A snapshot that is kept open.
    pub async fn pin(&mut self) -> Result<Pin, Error> {
        let Scratch::Postgres(server) = &mut self.0 else {
            return Err(Error::Bench("SQLite has no snapshot that harms".to_string()));
        };
        let client = server.connect().await?;
        let snapshot = "begin isolation level repeatable read; select count(*) from pg_class";
        client.batch_execute(snapshot).await.map_err(failed)?;
        Ok(Pin(client))
    }

    pub async fn remove(self) -> Result<(), Error> {
        self.0.remove().await
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

async fn sample(server: &mut Server, n: usize) -> Result<Vec<Sample>, Error> {
    let mut clients = Vec::new();
    for _ in 0..CLIENTS {
        clients.push(server.connect().await?);
    }
    let schema = server.schema("bare");
    let samples = limits::postgres::sample(clients, &schema, n).await;
    server.drop_schema(&schema).await?;
    samples
}
