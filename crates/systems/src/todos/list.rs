//! list: the tasks of a store, a page at a time.
//!
//! In the order they were added a page is one look at the database. In the order in which `next` would take them, with a filter, or to be
//! counted, all tasks in the states asked for are looked at in outline. Tasks are read if they are shown, and where an outline does not
//! tell: what they wait for if they have links, who holds them, their tags, and the place of what was given up.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use tenure::core::id::ItemId;
use tenure::core::item::Item;
use tenure::core::lifecycle::Phase;
use tenure::core::time::Time;
use tenure::core::word::{Label, Who};
use tenure::databases::look::Outline;
use tenure::databases::{Order, PAGE_MAX, Place, Query};

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
    fn is_by_age(&self) -> bool {
        matches!(self.sorted, Sorted::Oldest | Sorted::Newest)
    }

    fn is_filtered(&self) -> bool {
        self.tag.is_some() || self.owner.is_some() || self.readiness != Readiness::Any
    }

    /// What a database can tell of it, for a page in the order of age or for all of them.
    fn query(&self) -> Result<Query, Error> {
        let order = match self.sorted {
            Sorted::Oldest | Sorted::Next => Order::Oldest,
            Sorted::Newest => Order::Newest,
        };
        // What somebody holds is active, and what may be taken is ready. Nothing is both.
        let phase = match (&self.owner, self.readiness) {
            (Some(_), _) => Some(Phase::Active),
            (None, Readiness::Ready) => Some(Phase::Ready),
            (None, Readiness::Any) => None,
        };
        let (kind, state) = (Some(KIND.parse().map_err(tenure::Error::from)?), self.state.clone());
        Ok(Query { kind, state, phase, order, after: self.after, limit: self.limit, ..Query::default() })
    }
}

impl Todos {
    pub async fn list(&self, wanted: &Wanted) -> Result<Listed, Error> {
        if wanted.is_by_age() && !wanted.is_filtered() {
            let items = self.tenure.list(wanted.query()?).await?;
            let next = items.last().filter(|_| items.len() == wanted.limit).map(|last| last.id);
            let total = match wanted.counting {
                Counting::No => None,
                Counting::All => Some(self.tenure.outlines(wanted.query()?).await?.len() as u64),
            };
            return Ok(Listed {
                tasks: self.tasks(items.iter().map(|item| item.id).collect()).await?,
                next,
                total,
            });
        }
        let mut found = self.tenure.outlines(wanted.query()?).await?;
        if let Some(owner) = &wanted.owner {
            found = self.held(found, wanted.readiness, owner).await?;
        } else if wanted.readiness == Readiness::Ready {
            found = self.ready(found).await?;
        }
        if let Some(tag) = &wanted.tag {
            found = self.tagged(found, tag).await?;
        }
        let found = self.in_order(found, wanted.sorted).await?;
        let begin = self.begin(&found, wanted).await?;
        let page = &found[begin..found.len().min(begin + wanted.limit)];
        let next = page.last().filter(|_| begin + page.len() < found.len()).map(|last| last.id);
        let tasks = self.tasks(page.iter().map(|place| place.id).collect()).await?;
        Ok(Listed { tasks, next, total: Some(found.len() as u64) })
    }

    /// Those that an agent or person holds, in whatever session.
    async fn held(
        &self,
        outlines: Vec<Outline>,
        readiness: Readiness,
        owner: &Who,
    ) -> Result<Vec<Outline>, Error> {
        if readiness == Readiness::Ready {
            return Ok(Vec::new());
        }
        let items = self.tenure.items(ids(&outlines)).await?;
        let is_theirs = |item: &&Item| item.lease.as_ref().is_some_and(|lease| lease.owner.id == *owner);
        let held: BTreeSet<ItemId> = items.iter().filter(is_theirs).map(|item| item.id).collect();
        Ok(only(outlines, &held))
    }

    /// Those that wait for nothing that is not verified.
    async fn ready(&self, outlines: Vec<Outline>) -> Result<Vec<Outline>, Error> {
        let linked = outlines.iter().filter(|outline| outline.is_linked).map(|outline| outline.id).collect();
        let linked = self.tenure.items(linked).await?;
        let on: BTreeSet<ItemId> = linked.iter().flat_map(|item| item.linked("depends")).collect();
        let on = self.tenure.items(on.into_iter().collect()).await?;
        let is_verified = |item: &&Item| item.state_name().as_str() == "Verified";
        let verified: BTreeSet<ItemId> = on.iter().filter(is_verified).map(|item| item.id).collect();
        let is_free = |item: &&Item| item.linked("depends").all(|on| verified.contains(&on));
        let free: BTreeSet<ItemId> = linked.iter().filter(is_free).map(|item| item.id).collect();
        Ok(outlines.into_iter().filter(|outline| !outline.is_linked || free.contains(&outline.id)).collect())
    }

    async fn tagged(&self, outlines: Vec<Outline>, tag: &str) -> Result<Vec<Outline>, Error> {
        let mut tagged = BTreeSet::new();
        for some in outlines.chunks(PAGE_MAX) {
            let tasks = self.tasks(ids(some)).await?;
            let with = tasks.iter().filter(|task| task.tags.iter().any(|one| one == tag));
            tagged.extend(with.map(|task| task.item.id));
        }
        Ok(only(outlines, &tagged))
    }

    async fn in_order(&self, outlines: Vec<Outline>, sorted: Sorted) -> Result<Vec<Place>, Error> {
        let mut places = Vec::with_capacity(outlines.len());
        let mut unranked = Vec::new();
        for Outline { id, rank, .. } in outlines {
            match (rank, sorted) {
                (Some(rank), _) => places.push(Place { rank, id }),
                (None, Sorted::Next) => unranked.push(id),
                (None, Sorted::Oldest | Sorted::Newest) => places.push(Place { rank: Time::default(), id }),
            }
        }
        // Given up, it is taken by nobody; it is shown where it would be.
        places.extend(self.tenure.items(unranked).await?.iter().map(Place::of));
        match sorted {
            Sorted::Oldest => places.sort_unstable_by_key(|place| place.id),
            Sorted::Newest => places.sort_unstable_by_key(|place| Reverse(place.id)),
            Sorted::Next => places.sort_unstable(),
        }
        Ok(places)
    }

    /// Where the page begins. The last one of the page before may have left the list meanwhile; its place has not.
    async fn begin(&self, found: &[Place], wanted: &Wanted) -> Result<usize, Error> {
        let Some(after) = wanted.after else { return Ok(0) };
        Ok(match wanted.sorted {
            Sorted::Oldest => found.partition_point(|place| place.id <= after),
            Sorted::Newest => found.partition_point(|place| place.id >= after),
            Sorted::Next => {
                let last = Place::of(&self.tenure.item(after).await?);
                found.partition_point(|place| *place <= last)
            }
        })
    }

    /// What was removed meanwhile is not among them.
    async fn tasks(&self, ids: Vec<ItemId>) -> Result<Vec<Task>, Error> {
        let wholes = self.tenure.wholes(ids).await?;
        Ok(wholes.into_iter().map(Task::of).collect())
    }
}

fn ids(outlines: &[Outline]) -> Vec<ItemId> {
    outlines.iter().map(|outline| outline.id).collect()
}

fn only(outlines: Vec<Outline>, these: &BTreeSet<ItemId>) -> Vec<Outline> {
    outlines.into_iter().filter(|outline| these.contains(&outline.id)).collect()
}
