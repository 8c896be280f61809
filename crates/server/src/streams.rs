//! Room for streams of the log: so many in all, and so many for each token, so that one reader does not take the others' places.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

use tenure::core::id::ItemId;

use crate::limits::{STREAMS_EACH_MAX, STREAMS_MAX};
use crate::problem::Problem;

#[derive(Debug, Default)]
pub struct Streams(Mutex<Open>);

#[derive(Debug, Default)]
struct Open {
    all: usize,
    /// Of tokens that have any. Who came without one shares the room of all.
    each: HashMap<ItemId, usize>,
}

/// The place of a stream, until it is dropped.
#[derive(Debug)]
pub struct Place {
    of: Arc<Streams>,
    token: Option<ItemId>,
}

impl Streams {
    /// How many are open.
    pub fn open(&self) -> usize {
        self.held().all
    }

    pub fn place(self: &Arc<Streams>, token: Option<ItemId>) -> Result<Place, Problem> {
        let mut open = self.held();
        let own = token.map_or(0, |token| open.each.get(&token).copied().unwrap_or(0));
        let (most, whose) = match (open.all >= STREAMS_MAX, own >= STREAMS_EACH_MAX) {
            (true, _) => (STREAMS_MAX, ""),
            (_, true) => (STREAMS_EACH_MAX, " of this token"),
            (false, false) => {
                open.all += 1;
                if let Some(token) = token {
                    open.each.insert(token, own + 1);
                }
                return Ok(Place { of: self.clone(), token });
            }
        };
        let detail = format!("{most} streams{whose} are open, and more are not served; read /v1/log");
        Err(Problem::unavailable(detail))
    }

    fn held(&self) -> MutexGuard<'_, Open> {
        self.0.lock().expect("nobody panics while holding it")
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut open = self.of.held();
        open.all -= 1;
        let Some(token) = self.token else { return };
        match open.each.get_mut(&token) {
            Some(count) if *count > 1 => *count -= 1,
            _ => drop(open.each.remove(&token)),
        }
    }
}
