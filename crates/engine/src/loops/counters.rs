//! What the engine has done and met: every failure it knows has a number here.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use tenure_core::answer::Answer;
use tenure_core::request::{Command, Request};
use tenure_databases::batch::Reply;

use crate::refused::RefusedWrites;

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        #[derive(Debug, Default)]
        pub struct Counters {
            $($name: AtomicU64,)*
            last_failure: Mutex<Option<String>>,
            turns: Mutex<BTreeMap<&'static str, u64>>,
            refused: RefusedWrites,
        }

        impl Counters {
            $($(#[$doc])* pub fn $name(&self) -> u64 {
                self.$name.load(Ordering::Relaxed)
            })*

            /// All of them by name.
            pub fn all(&self) -> Vec<(&'static str, u64)> {
                vec![$((stringify!($name), self.$name()),)*]
            }
        }
    };
}

counters! {
    /// Times that workers of this process, or through it, looked for work.
    acquires,
    /// Leases that were given to workers of this process, or through it.
    leased,
    /// Executions that committed, of workers of this process or through it; so are those that follow.
    committed,
    /// Executions that their worker failed, and that may be tried again.
    failed,
    /// Executions that ended badly and whose item failed with them: a failure for good, or the last attempt, also one that a sweep ended.
    failed_for_good,
    /// Handlers that panicked.
    panicked,
    /// Leases that a worker gave back without an attempt.
    released,
    /// Leases that were lost while a handler ran: its result was thrown away.
    lost,
    /// Writes under a lease that was not held any more, refused by the database's own word.
    stale_writes,
    /// Leases, windows and unfinished commits that a sweep ended.
    swept,
    /// Leases that a shutdown ended by their table's recovery row, because it has no `release`.
    given_up,
    /// Items that were removed because their retention had passed.
    pruned,
    /// Rows of the inbox that became items.
    inbox_taken,
    /// Rows of the inbox that stay there with the reason.
    inbox_refused,
    /// Times of schedules that a tick of this process was to create.
    occurrences,
    /// Times of schedules that were missed, and dropped by their rule.
    occurrences_dropped,
    /// Turns of a loop that failed; the next came at its time.
    failed_turns,
    /// Acquires that the database did not answer.
    failed_acquires,
    /// Acquires that got less than they asked for because of a limit, a pause or an open breaker.
    held_back,
}

impl Counters {
    /// The last failure in words.
    pub fn last_failure(&self) -> Option<String> {
        self.last_failure.lock().expect("nobody panics while holding it").clone()
    }

    /// How many turns each loop has taken.
    pub fn turns(&self) -> BTreeMap<&'static str, u64> {
        self.turns.lock().expect("nobody panics while holding it").clone()
    }

    /// Which writes were refused, and whose, beside how many.
    pub(crate) fn refused(&self) -> &RefusedWrites {
        &self.refused
    }

    pub(crate) fn turn(&self, of: &'static str) {
        *self.turns.lock().expect("nobody panics while holding it").entry(of).or_default() += 1;
    }

    pub(crate) fn failed_turn(&self, why: &str) {
        self.failed_turns.fetch_add(1, Ordering::Relaxed);
        self.tell(why);
    }

    pub(crate) fn failed_acquire(&self, why: &str) {
        self.failed_acquires.fetch_add(1, Ordering::Relaxed);
        self.tell(why);
    }

    pub(crate) fn one_held_back(&self) {
        self.held_back.fetch_add(1, Ordering::Relaxed);
    }

    fn tell(&self, why: &str) {
        *self.last_failure.lock().expect("nobody panics while holding it") = Some(why.to_string());
    }

    pub(crate) fn inbox(&self, taken: usize, refused: usize) {
        self.inbox_taken.fetch_add(taken as u64, Ordering::Relaxed);
        self.inbox_refused.fetch_add(refused as u64, Ordering::Relaxed);
    }

    pub(crate) fn one_acquire(&self) {
        self.acquires.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn one_tick(&self, made: usize, dropped: u64) {
        self.occurrences.fetch_add(made as u64, Ordering::Relaxed);
        self.occurrences_dropped.fetch_add(dropped, Ordering::Relaxed);
    }

    pub(crate) fn leases(&self, count: usize) {
        self.leased.fetch_add(count as u64, Ordering::Relaxed);
    }

    /// What was answered to somebody who asked through a handle: a worker elsewhere, or a system. Workers of this process count for
    /// themselves. A repeat of what was answered before is no second one.
    pub(crate) fn heard(&self, request: &Request, reply: &Reply) {
        self.refused.heard(request, &reply.answer);
        self.failures(request, reply);
        if reply.held_back.is_some() {
            self.one_held_back();
        }
        match (&request.command, &reply.answer) {
            (_, Answer::LeaseLost(_)) => self.one_stale_write(),
            _ if !reply.fresh => {}
            (_, Answer::Leased(leases)) => self.leases(leases.len()),
            (Command::Commit(_), Answer::Ran(_)) => self.one_committed(),
            (Command::Release(_), Answer::Ran(_)) => self.one_released(),
            _ => {}
        }
    }

    pub(crate) fn one_committed(&self) {
        self.committed.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts the failures that an answer stands for. Whether another attempt follows is what the lifecycle made of it.
    pub(crate) fn failures(&self, request: &Request, reply: &Reply) {
        self.failed_for_good.fetch_add(reply.failed_for_good as u64, Ordering::Relaxed);
        let may_be_tried_again = reply.fresh && reply.failed_for_good == 0;
        if may_be_tried_again
            && matches!((&request.command, &reply.answer), (Command::Fail(_), Answer::Ran(_)))
        {
            self.failed.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(crate) fn one_panicked(&self) {
        self.panicked.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn one_released(&self) {
        self.released.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn one_lost(&self) {
        self.lost.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn one_stale_write(&self) {
        self.stale_writes.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn one_given_up(&self) {
        self.given_up.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn one_pruned(&self) {
        self.pruned.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn one_swept(&self) {
        self.swept.fetch_add(1, Ordering::Relaxed);
    }
}
