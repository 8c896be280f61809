//! The address of a database: `sqlite:tenure.db`, `postgres://user@host/name`, `memory:`.

use std::borrow::Cow;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use serde::Deserialize;

use crate::durability::Durability;

/// A URL as it was given. It may hold a password, so it is shown without user, password and parameters; [`SecretUrl::reveal`] is
/// for whoever connects.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct SecretUrl(String);

impl SecretUrl {
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// The database that it names.
    pub fn database(&self) -> Result<Url, NotAUrl> {
        self.0.parse()
    }
}

impl From<String> for SecretUrl {
    fn from(url: String) -> SecretUrl {
        SecretUrl(url)
    }
}

impl From<&str> for SecretUrl {
    fn from(url: &str) -> SecretUrl {
        SecretUrl(url.to_string())
    }
}

impl From<&String> for SecretUrl {
    fn from(url: &String) -> SecretUrl {
        SecretUrl(url.clone())
    }
}

impl From<&SecretUrl> for SecretUrl {
    fn from(url: &SecretUrl) -> SecretUrl {
        url.clone()
    }
}

impl fmt::Display for SecretUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&without_secrets(&self.0))
    }
}

impl fmt::Debug for SecretUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A file has no secret. Elsewhere what is before the last `@` may be one, and so may every parameter. Where a `?` or `#` comes before
/// the `@`, a password may reach anywhere, and nothing but the scheme is shown.
fn without_secrets(text: &str) -> Cow<'_, str> {
    let (scheme, rest) = match text.split_once("://") {
        Some((scheme, rest)) => (&text[..scheme.len() + 3], rest),
        None => ("", text),
    };
    let is_file = scheme.is_empty() && ["sqlite:", "memory:"].iter().any(|known| text.starts_with(known));
    let names_nobody = scheme.is_empty() && !(text.contains(':') && text.contains('@'));
    if is_file || names_nobody || scheme == "sqlite://" {
        return Cow::Borrowed(text);
    }
    let place = match (rest.find(['?', '#']), rest.rfind('@')) {
        (Some(parameters), Some(at)) if parameters < at => "…",
        (Some(parameters), at) => &rest[at.map_or(0, |at| at + 1)..parameters],
        (None, at) => &rest[at.map_or(0, |at| at + 1)..],
    };
    Cow::Owned(format!("{scheme}{place}"))
}

/// Words with every URL in them shown as [`SecretUrl`] shows it: for messages that repeat what was given.
pub fn masked(words: &str) -> String {
    let is_end = |letter: char| letter.is_whitespace() || "'\"`".contains(letter);
    words
        .split_inclusive(is_end)
        .map(|word| {
            let end = word.rfind(is_end).unwrap_or(word.len());
            format!("{}{}", without_secrets(&word[..end]), &word[end..])
        })
        .collect()
}

#[derive(Clone, PartialEq, Eq)]
pub enum Url {
    /// Gone with the process.
    Memory,
    Sqlite(PathBuf),
    Postgres(SecretUrl),
}

/// The text named no database.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NotAUrl(String);

impl fmt::Display for NotAUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NotAUrl {}

impl FromStr for Url {
    type Err = NotAUrl;

    fn from_str(text: &str) -> Result<Url, NotAUrl> {
        if text == "memory:" {
            return Ok(Url::Memory);
        }
        if text.starts_with("postgres://") || text.starts_with("postgresql://") {
            return Ok(Url::Postgres(text.into()));
        }
        let Some(path) = text.strip_prefix("sqlite:") else {
            let shown = text.split(':').next().unwrap_or_default();
            let why = match text.contains("://") {
                true => format!("there is no database of the sort `{shown}`"),
                false => format!("`{}` is not the address of a database", without_secrets(text)),
            };
            return Err(NotAUrl(format!("{why}; use sqlite:FILE, postgres://… or memory:")));
        };
        let path = path.strip_prefix("//").unwrap_or(path);
        let (path, _) = parameters(path)?;
        if path.is_empty() {
            return Err(NotAUrl("sqlite: needs a file, as in sqlite:tenure.db".to_string()));
        }
        if path == ":memory:" {
            return Err(NotAUrl(
                "a SQLite database here is a file; for one in memory use memory:".to_string(),
            ));
        }
        Ok(Url::Sqlite(PathBuf::from(path)))
    }
}

/// How durable whoever writes to this address wants it. Only a file is asked so: a server has settings of its own.
pub fn durability(text: &str) -> Result<Durability, NotAUrl> {
    match text.strip_prefix("sqlite:") {
        Some(path) => parameters(path).map(|(_, durability)| durability),
        None => Ok(Durability::Full),
    }
}

