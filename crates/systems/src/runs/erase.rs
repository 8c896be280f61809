//! Erasing: what is kept of a document or a run goes for good, its file with it. Its history stays.

use std::sync::Arc;

use tenure::core::answer::Answer;
use tenure::core::id::ItemId;
use tenure::core::item::Item;
use tenure::core::request::{Command, Erase};
use tenure::{Error, Tenure};

use super::documents::{Documents, NotDone};
use super::files::NotStored;
use super::{DOCUMENT, RUN};

impl Documents {
    /// Whether an item of this kind has files, so that it is erased here.
    pub fn has_files(kind: &str) -> bool {
        [DOCUMENT, RUN].contains(&kind)
    }

    /// Erases a document or a run. Once the entry says so the file is removed; a process that dies before that leaves it to the next
    /// sweep. Repeated, it does what is left to do.
    pub async fn erase(&self, item: &Item, reason: Option<String>) -> Result<Arc<Item>, NotDone> {
        let (files, store) = (&self.library.files, &item.store);
        let erasing = match (item.table.kind.as_str(), &item.key) {
            (RUN, _) => files.erasing_run(store, item.id).await,
            (_, Some(sha256)) => files.erasing(store, sha256).await,
            (_, None) => Ok(None),
        };
        let erasing = erasing.map_err(NotStored::from)?;
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
