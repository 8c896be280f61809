//! `tenure.toml`: what is written there holds where neither the command line nor the environment says otherwise.
//!
//! Each key is the default of every argument whose environment variable is `TENURE_` and the key, so an argument that has one
//! can be configured, and means the same everywhere. A key that nobody knows is an error: a slip must not be silent.

use std::io;

use clap::Command;
use serde::Deserialize;
use tenure_databases::regular_file;
use tenure_systems::claims::decompose::domains::DomainSettings;
use tenure_systems::claims::policy::Policy;
use tenure_systems::runs::builtin::StepSettings;

use crate::outcome::Error;
use tenure_databases::url::SecretUrl;

/// Where it is looked for if nobody names it.
const FILE: &str = "tenure.toml";
/// A hundred domains and steps are a tenth of it.
const FILE_BYTES_MAX: usize = 1 << 20;

#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    db: Option<SecretUrl>,
    url: Option<SecretUrl>,
    listen: Option<String>,
    lifecycles: Option<String>,
    store: Option<String>,
    token_file: Option<String>,
    protected: Option<String>,
    without: Option<String>,
    claim_retries: Option<String>,
    files: Option<String>,
    #[serde(default)]
    pub claims: Claims,
    #[serde(default)]
    pub runs: Runs,
}

/// How claims are worked on: `[claims.domains.NAME]` says what takes a domain's claims apart, `[claims.policy]` how they are judged.
#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Claims {
    pub domains: DomainSettings,
    pub policy: Policy,
}

/// `[runs]`: what is done with documents.
#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Runs {
    /// `[[runs.steps]]`, in their order. None: the steps that ship.
    #[serde(default)]
    pub steps: Vec<StepSettings>,
}

impl Config {
    /// The file that is named, or the one in the current folder. None: there is none, and nobody named one.
    pub fn read(named: Option<&str>) -> Result<Option<Config>, Error> {
        let file = named.unwrap_or(FILE);
        match regular_file::read_text(file.as_ref(), FILE_BYTES_MAX) {
            Ok(text) => Config::parse(file, &text).map(Some),
            Err(why) if named.is_none() && why.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(why) => Err(Error::Unreadable { file: file.to_string(), why, near: None }),
        }
    }

    fn parse(file: &str, text: &str) -> Result<Config, Error> {
        toml::from_str(text).map_err(|error| {
            let start = error.span().map_or(0, |span| span.start);
            let line = text.get(..start).unwrap_or_default().matches('\n').count() + 1;
            // The message has its own lines where it lists what it expected.
            let what = error.message().lines().collect::<Vec<_>>().join(" ");
            Error::Config { file: file.to_string(), line, what }
        })
    }

    /// The command line with these defaults.
    pub fn beneath(&self, command: Command) -> Command {
        let names: Vec<String> =
            command.get_subcommands().map(|inner| inner.get_name().to_string()).collect();
        let command = command.mut_args(|argument| {
            let variable = argument.get_env().and_then(|name| name.to_str()).unwrap_or_default();
            match self.value(variable) {
                Some(value) => argument.default_value(value),
                None => argument,
            }
        });
        names.iter().fold(command, |command, name| command.mut_subcommand(name, |inner| self.beneath(inner)))
    }

    fn value(&self, variable: &str) -> Option<String> {
        let value = match variable {
            "TENURE_DB" => return self.db.as_ref().map(|url| url.reveal().to_string()),
            "TENURE_URL" => return self.url.as_ref().map(|url| url.reveal().to_string()),
            "TENURE_LISTEN" => &self.listen,
            "TENURE_LIFECYCLES" => &self.lifecycles,
            "TENURE_STORE" => &self.store,
            "TENURE_TOKEN_FILE" => &self.token_file,
            "TENURE_WITHOUT" => &self.without,
            "TENURE_CLAIM_RETRIES" => &self.claim_retries,
            "TENURE_FILES" => &self.files,
            "TENURE_PROTECTED" => &self.protected,
            _ => &None,
        };
        value.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_is_told_with_its_line() {
        for (text, line, word) in [
            ("db = \"sqlite:a.db\"\n\nlisen = \"x\"\n", 3, "lisen"),
            ("store = 3\n", 1, "invalid type"),
            ("# one\ndb = \n", 2, ""),
            ("[claims.domains.a]\ndecomposer = \"magic\"\n", 2, "magic"),
            ("[claims.policy]\nsupported_from = 0.2\n", 1, "refuted_to"),
            ("[[runs.steps]]\nname = \"a\"\ncomand = [\"cat\"]\n", 3, "comand"),
        ] {
            match Config::parse("tenure.toml", text) {
                Err(Error::Config { line: found, what, .. }) => {
                    assert_eq!(found, line, "{what}");
                    assert!(what.contains(word), "{what}");
                }
                other => panic!("{text:?}: {other:?}"),
            }
        }
    }

    #[test]
    fn no_key_is_needed() {
        assert_eq!(Config::parse("tenure.toml", "").expect("nothing is wrong with it"), Config::default());
    }
}
