//! Who wrote too late, as this process was told it: the last writes under a lease that the database refused, by item.
//!
//! A refused request leaves no entry and no row, so this is no part of the log: it begins with the process, is bounded, and another
//! process has its own. What never reached the database (a lease token that proves nothing) is not here.

use std::collections::VecDeque;
use std::sync::Mutex;

use serde::Serialize;
use tenure_core::answer::Answer;
use tenure_core::id::{ExecutionId, ItemId};
use tenure_core::request::{Command, Request};
use tenure_core::time::Time;
use tenure_core::word::Store;
use tenure_databases::outside;

/// Writers that are remembered, whatever the number of their items: a few hundred kilobytes. Of more the latest are.
pub const REFUSED_MAX: usize = 1_000;

/// A write that was refused, and its repeats. The names of the fields are a promise.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Refused {
    /// The attempt that it was for, which is its claim_version.
    pub attempt: u64,
    pub owner: String,
    /// What was asked for: `commit`, `renew`.
    pub write: &'static str,
    /// `LEASE_LOST` or `ALREADY_COMMITTED`.
    pub code: &'static str,
    /// How often it came.
    pub times: u64,
    /// When it came last, by the clock of the process that was told.
    pub at: Time,
}

/// What this process remembers, the latest last.
#[derive(Debug, Default)]
pub(crate) struct RefusedWrites {
    last: Mutex<VecDeque<(Store, ItemId, Refused)>>,
}

impl RefusedWrites {
    /// Remembers it if it is one.
    pub fn heard(&self, request: &Request, answer: &Answer) {
        let code = match answer {
            Answer::LeaseLost(_) => "LEASE_LOST",
            Answer::AlreadyCommitted(_) => "ALREADY_COMMITTED",
            _ => return,
        };
        let Some((execution, write)) = fenced(&request.command) else { return };
        let (attempt, owner) = (execution.fence.0, request.actor.owner().to_string());
        let new = Refused { attempt, owner, write, code, times: 1, at: outside::now() };
        self.add(request.store.clone(), execution.item, new);
    }

    fn add(&self, store: Store, item: ItemId, mut new: Refused) {
        let mut last = self.last.lock().expect("nobody panics while holding it");
        // One who goes on and on takes no room from the others.
        let is_it = |(in_store, of, told): &(Store, ItemId, Refused)| {
            *of == item && *in_store == store && told.is_repeated_by(&new)
        };
        if let Some((_, _, told)) = last.iter().rposition(is_it).and_then(|place| last.remove(place)) {
            new.times += told.times;
        }
        if last.len() == REFUSED_MAX {
            last.pop_front();
        }
        last.push_back((store, item, new));
    }

    /// Those of an item, the latest last.
    pub fn of(&self, store: &Store, item: ItemId) -> Vec<Refused> {
        let last = self.last.lock().expect("nobody panics while holding it");
        let its = last.iter().filter(|(in_store, of, _)| *of == item && in_store == store);
        its.map(|(_, _, told)| told.clone()).collect()
    }
}

impl Refused {
    fn is_repeated_by(&self, other: &Refused) -> bool {
        (self.attempt, self.write, self.code, &self.owner)
            == (other.attempt, other.write, other.code, &other.owner)
    }
}

/// What is written under a lease, and which.
fn fenced(command: &Command) -> Option<(ExecutionId, &'static str)> {
    match command {
        Command::Start(start) => Some((start.execution, "start")),
        Command::Renew(renew) => Some((renew.execution, "renew")),
        Command::Progress(progress) => Some((progress.execution, "progress")),
        Command::Commit(commit) => Some((commit.execution, "commit")),
        Command::Finish(finish) => Some((finish.execution, "finish")),
        Command::Fail(fail) => Some((fail.execution, "fail")),
        Command::Release(release) => Some((release.execution, "release")),
        Command::Create(_) | Command::Acquire(_) | Command::Take(_) | Command::Move(_) => None,
        Command::Cancel(_) | Command::Note(_) | Command::Link(_) | Command::Erase(_) => None,
        Command::Control(_) | Command::Sweep(_) | Command::Prune(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use tenure_core::id::Fence;
    use tenure_core::request::Start;

    use super::*;

    fn store() -> Store {
        "default".parse().unwrap()
    }

    fn refuse(told: &RefusedWrites, number: u128, attempt: u64) -> ItemId {
        let item = ItemId(number);
        let start = Start { execution: ExecutionId { item, fence: Fence(attempt) } };
        let actor = "worker:w/1".parse().unwrap();
        let request = Request { store: store(), actor, command: Command::Start(start) };
        told.heard(&request, &Answer::LeaseLost("it ended".to_string()));
        item
    }

    #[test]
    fn the_latest_are_remembered_and_a_repeat_takes_no_room() {
        let told = RefusedWrites::default();
        let first = refuse(&told, 0, 1);
        for number in 1..REFUSED_MAX as u128 {
            refuse(&told, number, 1);
        }
        for _ in 0..REFUSED_MAX {
            refuse(&told, 1, 1);
        }
        assert_eq!(told.of(&store(), first).len(), 1, "one writer's repeats push nobody out");
        let [repeated] = &told.of(&store(), ItemId(1))[..] else { panic!("one writer") };
        assert_eq!((repeated.write, repeated.times), ("start", 1 + REFUSED_MAX as u64));
        refuse(&told, 1, 2);
        assert_eq!(told.of(&store(), first), [], "the oldest made room");
        assert_eq!(told.of(&store(), ItemId(1)).len(), 2, "another attempt is another writer");
        assert_eq!(told.of(&"other".parse().unwrap(), ItemId(1)), [], "of this store alone");
        assert_eq!(told.last.lock().unwrap().len(), REFUSED_MAX);
    }
}
