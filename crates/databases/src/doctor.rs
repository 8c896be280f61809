//! The doctor: every invariant of the kernel as a question to the live database, and the settings that endanger them.
//!
//! It reads and writes nothing: it locks nothing, holds no snapshot from one question to the next, and every question is about
//! a bounded slice of the rows. Where that was not everything, the answer says so. What the whole log says is `verify`'s to find.
//!
//! | part | what it asks about |
//! |---|---|
//! | `rules` | rows, one statement an invariant, the same for both schemas |
//! | `rows` | names and lanes, whose bytes only the kernel's own code reads |
//! | `log` | the chain of the log's end, and a sample of items and their names against their entries |
//! | `catalog` | the legal moves, held against the lifecycles; what holds kinds back |
//!
//! What is a database's own (its settings, its wall) is asked by the database: [`Patient::own`].

mod catalog;
mod log;
mod rows;
mod rules;

use std::future::Future;
use std::time::Duration;

use tenure_core::id::ItemId;
use tenure_core::time::Time;

use crate::look::Look;
use crate::{Database, Error};

/// So many offenders are named; a reader mends or restores, whatever the others are.
pub const FOUND_MAX: usize = 20;
/// Rows that one question looks at: some tenths of a second, whatever the size of the table.
pub const ROWS_MAX: usize = 100_000;

const CLOCK: Check = Check::note(
    "the clock is not behind the log",
    "K-17",
    "compare the clock of this machine, or of the database's server, with the time: if it is right now, it was ahead when these \
     entries were written, and nothing waits for it; if it is behind, correct it",
);

/// What one check is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Check {
    pub name: &'static str,
    /// The rules that it stands for.
    pub requirement: &'static str,
    /// What to do where it finds something.
    pub advice: &'static str,
    pub weight: Weight,
}

impl Check {
    pub const fn wrong(name: &'static str, requirement: &'static str, advice: &'static str) -> Check {
        Check { name, requirement, advice, weight: Weight::Wrong }
    }

    pub const fn note(name: &'static str, requirement: &'static str, advice: &'static str) -> Check {
        Check { name, requirement, advice, weight: Weight::Note }
    }
}

/// What it means that something is found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Weight {
    /// A promise is broken, or will be.
    Wrong,
    /// Worth knowing.
    Note,
}

/// An offender: an item, a segment, a setting, a process; and what is the matter with it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Found {
    pub id: String,
    pub what: String,
}

impl Found {
    pub fn new(id: impl ToString, what: impl Into<String>) -> Found {
        Found { id: id.to_string(), what: what.into() }
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Examined {
    pub check: Check,
    pub looked_at: u64,
    /// In words, where it was not everything.
    pub only: Option<String>,
    /// At most [`FOUND_MAX`].
    pub found: Vec<Found>,
    /// There are others.
    pub more: bool,
    pub verdict: Verdict,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    Well,
    Noted,
    Wrong,
    /// Why it could not be looked at.
    CouldNot(String),
}

impl Examined {
    pub fn new(check: Check, looked_at: u64, mut found: Vec<Found>) -> Examined {
        let more = found.len() > FOUND_MAX;
        found.truncate(FOUND_MAX);
        let verdict = match (found.is_empty(), check.weight) {
            (true, _) => Verdict::Well,
            (false, Weight::Note) => Verdict::Noted,
            (false, Weight::Wrong) => Verdict::Wrong,
        };
        Examined { check, looked_at, only: None, found, more, verdict }
    }

    pub fn only(mut self, words: Option<String>) -> Examined {
        self.only = words;
        self
    }

    fn could_not(check: Check, why: impl ToString) -> Examined {
        let verdict = Verdict::CouldNot(why.to_string());
        Examined { check, looked_at: 0, only: None, found: Vec::new(), more: false, verdict }
    }

    pub(crate) fn of(check: Check, asked: Result<Examined, Error>) -> Examined {
        asked.unwrap_or_else(|why| Examined::could_not(check, why))
    }
}

/// How long something may last before it is told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// A lease that has ended is swept within seconds where anything runs; so is the inbox, and the log is sequenced.
    pub late: Duration,
    /// A transaction that is open for so long keeps the dead rows of every table, and claims get slow over them.
    pub pinned: Duration,
    /// SQLite's write-ahead log is put in its place at 16 MB and cut to 32. Four times that much means that a reader never ends.
    pub wal_bytes: u64,
    /// Less than this on the disk is a day's work, or one burst.
    pub free_bytes: u64,
    /// A file up to this size is read through for damage; it takes seconds.
    pub quick_check_bytes: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            late: Duration::from_secs(5 * 60),
            pinned: Duration::from_secs(10 * 60),
            wal_bytes: 128 << 20,
            free_bytes: 512 << 20,
            quick_check_bytes: 256 << 20,
        }
    }
}

