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
    scheduler_retried: AtomicU64,
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
        self.shared.scheduler_retried.load(Ordering::Relaxed)
    }

    pub(super) fn one_scheduler_retried(&self) {
        self.shared.scheduler_retried.fetch_add(1, Ordering::Relaxed);
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
