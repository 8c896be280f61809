//! Databases as a command line names them, by URL: the one place that knows which there are.
//!
//! A command is written for any database, as [`Work`]; here it meets the one that the URL means.

use std::future::Future;
use std::sync::Arc;

use tenure_core::lifecycle::shipped;
use tenure_databases::Database;
use tenure_databases::look::Look;
use tenure_databases::memory::Memory;
use tenure_databases::outside::now;
use tenure_databases::postgres::{self, Postgres};
use tenure_databases::sqlite::{self, Sqlite};
use tenure_databases::url::{SecretUrl, Url};

use crate::outcome::Error;

/// How every URL of a database begins.
const SCHEMES: [&str; 4] = ["memory:", "sqlite:", "postgres:", "postgresql:"];

/// What a command does with its database.
pub trait Work {
    type Done;

    fn run<D: Database + Look>(self, database: &D) -> impl Future<Output = Result<Self::Done, Error>>;
}

/// Whether a database that is not there is made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// A name that was mistyped must not become a database.
    Existing,
    MayCreate,
}

/// Whether an argument names a database and not a file.
pub fn is_url(argument: &str) -> bool {
    SCHEMES.iter().any(|scheme| argument.starts_with(scheme))
}

/// Opens the database and does the work.
pub fn with<W: Work>(url: &SecretUrl, access: Access, work: W) -> Result<W::Done, Error> {
    let tables = shipped::tables();
    let place = parse(url, access)?;
    run(async {
        match place {
            Url::Memory => work.run(&Memory::new(tables, Arc::new(now))).await,
            Url::Sqlite(path) => {
                let options = sqlite::Options { tables, ..sqlite::Options::default() };
                work.run(&Sqlite::open(&path, options)?).await
            }
            Url::Postgres(url) => {
                let options = postgres::Options { tables, ..postgres::Options::default() };
                work.run(&Postgres::connect(url.reveal(), options).await?).await
            }
        }
    })
}

pub fn parse(url: &SecretUrl, access: Access) -> Result<Url, Error> {
    let place = url.database()?;
    match &place {
        Url::Sqlite(path) if access == Access::Existing && !path.exists() => {
            Err(Error::NoDatabase { url: url.clone() })
        }
        _ => Ok(place),
    }
}

pub fn run<T>(work: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(work)
}
