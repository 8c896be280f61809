//! Subscribers in this process: a handler that hears of every message, in the order of the log, at least once.
//!
//! A subscriber has a name, and its mark under that name: after a restart it goes on where it was. A handler that fails is called
//! again with the same message, later every time, and holds up its own subscription only. Two processes that subscribe under
//! one name both hear of everything; which of them may act is for their handlers to say.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use serde::de::DeserializeOwned;
use tenure_core::body::Body;
use tenure_core::follower::Follower;
use tenure_core::id::ItemId;
use tenure_core::time::Time;
use tenure_core::word::{Key, Label};
use tenure_databases::wait::caught;
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use super::FOLLOW_EVERY;
use super::deliver::key_of;
use super::follow::{Kept, Sent, page};
use crate::error::Error;
use crate::loops::Parts;
use crate::tenure::Tenure;
use crate::time::pause;
use crate::worker::Failure;

/// How soon a handler that failed is called again, and how late at most.
const AGAIN_MIN: Duration = Duration::from_millis(100);
const AGAIN_MAX: Duration = Duration::from_secs(60);

/// Something that a commit sent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Message {
    /// Stays the same however often it is told.
    pub key: String,
    pub label: Label,
    /// The item whose commit or move sent it.
    pub item: ItemId,
    /// When that was.
    pub at: Time,
    body: Body,
}

impl Message {
    pub fn payload<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        Ok(serde_json::from_slice(self.body.bytes())?)
    }

    pub fn bytes(&self) -> &[u8] {
        self.body.bytes()
    }
}

/// Hears of messages. What it has heard is told again if it fails, or if its process dies before the mark was moved.
pub trait Subscriber: Send + Sync + 'static {
    fn hear(&self, message: Message) -> Pin<Box<dyn Future<Output = Result<(), Failure>> + Send>>;
}

impl<F, Fut> Subscriber for F
where
    F: Fn(Message) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<(), Failure>> + Send + 'static,
{
    fn hear(&self, message: Message) -> Pin<Box<dyn Future<Output = Result<(), Failure>> + Send>> {
        Box::pin(self(message))
    }
}

/// A subscription that is heard. Dropped, it ends; what it has heard stays heard.
pub struct Subscription {
    stop: CancellationToken,
    /// The engine lives as long as its subscribers.
    _tenure: Tenure,
}

impl fmt::Debug for Subscription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subscription").finish_non_exhaustive()
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl Tenure {
    /// Calls a handler for every message of these labels, or of any if none is named. The first time under this name it begins
    /// where the log ends now; later, where it was. Handlers run on the runtime of whoever calls this.
    pub async fn subscribe(
        &self,
        name: &str,
        labels: &[&str],
        subscriber: impl Subscriber,
    ) -> Result<Subscription, Error> {
        let labels: Result<Vec<Label>, _> = labels.iter().map(|label| label.parse()).collect();
        let mark = Follower::Subscriber(name.to_string()).mark(&self.store)?;
        let parts = self.parts();
        let begin = {
            let (kept, mark) = (parts.kept.clone(), mark.clone());
            async move {
                if let Some(position) = kept.mark(&mark).await? {
                    return Ok(position);
                }
                kept.sequence(usize::MAX).await?;
                let position = kept.head().await?.position;
                kept.set_mark(&mark, position).await?;
                Ok(position)
            }
        };
        let position = self.beside(begin).await?;
        let stop = parts.closing.stop();
        let outside = Handle::try_current().unwrap_or_else(|_| self.inner.background.handle().clone());
        let hearing = Hearing {
            parts,
            mark,
            labels: labels?,
            subscriber: Arc::new(subscriber),
            outside,
            stop: stop.clone(),
            position,
            kept: Kept::at(position),
        };
        self.inner.background.spawn(hearing.run());
        Ok(Subscription { stop, _tenure: self.clone() })
    }

    /// A subscriber that will not come back: what has messages that it has not heard is not kept for it any longer. Under its
    /// name another begins where the log ends then.
    pub async fn forget_subscriber(&self, name: &str) -> Result<(), Error> {
        let mark = Follower::Subscriber(name.to_string()).mark(&self.store)?;
        let kept = self.inner.kept.clone();
        self.beside(async move { kept.forget_mark(&mark).await }).await
    }
}

struct Hearing {
    parts: Parts,
    mark: Key,
    labels: Vec<Label>,
    subscriber: Arc<dyn Subscriber>,
    outside: Handle,
    stop: CancellationToken,
    /// Everything up to here was heard.
    position: u64,
    /// And so much of it is kept.
    kept: Kept,
}

impl Hearing {
    async fn run(mut self) {
        let stop = self.stop.clone();
        while !stop.is_cancelled() {
            let more = tokio::select! {
                () = stop.cancelled() => false,
                turn = self.turn() => turn.unwrap_or_else(|error| {
                    self.parts.counters.failed_turn(&error.to_string());
                    false
                }),
            };
            if !more {
                tokio::select! {
                    () = stop.cancelled() => {}
                    () = pause(FOLLOW_EVERY) => {}
                }
            }
        }
        if self.kept.is_behind(self.position) {
            // What can not be kept is told again.
            let _ = self.parts.kept.set_mark(&self.mark, self.position).await;
        }
    }

    /// True: there is more.
    async fn turn(&mut self) -> Result<bool, tenure_databases::Error> {
        let parts = self.parts.clone();
        let page = page(&parts.kept, &parts.store, self.position).await?;
        let mut heard = false;
        for sent in &page.messages {
            if self.labels.is_empty() || self.labels.contains(&sent.label) {
                self.tell(sent).await?;
                heard = true;
            }
            // Others of its entry may be left: only what is before it is certain.
            self.position = self.position.max(sent.position - 1);
        }
        self.position = page.end;
        if heard || self.kept.is_worth_it(self.position) {
            parts.kept.set_mark(&self.mark, self.position).await?;
            self.kept = Kept::at(self.position);
        }
        Ok(page.more)
    }

    /// Until it is heard.
    async fn tell(&self, sent: &Sent) -> Result<(), tenure_databases::Error> {
        let Some(message) = self.parts.kept.message(&self.parts.store, sent.id).await? else {
            return Ok(());
        };
        let key = key_of(&sent.id);
        let message =
            Message { key, label: message.label, item: sent.id.item, at: sent.at, body: message.body };
        let mut again = AGAIN_MIN;
        loop {
            let subscriber = self.subscriber.clone();
            let told = message.clone();
            let hearing = self.outside.spawn(caught(async move { subscriber.hear(told).await }));
            let why = match hearing.await {
                Ok(Ok(Ok(()))) => return Ok(()),
                Ok(Ok(Err(failure))) => failure.to_string(),
                Ok(Err(panic)) => format!("it panicked: {panic}"),
                Err(ended) => ended.to_string(),
            };
            self.parts.counters.failed_turn(&format!("{} did not hear {}: {why}", self.mark, message.key));
            pause(again).await;
            again = (again * 2).min(AGAIN_MAX);
        }
    }
}
