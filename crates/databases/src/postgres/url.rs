//! The address of a database: a `postgres://` URL, with a few parameters that are ours.

use std::time::Duration;

use tokio_postgres::{Client, Config};

use super::OpenError;
use super::tls::{Driver, Mode, Roots, Tls};
use crate::Error;

/// Four batches at once keep a server busy; more of them only wait for each other's rows.
const CONNECTIONS: usize = 4;
/// Above this the server's own limit (100 by default) is near.
const CONNECTIONS_MAX: usize = 64;
/// A server that does not answer for so long is away.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// A server that vanished without a word is noticed after this and three unanswered knocks. Otherwise whoever waits for its answer
/// would wait for hours.
const SILENCE_MAX: Duration = Duration::from_secs(10);
const KNOCK_EVERY: Duration = Duration::from_secs(3);
const KNOCKS: u32 = 3;

/// A question that takes longer than this disturbs more than it tells.
pub(super) const LOOK_MS_MAX: u32 = 30_000;

/// Plans that do not depend on statistics: every statement of ours goes by an index, and the plan that is right for a
/// million rows does no harm to ten. Compiling a plan that runs for a millisecond does.
pub const SETTINGS: &str = "-c plan_cache_mode=force_generic_plan -c jit=off -c enable_seqscan=off \
                        -c enable_hashjoin=off -c enable_mergejoin=off -c enable_bitmapscan=off \
                        -c idle_in_transaction_session_timeout=60000";

#[derive(Clone, Debug)]
pub(super) struct Address {
    pub config: Config,
    pub tls: Tls,
    /// The schema's name, quoted.
    pub schema: String,
    /// Is it the schema that is used when none is named?
    pub is_default: bool,
    /// A pooler gives every transaction another connection: nothing may be kept in a session.
    pub pooled: bool,
    pub connections: usize,
}

impl Address {
    /// With the settings that Tenure's own statements want.
    pub fn parse(url: &str) -> Result<Address, OpenError> {
        let mut address = Address::bare(url)?;
        if !address.pooled {
            // What the URL says comes last and wins.
            let options = format!("{SETTINGS} {}", address.config.get_options().unwrap_or_default());
            address.config.options(options.trim_end());
        }
        Ok(address)
    }

    /// With the server's settings.
    pub fn bare(url: &str) -> Result<Address, OpenError> {
        if !url.starts_with("postgres://") && !url.starts_with("postgresql://") {
            return Err(OpenError::Address("it must begin with postgres://".to_string()));
        }
        let (base, query) = url.split_once('?').unwrap_or((url, ""));
        let (mut schema, mut pooled, mut connections) = ("tenure", false, CONNECTIONS);
        let (mut mode, mut roots) = (None, None);
        let mut theirs: Vec<&str> = Vec::new();
        for part in query.split('&').filter(|part| !part.is_empty()) {
            match part.split_once('=') {
                Some(("schema", name)) => schema = name,
                Some(("pooler", value)) => pooled = flag(value)?,
                Some(("connections", number)) => connections = count(number)?,
                Some(("sslmode", word)) => mode = Some(Mode::parse(word)?),
                Some(("sslrootcert", value)) => roots = Some(Roots::parse(value)?),
                _ => theirs.push(part),
            }
        }
        if !is_identifier(schema) {
            let rule = "a letter or _, then up to 62 of a-z, 0-9 and _";
            return Err(OpenError::Address(format!("schema={schema} is no name: {rule}")));
        }
        let mut rest = base.to_string();
        if !theirs.is_empty() {
            rest = format!("{base}?{}", theirs.join("&"));
        }
        let mut config: Config =
            rest.parse().map_err(|why: tokio_postgres::Error| OpenError::Address(why.to_string()))?;
        let tls = Tls::new(mode, roots)?;
        tls.set(&mut config)?;
        if config.get_application_name().is_none() {
            config.application_name("tenure");
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT_TIMEOUT);
        }
        if config.get_tcp_user_timeout().is_none() {
            config.tcp_user_timeout(SILENCE_MAX);
        }
        if !theirs.iter().any(|part| part.starts_with("keepalives")) {
            config.keepalives_idle(SILENCE_MAX).keepalives_interval(KNOCK_EVERY).keepalives_retries(KNOCKS);
        }
        let is_default = schema == "tenure";
        Ok(Address { config, tls, schema: format!("\"{schema}\""), is_default, pooled, connections })
    }

    pub async fn connect(&self) -> Result<(Client, Driver), Error> {
        self.tls.connect(&self.config).await
    }

    /// The same for who only looks: the server itself refuses to write, and gives up on what takes too long. A pooler hands on
    /// no settings; what is asked through it says so in every transaction.
    pub fn looking(mut self) -> Address {
        if !self.pooled {
            let options = self.config.get_options().unwrap_or_default();
            let options =
                format!("{options} -c default_transaction_read_only=on -c statement_timeout={LOOK_MS_MAX}");
            self.config.options(options);
        }
        self
    }
}

fn is_identifier(name: &str) -> bool {
    let mut letters = name.chars();
    name.len() <= 63
        && letters.next().is_some_and(|first| first.is_ascii_lowercase() || first == '_')
        && letters.all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '_')
}

fn flag(value: &str) -> Result<bool, OpenError> {
    match value {
        "1" | "true" => Ok(true),
        "0" | "false" => Ok(false),
        _ => Err(OpenError::Address(format!("pooler={value}: it is 0 or 1"))),
    }
}

fn count(number: &str) -> Result<usize, OpenError> {
    let count = number.parse().ok().filter(|count| (1..=CONNECTIONS_MAX).contains(count));
    count.ok_or_else(|| OpenError::Address(format!("connections={number}: it is 1 to {CONNECTIONS_MAX}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_parameters_are_taken_out_and_the_rest_is_the_drivers() {
        let url = "postgres://me:secret@db:5433/work?schema=crew&connect_timeout=3&pooler=1&connections=2";
        let address = Address::parse(url).unwrap();
        assert_eq!((&*address.schema, address.pooled, address.connections), ("\"crew\"", true, 2));
        assert_eq!(address.config.get_connect_timeout(), Some(&Duration::from_secs(3)));
        assert_eq!(address.config.get_options(), None, "a pooler hands on no settings");
        let plain = Address::parse("postgres://db/work?options=-c%20jit%3Don").unwrap();
        assert_eq!((&*plain.schema, plain.pooled, plain.is_default), ("\"tenure\"", false, true));
        assert!(plain.config.get_options().unwrap().ends_with("-c jit=on"));
    }

    #[test]
    fn an_address_that_is_none_is_refused_with_words() {
        for bad in [
            "sqlite:x",
            "postgres://db/w?schema=a;b",
            "postgres://db/w?schema=",
            "postgres://db/w?schema=A",
            "postgres://db/w?pooler=yes",
            "postgres://db/w?connections=0",
            "postgres://db/w?nonsense=1",
            "postgres://db/w?sslmode=on",
            "postgres://db/w?sslmode=prefer&sslrootcert=root.pem",
            "postgres://db/w?sslnegotiation=direct",
        ] {
            assert!(matches!(Address::parse(bad), Err(OpenError::Address(_))), "{bad}");
        }
    }
}