/// The file of a SQLite address, and what stands behind its question mark. What is not understood is no part of a file's name:
/// whoever wrote it meant something by it.
fn parameters(path: &str) -> Result<(&str, Durability), NotAUrl> {
    match path.split_once('?') {
        None => Ok((path, Durability::Full)),
        Some((path, "durability=full")) => Ok((path, Durability::Full)),
        Some((path, "durability=relaxed")) => Ok((path, Durability::Relaxed)),
        // A parameter of another database may be its password: its name is enough.
        Some((_, other)) => Err(NotAUrl(format!(
            "`?{}` means nothing behind sqlite:FILE; there is ?durability=full (as without it) and ?durability=relaxed, which \
             answers before the disk has it",
            other.split('=').next().unwrap_or_default()
        ))),
    }
}

impl fmt::Display for Url {
    /// Without user, password and parameters.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Url::Memory => f.write_str("memory:"),
            Url::Sqlite(path) => write!(f, "sqlite:{}", path.display()),
            Url::Postgres(url) => url.fmt(f),
        }
    }
}

impl fmt::Debug for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_shown_without_their_secrets() {
        let shown = |text: &str| text.parse::<Url>().map(|url| url.to_string());
        assert_eq!(shown("memory:").as_deref(), Ok("memory:"));
        assert_eq!(shown("sqlite:tenure.db").as_deref(), Ok("sqlite:tenure.db"));
        assert_eq!(shown("sqlite:///var/lib/t.db").as_deref(), Ok("sqlite:/var/lib/t.db"));
        let secret = "postgres://ann:s3cr%40t@db.example/work?password=x&schema=t";
        assert_eq!(shown(secret).as_deref(), Ok("postgres://db.example/work"));
        assert!(!format!("{:?}", secret.parse::<Url>()).contains("s3cr"));
    }

    // fault: A23
    #[test]
    fn a_url_is_shown_without_its_secrets_however_it_is_written() {
        for (given, shown) in [
            ("postgres://u:CANARY@db.example:5433/work", "postgres://db.example:5433/work"),
            ("postgresql://u@db/work?password=CANARY&schema=t", "postgresql://db/work"),
            ("postgres://u:p@CANARY@db/work", "postgres://db/work"),
            ("postgres://u:CA?NARY@db/work", "postgres://…"),
            ("postgres://u:CA#NARY@db/work", "postgres://…"),
            ("postgres://db/work?user=a@CANARY", "postgres://…"),
            ("postgres:///work?host=/run&password=CANARY", "postgres:///work"),
            ("postgers://u:CANARY@db/work", "postgers://db/work"),
            ("postgres:u:CANARY@db/work", "db/work"),
            ("u:CANARY@db/work", "db/work"),
            ("https://ann:CANARY@host:8443/base?key=CANARY", "https://host:8443/base"),
            ("sqlite:/home/a@b/t.db?durability=relaxed", "sqlite:/home/a@b/t.db?durability=relaxed"),
            ("sqlite:///home/a@b/t.db", "sqlite:///home/a@b/t.db"),
            ("run@2026.jsonl", "run@2026.jsonl"),
            ("memory:", "memory:"),
        ] {
            let url = SecretUrl::from(given);
            assert_eq!(
                (url.to_string(), format!("{url:?}")),
                (shown.to_string(), shown.to_string()),
                "{given}"
            );
            assert_eq!(url.reveal(), given);
            let words = format!("error: unexpected argument '{given}' found\n\n  try '--help'.");
            let masked = masked(&words);
            assert_eq!(masked, format!("error: unexpected argument '{shown}' found\n\n  try '--help'."));
            if let Err(error) = given.parse::<Url>() {
                assert!(!error.to_string().contains("CANARY"), "{given}: {error}");
            }
        }
        let error = "sqlite:t.db?password=CANARY".parse::<Url>().unwrap_err().to_string();
        assert!(error.contains("`?password`") && !error.contains("CANARY"), "{error}");
    }

    // covers: K-03
    #[test]
    fn a_file_is_as_durable_as_its_address_says_and_full_unless_it_says() {
        for (text, file, asked) in [
            ("sqlite:t.db", "sqlite:t.db", Durability::Full),
            ("sqlite:t.db?durability=full", "sqlite:t.db", Durability::Full),
            ("sqlite:///var/t.db?durability=relaxed", "sqlite:/var/t.db", Durability::Relaxed),
        ] {
            assert_eq!(text.parse::<Url>().unwrap().to_string(), file);
            assert_eq!(durability(text), Ok(asked), "{text}");
        }
        for bad in [
            "sqlite:t.db?mode=ro",
            "sqlite:t.db?",
            "sqlite:t.db?durability=none",
            "sqlite:t?durability=full&x=1",
        ] {
            assert!(bad.parse::<Url>().unwrap_err().to_string().contains("?durability=relaxed"), "{bad}");
            assert!(durability(bad).is_err(), "{bad}");
        }
        assert_eq!(durability("postgres://x/y?schema=t"), Ok(Durability::Full));
    }

    #[test]
    fn what_is_no_address_is_refused_with_what_to_use() {
        for bad in ["", "tenure.db", "mysql://x/y", "sqlite:", "sqlite::memory:"] {
            let why = bad.parse::<Url>().unwrap_err().to_string();
            assert!(why.contains("sqlite:") || why.contains("memory:"), "{bad}: {why}");
        }
    }
}
