//! Events: what can happen to an item, by the names that tables, paths and log entries use.

use alloc::string::String;
use core::fmt;
use core::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::word::{EventName, NotAWord};

/// What happened, or is asked to happen. All but `Plain` have a fixed meaning to the kernel.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Event {
    Create,
    Lease,
    Commit,
    Finish,
    Fail,
    Expire,
    Release,
    TimeOut,
    Orphan,
    Cancel,
    // The rest of the kernel's own need no row in a table: they move no item.
    Start,
    Renew,
    Progress,
    Note,
    Link,
    Erase,
    /// The last entry of an item: its rows are removed with it.
    Prune,
    /// A move that a table names itself: `enqueue`, `approve`.
    Plain(EventName),
}

impl Event {
    /// The kernel events that a table can have rows for.
    pub const WITH_ROWS: [Event; 10] = [
        Event::Create,
        Event::Lease,
        Event::Commit,
        Event::Finish,
        Event::Fail,
        Event::Expire,
        Event::Release,
        Event::TimeOut,
        Event::Orphan,
        Event::Cancel,
    ];

    pub const WITHOUT_ROWS: [Event; 7] =
        [Event::Start, Event::Renew, Event::Progress, Event::Note, Event::Link, Event::Erase, Event::Prune];

    pub fn as_str(&self) -> &str {
        match self {
            Event::Create => "create",
            Event::Lease => "lease",
            Event::Commit => "commit",
            Event::Finish => "finish",
            Event::Fail => "fail",
            Event::Expire => "expire",
            Event::Release => "release",
            Event::TimeOut => "time-out",
            Event::Orphan => "orphan",
            Event::Cancel => "cancel",
            Event::Start => "start",
            Event::Renew => "renew",
            Event::Progress => "progress",
            Event::Note => "note",
            Event::Link => "link",
            Event::Erase => "erase",
            Event::Prune => "prune",
            Event::Plain(name) => name,
        }
    }

    /// A number for each of the kernel's own; all plain events have the last one.
    pub(super) fn ordinal(&self) -> u8 {
        match self {
            Event::Create => 0,
            Event::Lease => 1,
            Event::Commit => 2,
            Event::Finish => 3,
            Event::Fail => 4,
            Event::Expire => 5,
            Event::Release => 6,
            Event::TimeOut => 7,
            Event::Orphan => 8,
            Event::Cancel => 9,
            Event::Start => 10,
            Event::Renew => 11,
            Event::Progress => 12,
            Event::Note => 13,
            Event::Link => 14,
            Event::Erase => 15,
            Event::Prune => 16,
            Event::Plain(_) => 17,
        }
    }

    /// Ends an execution without its commit.
    pub fn aborts(&self) -> bool {
        match self {
            Event::Fail | Event::Expire | Event::Release | Event::TimeOut | Event::Orphan | Event::Cancel => {
                true
            }
            Event::Plain(_) => true,
            Event::Create | Event::Lease | Event::Commit | Event::Finish => false,
            Event::Start | Event::Renew | Event::Progress | Event::Note | Event::Link => false,
            Event::Erase | Event::Prune => false,
        }
    }

    /// Counts against the attempts of an item: it was tried and did not work. Releases and moves do not count.
    pub fn is_failure(&self) -> bool {
        match self {
            Event::Fail | Event::Expire | Event::TimeOut | Event::Orphan => true,
            Event::Release | Event::Cancel | Event::Plain(_) => false,
            Event::Create | Event::Lease | Event::Commit | Event::Finish => false,
            Event::Start | Event::Renew | Event::Progress | Event::Note | Event::Link => false,
            Event::Erase | Event::Prune => false,
        }
    }

    /// Must always find a row that holds, because it is not asked for but happens: a table that could refuse one would
    /// leave an item held by nobody.
    pub fn cannot_be_refused(&self) -> bool {
        matches!(self, Event::Expire | Event::TimeOut | Event::Orphan | Event::Fail)
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Event {
    type Err = NotAWord;

    fn from_str(text: &str) -> Result<Event, NotAWord> {
        let own =
            Event::WITH_ROWS.into_iter().chain(Event::WITHOUT_ROWS).find(|event| event.as_str() == text);
        match own {
            Some(event) => Ok(event),
            None => Ok(Event::Plain(text.parse()?)),
        }
    }
}

impl Serialize for Event {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Event {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Event, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}
