//! What happens to whom and when, all of it decided by the seed before anything begins.
//!
//! Somebody is always left: one node at least and half of the workers, so that what a fault leaves behind can be taken over
//! and the time until then says something.

use std::time::Duration;

use tenure_core::draw::Draw;

/// A process by its place; who is killed is followed by another in the same place.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Who {
    Node(usize),
    Worker(usize),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    Kill(Who),
    /// Another process in the place of the one that was killed.
    Start(Who),
    Stop(Who),
    GoOn(Who),
    /// Some connections to the server are cut; the number says which.
    Cut(u64),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Sort {
    Kill,
    Stop,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Among {
    Nodes,
    Workers,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Event {
    pub at: Duration,
    pub step: Step,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Size {
    pub nodes: usize,
    pub workers: usize,
    pub span: Duration,
    /// Whether there are connections that can be cut.
    pub cuts: Cuts,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cuts {
    Some,
    None,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Plan {
    /// How long the leases of each worker's place are.
    pub leases: Vec<Duration>,
    /// In the order of time. The last ones bring everyone back, also after the span.
    pub events: Vec<Event>,
}

/// Leases: short, so that many end while somebody watches; a second is the least there is.
const LEASE_MIN_MS: u64 = 1_000;
const LEASE_MAX_MS: u64 = 3_000;
/// Between two faults.
const GAP_MIN_MS: u64 = 150;
const GAP_MAX_MS: u64 = 700;
/// Before another takes the place of one that was killed.
const ABSENCE_MIN_MS: u64 = 50;
const ABSENCE_MAX_MS: u64 = 1_000;
/// Everyone begins to work before the first fault.
const FIRST_MS: u64 = 500;

impl Plan {
    pub fn new(seed: u64, size: Size) -> Plan {
        let mut draw = Draw::new(seed);
        let lease = |_| Duration::from_millis(between(&mut draw, LEASE_MIN_MS, LEASE_MAX_MS));
        let leases: Vec<Duration> = (0..size.workers).map(lease).collect();
        let mut making = Making { draw, size, back: Vec::new(), events: Vec::new() };
        let mut at = Duration::from_millis(FIRST_MS);
        while at < size.span {
            making.fault(at, &leases);
            at += Duration::from_millis(between(&mut making.draw, GAP_MIN_MS, GAP_MAX_MS));
        }
        let mut events = making.events;
        events.sort_by_key(|event| event.at);
        Plan { leases, events }
    }
}

fn between(draw: &mut Draw, least: u64, most: u64) -> u64 {
    least + draw.number() % (most - least + 1)
}

struct Making {
    draw: Draw,
    size: Size,
    /// Who is away, and until when.
    back: Vec<(Who, Duration)>,
    events: Vec<Event>,
}

impl Making {
    fn fault(&mut self, at: Duration, leases: &[Duration]) {
        self.back.retain(|(_, until)| *until >= at);
        let (sort, among) = match self.draw.number() % 100 {
            0..40 => (Sort::Kill, Among::Workers),
            40..68 => (Sort::Stop, Among::Workers),
            68..80 => (Sort::Kill, Among::Nodes),
            80..90 => (Sort::Stop, Among::Nodes),
            _ if self.size.cuts == Cuts::Some => {
                let which = self.draw.number();
                return self.events.push(Event { at, step: Step::Cut(which) });
            }
            _ => (Sort::Kill, Among::Workers),
        };
        let Some(who) = self.someone(among) else { return };
        let (away, down, up) = match sort {
            Sort::Kill => {
                (between(&mut self.draw, ABSENCE_MIN_MS, ABSENCE_MAX_MS), Step::Kill(who), Step::Start(who))
            }
            // Past the lease, so that another has it when the process goes on.
            Sort::Stop => {
                let lease = match who {
                    Who::Worker(place) => leases[place].as_millis() as u64,
                    Who::Node(_) => LEASE_MIN_MS,
                };
                (lease + between(&mut self.draw, 300, 2_500), Step::Stop(who), Step::GoOn(who))
            }
        };
        let until = at + Duration::from_millis(away);
        self.back.push((who, until));
        self.events.extend([Event { at, step: down }, Event { at: until, step: up }]);
    }

    /// Somebody who is there and can be missed.
    fn someone(&mut self, among: Among) -> Option<Who> {
        let away = |who: &Who| self.back.iter().any(|(gone, _)| gone == who);
        let (all, least): (Vec<Who>, usize) = match among {
            Among::Workers => {
                ((0..self.size.workers).map(Who::Worker).collect(), self.size.workers.div_ceil(2))
            }
            Among::Nodes => ((0..self.size.nodes).map(Who::Node).collect(), 1),
        };
        let there: Vec<Who> = all.into_iter().filter(|who| !away(who)).collect();
        let chosen = self.draw.number() as usize % there.len().max(1);
        there.get(chosen).copied().filter(|_| there.len() > least)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: Size = Size { nodes: 3, workers: 12, span: Duration::from_secs(60), cuts: Cuts::Some };

    #[test]
    fn the_seed_decides_all_of_it() {
        assert_eq!(Plan::new(7, SIZE), Plan::new(7, SIZE));
        assert_ne!(Plan::new(7, SIZE), Plan::new(8, SIZE));
        let has_cuts = |plan: Plan| plan.events.iter().any(|event| matches!(event.step, Step::Cut(_)));
        assert!(has_cuts(Plan::new(7, SIZE)));
        assert!(!has_cuts(Plan::new(7, Size { cuts: Cuts::None, ..SIZE })));
    }

    #[test]
    fn somebody_is_left_and_everyone_comes_back() {
        for seed in 0..50 {
            let plan = Plan::new(seed, SIZE);
            let mut away: Vec<Who> = Vec::new();
            for event in &plan.events {
                match event.step {
                    Step::Kill(who) | Step::Stop(who) => {
                        assert!(!away.contains(&who), "seed {seed}: {who:?} is away already");
                        away.push(who);
                    }
                    Step::Start(who) | Step::GoOn(who) => away.retain(|gone| *gone != who),
                    Step::Cut(_) => {}
                }
                let nodes = away.iter().filter(|who| matches!(who, Who::Node(_))).count();
                assert!(nodes < SIZE.nodes, "seed {seed}: no node is left");
                assert!(away.len() - nodes <= SIZE.workers / 2, "seed {seed}: too few workers are left");
            }
            assert_eq!(away, [], "seed {seed}: not everyone came back");
            assert!(plan.events.len() > 100, "seed {seed}: {} events", plan.events.len());
        }
    }
}
