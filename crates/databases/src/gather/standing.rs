//! Standing acquires: whoever waits for work is put into the very batch that makes some, and has it with the same commit.
//!
//! A batch takes in as many of them as have room for what it makes, those who have waited longest first. Where they got as
//! much as was made, the creates are told: nobody else needs to look for it.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use tenure_core::answer::Answer;
use tenure_core::request::{Command, Create, Request};
use tenure_core::word::{Kind, Store};

use super::call::{Call, Inlet};
use super::{Answered, Replies, only};
use crate::Error;
use crate::batch::Reply;
use crate::measure::Since;

/// An acquire that stands until there is something for it. Dropped, it is withdrawn.
#[derive(Debug)]
pub struct Standing {
    number: u64,
    answered: Answered,
    inlet: Arc<Inlet>,
}

impl Standing {
    pub(super) fn new(number: u64, answered: Answered, inlet: Arc<Inlet>) -> Standing {
        Standing { number, answered, inlet }
    }

    /// The reply, once a batch has taken it in, and when that batch began: its leases run from then. It may be empty.
    pub async fn answered(&mut self) -> (Result<Reply, Error>, Since) {
        match (&mut self.answered).await {
            Ok((replies, began)) => (only(replies), began),
            Err(_) => (Err(Error::Unavailable("the writers have ended".to_string())), Since::now()),
        }
    }

    /// Takes it back. False: a batch has taken it in before, and its reply is on the way.
    pub fn withdraw(&self) -> bool {
        self.inlet.withdraw(self.number)
    }
}

impl Drop for Standing {
    fn drop(&mut self) {
        self.withdraw();
    }
}

/// Those that stand now.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    calls: HashMap<u64, Call>,
    /// Who waits for what, in the order in which they came.
    of_kind: BTreeSet<(Store, Kind, u64)>,
    last: u64,
}

impl Waiting {
    pub fn add(&mut self, call: Call) -> u64 {
        self.last += 1;
        self.of_kind.extend(wants(&call, self.last));
        self.calls.insert(self.last, call);
        self.last
    }

    pub fn remove(&mut self, number: u64) -> Option<Call> {
        let call = self.calls.remove(&number)?;
        for want in wants(&call, number) {
            self.of_kind.remove(&want);
        }
        Some(call)
    }

    /// Who has waited longest for this kind.
    fn first(&mut self, store: &Store, kind: &Kind) -> Option<Call> {
        let from = (store.clone(), kind.clone(), 0);
        let (_, _, number) =
            self.of_kind.range(from..).next().filter(|(of, what, _)| (of, what) == (store, kind))?;
        self.remove(*number)
    }

    /// Takes out those for whom these requests make something to do.
    pub fn take_for(&mut self, requests: &[Request]) -> Vec<Call> {
        let mut taken = Vec::new();
        if self.calls.is_empty() {
            return taken;
        }
        for ((store, kind), made) in made(requests.iter().zip(0..)) {
            let mut left = made.count;
            while left > 0 {
                let Some(call) = self.first(store, kind) else { break };
                left = left.saturating_sub(most(&call));
                taken.push(call);
            }
        }
        taken
    }
}

fn wants(call: &Call, number: u64) -> impl Iterator<Item = (Store, Kind, u64)> + '_ {
    let acquires = call.requests().iter().filter_map(|request| match &request.command {
        Command::Acquire(acquire) => Some((&request.store, acquire)),
        _ => None,
    });
    acquires.flat_map(move |(store, acquire)| {
        acquire.kinds.iter().map(move |kind| (store.clone(), kind.clone(), number))
    })
}

fn most(call: &Call) -> usize {
    let most = |request: &Request| match &request.command {
        Command::Acquire(acquire) => acquire.max,
        _ => 0,
    };
    call.requests().iter().map(most).sum::<usize>().max(1)
}

/// What is made of one kind: how much, and by which requests.
#[derive(Default)]
struct Made {
    count: usize,
    by: Vec<usize>,
}

/// What these requests make that may be leased at once. A batch is about few kinds.
fn made<'a>(requests: impl Iterator<Item = (&'a Request, usize)>) -> HashMap<(&'a Store, &'a Kind), Made> {
    let mut all: HashMap<(&Store, &Kind), Made> = HashMap::new();
    for (request, index) in requests {
        let creates: &[Create] = match &request.command {
            Command::Create(create) => std::slice::from_ref(create),
            Command::Commit(commit) => &commit.effects.creates,
            _ => &[],
        };
        for create in creates.iter().filter(|create| create.run_at.is_none()) {
            let made = all.entry((&request.store, &create.kind)).or_default();
            made.count += 1;
            made.by.push(index);
        }
    }
    all
}

/// Tells the creates of what was leased by those that stood: there is no more of it than there was before. `stood` is where
/// the requests of those begin.
pub(super) fn tell_makers(requests: &[Request], replies: &mut Replies, stood: usize) {
    let mut leased: HashMap<(Store, Kind), usize> = HashMap::new();
    for reply in replies[stood..].iter().flatten() {
        let Answer::Leased(leases) = &reply.answer else { continue };
        for granted in leases {
            *leased.entry((granted.item.store.clone(), granted.item.table.kind.clone())).or_default() += 1;
        }
    }
    if leased.is_empty() {
        return;
    }
    let makers = requests[..stood].iter().zip(0..);
    let fresh = makers.filter(|(_, index)| replies[*index].as_ref().is_ok_and(|reply| reply.fresh));
    for ((store, kind), made) in made(fresh) {
        if leased.get(&(store.clone(), kind.clone())).is_some_and(|leased| *leased >= made.count) {
            for by in made.by {
                if let (Command::Create(_), Ok(reply)) = (&requests[by].command, &mut replies[by]) {
                    reply.leased_at_once = true;
                }
            }
        }
    }
}
