//! outlook: what could happen to an item as things are, asked without asking for it. Decides nothing and writes nothing: guards
//! and limits are judged where every request's are, so what is said here is what a request would be told.

use alloc::string::String;
use alloc::vec::Vec;

use super::draft::Draft;
use super::effects::system;
use super::guards::{self, Case};
use super::limits;
use crate::answer::Answer;
use crate::control::HeldBack;
use crate::item::Item;
use crate::lifecycle::Row;
use crate::lifecycle::guard::Guard;
use crate::world::World;

/// A guard that does not hold now, whoever asks and whatever they bring.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Barred {
    pub guard: Guard,
    pub why: String,
}

/// What keeps a row from being taken as things are.
pub fn barred(world: &World, item: &Item, row: &Row) -> Vec<Barred> {
    let draft = Draft::new(world);
    // These guards look at nobody.
    let nobody = system();
    let case = Case::of(&nobody);
    let about_the_world = row.guards.iter().filter(|guard| !is_about_the_request(guard));
    let unmet = about_the_world.filter(|guard| !guards::holds(&draft, item, guard, &case));
    unmet.map(|guard| Barred { guard: guard.clone(), why: guards::explain(&draft, item, guard) }).collect()
}

/// What a request must bring for a row to be taken.
pub fn needed(row: &Row) -> impl Iterator<Item = &Guard> {
    row.guards.iter().filter(|guard| is_about_the_request(guard))
}

/// What keeps an item that nobody holds from being leased: a limit of its key or of its kind, a pause, a breaker.
pub fn held_back(world: &World, item: &Item) -> Option<HeldBack> {
    match limits::admit(&Draft::new(world), item) {
        Err(Answer::Limited(held_back)) => Some(*held_back),
        Ok(()) | Err(_) => None,
    }
}

fn is_about_the_request(guard: &Guard) -> bool {
    match guard {
        Guard::Permanent | Guard::Reason | Guard::Owner | Guard::LiveSession => true,
        Guard::SameProof | Guard::Workspace | Guard::GatesPass => true,
        Guard::Decomposition | Guard::OutputBundle | Guard::Judgement => true,
        Guard::TerminalReason | Guard::RunRecord | Guard::BlockersNamed => true,
        Guard::AttemptsLeft | Guard::AttemptsExhausted | Guard::NoOtherRunning => false,
        Guard::DependenciesDone | Guard::BlockersClosed | Guard::Payload(_) => false,
    }
}