/// One value of an answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Value {
    Null,
    Number(i64),
    Text(String),
    /// Ids too.
    Bytes(Vec<u8>),
}

impl Value {
    pub fn number(&self) -> i64 {
        match self {
            Value::Number(number) => *number,
            Value::Null | Value::Text(_) | Value::Bytes(_) => 0,
        }
    }

    pub fn text(&self) -> &str {
        match self {
            Value::Text(text) => text,
            Value::Null | Value::Number(_) | Value::Bytes(_) => "",
        }
    }

    pub fn bytes(&self) -> &[u8] {
        match self {
            Value::Bytes(bytes) => bytes,
            Value::Null | Value::Number(_) | Value::Text(_) => &[],
        }
    }

    pub fn item(&self) -> Option<ItemId> {
        self.bytes().try_into().ok().map(|bytes| ItemId(u128::from_be_bytes(bytes)))
    }

    /// As a person is told: 16 bytes are an item's id.
    fn shown(&self) -> String {
        match self {
            Value::Null => String::new(),
            Value::Number(number) => number.to_string(),
            Value::Text(text) => text.clone(),
            Value::Bytes(bytes) => match self.item() {
                Some(item) => item.to_string(),
                None => bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
            },
        }
    }
}

pub type Row = Vec<Value>;

/// A database that can be asked plain questions.
pub trait Patient: Database + Look {
    /// One question in a snapshot of its own, bounded in time where the database can do that. Before the name of every table
    /// stands `@.`; what the two schemas say differently is a word that each knows a meaning of.
    fn ask(&self, sql: &str) -> impl Future<Output = Result<Vec<Row>, Error>>;

    /// How an id is written in a statement.
    fn literal(id: ItemId) -> String;

    /// By the clock that judges leases.
    fn now(&self) -> impl Future<Output = Result<Time, Error>>;

    /// What only this sort of database has: settings, its second wall, its files or its server.
    fn own(&self, limits: &Limits) -> impl Future<Output = Vec<Examined>>;
}

/// `100,000`, as people read it; every bound here has at least four digits.
pub(crate) fn thousands(number: usize) -> String {
    format!("{},{:03}", number / 1_000, number % 1_000)
}

/// What statements are filled in with.
pub(crate) struct Terms {
    /// Microseconds since 1970.
    now: i64,
    late: i64,
    /// Which lifecycles let one item of a key run at a time.
    exclusive: String,
}

impl Terms {
    fn fill(&self, sql: &str) -> String {
        sql.replace("{now}", &self.now.to_string())
            .replace("{late}", &self.late.to_string())
            .replace("{exclusive}", &self.exclusive)
    }
}

/// A question as one database understands it: the words of its dialect, and its schema before the names of tables.
pub(crate) fn spoken(sql: &str, dialect: &[(&str, &str)], schema: &str) -> String {
    let sql = dialect.iter().fold(sql.to_string(), |sql, (word, meaning)| sql.replace(word, meaning));
    sql.replace("{rows}", &ROWS_MAX.to_string()).replace("@.", schema)
}

async fn clock<P: Patient>(patient: &P) -> Result<Examined, Error> {
    let behind = patient.behind().await?;
    let latest = patient.latest().await?;
    let found = behind.map(|behind| {
        let what = format!("it is {} s behind the latest entry, which is of {latest}", behind.as_secs());
        Found::new("the clock", what)
    });
    Ok(Examined::new(CLOCK, 1, Vec::from_iter(found)))
}

/// Looks at everything. A question that fails costs its own check and no other.
pub async fn examine<P: Patient>(patient: &P, limits: &Limits) -> Result<Vec<Examined>, Error> {
    let now = Patient::now(patient).await?;
    let exclusive = catalog::exclusive(patient).await.unwrap_or_default();
    let late = now.before(limits.late).micros();
    let terms = Terms { now: now.micros(), late, exclusive };
    let mut all = Vec::new();
    for rule in rules::RULES {
        all.push(rules::examine(patient, &terms, rule).await);
    }
    all.push(rows::names(patient).await);
    all.push(rows::lanes(patient).await);
    all.push(log::chain(patient).await);
    all.push(log::sample(patient).await);
    all.push(catalog::lifecycles(patient).await);
    all.push(catalog::held_back(patient, now).await);
    all.push(Examined::of(CLOCK, clock(patient).await));
    all.extend(patient.own(limits).await);
    all.sort_by_key(|examined| examined.check.weight == Weight::Note);
    Ok(all)
}
