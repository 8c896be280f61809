//! What a server and its workers share: where the files are, which stores have runs, and what was counted.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use tenure::Tenure;
use tenure::core::word::Store;
use tokio::sync::Notify;

use super::documents::Documents;
use super::files::Files;

/// Stores that wait to be looked at. What is forgotten here is found when the service looks for itself.
const TOLD_MAX: usize = 1_000;

/// The files of a database, and who is told of new runs.
#[derive(Clone, Debug)]
pub struct Library {
    pub files: Files,
    pub(super) shared: Arc<Shared>,
}

#[derive(Debug, Default)]
pub(super) struct Shared {
    /// Stores with new runs.
    told: Mutex<BTreeSet<Store>>,
    pub tell: Notify,
    pub counters: Counters,
}

/// What the workers on runs have done and met.
#[derive(Debug, Default)]
pub(super) struct Counters {
    pub scheduler_retried: AtomicU64,
    pub recovered: AtomicU64,
    pub files_removed: AtomicU64,
    pub documents_mended: AtomicU64,
    pub stores_waited: AtomicU64,
}

/// One more, or so many.
pub(super) fn count(counter: &AtomicU64, more: usize) {
    counter.fetch_add(more as u64, Ordering::Relaxed);
}

impl Library {
    pub fn new(files: Files) -> Library {
        Library { files, shared: Arc::default() }
    }

    /// The operations, as whoever this handle is for.
    pub fn documents(&self, tenure: Tenure) -> Documents {
        Documents { tenure, library: self.clone() }
    }

    /// `SCHEDULER_RETRIED`: how often the database did not answer who looked for runs to start.
    pub fn scheduler_retried(&self) -> u64 {
        self.shared.counters.scheduler_retried.load(Ordering::Relaxed)
    }

    /// All that is counted, by their names, as docs/metrics.md has them.
    pub fn counted(&self) -> [(&'static str, u64); 5] {
        let Counters { scheduler_retried, recovered, files_removed, documents_mended, stores_waited } =
            &self.shared.counters;
        let counted = [
            ("SCHEDULER_RETRIED", scheduler_retried),
            ("RUN_RECOVERED_AS_FAILED", recovered),
            ("files_removed", files_removed),
            ("documents_mended", documents_mended),
            ("stores_waited", stores_waited),
        ];
        counted.map(|(name, counter)| (name, counter.load(Ordering::Relaxed)))
    }

    pub(super) fn counters(&self) -> &Counters {
        &self.shared.counters
    }

    /// There is a new run in this store.
    pub(super) fn has_runs(&self, store: &Store) {
        let mut told = self.shared.told.lock().expect("nobody panics while holding it");
        if told.len() < TOLD_MAX {
            told.insert(store.clone());
        }
        drop(told);
        self.shared.tell.notify_one();
    }

    /// The stores that somebody told of since the last time.
    pub(super) fn told(&self) -> BTreeSet<Store> {
        std::mem::take(&mut self.shared.told.lock().expect("nobody panics while holding it"))
    }
}
