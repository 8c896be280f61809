//! What waits: a call is one caller's requests, and the inlet is where the writers take calls out of the queue.

use tenure_core::request::Request;
use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot};

use super::{Answered, Options, Replies, bytes};

/// Requests of one caller, which go into one batch.
#[derive(Debug)]
pub(super) struct Call {
    requests: Vec<Request>,
    bytes: usize,
    answer: oneshot::Sender<Replies>,
    /// Given back when a writer takes the call.
    room: OwnedSemaphorePermit,
}

impl Call {
    pub fn new(requests: Vec<Request>, room: OwnedSemaphorePermit) -> (Call, Answered) {
        let (answer, answered) = oneshot::channel();
        let bytes = requests.iter().map(bytes).sum();
        (Call { requests, bytes, answer, room }, answered)
    }

    pub fn len(&self) -> usize {
        self.requests.len()
    }
}

/// What a writer runs: the requests of some calls, one call after the other.
#[derive(Debug, Default)]
pub(super) struct Load {
    pub requests: Vec<Request>,
    callers: Vec<(usize, oneshot::Sender<Replies>)>,
    bytes: usize,
}

impl Load {
    fn take(&mut self, call: Call) {
        self.bytes += call.bytes;
        self.callers.push((call.len(), call.answer));
        self.requests.extend(call.requests);
        drop(call.room);
    }

    /// Gives every caller the replies to its requests.
    pub fn answer(self, replies: Replies) {
        assert_eq!(replies.len(), self.requests.len(), "every request gets a reply");
        let mut replies = replies.into_iter();
        for (count, answer) in self.callers {
            // Whoever has stopped waiting does not want it.
            let _ = answer.send(replies.by_ref().take(count).collect());
        }
    }
}

/// The end of the queue at which writers take turns.
#[derive(Debug)]
pub(super) struct Inlet {
    calls: mpsc::UnboundedReceiver<Call>,
    /// Taken out, and too large for the batch that was being loaded: the first of the next one.
    held: Option<Call>,
    batch_max: usize,
    batch_bytes_max: usize,
}

impl Inlet {
    pub fn new(calls: mpsc::UnboundedReceiver<Call>, options: &Options) -> Inlet {
        let (batch_max, batch_bytes_max) = (options.batch_max, options.batch_bytes_max);
        Inlet { calls, held: None, batch_max, batch_bytes_max }
    }

    /// Waits for a call and takes all others that are there, as far as they fit. None: nobody will call any more.
    ///
    /// A call whose caller has stopped waiting is left out: it was not begun, and a lease that nobody hears of would
    /// keep its item from everyone else.
    pub async fn load(&mut self) -> Option<Load> {
        let mut load = Load::default();
        while load.requests.is_empty() {
            let first = match self.held.take() {
                Some(held) => held,
                None => self.calls.recv().await?,
            };
            self.add(&mut load, first);
        }
        while self.held.is_none()
            && load.requests.len() < self.batch_max
            && let Ok(call) = self.calls.try_recv()
        {
            self.add(&mut load, call);
        }
        Some(load)
    }

    fn add(&mut self, load: &mut Load, call: Call) {
        let fits = load.requests.len() + call.len() <= self.batch_max
            && load.bytes + call.bytes <= self.batch_bytes_max;
        if call.answer.is_closed() {
            drop(call);
        } else if fits || load.requests.is_empty() {
            load.take(call);
        } else {
            self.held = Some(call);
        }
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
