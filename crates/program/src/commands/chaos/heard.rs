//! What the processes said: the answers they were given and the numbers they counted.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use tenure_core::id::ItemId;

#[derive(Clone, Debug, Default)]
pub struct Ears(Arc<Mutex<Heard>>);

#[derive(Clone, Debug, Default)]
pub struct Heard {
    /// What was acknowledged: the key and its item.
    pub created: BTreeMap<String, ItemId>,
    /// Creates whose outcome was not known at first.
    pub unknown: usize,
    /// Creates that the database did not take at first.
    pub away: usize,
    /// Other requests under a key that was used, refused.
    pub conflicts: usize,
    pub cancelled: usize,
    /// Late writes of workers that had lost their lease.
    pub ghosts_refused: usize,
    /// Late writes that were in time after all, by the database's clock.
    pub ghosts_accepted: usize,
    /// Answers that must not be.
    pub wrong: Vec<String>,
    /// Loaders that have come to their end.
    pub ended: usize,
    /// Processes that have opened the database.
    pub opened: usize,
    /// The last counters of each process.
    counted: BTreeMap<String, BTreeMap<String, u64>>,
}

impl Ears {
    pub fn look(&self) -> MutexGuard<'_, Heard> {
        self.0.lock().expect("nobody panics while holding it")
    }
}

impl Heard {
    pub fn hear(&mut self, who: &str, line: &str) {
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["created", key, item] => match item.parse::<ItemId>() {
                Ok(item) => {
                    let before = self.created.insert(key.to_string(), item);
                    if before.is_some_and(|before| before != item) {
                        self.wrong.push(format!("{key} was answered with two items"));
                    }
                }
                Err(_) => self.wrong.push(line.to_string()),
            },
            ["unknown", _] => self.unknown += 1,
            ["away", _] => self.away += 1,
            ["refused", _] => self.conflicts += 1,
            ["cancelled" | "late", _] => self.cancelled += 1,
            ["ghost", "refused", _] => self.ghosts_refused += 1,
            ["ghost", "accepted", _] => self.ghosts_accepted += 1,
            ["counted", ..] => {
                let number = |word: &&str| {
                    let (name, number) = word.split_once('=')?;
                    Some((name.to_string(), number.parse().ok()?))
                };
                self.counted.insert(who.to_string(), words[1..].iter().filter_map(number).collect());
            }
            ["open"] => self.opened += 1,
            ["end"] => self.ended += 1,
            _ => self.wrong.push(format!("{who}: {line}")),
        }
    }

    /// A counter of all processes together.
    pub fn counted(&self, name: &str) -> u64 {
        self.counted.values().filter_map(|counters| counters.get(name)).sum()
    }
}
