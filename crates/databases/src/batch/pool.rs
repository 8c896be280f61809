//! Candidates for the acquires of a batch: claimed from the database as far as they are needed, shared among all.
//!
//! An acquire is offered the candidates of its first kind, then those of the next, in the order in which it names them.
//! One that was leased to an earlier acquire is not offered again; one that was refused (a guard does not hold for this
//! caller) is left for the others, and the next is claimed in its place. So no acquire goes away empty while there is
//! something it could have, and none gets something out of turn.

use std::collections::{BTreeMap, BTreeSet};

use tenure_core::answer::{Answer, Granted};
use tenure_core::control::{HeldBack, QueueKey};
use tenure_core::decide::acquire::ACQUIRE_MAX;
use tenure_core::decide::{Decision, decide};
use tenure_core::draw::Draw;
use tenure_core::id::ItemId;
use tenure_core::request::{Acquire, Command, Request};
use tenure_core::word::{Kind, Store};
use tenure_core::world::{NameKey, NameScope, World};

use crate::{Error, Place, Tx};

/// A claim locks at most so many rows at once: what is locked and not leased is hidden from everyone else meanwhile.
const CLAIM_MAX: usize = 1_000;
/// An acquire that was refused so many candidates answers with what it has. Behind that many there may be one that it
/// could lease; a batch that goes on looking makes all others wait for it.
const REFUSED_MAX: usize = 1_000;

#[derive(Debug, Default)]
pub(super) struct Pool {
    queues: BTreeMap<(Store, Kind), Queue>,
}

/// What was claimed of one kind in one store, in rank order.
#[derive(Debug, Default)]
struct Queue {
    candidates: Vec<ItemId>,
    /// As many as the acquires of the batch ask for together: the first claim is for all of them.
    wanted: usize,
    last: Option<Place>,
    exhausted: bool,
}

impl Pool {
    pub fn new(requests: &[Request]) -> Pool {
        let mut pool = Pool::default();
        for request in requests {
            let Command::Acquire(acquire) = &request.command else { continue };
            for kind in acquire.kinds.iter().filter(|_| acquire.max <= ACQUIRE_MAX) {
                let queue = pool.queues.entry((request.store.clone(), kind.clone())).or_default();
                queue.wanted = queue.wanted.saturating_add(acquire.max);
            }
        }
        pool
    }

    /// Decides an acquire over as many candidates as it takes. Deciding is pure, so a decision that came out short is
    /// dropped and made again over more.
    pub async fn decide<T: Tx>(
        &mut self,
        tx: &mut T,
        world: &mut World,
        request: &Request,
        acquire: &Acquire,
    ) -> Result<Decision, Error> {
        // An acquire draws nothing: ids are for creates, jitter is for failures.
        let mut draw = Draw::new(0);
        world.offers.clear();
        let first = decide(world, request, &mut draw);
        if first.answer != Answer::Leased(Vec::new()) || is_repeat(world, request, acquire) {
            return Ok(first);
        }
        let mut refused = BTreeSet::new();
        loop {
            world.offers = self.offers(tx, world, &request.store, acquire, &refused).await?;
            let decision = decide(world, request, &mut draw);
            let Answer::Leased(leases) = &decision.answer else { return Ok(decision) };
            if leases.len() == acquire.max {
                return Ok(decision);
            }
            if !is_worth_more(&mut refused, &world.offers, leases) {
                return Ok(decision);
            }
        }
    }

    /// Enough free candidates for what the acquire asks for, or all there are.
    pub async fn offers<T: Tx>(
        &mut self,
        tx: &mut T,
        world: &mut World,
        store: &Store,
        acquire: &Acquire,
        refused: &BTreeSet<ItemId>,
    ) -> Result<Vec<ItemId>, Error> {
        let mut offers: Vec<ItemId> = Vec::new();
        for kind in &acquire.kinds {
            let missing = acquire.max.saturating_sub(offers.len());
            if missing == 0 {
                break;
            }
            let queue = self.queues.entry((store.clone(), kind.clone())).or_default();
            offers.extend(queue.free(tx, world, store, kind, missing, refused).await?);
        }
        Ok(offers)
    }
}

impl Queue {
    async fn free<T: Tx>(
        &mut self,
        tx: &mut T,
        world: &mut World,
        store: &Store,
        kind: &Kind,
        missing: usize,
        refused: &BTreeSet<ItemId>,
    ) -> Result<Vec<ItemId>, Error> {
        let allowed = world.allowance(&QueueKey { store: store.clone(), kind: kind.clone() }).count;
        let allowed = usize::try_from(allowed).unwrap_or(usize::MAX);
        let missing = missing.min(allowed);
        if missing == 0 {
            return Ok(Vec::new());
        }
        loop {
            let is_free = |id: &&ItemId| {
                !refused.contains(id) && world.items.get(id).is_some_and(|item| item.lease.is_none())
            };
            let free: Vec<ItemId> = self.candidates.iter().filter(is_free).take(allowed).copied().collect();
            if free.len() >= missing || self.exhausted {
                return Ok(free);
            }
            // Twice as many with every round: who is refused often gets to the end in few steps.
            let limit = (missing - free.len()).max(std::mem::take(&mut self.wanted)).max(refused.len());
            let limit = limit.min(CLAIM_MAX).min(allowed);
            let found = tx.claim(world, store, kind, self.last, limit).await?;
            assert!(found.len() <= limit, "a claim never offers more than it was asked for");
            self.exhausted = found.len() < limit;
            if let Some(last) = found.last().copied() {
                assert!(self.last.is_none_or(|before| before < last), "a claim goes on in order");
                self.last = Some(last);
            }
            self.candidates.extend(found.into_iter().map(|place| place.id));
        }
    }
}

/// Notes which offers were refused. Whether it makes sense to offer more.
pub(super) fn is_worth_more(refused: &mut BTreeSet<ItemId>, offers: &[ItemId], leases: &[Granted]) -> bool {
    let leased: BTreeSet<ItemId> = leases.iter().map(|lease| lease.execution.item).collect();
    let before = refused.len();
    refused.extend(offers.iter().filter(|id| !leased.contains(id)));
    refused.len() > before && refused.len() < REFUSED_MAX
}

/// Why an acquire got less than it asked for, if that was a limit: the one that ends first.
pub(super) fn held_back(
    world: &World,
    request: &Request,
    acquire: &Acquire,
    answer: &Answer,
) -> Option<Box<HeldBack>> {
    let Answer::Leased(leases) = answer else { return None };
    if leases.len() >= acquire.max {
        return None;
    }
    let held_back = |kind: &Kind| {
        let allowance = world.allowance(&QueueKey { store: request.store.clone(), kind: kind.clone() });
        let (by, until) = allowance.bound.filter(|_| allowance.count == 0)?;
        Some(HeldBack { kind: kind.clone(), by, until })
    };
    let never = |held: &HeldBack| (held.until.is_none(), held.until);
    acquire.kinds.iter().filter_map(held_back).min_by_key(never).map(Box::new)
}

/// A request that was answered before gets that answer and no new leases, so nothing is claimed for it.
fn is_repeat(world: &World, request: &Request, acquire: &Acquire) -> bool {
    let Some(name) = acquire.terms.request.clone() else { return false };
    let scope = NameScope::Acquire(request.actor.owner());
    world.names.contains_key(&NameKey { store: request.store.clone(), scope, name })
}
