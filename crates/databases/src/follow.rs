//! What somebody who follows the log needs beside it: how far they have come, a message that an entry only names, the items
//! that stand for their keys, and the database's own secret.
//!
//! Plain reads, and one write that is nobody's decision. None of it is in the log: a mark says how far its owner has read,
//! and who loses one reads again what they have read before.

use std::future::Future;

use tenure_core::id::ItemId;
use tenure_core::word::{Key, Kind, Store};
use tenure_core::world::Message;

use crate::Error;

/// Which message: its item, the entry that sent it, and its place among those of that entry.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct MessageId {
    pub item: ItemId,
    pub version: u64,
    pub ordinal: u32,
}

pub trait Follow: Send + Sync {
    /// How far the owner of this name has come. None: it never said.
    fn mark(&self, name: &Key) -> impl Future<Output = Result<Option<u64>, Error>> + Send;

    /// Once this answers the mark is durable. A lower one than is there changes nothing: of two that move the same mark the
    /// one that is ahead counts.
    fn set_mark(&self, name: &Key, value: u64) -> impl Future<Output = Result<(), Error>> + Send;

    /// The owner of this name comes no more: nothing waits for it. Under the name it begins anew.
    fn forget_mark(&self, name: &Key) -> impl Future<Output = Result<(), Error>> + Send;

    /// What only this database knows and nobody is shown: who has it can tell what was signed on this database.
    fn secret(&self) -> impl Future<Output = Result<String, Error>> + Send;

    fn message(
        &self,
        store: &Store,
        message: MessageId,
    ) -> impl Future<Output = Result<Option<Message>, Error>> + Send;

    /// The items that creates on their keys are answered with, by key, after a key. Only kinds that coalesce have any. Few rows
    /// are looked at, however many items there are.
    fn standing(
        &self,
        store: &Store,
        kind: &Kind,
        after: Option<&Key>,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<(Key, ItemId)>, Error>> + Send;
}
