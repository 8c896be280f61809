//! Every lifecycle that is in force: by hash for the items created under it, by kind for those to come.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;

use super::SharedTable;
use super::parse::parse;
use crate::hash::Hash;
use crate::word::Kind;

#[derive(Clone, Debug, Default)]
pub struct Tables {
    versions: BTreeMap<Hash, SharedTable>,
    current: BTreeMap<Kind, SharedTable>,
    withdrawn: BTreeSet<Kind>,
}

impl Tables {
    /// Adds a lifecycle and makes it the current version of its kind. Older versions stay for the items they govern. One
    /// that is there already gets the new source: its prose may have changed, what it does has not.
    pub fn add(&mut self, table: impl Into<SharedTable>) -> SharedTable {
        let table = table.into();
        self.versions.insert(table.hash(), table.clone());
        self.current.insert(table.kind.clone(), table.clone());
        self.withdrawn.remove(&table.kind);
        table
    }

    /// Nothing of this kind can be made: the version in force is one that this program can not read. Older ones stay for the
    /// items they govern.
    pub fn withdraw(&mut self, kind: &Kind) {
        self.current.remove(kind);
        self.withdrawn.insert(kind.clone());
    }

    /// Whether the version in force is one that this program can not read.
    pub fn is_withdrawn(&self, kind: &Kind) -> bool {
        self.withdrawn.contains(kind)
    }

    pub fn current(&self, kind: &Kind) -> Option<&SharedTable> {
        self.current.get(kind)
    }

    pub fn version(&self, hash: &Hash) -> Option<&SharedTable> {
        self.versions.get(hash)
    }

    /// What a database kept under a hash. One of these is not read again. None: it is not what it was kept as.
    pub fn kept(&self, hash: &Hash, source: &str) -> Option<SharedTable> {
        if let Some(known) = self.version(hash).filter(|known| *known.source == *source) {
            return Some(known.clone());
        }
        parse(source).ok().filter(|table| table.hash() == *hash).map(Arc::new)
    }

    /// The lifecycle by which lanes of a kind are judged: the current one, or an older one that still has items behind them.
    pub fn laned(&self, kind: &Kind) -> Option<&SharedTable> {
        let older = || self.versions().find(|table| table.kind == *kind && table.is_laned());
        self.current(kind).filter(|table| table.is_laned()).or_else(older)
    }

    /// Every version of every lifecycle.
    pub fn versions(&self) -> impl Iterator<Item = &SharedTable> {
        self.versions.values()
    }

    /// The current lifecycles, sorted by kind.
    pub fn iter(&self) -> impl Iterator<Item = &SharedTable> {
        self.current.values()
    }
}
