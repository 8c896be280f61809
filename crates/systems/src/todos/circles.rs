//! Tasks that wait for each other, so that none of them can ever be claimed. `depend` refuses to close such a circle; one that is there
//! came from elsewhere, or from two who closed it together and were gone before either had looked again.

use std::collections::{BTreeMap, BTreeSet};

use tenure::core::id::ItemId;
use tenure::core::item::Item;

use super::Todos;
use super::refusal::Error;
use super::validate::{FAULTS_MAX, Report};

/// Of a longer circle the first ones are named: the way to open it is told all the same.
const NAMED_MAX: usize = 20;

/// What each open task waits for. One that has ended waits for nothing.
#[derive(Debug, Default)]
pub(super) struct Waits(BTreeMap<ItemId, BTreeSet<ItemId>>);

impl Waits {
    pub fn add(&mut self, item: &Item) {
        let on: BTreeSet<ItemId> = item.linked("depends").collect();
        if !item.phase().is_ended() && !on.is_empty() {
            self.0.insert(item.id, on);
        }
    }

    /// Circles, each beginning with its oldest task. No two have a task in common: whoever opens one finds what is behind it.
    fn circles(mut self) -> Vec<Vec<ItemId>> {
        let mut found = Vec::new();
        loop {
            self.settle();
            // What is left waits for something that is left, so that whoever follows it comes round.
            let Some(start) = self.0.keys().next().copied() else { return found };
            let (mut way, mut places, mut at) = (Vec::new(), BTreeMap::new(), start);
            let begin = loop {
                if let Some(place) = places.insert(at, way.len()) {
                    break place;
                }
                way.push(at);
                at = *self.0[&at].first().expect("whoever waits for nothing was settled");
            };
            let mut circle = way.split_off(begin);
            let oldest = circle.iter().enumerate().min_by_key(|(_, id)| **id).map_or(0, |(index, _)| index);
            circle.rotate_left(oldest);
            circle.iter().for_each(|id| drop(self.0.remove(id)));
            found.push(circle);
        }
    }

    /// Takes out all that will come to its turn: what waits for nothing, and what waits for that alone.
    fn settle(&mut self) {
        let mut waited_by: BTreeMap<ItemId, Vec<ItemId>> = BTreeMap::new();
        let open: BTreeSet<ItemId> = self.0.keys().copied().collect();
        for (id, on) in &mut self.0 {
            on.retain(|on| open.contains(on));
            on.iter().for_each(|on| waited_by.entry(*on).or_default().push(*id));
        }
        let mut free: Vec<ItemId> =
            self.0.iter().filter(|(_, on)| on.is_empty()).map(|(id, _)| *id).collect();
        while let Some(id) = free.pop() {
            self.0.remove(&id);
            for waiting in waited_by.remove(&id).unwrap_or_default() {
                if let Some(on) = self.0.get_mut(&waiting)
                    && on.remove(&id)
                    && on.is_empty()
                {
                    free.push(waiting);
                }
            }
        }
    }
}

impl Todos {
    /// Names the circles. The list was read in pages: each is looked at once more, now.
    pub(super) async fn circles(&self, waits: Waits, report: &mut Report) -> Result<(), Error> {
        for circle in waits.circles().into_iter().take(FAULTS_MAX) {
            let items = self.tenure.items(circle.clone()).await?;
            let next = circle.iter().cycle().skip(1);
            let holds = items
                .iter()
                .zip(next)
                .all(|(item, next)| !item.phase().is_ended() && item.linked("depends").any(|on| on == *next));
            if holds && items.len() == circle.len() {
                report.add("dependencies", circle.first().copied(), told(&items));
            }
        }
        Ok(())
    }
}

fn told(items: &[Item]) -> String {
    let name = |item: &Item| {
        let title = item.key.as_ref().map_or(String::new(), |title| format!(" ({title})"));
        format!("{}{title}", item.id)
    };
    let mut way: Vec<String> = items.iter().take(NAMED_MAX).map(name).collect();
    if let Some(others) = items.len().checked_sub(NAMED_MAX).filter(|others| *others > 0) {
        way.push(format!("{others} others"));
    }
    way.extend(items.first().map(|item| item.id.to_string()));
    let way = way.join(" waits for ");
    match items {
        [only] => format!("it waits for itself: tenure todo depend {} --remove {}", only.id, only.id),
        [first, second, ..] => format!(
            "it waits for itself: {way}; open it with: tenure todo depend {} --remove {}",
            first.id, second.id
        ),
        [] => way,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn circles(edges: &[(u128, u128)]) -> Vec<Vec<ItemId>> {
        let mut waits = Waits::default();
        for (from, to) in edges {
            waits.0.entry(ItemId(*from)).or_default().insert(ItemId(*to));
        }
        waits.circles()
    }

    fn ids<const N: usize>(numbers: [u128; N]) -> Vec<ItemId> {
        numbers.map(ItemId).to_vec()
    }

    // covers: T-17
    #[test]
    fn every_circle_is_found_and_nothing_else() {
        assert_eq!(circles(&[]), Vec::<Vec<ItemId>>::new());
        assert!(circles(&[(1, 2), (1, 3), (2, 4), (3, 4), (4, 5)]).is_empty(), "two ways to one are none");
        assert_eq!(circles(&[(7, 7)]), [ids([7])]);
        assert_eq!(circles(&[(3, 1), (1, 2), (2, 3), (9, 3), (2, 4)]), [ids([1, 2, 3])]);
        assert_eq!(circles(&[(1, 2), (2, 1), (3, 4), (4, 3), (1, 3)]), [ids([1, 2]), ids([3, 4])]);
        // A long one, with a tail on either side.
        let mut edges: Vec<(u128, u128)> = (1..5_000).map(|number| (number, number + 1)).collect();
        edges.push((4_000, 1_000));
        let [circle] = &circles(&edges)[..] else { panic!("one") };
        assert_eq!((circle.len(), circle[0]), (3_001, ItemId(1_000)));
    }
}
