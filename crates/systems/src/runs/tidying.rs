//! What crashes have left, looked after now and then: files that nothing refers to, documents without a run, and runs of documents that
//! were erased.
//!
//! An upload and an erasure leave a note before they begin, and it goes when they are done. So whoever was killed in between is
//! found by its note, however long ago that was and however much came after. Beside that the newest documents of each store are
//! looked at: one that somebody made without uploading it has no note.

use std::time::Duration;

use tenure::core::time::Time;
use tenure::core::word::Store;
use tenure::databases::backlog::Backlog;
use tenure::databases::outside::now;
use tenure::databases::{Order, Query};

use super::DOCUMENT;
use super::documents::NotDone;
use super::files::{AGE, Unfinished, What};
use super::library::count;
use super::service::Means;
use crate::time::Stopwatch;

/// What crashes leave hurts nobody meanwhile.
const EVERY: Duration = Duration::from_secs(600);
/// Of each store so many of the newest documents are looked at.
const NEWEST: usize = 100;
/// And of so many stores in one turn; the others come in the next.
const STORES: usize = 64;

/// When it was looked, and how far.
#[derive(Debug, Default)]
pub(super) struct Tidying {
    looked: Option<Stopwatch>,
    /// The store that was looked at last.
    last: Option<Store>,
}

impl Tidying {
    /// A look, if it is time for one.
    pub async fn turn(&mut self, means: &Means, backlog: &[Backlog]) {
        if self.looked.is_some_and(|looked| looked.elapsed() < EVERY) {
            return;
        }
        self.looked = Some(Stopwatch::start());
        // What a note says is done before the note goes.
        match finish(means).await {
            Ok(()) => sweep(means).await,
            Err(error) => means.retried(&error.to_string()),
        }
        for store in self.next(backlog) {
            if let Err(error) = newest(means, &store).await {
                means.retried(&error.to_string());
            }
        }
    }

    /// The stores with documents that have their turn.
    fn next(&mut self, backlog: &[Backlog]) -> Vec<Store> {
        let of_documents = backlog.iter().filter(|one| one.kind.as_str() == DOCUMENT);
        let mut stores: Vec<Store> = of_documents.map(|one| one.store.clone()).collect();
        stores.sort_unstable();
        let after = stores.partition_point(|store| self.last.as_ref().is_some_and(|last| store <= last));
        stores.rotate_left(after);
        stores.truncate(STORES);
        self.last = stores.last().cloned();
        stores
    }
}

/// What the notes say. One that can not be followed keeps no other from its turn; a database that is away keeps them all.
async fn finish(means: &Means) -> Result<(), NotDone> {
    for unfinished in means.library.files.unfinished(means.settings.mend_after).await {
        match followed(means, &unfinished).await {
            Ok(()) => {}
            Err(NotDone::Engine(error)) if error.is_retryable() => return Err(error.into()),
            Err(error) => means.tell(&format!("{}: {error}", unfinished.name())),
        }
    }
    Ok(())
}

async fn followed(means: &Means, unfinished: &Unfinished) -> Result<(), NotDone> {
    let documents = means.library.documents(means.acting(&unfinished.store)?);
    match &unfinished.what {
        What::Upload { sha256 } => {
            // Its last write may have come long after its note.
            let mended = documents.mend_alike(sha256, unfinished.ago.saturating_add(AGE)).await?;
            count(&means.library.counters().documents_mended, mended);
        }
        What::Erasure { document } => {
            if documents.has_erased_runs_of(*document).await? || unfinished.ago >= AGE {
                unfinished.done().await;
            }
        }
    }
    Ok(())
}

async fn sweep(means: &Means) {
    match means.library.files.sweep(&means.tenure, means.settings.leftovers_age).await {
        Ok(swept) if swept.removed > 0 => {
            count(&means.library.counters().files_removed, swept.removed);
            means.tell(&format!("{} files that nothing refers to were removed", swept.removed));
        }
        Ok(_) => {}
        Err(error) => means.retried(&error.to_string()),
    }
}

async fn newest(means: &Means, store: &Store) -> Result<(), NotDone> {
    let tenure = means.acting(store)?;
    let documents = means.library.documents(tenure.clone());
    let kind = Some(DOCUMENT.parse().map_err(tenure::Error::from)?);
    let newest = tenure.list(Query { kind, order: Order::Newest, limit: NEWEST, ..Query::default() }).await?;
    let is_due = |created: Time| Time::is_over(created, created.after(means.settings.mend_after), now());
    for document in newest.iter().filter(|document| is_due(document.created)) {
        let mended = documents.mend(document).await?;
        count(&means.library.counters().documents_mended, usize::from(mended));
    }
    Ok(())
}
