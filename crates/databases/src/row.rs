//! Rows: what a database keeps of an item, an execution, a name, a lane and a control, the same in every one that has tables.
//!
//! A column is what a statement looks for, joins by or refuses; everything else of a row is one short run of bytes, its
//! *rest*. Ids and hashes are bytes, times are microseconds since 1970, a lifecycle and a queue (a store's items of one
//! kind) are small numbers that the database hands out.
//!
//! A row that can not be read is [`Damaged`]: somebody wrote around the kernel. It costs its own item and no other.

pub(crate) mod bytes;
pub mod control;
pub mod execution;
pub mod item;
pub mod lane;
pub mod name;

use std::collections::HashMap;

use tenure_core::actor::Owner;
use tenure_core::execution::Status;
use tenure_core::item::Slot;

/// Why a row can not be read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Damaged(pub String);

impl Damaged {
    pub fn because(why: impl Into<String>) -> Damaged {
        Damaged(why.into())
    }
}

impl std::fmt::Display for Damaged {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the row can not be read: {}", self.0)
    }
}

/// Owners that were read before. A batch of rows names the same few over and over.
#[derive(Debug, Default)]
pub struct Memo {
    owners: HashMap<Box<str>, Owner>,
}

/// Beyond this the memo starts anew: it is there for the few that come often.
const MEMO_MAX: usize = 1_024;

impl Memo {
    pub fn owner(&mut self, text: &str) -> Result<Owner, Damaged> {
        if let Some(owner) = self.owners.get(text) {
            return Ok(owner.clone());
        }
        let owner: Owner = text.parse().map_err(|_| Damaged(format!("`{text}` is no owner")))?;
        if self.owners.len() >= MEMO_MAX {
            self.owners.clear();
        }
        self.owners.insert(text.into(), owner.clone());
        Ok(owner)
    }
}

/// The number of a slot in its column. The partial indexes of both schemas name these numbers.
pub fn slot_number(slot: Slot) -> i16 {
    match slot {
        Slot::None => 0,
        Slot::Scheduled => 1,
        Slot::Ready => 2,
        Slot::Active => 3,
    }
}

/// The number of a status in its column. Only executions that committed or ended have a row.
pub fn status_number(status: Status) -> i16 {
    match status {
        Status::Leased => 1,
        Status::InProgress => 2,
        Status::Committed => 3,
        Status::Done => 4,
        Status::Aborted => 5,
    }
}

/// Counters are columns of 64 bits with a sign; none ever gets that far.
pub fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

pub fn unsigned(number: i64) -> Result<u64, Damaged> {
    u64::try_from(number).map_err(|_| Damaged(format!("{number} is below zero")))
}
