//! The address of a database: `sqlite:tenure.db`, `postgres://user@host/name`, `memory:`.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use crate::durability::Durability;

#[derive(Clone, PartialEq, Eq)]
pub enum Url {
    /// Gone with the process.
    Memory,
    Sqlite(PathBuf),
    /// As it was given: it may hold a password, so it is not shown.
    Postgres(String),
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
            return Ok(Url::Postgres(text.to_string()));
        }
        let Some(path) = text.strip_prefix("sqlite:") else {
            let shown = text.split(':').next().unwrap_or_default();
            let why = match text.contains("://") {
                true => format!("there is no database of the sort `{shown}`"),
                false => format!("`{text}` is not the address of a database"),
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
        Some((_, other)) => Err(NotAUrl(format!(
            "`?{other}` means nothing behind sqlite:FILE; there is ?durability=full (as without it) and ?durability=relaxed, which \
             answers before the disk has it"
        ))),
    }
}

impl fmt::Display for Url {
    /// Without user, password and parameters.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Url::Memory => f.write_str("memory:"),
            Url::Sqlite(path) => write!(f, "sqlite:{}", path.display()),
            Url::Postgres(url) => {
                let rest = url.split_once("://").map_or("", |(_, rest)| rest);
                let rest = rest.split('?').next().unwrap_or_default();
                let rest = rest.rsplit_once('@').map_or(rest, |(_, rest)| rest);
                write!(f, "postgres://{rest}")
            }
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
