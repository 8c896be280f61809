//! Wake-ups: whoever waits for work of a kind, or for an item to come to rest, is told at once.
//!
//! A bell is a hint and never the truth. Whoever is woken looks in the database; whoever is not woken looks there anyway,
//! a little later. What other processes must hear of is gathered here, and `loops/wire.rs` carries it.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::Poll;

use tenure_core::answer::Answer;
use tenure_core::id::ItemId;
use tenure_core::request::{Command, Request};
use tenure_core::word::Kind;
use tenure_databases::batch::Reply;
use tokio::sync::{Notify, watch};

#[derive(Debug, Default)]
pub(crate) struct Bells {
    kinds: Mutex<HashMap<Kind, watch::Sender<u64>>>,
    /// Kinds of which somebody here could have leased more, had others not held so many.
    hungry: Mutex<HashSet<Kind>>,
    resting: Mutex<HashMap<ItemId, Awaited>>,
    /// Somebody listens who did not before.
    pub listening: Notify,
    /// Something may have been put off to a later time.
    pub put_off: Notify,
    /// The log has grown, by this process. Others' entries are found by looking.
    written: watch::Sender<u64>,
    far: Mutex<Far>,
    /// There is something to tell other processes.
    pub telling: Notify,
}

/// An item that somebody waits for.
#[derive(Debug, Default)]
struct Awaited {
    rests: Arc<Notify>,
    by: usize,
}

/// Of which kinds there may be work that other processes do not know of.
#[derive(Debug, Default)]
pub(crate) struct Far {
    pub kinds: BTreeSet<Kind>,
    pub all: bool,
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("nobody panics while holding it")
}

impl Bells {
    /// Tells whoever waits what an answer means to them.
    pub fn heard(&self, request: &Request, reply: &Reply) {
        if reply.fresh && self.written.receiver_count() > 0 {
            self.written.send_modify(|count| *count = count.wrapping_add(1));
        }
        match &reply.answer {
            Answer::Ran(execution) | Answer::AlreadyCommitted(execution) => {
                self.rests(execution.id.item);
                self.feed();
            }
            Answer::Done(item) => {
                self.rests(item.id);
                self.feed();
            }
            _ => {}
        }
        match &request.command {
            _ if !reply.fresh || reply.leased_at_once => {}
            Command::Create(create) => {
                self.work(&create.kind);
                if create.run_at.is_some() {
                    self.put_off.notify_one();
                }
            }
            // A lease makes nothing ready, and a plain commit nothing that its own worker does not look for anyway.
            Command::Acquire(_) | Command::Take(_) | Command::Renew(_) => {}
            Command::Commit(commit)
                if commit.effects.creates.is_empty() && commit.effects.moves.is_empty() => {}
            Command::Commit(commit) if commit.effects.moves.is_empty() => {
                commit.effects.creates.iter().for_each(|create| self.work(&create.kind));
                self.put_off.notify_one();
            }
            _ => {
                self.work_of_any_kind();
                self.put_off.notify_one();
            }
        }
    }

    /// Hears of the log's growth.
    pub fn reading(&self) -> watch::Receiver<u64> {
        self.written.subscribe()
    }

    /// There may be work of this kind, and this process made it.
    fn work(&self, kind: &Kind) {
        self.ring(kind);
        let mut far = held(&self.far);
        if !far.kinds.contains(kind) {
            far.kinds.insert(kind.clone());
            self.telling.notify_one();
        }
    }

    /// There may be work of any kind, and this process made it.
    pub fn work_of_any_kind(&self) {
        self.ring_all();
        held(&self.far).all = true;
        self.telling.notify_one();
    }

    /// What is to be told, once.
    pub fn take_far(&self) -> Far {
        std::mem::take(&mut *held(&self.far))
    }

    /// There is work of this kind, and no room for it until something ends.
    pub fn is_hungry(&self, kind: &Kind) {
        held(&self.hungry).insert(kind.clone());
    }

    /// Something has ended.
    fn feed(&self) {
        let hungry = std::mem::take(&mut *held(&self.hungry));
        hungry.iter().for_each(|kind| self.ring(kind));
    }

    /// There may be work of this kind.
    pub fn ring(&self, kind: &Kind) {
        if let Some(bell) = held(&self.kinds).get(kind) {
            bell.send_modify(|count| *count = count.wrapping_add(1));
        }
    }

    /// There may be work of any kind.
    pub fn ring_all(&self) {
        for bell in held(&self.kinds).values() {
            bell.send_modify(|count| *count = count.wrapping_add(1));
        }
    }

    pub fn listen(&self, kind: &Kind) -> watch::Receiver<u64> {
        let mut kinds = held(&self.kinds);
        let listener = kinds.entry(kind.clone()).or_insert_with(|| watch::channel(0).0).subscribe();
        drop(kinds);
        self.listening.notify_waiters();
        listener
    }

    /// How many wait for the one of these kinds that fewest wait for.
    pub fn listeners(&self, kinds: &[Kind]) -> usize {
        let bells = held(&self.kinds);
        let count = |kind: &Kind| bells.get(kind).map_or(0, watch::Sender::receiver_count);
        kinds.iter().map(count).min().unwrap_or(0)
    }

    /// The kinds that somebody waits for now.
    pub fn listened(&self) -> Vec<Kind> {
        let kinds = held(&self.kinds);
        kinds.iter().filter(|(_, bell)| bell.receiver_count() > 0).map(|(kind, _)| kind.clone()).collect()
    }

    /// Waits until somebody waits for some kind.
    pub async fn somebody_listens(&self) -> Vec<Kind> {
        loop {
            let mut listening = std::pin::pin!(self.listening.notified());
            listening.as_mut().enable();
            let kinds = self.listened();
            if !kinds.is_empty() {
                return kinds;
            }
            listening.await;
        }
    }

    /// An item has come to rest.
    fn rests(&self, item: ItemId) {
        if let Some(awaited) = held(&self.resting).get(&item) {
            awaited.rests.notify_waiters();
        }
    }

    pub fn wait_for(self: &Arc<Bells>, item: ItemId) -> Resting {
        let mut resting = held(&self.resting);
        let awaited = resting.entry(item).or_default();
        awaited.by += 1;
        let notify = awaited.rests.clone();
        drop(resting);
        Resting { bells: self.clone(), item, notify }
    }
}

/// Somebody waits for an item. Nobody does any more when the last of them is dropped.
#[derive(Debug)]
pub(crate) struct Resting {
    bells: Arc<Bells>,
    item: ItemId,
    pub notify: Arc<Notify>,
}

impl Drop for Resting {
    fn drop(&mut self) {
        let mut resting = held(&self.bells.resting);
        if let Some(awaited) = resting.get_mut(&self.item) {
            awaited.by -= 1;
            if awaited.by == 0 {
                resting.remove(&self.item);
            }
        }
    }
}

/// When the first of the bells rings.
pub(crate) async fn any(bells: &mut [watch::Receiver<u64>]) {
    let mut rung: Vec<_> = bells.iter_mut().map(|bell| Box::pin(bell.changed())).collect();
    poll_fn(|context| {
        let ready = rung.iter_mut().any(|bell| bell.as_mut().poll(context).is_ready());
        if ready { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}
