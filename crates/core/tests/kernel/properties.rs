//! Whatever is asked, by whomever, in whatever order: the promises hold after every step.
//!
//! Random commands of every verb on many kinds, by right and wrong roles, by owners and their other incarnations, under
//! stale and foreign executions, repeated and late, with effects, names from a tiny pool and a clock that also goes back.
//! At the end the log alone makes the same world again. A failing run is shrunk and its seed kept by proptest.

mod dice;
mod effects;
mod found;
mod loaded;
mod promises;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use proptest::prelude::*;
use tenure_core::check::actions::Action;
use tenure_core::decide::{Decision, decide};
use tenure_core::draw::Draw;
use tenure_core::entry::{Ended, Entry, Facts};
use tenure_core::lifecycle::parse::parse;
use tenure_core::lifecycle::shipped;
use tenure_core::request::Request;
use tenure_core::world::{Change, World};

use crate::kit::{START, entries};
use dice::Dice;

/// A world, and its log in the order in which it was written.
pub struct Play {
    world: World,
    draw: Draw,
    log: Vec<Entry>,
    /// Every request so far: any of them may come again.
    sent: Vec<Request>,
    /// Which kinds it is mostly about; from the first numbers.
    theme: usize,
}

impl Play {
    fn new() -> Play {
        let mut tables = shipped::tables();
        for source in [
            include_str!("../expense.md"),
            include_str!("explored/parcel.md"),
            include_str!("properties/desk.md"),
        ] {
            tables.add(parse(source).expect("the lifecycle parses"));
        }
        let kept_shortly: Vec<String> =
            tables.iter().filter_map(|table| kept_a_minute(&table.source)).collect();
        for source in kept_shortly {
            tables.add(parse(&source).expect("the lifecycle parses"));
        }
        let mut world = World::new(Arc::new(tables));
        world.now = START;
        Play { world, draw: Draw::new(42), log: Vec::new(), sent: Vec::new(), theme: 0 }
    }

    /// Decides, checks every promise, and lets it happen.
    fn send(&mut self, request: Request) -> Decision {
        let before = self.world.clone();
        self.sent.push(request.clone());
        let decision = decide(&self.world, &request, &mut self.draw.clone());
        loaded::decides_the_same(&self.world, &request, &self.draw, &decision);
        decide(&self.world, &request, &mut self.draw);
        self.world.apply(decision.changes.clone());
        self.log.extend(entries(&decision).into_iter().cloned());
        promises::of_a_step(&before, &request, &decision, &self.world);
        promises::of_a_repeat(&request, &decision, &self.world, &self.draw);
        promises::of_a_world(&self.world, &decision);
        decision
    }

    /// What was asked, for whoever has to find out.
    fn story(&self) -> String {
        let line = |request: &Request| {
            let words = Action::Ask(Box::new(request.clone())).describe();
            format!("{words}\n    {:?}\n", request.command)
        };
        self.sent.iter().map(line).collect()
    }

    fn roll(&mut self, numbers: &[u16]) -> Decision {
        if self.sent.is_empty() {
            self.theme = numbers.last().copied().unwrap_or(0).into();
        }
        let mut dice = Dice::new(numbers);
        dice.clock(&mut self.world);
        let request = dice.request(self);
        self.send(request)
    }
}

/// The same lifecycle, whose items are removed a minute after their end and given back once at no cost.
fn kept_a_minute(source: &str) -> Option<String> {
    let is_ours = |line: &&str| !line.starts_with("| retention") && !line.starts_with("| interruptions");
    let source: Vec<&str> = source.lines().filter(is_ours).collect();
    let settings = source.iter().position(|line| *line == "## Settings")?;
    let first = (settings..).find(|at| source[*at].starts_with("|--")).expect("in a table");
    Some(
        [&source[..=first], &["| retention | 1 min |", "| interruptions | 1 |"], &source[first + 1..]]
            .concat()
            .join("\n"),
    )
}

/// 256 cases by default; PROPTEST_CASES asks for more.
fn config() -> ProptestConfig {
    ProptestConfig { max_shrink_iters: 4_000, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config())]

    // covers: K-04, K-05, K-08, K-12, K-30, K-42
    #[test]
    fn whatever_is_asked_the_promises_hold(
        steps in prop::collection::vec(prop::array::uniform24(any::<u16>()), 40..80)
    ) {
        let mut play = Play::new();
        let held = catch_unwind(AssertUnwindSafe(|| {
            steps.iter().for_each(|numbers| { play.roll(numbers); });
            promises::of_a_log(&play.log, &play.world);
        }));
        prop_assert!(held.is_ok(), "a promise was broken, after:\n{}", play.story());
    }
}

/// The dice are not loaded: what they throw reaches every verb and every end.
#[test]
fn the_dice_reach_every_verb_and_most_answers() {
    let mut draw = Draw::new(1);
    let (mut actions, mut answers, mut states) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..300 {
        let mut play = Play::new();
        for _ in 0..60 {
            let numbers: Vec<u16> = (0..24).map(|_| draw.number() as u16).collect();
            let decision = play.roll(&numbers);
            let code = decision.answer.code().map_or("yes".to_string(), |code| code.to_string());
            answers.push(code);
            for change in decision.changes {
                if let Change::Entry(entry) = change {
                    actions.push(match &entry.facts {
                        Facts::End(Ended { on: Some(on), .. }) => format!("{} on {on}", entry.action),
                        _ => entry.action.to_string(),
                    });
                    let kind = play.world.items.get(&entry.item).map(|item| &item.table.kind);
                    states.extend(kind.map(|kind| format!("{kind} {}", entry.state)));
                }
            }
        }
    }
    for (what, list, floor) in
        [("actions", &mut actions, 30), ("answers", &mut answers, 13), ("states", &mut states, 60)]
    {
        let total = list.len();
        list.sort();
        let mut counts: Vec<(String, usize)> = Vec::new();
        for word in list.iter() {
            match counts.last_mut().filter(|(last, _)| last == word) {
                Some((_, count)) => *count += 1,
                None => counts.push((word.clone(), 1)),
            }
        }
        println!("{what}: {total} of {} sorts\n  {counts:?}", counts.len());
        assert!(counts.len() >= floor, "only {} sorts of {what}: {counts:?}", counts.len());
    }
}
