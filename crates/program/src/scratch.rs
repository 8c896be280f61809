//! Scratch databases: made for one command and gone with it. Nothing that was there before is touched.

mod postgres;
mod sqlite;

use tenure_databases::url::{SecretUrl, Url};

use crate::outcome::Error;

pub use postgres::{Server, failed, with};
pub use sqlite::Folder;

#[derive(Debug)]
pub enum Scratch {
    Sqlite(Folder),
    Postgres(Box<Server>),
}

impl Scratch {
    /// `sqlite:FOLDER` or `postgres://…`. `command` is a part of the names of what is made there.
    pub fn open(url: &SecretUrl, command: &str) -> Result<Scratch, Error> {
        match url.reveal().split_once(':') {
            Some(("sqlite", folder)) => Ok(Scratch::Sqlite(Folder::new(folder, command)?)),
            Some(("postgres" | "postgresql", _)) => {
                Ok(Scratch::Postgres(Box::new(Server::new(url, command))))
            }
            // What is no URL says so without repeating it: it may hold a password.
            Some(_) | None => match url.database()? {
                Url::Memory | Url::Sqlite(_) | Url::Postgres(_) => {
                    Err(Error::Scratch("`memory:` is neither sqlite: nor postgres://".to_string()))
                }
            },
        }
    }

    /// As reports name it.
    pub fn store(&self) -> &'static str {
        match self {
            Scratch::Sqlite(_) => "sqlite",
            Scratch::Postgres(_) => "postgres",
        }
    }

    /// The URL of a database that does not exist yet; opening it makes it.
    pub fn place(&mut self) -> SecretUrl {
        match self {
            Scratch::Sqlite(folder) => folder.place(),
            Scratch::Postgres(server) => server.place(),
        }
    }

    /// Removes what was made so far.
    pub async fn clear(&mut self) -> Result<(), Error> {
        match self {
            Scratch::Sqlite(folder) => folder.clear(),
            Scratch::Postgres(server) => server.clear().await,
        }
    }

    pub async fn remove(self) -> Result<(), Error> {
        match self {
            Scratch::Sqlite(folder) => folder.remove(),
            Scratch::Postgres(mut server) => server.clear().await,
        }
    }

    /// Leaves what was made where it is.
    pub fn keep(self) {
        match self {
            Scratch::Sqlite(folder) => folder.keep(),
            Scratch::Postgres(_) => {}
        }
    }
}
