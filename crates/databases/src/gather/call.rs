//! What waits: a call is one caller's requests, and the inlet is where the writers take calls out of the queue.

use std::collections::VecDeque;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};

use tenure_core::request::Request;
use tokio::sync::{Notify, OwnedSemaphorePermit, oneshot};

use super::standing::{self, Waiting};
use super::{Answered, Options, Replies, Writers, bytes};
use crate::measure::Since;

/// Microseconds; a caller that was answered has asked again by then, if it does.
const AWAKE: u64 = 150;

/// Requests of one caller, which go into one batch.
#[derive(Debug)]
pub(super) struct Call {
    requests: Vec<Request>,
    bytes: usize,
    answer: Answering,
    /// Given back when a writer takes the call. One that stands takes none.
    room: Option<OwnedSemaphorePermit>,
}

/// The replies, and when their batch began.
type Answering = oneshot::Sender<(Replies, Since)>;

impl Call {
    pub fn new(requests: Vec<Request>, room: Option<OwnedSemaphorePermit>) -> (Call, Answered) {
        let (answer, answered) = oneshot::channel();
        let bytes = requests.iter().map(bytes).sum();
        (Call { requests, bytes, answer, room }, answered)
    }

    pub fn len(&self) -> usize {
        self.requests.len()
    }

    pub fn requests(&self) -> &[Request] {
        &self.requests
    }
}

/// What a writer runs: the requests of some calls, one call after the other.
#[derive(Debug, Default)]
pub(super) struct Load {
    pub requests: Vec<Request>,
    callers: Vec<(usize, Answering)>,
    bytes: usize,
    /// Where the requests of those begin that stood and were taken in.
    stood: usize,
}

impl Load {
    fn take(&mut self, call: Call) {
        self.bytes += call.bytes;
        self.callers.push((call.len(), call.answer));
        self.requests.extend(call.requests);
        drop(call.room);
    }

    /// Gives every caller the replies to its requests.
    pub fn answer(self, mut replies: Replies, began: Since) {
        assert_eq!(replies.len(), self.requests.len(), "every request gets a reply");
        if self.stood < self.requests.len() {
            standing::tell_makers(&self.requests, &mut replies, self.stood);
        }
        let mut replies = replies.into_iter();
        for (count, answer) in self.callers {
            // Whoever has stopped waiting does not want it.
            let _ = answer.send((replies.by_ref().take(count).collect(), began));
        }
    }
}

/// Where calls wait and writers take them. A call wakes one writer that has nothing to do, and nobody else: on a busy machine
/// it is the waking that costs.
#[derive(Debug)]
pub(super) struct Inlet {
    queue: Mutex<Queue>,
    arrived: Notify,
    /// Calls in the queue.
    count: AtomicUsize,
    batch_max: usize,
    batch_bytes_max: usize,
    /// A writer that has its own thread looks for the next call for so many microseconds before it sleeps.
    awake: u64,
}

#[derive(Debug, Default)]
struct Queue {
    calls: VecDeque<Call>,
    waiting: Waiting,
    /// Nobody will call any more.
    closed: bool,
    /// Nobody will answer any more.
    ended: bool,
}

impl Inlet {
    pub fn new(options: &Options) -> Inlet {
        let Options { batch_max, batch_bytes_max, .. } = *options;
        let awake = if options.writers == Writers::Thread { AWAKE } else { 0 };
        let (queue, arrived, count) = (Mutex::default(), Notify::new(), AtomicUsize::new(0));
        Inlet { queue, arrived, count, batch_max, batch_bytes_max, awake }
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().expect("nobody panics while holding it")
    }

    /// False: there is no writer any more.
    pub fn add(&self, call: Call) -> bool {
        let mut queue = self.queue();
        if queue.ended {
            return false;
        }
        queue.calls.push_back(call);
        self.count.store(queue.calls.len(), Ordering::Release);
        drop(queue);
        self.arrived.notify_one();
        true
    }

    /// Lets a call stand until a batch makes something for it. None: there is no writer any more.
    pub fn stand(&self, call: Call) -> Option<u64> {
        let mut queue = self.queue();
        if queue.ended { None } else { Some(queue.waiting.add(call)) }
    }

    /// False: it does not stand any more.
    pub fn withdraw(&self, number: u64) -> bool {
        self.queue().waiting.remove(number).is_some()
    }

    /// The last caller has gone.
    pub fn close(&self) {
        self.queue().closed = true;
        self.arrived.notify_waiters();
    }

    /// The last writer has gone; whoever still waits hears of it.
    pub fn end(&self) {
        let mut queue = self.queue();
        queue.ended = true;
        let unanswered = (std::mem::take(&mut queue.calls), std::mem::take(&mut queue.waiting));
        drop(queue);
        drop(unanswered);
    }

    /// Waits for a call and takes all others that are there, as far as they fit. None: nobody will call any more.
    pub async fn load(&self) -> Option<Load> {
        loop {
            // Who looks first and waits then would miss what came between.
            let mut arrived = pin!(self.arrived.notified());
            arrived.as_mut().enable();
            let load = self.take();
            if !load.requests.is_empty() {
                return Some(load);
            }
            if self.queue().closed {
                return None;
            }
            self.stay_awake();
            if self.count.load(Ordering::Acquire) == 0 {
                arrived.await;
            }
        }
    }

    /// Whoever was just answered may ask again at once. To be woken for that takes longer than to see it.
    fn stay_awake(&self) {
        let since = Since::now();
        while self.count.load(Ordering::Acquire) == 0 && since.micros() < self.awake {
            std::thread::yield_now();
        }
    }

    /// A call whose caller has stopped waiting is left out: it was not begun, and a lease that nobody hears of would keep
    /// its item from everyone else.
    fn take(&self) -> Load {
        let mut load = Load::default();
        let mut queue = self.queue();
        while let Some(call) = queue.calls.front() {
            let fits = load.requests.len() + call.len() <= self.batch_max
                && load.bytes + call.bytes <= self.batch_bytes_max;
            if !call.answer.is_closed() && !fits && !load.requests.is_empty() {
                break;
            }
            let call = queue.calls.pop_front().expect("it was there");
            if !call.answer.is_closed() {
                load.take(call);
            }
        }
        load.stood = load.requests.len();
        for call in queue.waiting.take_for(&load.requests) {
            load.take(call);
        }
        let more = !queue.calls.is_empty();
        self.count.store(queue.calls.len(), Ordering::Release);
        drop(queue);
        if more {
            self.arrived.notify_one();
        }
        load
    }
}

/// Cuts requests into parts that each fit into a batch. What is alone too large is a part of its own.
pub(super) fn split(requests: Vec<Request>, options: &Options) -> Vec<Vec<Request>> {
    let mut parts: Vec<Vec<Request>> = Vec::new();
    let mut size = 0;
    for request in requests {
        let more = bytes(&request);
        let fits =
            |part: &Vec<Request>| part.len() < options.batch_max && size + more <= options.batch_bytes_max;
        match parts.last_mut().filter(|part| fits(part)) {
            Some(part) => {
                part.push(request);
                size += more;
            }
            None => {
                parts.push(vec![request]);
                size = more;
            }
        }
    }
    parts
}
