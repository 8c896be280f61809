//! An entry: one line of the append-only history.
//!
//! An entry is a JSON object in canonical form (RFC 8785): its keys are sorted, its numbers are small integers, it has
//! no white space. Its hash is the SHA-256 of exactly that text, and the text holds the hash of the item's previous
//! entry, so anyone can verify a history with a JSON tool and `sha256sum`. It names bodies by hash, never by content:
//! a body can be erased and the chain still verifies.
//!
//! The fields of every struct here stand in alphabetical order, as the text has them (`canonical` writes it; a test
//! compares the result with what serde makes of these structs and with a canonicalizer). They are a promise: rename
//! nothing.

mod canonical;
mod sealed;

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::actor::Actor;
use crate::hash::Hash;
use crate::id::{Fence, ItemId};
use crate::item::Link;
use crate::lifecycle::event::Event;
use crate::time::Time;
use crate::word::{Key, Kind, Label, Store};

pub use sealed::Sealed;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    pub action: Event,
    pub actor: Actor,
    /// The domain's own name for the action, where the lifecycle gives one.
    pub shown: Option<Label>,
    /// Set when another item's commit or move made this entry: that item, and who made it.
    pub cause: Option<Cause>,
    pub fence: Fence,
    pub item: ItemId,
    pub at: Time,
    pub facts: Facts,
    /// The item's entry before this one. None for the first.
    pub previous: Option<Hash>,
    /// The item's state from now on.
    pub state: Label,
    pub store: Store,
    /// 1 for the first.
    pub version: u64,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cause {
    pub actor: Actor,
    pub item: ItemId,
}

/// What an entry says beside who, when and where to. One shape an action.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(untagged)]
pub enum Facts {
    Create(Birth),
    Lease(Grant),
    Progress(Progressed),
    Commit(Committed),
    /// `fail`, `expire`, `release`, `time-out`, `orphan`.
    End(Ended),
    Cancel(Cancelled),
    /// A plain event.
    Move(Moved),
    Note(Noted),
    Link(Linked),
    /// `start`, `finish`, `erase`, `prune`.
    Bare(Bare),
}

/// What a create fixes for ever. Unset fields take the lifecycle's setting, so the same request has the same birth.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Birth {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempts: Option<u32>,
    /// `run_at` was worked out from the clock: see [`crate::request::Create::estimated`].
    #[serde(default, skip_serializing_if = "is_false")]
    pub estimated: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<Key>,
    pub kind: Kind,
    pub lifecycle: Hash,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<Link>,
    /// The idempotency key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<Key>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<ItemId>,
    pub payload: Hash,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<i8>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_at: Option<Time>,
}

impl Birth {
    /// What makes two creates with one name the same request: all but the version of the lifecycle, which may have
    /// changed between them.
    pub fn digest(&self) -> Hash {
        Hash::of(&canonical::birth(self, Hash::ZERO))
    }
}

#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grant {
    /// The clock's time, where it is before the entry's: the item's history is ahead of the clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Time>,
    /// The acquire's request id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Key>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<ItemId>,
    /// Leased and started in one step.
    #[serde(default, skip_serializing_if = "is_false")]
    pub started: bool,
}

#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Progressed {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub closes: Vec<Label>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub opens: Vec<Label>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub records: Vec<RecordMark>,
}

#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Committed {
    /// Committed and finished in one step.
    #[serde(default, skip_serializing_if = "is_false")]
    pub finish: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Hash>,
    #[serde(default, skip_serializing_if = "Written::is_empty")]
    pub written: Written,
}

#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ended {
    /// What was asked for where a failure came of it: a release, one too many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on: Option<Event>,
    /// The worker said that trying again is useless.
    #[serde(default, skip_serializing_if = "is_false")]
    pub permanent: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_at: Option<Time>,
    #[serde(default, skip_serializing_if = "Written::is_empty")]
    pub written: Written,
}

#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cancelled {
    /// The item is held: its worker is asked to stop, and nothing moves yet.
    #[serde(default, skip_serializing_if = "is_false")]
    pub asked: bool,
    /// What ended the execution of an item that was asked to stop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on: Option<Event>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Hash>,
    #[serde(default, skip_serializing_if = "Written::is_empty")]
    pub written: Written,
}

