//! The arguments of commands on a database itself: a server is not asked for these.

use clap::Args;
use tenure_core::hash::Hash;

use super::{Db, Form, hash};
use tenure_databases::url::SecretUrl;

/// Write the log as a file that anyone can verify, and that any Tenure can replay
///
/// Equal logs give equal bytes. The file holds every entry and the lifecycles they are under; payloads, outputs and
/// records are in it by hash. docs/export.md says how it is made.
#[derive(Args, Debug)]
pub struct Export {
    /// Where to; it appears under this name when it is whole. Standard output if it is left out, or `-`
    pub file: Option<String>,
    /// Replace the file if it exists
    #[arg(long)]
    pub force: bool,
    #[command(flatten)]
    pub db: Db,
}

/// Find whatever was changed in a log, in an exported file or in a database
///
/// Every entry is held against its hash, its item's chain and the lifecycle; in a database every item is held against
/// its entries, too. A log that somebody wrote anew as a whole is found with a head that was kept elsewhere.
#[derive(Args, Debug)]
pub struct Verify {
    /// An exported file, a receipt of an item or a task, `-` for standard input, or the URL of a database, as in sqlite:tenure.db
    #[arg(value_name = "FILE|URL")]
    pub what: Option<SecretUrl>,
    /// A head that was kept: the log must have had it, at its end or before
    #[arg(long, value_name = "HASH", value_parser = hash)]
    pub head: Option<Hash>,
    #[command(flatten)]
    pub db: Db,
    #[command(flatten)]
    pub form: Form,
}

/// Ask a live database whether everything holds that should, and what endangers it
///
/// It reads bounded slices, locks nothing and writes nothing, so it can be asked at any time. `verify` reads everything.
/// Ends with 0 where all is well, with 1 where something is wrong, with 2 where it could not look.
#[derive(Args, Debug)]
pub struct Doctor {
    #[command(flatten)]
    pub db: Db,
    #[command(flatten)]
    pub form: Form,
}

/// Make a database from an exported log
///
/// The file is verified first: if anything is wrong with it, nothing is written. The database must be empty, or hold what
/// an interrupted replay of the same file has left there, which is then carried on.
#[derive(Args, Debug)]
pub struct Replay {
    pub file: String,
    /// The database, as in sqlite:tenure.db
    #[arg(long, value_name = "URL")]
    pub into: SecretUrl,
}

/// Copy a database while it is in use
///
/// On SQLite the copy is a database, and it is verified; on PostgreSQL it is a dump for pg_restore.
#[derive(Args, Debug)]
pub struct Backup {
    /// Where to; nothing that exists is replaced
    pub file: String,
    #[command(flatten)]
    pub db: Db,
}

/// Bring a database's schema up to date
///
/// Every command that opens a database does so, too. Each step happens whole or not at all.
#[derive(Args, Debug)]
pub struct Migrate {
    /// Only say what would be done
    #[arg(long)]
    pub dry_run: bool,
    #[command(flatten)]
    pub db: Db,
    #[command(flatten)]
    pub form: Form,
}
