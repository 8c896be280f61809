//! depend: what must be verified before a task can be claimed. No task waits for itself, over however many others.

use std::collections::{BTreeMap, VecDeque};

use tenure::core::code::Code;
use tenure::core::id::ItemId;
use tenure::core::item::Link;
use tenure::core::request::{Command, Relink};

use super::refusal::{Error, Refusal};
use super::workspace::Facts;
use super::{Changed, Todos};

/// Tasks that are looked at for a circle. Whoever has more behind one task has no list any more.
const WALK_MAX: usize = 10_000;

impl Todos {
    pub async fn depend(
        &self,
        id: ItemId,
        add: &[ItemId],
        remove: &[ItemId],
        workspace: Option<&Facts>,
    ) -> Result<Changed, Error> {
        let before = self.task(id).await?.depends();
        self.workspace(workspace, &id.to_string())?;
        for on in add {
            self.is_task(*on).await?;
        }
        if let Some(circle) = self.circle(id, add).await? {
            return Err(circle.into());
        }
        let changed = self.relink(id, add, remove).await?;
        // Two that are added at the same time may close a circle that neither saw. Whoever sees it opens it again.
        if let Some(circle) = self.circle(id, add).await? {
            let (add, remove) = way_back(&before, add, remove);
            self.relink(id, &add, &remove).await?;
            return Err(circle.into());
        }
        Ok(changed)
    }

    async fn relink(&self, id: ItemId, add: &[ItemId], remove: &[ItemId]) -> Result<Changed, Error> {
        let label = "depends".parse::<tenure::core::word::Label>().map_err(tenure::Error::from)?;
        let link = |to: &ItemId| Link { label: label.clone(), to: *to };
        let (add, remove) = (add.iter().map(link).collect(), remove.iter().map(link).collect());
        self.changed(self.tenure.ask(Command::Link(Relink { item: id, add, remove })).await?).await
    }

    /// The way back to the task from what it is to depend on, as a refusal that names it.
    async fn circle(&self, id: ItemId, on: &[ItemId]) -> Result<Option<Refusal>, Error> {
        let mut from: BTreeMap<ItemId, ItemId> = on.iter().map(|on| (*on, id)).collect();
        let mut open: VecDeque<ItemId> = on.iter().copied().collect();
        while let Some(at) = open.pop_front() {
            if at == id {
                return Ok(Some(told(id, &from)));
            }
            if from.len() > WALK_MAX {
                let detail = format!("more than {WALK_MAX} tasks are behind this one; take it apart");
                return Ok(Some(Refusal::invalid(detail)));
            }
            let item = match self.tenure.item(at).await {
                Err(tenure::Error::NotFound(_)) => continue,
                item => item?,
            };
            for next in item.linked("depends") {
                if next == id {
                    from.insert(id, at);
                    return Ok(Some(told(id, &from)));
                }
                from.entry(next).or_insert_with(|| {
                    open.push_back(next);
                    at
                });
            }
        }
        Ok(None)
    }
}

/// What is added and what is removed so that a task depends on what it did before, and on whatever others have added since.
fn way_back(before: &[ItemId], added: &[ItemId], removed: &[ItemId]) -> (Vec<ItemId>, Vec<ItemId>) {
    let again = removed.iter().filter(|id| before.contains(id));
    let new = added.iter().filter(|id| !before.contains(id));
    (again.copied().collect(), new.copied().collect())
}

fn told(id: ItemId, from: &BTreeMap<ItemId, ItemId>) -> Refusal {
    let mut way = vec![id];
    while let Some(before) = from.get(way.last().expect("it begins with the task")) {
        way.push(*before);
        if *before == id {
            break;
        }
    }
    way.reverse();
    let way: Vec<String> = way.iter().map(ToString::to_string).collect();
    let detail = format!("a task can not wait for itself: {}", way.join(" waits for "));
    Refusal::new(Code::TransitionRefused, detail).with("circle", way)
}

#[cfg(test)]
mod tests {
    use super::*;

    // covers: T-17
    #[test]
    fn whoever_opens_a_circle_again_leaves_what_was_there_before() {
        let [a, b, c, d] = [1, 2, 3, 4].map(ItemId);
        assert_eq!(way_back(&[a, b], &[b, c], &[]), (vec![], vec![c]), "b was there already");
        assert_eq!(way_back(&[a, b], &[c], &[a, d]), (vec![a], vec![c]), "a was, and d was not");
    }
}