#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Moved {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Hash>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_at: Option<Time>,
    #[serde(default, skip_serializing_if = "Written::is_empty")]
    pub written: Written,
}

#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Noted {
    /// A create that was answered by this item: its digest and its idempotency key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folded: Option<Folded>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub records: Vec<RecordMark>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Folded {
    pub digest: Hash,
    pub name: Key,
}

#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Linked {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub add: Vec<Link>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remove: Vec<Link>,
}

#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bare {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// What a row wrote beside its move.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Written {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub created: Vec<ItemId>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<MessageMark>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub moved: Vec<ItemId>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub records: Vec<RecordMark>,
}

impl Written {
    pub fn is_empty(&self) -> bool {
        self.created.is_empty()
            && self.messages.is_empty()
            && self.moved.is_empty()
            && self.records.is_empty()
    }
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordMark {
    pub label: Label,
    pub name: Key,
    pub sha256: Hash,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MessageMark {
    pub label: Label,
    pub sha256: Hash,
}

fn is_false(flag: &bool) -> bool {
    !flag
}

/// The line as it is read.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ReadLine {
    action: Event,
    actor: Actor,
    #[serde(rename = "as")]
    shown: Option<Label>,
    cause: Option<Cause>,
    claim_version: Fence,
    event_id: ItemId,
    item: ItemId,
    occurred_at: Time,
    payload: Value,
    previous: Option<Hash>,
    state: Label,
    store: Store,
    version: u64,
}

impl Entry {
    pub fn event_id(&self) -> ItemId {
        ItemId::of_event(self.item, self.version, self.at)
    }

    /// The canonical text.
    pub fn canonical(&self) -> Vec<u8> {
        canonical::entry(self)
    }

    /// The link of the chain.
    pub fn hash(&self) -> Hash {
        Hash::of(&self.canonical())
    }

    /// The event's name for a reader.
    pub fn shown(&self) -> &str {
        match &self.shown {
            Some(name) => name,
            None => self.action.as_str(),
        }
    }

    /// Reads one canonical line. A line that would be written in any other way than it stands is refused.
    pub fn read(line: &[u8]) -> Result<Entry, String> {
        let entry: Entry = serde_json::from_slice(line).map_err(|error| error.to_string())?;
        if entry.canonical() != line {
            return Err("the line is not in canonical form".to_string());
        }
        Ok(entry)
    }
}

impl<'de> Deserialize<'de> for Entry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Entry, D::Error> {
        let line = ReadLine::deserialize(deserializer)?;
        let entry = Entry {
            facts: Facts::read(&line.action, line.payload).map_err(D::Error::custom)?,
            action: line.action,
            actor: line.actor,
            shown: line.shown,
            cause: line.cause,
            fence: line.claim_version,
            item: line.item,
            at: line.occurred_at,
            previous: line.previous,
            state: line.state,
            store: line.store,
            version: line.version,
        };
        if entry.event_id() != line.event_id {
            return Err(D::Error::custom("event_id does not follow from item, version and time"));
        }
        Ok(entry)
    }
}

impl Facts {
    fn read(action: &Event, payload: Value) -> Result<Facts, String> {
        fn of<T: DeserializeOwned>(payload: Value, facts: fn(T) -> Facts) -> Result<Facts, String> {
            serde_json::from_value(payload).map(facts).map_err(|error| error.to_string())
        }
        match action {
            Event::Create => of(payload, Facts::Create),
            Event::Lease => of(payload, Facts::Lease),
            Event::Progress => of(payload, Facts::Progress),
            Event::Commit => of(payload, Facts::Commit),
            Event::Fail | Event::Expire | Event::Release | Event::TimeOut | Event::Orphan => {
                of(payload, Facts::End)
            }
            Event::Cancel => of(payload, Facts::Cancel),
            Event::Plain(_) => of(payload, Facts::Move),
            Event::Note => of(payload, Facts::Note),
            Event::Link => of(payload, Facts::Link),
            Event::Start | Event::Finish | Event::Erase | Event::Prune => of(payload, Facts::Bare),
            Event::Renew => Err("a renewal writes no entry".to_string()),
        }
    }
}
