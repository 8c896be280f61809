//! Ids: of items, of executions, of records.

use alloc::string::String;
use core::fmt;
use core::num::NonZeroU64;
use core::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::hash::Hash;
use crate::time::Time;
use crate::word::{Key, Label};

/// The text was not such an id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotAnId(pub &'static str);

impl fmt::Display for NotAnId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not {}", self.0)
    }
}

/// An item's id: a ULID, 16 bytes stored, 26 characters shown. Sorts by creation time, which no promise rests on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ItemId(pub u128);

/// A record's id: a hash of its item, type and name, so that writing it again can not make a second one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RecordId(pub u128);

impl RecordId {
    pub fn of(item: ItemId, label: &Label, name: &Key) -> RecordId {
        let parts: [&[u8]; 3] = [&item.0.to_be_bytes(), label.as_bytes(), name.as_bytes()];
        RecordId(Hash::of_parts(&parts).first_128())
    }
}

impl ItemId {
    /// The id of an entry: derived from what it is about, so it is neither drawn nor stored.
    pub fn of_event(item: ItemId, version: u64, at: Time) -> ItemId {
        let random = Hash::of_parts(&[&item.0.to_be_bytes(), &version.to_be_bytes()]).first_128();
        ItemId(ulid::Ulid::from_parts(at.ulid_millis(), random).0)
    }

    /// As it is shown.
    pub(crate) fn text(self) -> [u8; ulid::ULID_LEN] {
        let mut text = [0; ulid::ULID_LEN];
        ulid::Ulid(self.0).array_to_str(&mut text);
        text
    }
}

macro_rules! shown_as_ulid {
    ($name:ident, $what:literal) => {
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let mut buffer = [0; ulid::ULID_LEN];
                f.pad(ulid::Ulid(self.0).array_to_str(&mut buffer))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl FromStr for $name {
            type Err = NotAnId;

            /// Accepts the canonical spelling only: two spellings of one id would be two keys.
            fn from_str(text: &str) -> Result<$name, NotAnId> {
                let id = ulid::Ulid::from_string(text).map_err(|_| NotAnId($what))?;
                let mut buffer = [0; ulid::ULID_LEN];
                if id.array_to_str(&mut buffer) == text { Ok($name(id.0)) } else { Err(NotAnId($what)) }
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let mut buffer = [0; ulid::ULID_LEN];
                serializer.serialize_str(ulid::Ulid(self.0).array_to_str(&mut buffer))
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<$name, D::Error> {
                String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
            }
        }
    };
}

shown_as_ulid!(ItemId, "an id of 26 characters (0-9, A-Z without I, L, O, U)");
shown_as_ulid!(RecordId, "a record id of 26 characters (0-9, A-Z without I, L, O, U)");

/// `claim_version`: how often an item was acquired. Grows with every acquire and take-over and is never reset, so it
/// also numbers the item's executions and is their attempt.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fence(pub u64);

impl Fence {
    pub fn next(self) -> Fence {
        Fence(self.0.saturating_add(1))
    }
}

impl fmt::Display for Fence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// One attempt of one item, shown as `<item>-<fence>`. Needs no index of its own.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ExecutionId {
    pub item: ItemId,
    pub fence: Fence,
}

impl fmt::Display for ExecutionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.item, self.fence)
    }
}

impl fmt::Debug for ExecutionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for ExecutionId {
    type Err = NotAnId;

    fn from_str(text: &str) -> Result<ExecutionId, NotAnId> {
        const WHAT: NotAnId = NotAnId("an execution id (an item's id, a hyphen, a number from 1)");
        let (item, fence) = text.split_once('-').ok_or(WHAT)?;
        let number: NonZeroU64 = fence.parse().map_err(|_| WHAT)?;
        if fence.starts_with(['0', '+']) {
            return Err(WHAT);
        }
        Ok(ExecutionId { item: item.parse().map_err(|_| WHAT)?, fence: Fence(number.get()) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn ids_have_one_spelling() {
        let id = ItemId(0x0193_3f5e_1234_5678_9abc_def0_1234_5678);
        let shown = id.to_string();
        assert_eq!(shown.len(), 26);
        assert_eq!(shown.parse(), Ok(id));
        assert!(shown.to_lowercase().parse::<ItemId>().is_err());
        assert!("".parse::<ItemId>().is_err());
        let execution = ExecutionId { item: id, fence: Fence(3) };
        assert_eq!(execution.to_string().parse(), Ok(execution));
        for bad in ["-0", "-03", "-+3", "", "-", "-x"] {
            assert!(alloc::format!("{shown}{bad}").parse::<ExecutionId>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_record_id_depends_on_its_item_type_and_name_alone() {
        let (label, name): (Label, Key) = ("truthbit".parse().unwrap(), "date/1".parse().unwrap());
        assert_eq!(RecordId::of(ItemId(1), &label, &name), RecordId::of(ItemId(1), &label, &name));
        assert_ne!(RecordId::of(ItemId(1), &label, &name), RecordId::of(ItemId(2), &label, &name));
    }
}
