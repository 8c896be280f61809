//! What hangs together: the items that have a link to one, several at once, a list in outline, a record by its id, and how far somebody
//! has read the log.

use tenure_core::id::{ItemId, RecordId};
use tenure_core::item::Item;
use tenure_core::world::Record;
use tenure_databases::look::Outline;
use tenure_databases::{Order, Query, Whole};

use crate::asked::Asked;
use crate::error::Error;
use crate::tenure::Tenure;

impl Tenure {
    /// The items that have or had a link to one, oldest first, after one. What links to items of other stores does not exist.
    pub async fn linked(&self, to: ItemId, after: Option<ItemId>, limit: usize) -> Result<Vec<Item>, Error> {
        self.linked_in(Order::Oldest, to, after, limit).await
    }

    /// As [`Tenure::linked`], in either order.
    pub fn linked_in(
        &self,
        order: Order,
        to: ItemId,
        after: Option<ItemId>,
        limit: usize,
    ) -> Asked<'_, Result<Vec<Item>, Error>> {
        Box::pin(async move {
            let (kept, store) = (self.inner.kept.clone(), self.store.clone());
            let read = async move {
                let mut items = Vec::new();
                for id in kept.linked(to, order, after, limit).await? {
                    items.extend(kept.item(&store, id).await?);
                }
                Ok(items)
            };
            self.beside(read).await
        })
    }

    /// All items of a list in outline, in no order: to count and to sort them without reading them.
    pub fn outlines(&self, query: Query) -> Asked<'_, Result<Vec<Outline>, Error>> {
        Box::pin(async move {
            let (kept, store) = (self.inner.kept.clone(), self.store.clone());
            let query = Query { store: Some(store), ..query };
            self.beside(async move { kept.outlines(&query).await }).await
        })
    }

    /// Several items, in the order in which their ids are given. What is not there is left out.
    pub fn items(&self, ids: Vec<ItemId>) -> Asked<'_, Result<Vec<Item>, Error>> {
        Box::pin(async move {
            let (kept, store) = (self.inner.kept.clone(), self.store.clone());
            let read = async move {
                let mut items = Vec::with_capacity(ids.len());
                for id in ids {
                    items.extend(kept.item(&store, id).await?);
                }
                Ok(items)
            };
            self.beside(read).await
        })
    }

    /// Several items as [`Tenure::whole`] reads one, in the order in which their ids are given. What is not there is left out.
    pub fn wholes(&self, ids: Vec<ItemId>) -> Asked<'_, Result<Vec<Whole>, Error>> {
        Box::pin(async move {
            let (kept, store) = (self.inner.kept.clone(), self.store.clone());
            let read = async move {
                let mut wholes = Vec::with_capacity(ids.len());
                for id in ids {
                    wholes.extend(kept.whole(&store, id).await?);
                }
                Ok(wholes)
            };
            self.beside(read).await
        })
    }

    /// A record of an item of this store, by its id alone.
    pub fn record(&self, id: RecordId) -> Asked<'_, Result<Option<Record>, Error>> {
        Box::pin(async move {
            let (kept, store) = (self.inner.kept.clone(), self.store.clone());
            let read = async move {
                let Some(record) = kept.record(id).await? else { return Ok(None) };
                Ok(kept.item(&store, record.item).await?.map(|_| record))
            };
            self.beside(read).await
        })
    }

    /// How far the reader of this name has come in the log. None: it never said.
    pub async fn mark(&self, reader: &str) -> Result<Option<u64>, Error> {
        let (kept, reader) = (self.inner.kept.clone(), reader.parse()?);
        self.beside(async move { kept.mark(&reader).await }).await
    }

    /// Keeps how far a reader has come. It never goes back: of two that move the same mark the one that is ahead counts.
    pub async fn set_mark(&self, reader: &str, position: u64) -> Result<(), Error> {
        let (kept, reader) = (self.inner.kept.clone(), reader.parse()?);
        self.beside(async move { kept.set_mark(&reader, position).await }).await
    }
}
