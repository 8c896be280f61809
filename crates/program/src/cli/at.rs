//! Where work is: behind a server, or in a database that the command opens itself. Every command on work takes these.

use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command, Error, FromArgMatches};
use tenure_core::word::Store;

use super::store;

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
    pub token: Option<String>,
    pub token_file: Option<String>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Place {
    /// The URL of a server.
    Server(String),
    /// The URL of a database.
    Database(String),
}

#[derive(Args, Debug)]
struct Flags {
    /// The database, as in sqlite:tenure.db; if a server runs on that file, it is asked
    #[arg(
        long,
        value_name = "URL",
        env = "TENURE_DB",
        default_value = "sqlite:tenure.db",
        hide_env_values = true
    )]
    db: String,
    /// The server, as in http://127.0.0.1:7878
    #[arg(long, value_name = "URL", env = "TENURE_URL")]
    url: Option<String>,
    /// Who asks; in a list of processes everybody sees it, so better give it as TENURE_TOKEN or in a file
    #[arg(long, value_name = "TOKEN", env = "TENURE_TOKEN", hide_env_values = true)]
    token: Option<String>,
    /// The file that the token is in
    #[arg(long, value_name = "FILE", env = "TENURE_TOKEN_FILE")]
    token_file: Option<String>,
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
    /// What is nearer wins: the command line over the environment over tenure.toml. Where both are equally near, the server.
    fn from_arg_matches(matches: &ArgMatches) -> Result<Reach, Error> {
        let flags = Flags::from_arg_matches(matches)?;
        let (db, url) = (matches.value_source("db"), matches.value_source("url"));
        let place = match flags.url {
            Some(_) if (db, url) == (Some(ValueSource::CommandLine), Some(ValueSource::CommandLine)) => {
                let words = "--db and --url name two places; give one of them\n";
                return Err(Error::raw(ErrorKind::ArgumentConflict, words));
            }
            Some(address) if url >= db => Place::Server(address),
            _ => Place::Database(flags.db),
        };
        Ok(Reach { place, token: flags.token, token_file: flags.token_file })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Reach::from_arg_matches(matches)?;
        Ok(())
    }
}
