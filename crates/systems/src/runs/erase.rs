//! Erasing: what is kept of a document or a run goes for good, its file with it. Its history stays.
//!
//! A document's runs hold its text, so they go with it: first the document, that no run begins with it any more, then the runs. Whoever
//! is killed in between leaves runs of an erased document and a note of it, by which the service erases them.

use std::sync::Arc;

use tenure::core::answer::Answer;
use tenure::core::hash::Hash;
use tenure::core::id::ItemId;
use tenure::core::item::Item;
use tenure::core::lifecycle::Phase;
use tenure::core::lifecycle::event::Event;
use tenure::core::request::{Command, Erase};
use tenure::{Error, Tenure};

use super::documents::{Documents, NotDone, PAGE_MAX, is_run};
use super::files::NotStored;
use super::{DOCUMENT, RUN};
use crate::inbox::refused;

impl Documents {
    /// Whether an item of this kind has files, so that it is erased here.
    pub fn has_files(kind: &str) -> bool {
        [DOCUMENT, RUN].contains(&kind)
    }

    /// Erases a document with its runs, or a run. Repeated, it does what is left to do. A document that is worked on is not erased:
    /// what its run makes would be kept.
    pub async fn erase(&self, item: &Item, reason: Option<String>) -> Result<Arc<Item>, NotDone> {
        if item.table.kind.as_str() == RUN {
            return self.erase_one(item, reason).await;
        }
        let runs = self.runs_of(item.id).await?;
        if let Some(run) = runs.iter().find(|run| run.phase() == Phase::Active) {
            let detail = format!("its run {} goes on; it is erased when that has ended", run.id);
            return Err(refused(item, Event::Erase, detail).into());
        }
        let erasing =
            self.library.files.erasing_all_of(&item.store, item.id).await.map_err(NotStored::from)?;
        let erased = match self.erase_one(item, reason.clone()).await {
            Ok(erased) => erased,
            Err(error) => {
                // Nobody knows what a database did that did not answer: the note stays.
                if let NotDone::Engine(Error::Refused(_)) = error {
                    erasing.done().await;
                }
                return Err(error);
            }
        };
        self.erase_runs(item.id, reason).await?;
        erasing.done().await;
        Ok(erased)
    }

    /// What the runs of an erased document hold. One that waits has made nothing yet, and will find no document.
    pub(super) async fn erase_runs(
        &self,
        document: ItemId,
        reason: Option<String>,
    ) -> Result<usize, NotDone> {
        let mut erased = 0;
        for run in self.runs_of(document).await? {
            if run.phase().is_ended() && !run.erased {
                self.erase_one(&run, reason.clone()).await?;
                erased += 1;
            }
        }
        Ok(erased)
    }

    async fn runs_of(&self, document: ItemId) -> Result<Vec<Item>, NotDone> {
        let (mut runs, mut after) = (Vec::new(), None);
        loop {
            let page = self.tenure.linked(document, after, PAGE_MAX).await?;
            after = page.last().map(|last| last.id);
            let full = page.len() == PAGE_MAX;
            runs.extend(page.into_iter().filter(is_run));
            if !full {
                return Ok(runs);
            }
        }
    }

    /// Once the entry says so the file is removed; a process that dies before that leaves it to the next sweep.
    async fn erase_one(&self, item: &Item, reason: Option<String>) -> Result<Arc<Item>, NotDone> {
        let (files, store) = (&self.library.files, &item.store);
        // A document without a hash as its key was not uploaded, so it has no file.
        let sha256: Option<Hash> = item.key.as_ref().and_then(|key| key.parse().ok());
        let erasing = match (item.table.kind.as_str(), sha256) {
            (RUN, _) => Some(files.erasing_run(store, item.id).await),
            (_, Some(sha256)) => Some(files.erasing(store, sha256).await),
            (_, None) => None,
        };
        let erasing = erasing.transpose().map_err(NotStored::from)?;
        let erased = erased(&self.tenure, item.id, reason).await;
        match (erasing, &erased) {
            (Some(erasing), Ok(_)) => files.settle_erasure(&self.tenure, erasing).await?,
            // Nobody knows what a database did that did not answer: the note stays.
            (Some(erasing), Err(Error::Refused(_))) => files.not_erased(erasing).await,
            (Some(_), Err(_)) | (None, _) => {}
        }
        Ok(erased?)
    }
}

async fn erased(tenure: &Tenure, item: ItemId, reason: Option<String>) -> Result<Arc<Item>, Error> {
    match tenure.ask(Command::Erase(Erase { item, reason })).await?.answer {
        Answer::Done(item) | Answer::Same(item) => Ok(item),
        no => Err(Error::Refused(Box::new(no))),
    }
}
