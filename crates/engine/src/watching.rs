//! For whoever watches: how much waits, what the writers do, and the proof of one item.

use tenure_core::id::ItemId;
use tenure_core::word::Store;
use tenure_databases::backlog::Backlog;
use tenure_databases::export;
use tenure_databases::gather::Measures;

use crate::error::Error;
use crate::loops::sweep_once;
use crate::tenure::Tenure;

impl Tenure {
    /// What waits of each kind in this store. Costs the same however many items there are.
    pub async fn backlog(&self) -> Result<Vec<Backlog>, Error> {
        self.backlog_of(Some(self.store.clone())).await
    }

    /// As [`Tenure::backlog`], of every store.
    pub async fn backlog_of_all(&self) -> Result<Vec<Backlog>, Error> {
        self.backlog_of(None).await
    }

    async fn backlog_of(&self, store: Option<Store>) -> Result<Vec<Backlog>, Error> {
        let kept = self.inner.kept.clone();
        self.beside(async move { kept.backlog(store.as_ref()).await }).await
    }

    /// Ends what time has ended, once: for a program that was opened without loops and is there for one call. True: there is more.
    pub async fn sweep(&self) -> Result<bool, Error> {
        let parts = self.parts();
        self.beside(async move { sweep_once(&parts).await }).await
    }

    /// What the writers of this process have done so far.
    pub fn measures(&self) -> &Measures {
        self.inner.gather.measures()
    }

    /// How many requests wait for a writer of this process.
    pub fn queue_len(&self) -> usize {
        self.inner.gather.queue_len()
    }

    /// The history of an item as a file that `tenure verify` takes: nothing else is needed to see that it was not changed.
    pub async fn receipt(&self, id: ItemId) -> Result<Vec<u8>, Error> {
        let history = self.history(id).await?;
        if history.is_empty() {
            return Err(Error::NotFound(id));
        }
        let mut file = Vec::new();
        match export::item(&self.lifecycles(), &history, &mut file) {
            Ok(_) => Ok(file),
            Err(export::Failed::Database(error)) => Err(error.into()),
            Err(failed) => Err(tenure_databases::Error::Statement(failed.to_string()).into()),
        }
    }
}
