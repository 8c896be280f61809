//! Where work is: behind a server, or in a database that the command opens itself. Every command on work takes these.
//!
//! Commands on a database itself take them too, and say so where a server is named.

use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command, Error, FromArgMatches};
use tenure_core::word::Store;

use super::store;
use crate::database::Access;
use crate::{outcome, places};
use tenure_databases::url::SecretUrl;

/// The database of a folder.
pub const DEFAULT: &str = "sqlite:tenure.db";

/// Where to, who asks, and in which store.
#[derive(Args, Clone, Debug)]
pub struct At {
    #[command(flatten)]
    pub reach: Reach,
    /// The namespace; nothing crosses it
    #[arg(long, value_name = "NAME", env = "TENURE_STORE", value_parser = store)]
    pub store: Option<Store>,
}

/// Where to, and who asks.
#[derive(Clone, Debug)]
pub struct Reach {
    pub place: Place,
    /// Whether the command line or the environment names the place. A place from `tenure.toml` does not count.
    pub is_named: bool,
    pub token: Option<String>,
    pub token_file: Option<String>,
    /// Where the files of documents are, if not beside the database.
    pub files: Option<String>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Place {
    /// The URL of a server.
    Server(SecretUrl),
    /// The URL of a database.
    Database(SecretUrl),
}

impl Place {
    pub fn url(&self) -> &SecretUrl {
        match self {
            Place::Server(url) | Place::Database(url) => url,
        }
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Place::Server(url) | Place::Database(url) => url.fmt(f),
        }
    }
}

#[derive(Args, Debug)]
struct Flags {
    /// The database, as in sqlite:tenure.db; if a server runs on that file, it is asked
    #[arg(long, value_name = "URL", env = "TENURE_DB", default_value = DEFAULT)]
    db: SecretUrl,
    /// The server, as in http://127.0.0.1:7878
    #[arg(long, value_name = "URL", env = "TENURE_URL")]
    url: Option<SecretUrl>,
    /// Who asks; in a list of processes everybody sees it, so better give it as TENURE_TOKEN or in a file
    #[arg(long, value_name = "TOKEN", env = "TENURE_TOKEN")]
    token: Option<String>,
    /// The file that the token is in
    #[arg(long, value_name = "FILE", env = "TENURE_TOKEN_FILE")]
    token_file: Option<String>,
    /// The folder with the files of documents; a server has its own
    #[arg(long, value_name = "DIR", env = "TENURE_FILES", hide = true)]
    files: Option<String>,
}

impl Args for Reach {
    fn augment_args(command: Command) -> Command {
        Flags::augment_args(command)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Flags::augment_args_for_update(command)
    }
}

impl FromArgMatches for Reach {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Reach, Error> {
        let flags = Flags::from_arg_matches(matches)?;
        let place = nearest(matches, flags.db, flags.url)?;
        let Flags { token, token_file, files, .. } = flags;
        Ok(Reach { place, is_named: is_named(matches), token, token_file, files })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Reach::from_arg_matches(matches)?;
        Ok(())
    }
}

/// What is nearer wins: the command line over the environment over tenure.toml. Where both are equally near, the server.
fn nearest(matches: &ArgMatches, db: SecretUrl, url: Option<SecretUrl>) -> Result<Place, Error> {
    let (by_db, by_url) = (matches.value_source("db"), matches.value_source("url"));
    match url {
        Some(_) if (by_db, by_url) == (Some(ValueSource::CommandLine), Some(ValueSource::CommandLine)) => {
            let words = "--db and --url name two places; give one of them\n";
            Err(Error::raw(ErrorKind::ArgumentConflict, words))
        }
        Some(address) if by_url >= by_db => Ok(Place::Server(address)),
        _ => Ok(Place::Database(db)),
    }
}

/// As [`Reach`], where somebody named a place; what is only configured does not count.
#[derive(Clone, Debug)]
pub struct There(pub Option<Reach>);

impl Args for There {
    fn augment_args(command: Command) -> Command {
        let words = "Another database than .tenure/todo.db of this repository, as in sqlite:tenure.db; if a server runs on that file, it is asked";
        Flags::augment_args(command).mut_arg("db", |db| db.hide_default_value(true).help(words))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Flags::augment_args_for_update(command)
    }
}

impl FromArgMatches for There {
    fn from_arg_matches(matches: &ArgMatches) -> Result<There, Error> {
        Ok(There(is_named(matches).then(|| Reach::from_arg_matches(matches)).transpose()?))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = There::from_arg_matches(matches)?;
        Ok(())
    }
}

fn is_named(matches: &ArgMatches) -> bool {
    let named = |name| matches.value_source(name).is_some_and(|source| source > ValueSource::DefaultValue);
    named("db") || named("url")
}

/// Which database, for commands that need it itself.
#[derive(Clone, Debug)]
pub struct Db {
    place: Place,
    is_named: bool,
}

impl Db {
    pub fn of(url: &SecretUrl) -> Db {
        Db { place: Place::Database(url.clone()), is_named: true }
    }

    /// The URL of the database, by the rule of [`places`].
    pub fn url(&self, access: Access) -> Result<SecretUrl, outcome::Error> {
        match &self.place {
            Place::Database(url) if self.is_named => Ok(url.clone()),
            Place::Database(url) => places::database(url, access),
            Place::Server(url) => Err(outcome::Error::WantsDatabase { url: url.clone() }),
        }
    }
}

/// A database, whatever server there is.
#[derive(Args, Clone, Debug)]
pub struct Kept {
    /// The database, as in sqlite:tenure.db
    #[arg(id = "db", long = "db", value_name = "URL", env = "TENURE_DB", default_value = DEFAULT)]
    pub url: SecretUrl,
}

#[derive(Args, Debug)]
struct DbFlags {
    #[command(flatten)]
    kept: Kept,
    /// Known, so that whoever names a server is told what to do instead
    #[arg(long, value_name = "URL", env = "TENURE_URL", hide = true)]
    url: Option<SecretUrl>,
}

impl Args for Db {
    fn augment_args(command: Command) -> Command {
        DbFlags::augment_args(command)
    }

    fn augment_args_for_update(command: Command) -> Command {
        DbFlags::augment_args_for_update(command)
    }
}

impl FromArgMatches for Db {
    /// Here a database that is as near as a server wins.
    fn from_arg_matches(matches: &ArgMatches) -> Result<Db, Error> {
        let flags = DbFlags::from_arg_matches(matches)?;
        let (by_db, by_url) = (matches.value_source("db"), matches.value_source("url"));
        let url = flags.url.filter(|_| by_url > by_db || by_url == Some(ValueSource::CommandLine));
        let place = nearest(matches, flags.kept.url, url)?;
        Ok(Db { place, is_named: is_named(matches) })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Db::from_arg_matches(matches)?;
        Ok(())
    }
}

/// As [`Db`], where somebody named a place; what is only configured does not count.
#[derive(Clone, Debug)]
pub struct OtherDb(pub Option<Db>);

impl Args for OtherDb {
    fn augment_args(command: Command) -> Command {
        let words = "Another database than .tenure/todo.db of this repository, as in sqlite:tenure.db";
        Db::augment_args(command).mut_arg("db", |db| db.hide_default_value(true).help(words))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Db::augment_args_for_update(command)
    }
}

impl FromArgMatches for OtherDb {
    fn from_arg_matches(matches: &ArgMatches) -> Result<OtherDb, Error> {
        Ok(OtherDb(is_named(matches).then(|| Db::from_arg_matches(matches)).transpose()?))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = OtherDb::from_arg_matches(matches)?;
        Ok(())
    }
}
