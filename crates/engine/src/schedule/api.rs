//! Schedules, as a program asks for them.

use tenure_core::answer::Answer;
use tenure_core::id::ItemId;
use tenure_core::item::SharedItem;
use tenure_core::request::{Command, Create};
use tenure_core::time::Time;
use tenure_core::word::{Key, Kind, Label};
use tenure_databases::outside;

use super::plan::{Plan, Schedule};
use super::{kind, mend, tick_kind};
use crate::error::Error;
use crate::tenure::Tenure;

/// One look takes so many rows.
const PAGE: usize = 500;
/// A store with more schedules than this has made them by mistake; the rest is not listed.
const LISTED_MAX: usize = 10_000;

/// A schedule as it is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Scheduled {
    pub id: ItemId,
    pub name: Key,
    /// `ACTIVE` or `PAUSED`.
    pub state: Label,
    pub times: String,
    pub zone: Option<String>,
    /// The kind of what it creates.
    pub creates: Kind,
    /// When it creates next. None while it is paused, or a moment after its creation.
    pub next: Option<Time>,
}

impl Tenure {
    /// Gives a standing order. The same under the same name again is the same schedule; another under the name of one that
    /// stands is refused: remove that one first.
    pub async fn schedule(&self, schedule: Schedule) -> Result<SharedItem, Error> {
        let inner = &self.inner;
        let plan =
            schedule.plan(&inner.kept.tables(), &self.store, outside::now()).map_err(Error::Schedule)?;
        let payload = plan.body().map_err(Error::Schedule)?;
        let item = match self.ask(Command::Create(Create::new(kind(), payload.clone()))).await?.answer {
            Answer::Created(item) => item,
            Answer::Coalesced(item) if item.payload == payload.hash() => item,
            Answer::Coalesced(item) => {
                return Err(Error::Taken { kind: kind(), name: plan.name, item: item.id });
            }
            no => return Err(Error::Refused(Box::new(no))),
        };
        self.mend(item.id).await?;
        Ok(item)
    }

    /// The schedules that stand, by name.
    pub async fn schedules(&self) -> Result<Vec<Scheduled>, Error> {
        let mut scheduled = Vec::new();
        for (name, id) in self.standing(kind()).await? {
            let whole = self.whole(id).await?;
            let Some(plan) = whole.payload.as_ref().and_then(|payload| Plan::read(payload).ok()) else {
                continue;
            };
            scheduled.push(Scheduled {
                id,
                name,
                state: whole.item.state_name().clone(),
                times: plan.times,
                zone: plan.zone,
                creates: plan.creates.kind,
                next: None,
            });
        }
        for (schedule, tick) in self.standing(tick_kind()).await? {
            let of =
                scheduled.iter_mut().find(|one| one.id.to_string() == *schedule && &*one.state == "ACTIVE");
            if let Some(one) = of {
                one.next = Some(self.item(tick).await?.run_at);
            }
        }
        Ok(scheduled)
    }

    /// Nothing is created until it is resumed; the times in between are not made up for.
    pub async fn pause_schedule(&self, name: &str) -> Result<SharedItem, Error> {
        self.move_named(kind(), name, "pause").await
    }

    pub async fn resume_schedule(&self, name: &str) -> Result<SharedItem, Error> {
        let item = self.move_named(kind(), name, "resume").await?;
        self.mend(item.id).await?;
        Ok(item)
    }

    /// Calls it off. What it has created stays; its name is free again.
    pub async fn remove_schedule(&self, name: &str) -> Result<SharedItem, Error> {
        self.move_named(kind(), name, "remove").await
    }

    /// The items that stand for their keys.
    pub(crate) async fn standing(&self, kind: Kind) -> Result<Vec<(Key, ItemId)>, Error> {
        let (kept, store) = (self.inner.kept.clone(), self.store.clone());
        let read = async move {
            let mut standing: Vec<(Key, ItemId)> = Vec::new();
            loop {
                let after = standing.last().map(|(key, _)| key.clone());
                let page = kept.standing(&store, &kind, after.as_ref(), PAGE).await?;
                let full = page.len() >= PAGE;
                standing.extend(page);
                if !full || standing.len() >= LISTED_MAX {
                    return Ok(standing);
                }
            }
        };
        self.beside(read).await
    }

    /// A plain move of the item that has this name now.
    pub(crate) async fn move_named(&self, kind: Kind, name: &str, event: &str) -> Result<SharedItem, Error> {
        let standing = self.standing(kind.clone()).await?;
        let found = standing.into_iter().find(|(key, _)| &**key == name);
        let (_, item) = found.ok_or_else(|| Error::NoSuchName { kind, name: name.to_string() })?;
        self.advance(item, event).await
    }

    async fn mend(&self, schedule: ItemId) -> Result<(), Error> {
        let parts = self.parts();
        self.beside(async move { mend::mend(&parts, &parts.store, schedule).await }).await
    }
}
