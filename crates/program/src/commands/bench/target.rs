//! Where a bench writes: scratch databases of its own, one after the other, and nothing of them is left.

mod postgres;
mod sqlite;

use super::limits::{self, Sample};
use super::store::Stage;
use crate::cli::Measurement;
use crate::outcome::Error;
use postgres::Server;
use sqlite::Folder;

pub use postgres::Pin;

#[derive(Debug)]
pub enum Target {
    Sqlite(Folder),
    Postgres(Box<Server>),
}

impl Target {
    pub fn open(url: &str) -> Result<Target, Error> {
        match url.split_once(':') {
            Some(("sqlite", folder)) => Ok(Target::Sqlite(Folder::new(folder)?)),
            Some(("postgres" | "postgresql", _)) => Ok(Target::Postgres(Box::new(Server::new(url)))),
            // The rest is not repeated: it may hold a password.
            Some((sort, _)) => Err(Error::Bench(format!("`{sort}:` is neither sqlite: nor postgres://"))),
            None => Err(Error::NoDatabase { url: url.to_string() }),
        }
    }

    pub fn store(&self) -> &'static str {
        match self {
            Target::Sqlite(_) => "sqlite",
            Target::Postgres(_) => "postgres",
        }
    }

    /// An empty database. Those before it are removed.
    pub async fn fresh(&mut self) -> Result<Stage, Error> {
        match self {
            Target::Sqlite(folder) => folder.clear()?,
            Target::Postgres(server) => server.clear().await?,
        }
        self.beside().await
    }

    /// Another empty database beside those that there are.
    pub async fn beside(&mut self) -> Result<Stage, Error> {
        match self {
            Target::Sqlite(folder) => folder.make(),
            Target::Postgres(server) => server.make().await,
        }
    }

    /// Samples the limits once.
    pub async fn sample(&mut self, n: usize) -> Result<Vec<Sample>, Error> {
        match self {
            Target::Sqlite(folder) => limits::sqlite::sample(folder.path(), n),
            Target::Postgres(server) => server.sample(n).await,
        }
    }

    /// What a measurement is held against, unless it is held against itself.
    pub fn limit_of(&self, measurement: Measurement) -> Option<&'static str> {
        let (one, many) = match self {
            Target::Sqlite(_) => (limits::sqlite::COMMIT_1, limits::sqlite::COMMIT_100),
            Target::Postgres(_) => (limits::postgres::INSERT_1, limits::postgres::INSERT_32),
        };
        match measurement {
            Measurement::CreateOne => Some(one),
            Measurement::Create64 | Measurement::CreateBulk | Measurement::Drain => Some(many),
            Measurement::AcquireDeep | Measurement::DrainMillion | Measurement::Pinned => None,
        }
    }

    /// Whether there is something to measure: a snapshot that is kept open harms a database that has several versions
    /// of a row, and those of SQLite are in a file of their own.
    pub fn has(&self, measurement: Measurement) -> bool {
        match self {
            Target::Sqlite(_) => measurement != Measurement::Pinned,
            Target::Postgres(_) => true,
        }
    }

    /// A snapshot that is kept open.
    pub async fn pin(&mut self) -> Result<Pin, Error> {
        match self {
            Target::Sqlite(_) => Err(Error::Bench("SQLite has no snapshot that harms".to_string())),
            Target::Postgres(server) => server.pin().await,
        }
    }

    pub async fn remove(self) -> Result<(), Error> {
        match self {
            Target::Sqlite(folder) => folder.remove(),
            Target::Postgres(server) => server.remove().await,
        }
    }
}
