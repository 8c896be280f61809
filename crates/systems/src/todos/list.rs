//! list: the tasks of a store, a page at a time.
//!
//! In the order they were added a page is one look at the database. In the order in which `next` would take them, with a filter, or to be
//! counted, all tasks in the states asked for are looked at: some milliseconds for every thousand. What stands in payloads is read for
//! those that are shown, and where a tag is asked for.

use std::collections::BTreeMap;

use tenure::core::id::ItemId;
use tenure::core::item::Item;
use tenure::core::word::{Label, Who};
use tenure::databases::{Order, PAGE_MAX, Query};

use super::refusal::Error;
use super::task::Task;
use super::{KIND, Todos};

/// Which tasks.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Wanted {
    pub state: Option<Label>,
    pub sorted: Sorted,
    /// Only with this tag.
    pub tag: Option<String>,
    /// Only what this agent or person holds.
    pub owner: Option<Who>,
    pub readiness: Readiness,
    pub counting: Counting,
    /// The last one of the page before.
    pub after: Option<ItemId>,
    pub limit: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Sorted {
    #[default]
    Oldest,
    Newest,
    /// As `next` would take them: by priority and age.
    Next,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Readiness {
    #[default]
    Any,
    /// Owned by nobody, with everything verified that it depends on: what `next` may take.
    Ready,
}

/// Whether it is told how many there are besides those of the page.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Counting {
    #[default]
    No,
    All,
}

/// A page of tasks.
#[derive(Clone, Debug)]
pub struct Listed {
    pub tasks: Vec<Task>,
    /// Behind which the next page begins. None: that was all.
    pub next: Option<ItemId>,
    /// Of all pages, where all were looked at.
    pub total: Option<u64>,
}

impl Wanted {
    fn is_a_page(&self) -> bool {
        let by_age = matches!(self.sorted, Sorted::Oldest | Sorted::Newest);
        let unfiltered = self.tag.is_none() && self.owner.is_none() && self.readiness == Readiness::Any;
        by_age && unfiltered && self.counting == Counting::No
    }

    fn order(&self) -> Order {
        match self.sorted {
            Sorted::Oldest | Sorted::Next => Order::Oldest,
            Sorted::Newest => Order::Newest,
        }
    }

    /// What can be told from the item alone.
    fn may_be(&self, item: &Item) -> bool {
        let owned = |who: &Who| item.lease.as_ref().is_some_and(|lease| lease.owner.id == *who);
        let is_free = self.readiness == Readiness::Any || item.state_name().as_str() == "Draft";
        is_free && self.owner.as_ref().is_none_or(owned)
    }
}

impl Todos {
    pub async fn list(&self, wanted: &Wanted) -> Result<Listed, Error> {
        if wanted.is_a_page() {
            let items = self.items(wanted, wanted.after, wanted.limit).await?;
            let next = items.last().filter(|_| items.len() == wanted.limit).map(|last| last.id);
            return Ok(Listed { tasks: self.tasks(&items).await?, next, total: None });
        }
        let mut found = self.all_that_may_be(wanted).await?;
        if wanted.sorted == Sorted::Next {
            found.sort_by_key(|item| (item.rank(), item.id));
        }
        if wanted.readiness == Readiness::Ready {
            found = self.ready(found).await?;
        }
        if let Some(tag) = &wanted.tag {
            found = self.tagged(found, tag).await?;
        }
        let begin = self.begin(&found, wanted).await?;
        let page = &found[begin..found.len().min(begin + wanted.limit)];
        let next = page.last().filter(|_| begin + page.len() < found.len()).map(|last| last.id);
        Ok(Listed { tasks: self.tasks(page).await?, next, total: Some(found.len() as u64) })
    }

    async fn items(&self, wanted: &Wanted, after: Option<ItemId>, limit: usize) -> Result<Vec<Item>, Error> {
        let (kind, order) = (Some(KIND.parse().map_err(tenure::Error::from)?), wanted.order());
        let query = Query { kind, state: wanted.state.clone(), order, after, limit, ..Query::default() };
        Ok(self.tenure.list(query).await?)
    }

    async fn all_that_may_be(&self, wanted: &Wanted) -> Result<Vec<Item>, Error> {
        let (mut found, mut after) = (Vec::new(), None);
        loop {
            let page = self.items(wanted, after, PAGE_MAX).await?;
            let is_last = page.len() < PAGE_MAX;
            after = page.last().map(|last| last.id);
            found.extend(page.into_iter().filter(|item| wanted.may_be(item)));
            if is_last {
                return Ok(found);
            }
        }
    }

    /// Those that wait for nothing that is not verified.
    async fn ready(&self, items: Vec<Item>) -> Result<Vec<Item>, Error> {
        let mut verified: BTreeMap<ItemId, bool> = BTreeMap::new();
        let mut ready = Vec::with_capacity(items.len());
        for item in items {
            let mut waits = false;
            for on in item.linked("depends") {
                let is_done = match verified.get(&on) {
                    Some(known) => *known,
                    None => self.is_verified(on).await?,
                };
                verified.insert(on, is_done);
                waits |= !is_done;
            }
            if !waits {
                ready.push(item);
            }
        }
        Ok(ready)
    }

    async fn is_verified(&self, id: ItemId) -> Result<bool, Error> {
        match self.tenure.item(id).await {
            Ok(item) => Ok(item.state_name().as_str() == "Verified"),
            Err(tenure::Error::NotFound(_)) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    async fn tagged(&self, items: Vec<Item>, tag: &str) -> Result<Vec<Item>, Error> {
        let mut found = Vec::new();
        for item in items {
            if self.task(item.id).await?.tags.iter().any(|one| one == tag) {
                found.push(item);
            }
        }
        Ok(found)
    }

    /// Where the page begins. The last one of the page before may have left the list meanwhile; its place has not.
    async fn begin(&self, found: &[Item], wanted: &Wanted) -> Result<usize, Error> {
        let Some(after) = wanted.after else { return Ok(0) };
        let is_seen: Box<dyn Fn(&Item) -> bool + Send> = match wanted.sorted {
            Sorted::Oldest => Box::new(move |item| item.id <= after),
            Sorted::Newest => Box::new(move |item| item.id >= after),
            Sorted::Next => {
                let last = self.tenure.item(after).await?;
                let place = (last.rank(), last.id);
                Box::new(move |item| (item.rank(), item.id) <= place)
            }
        };
        Ok(found.partition_point(|item| is_seen(item)))
    }

    async fn tasks(&self, items: &[Item]) -> Result<Vec<Task>, Error> {
        let mut tasks = Vec::with_capacity(items.len());
        for item in items {
            tasks.push(self.task(item.id).await?);
        }
        Ok(tasks)
    }
}
