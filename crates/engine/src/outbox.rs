//! What leaves the database: messages that commits wrote, told to webhooks and to subscribers in this process.
//!
//! ```text
//!  commit ─▶ outbox (the bytes) + log (label, hash)                      one transaction
//!                                   │
//!               the log, in its order, from a mark that is kept
//!                    │                                   │
//!   webhooks: a delivery a message and webhook      subscribers: the handler is called,
//!   (an item, named by both), then the mark         then the mark is moved
//!                    │
//!   a worker sends it until the other side has it: signed, to an address that was looked at
//! ```
//!
//! At least once, over any crash: the mark is moved after what it stands for is durable. The key of a message stays the same
//! over all attempts, so that the other side can tell a repeat.

pub(crate) mod address;
mod deliver;
mod follow;
mod post;
mod send;
mod sign;
mod subscribe;
mod webhook;

use std::sync::Arc;
use std::time::Duration;

use tenure_core::actor::{Actor, Role};
use tenure_core::follower::{DELIVERY, WEBHOOK};
use tenure_core::word::Kind;
use tokio::runtime::Handle;

use crate::loops::{Parts, every, wait_for_first};
use crate::worker::{Within, run_within};

pub(crate) use sign::Secrets;
pub use sign::{NotASecret, Secret};
pub use subscribe::{Message, Subscriber, Subscription};
pub use webhook::{Hooked, Webhook};

/// A message waits so long at most before it becomes a delivery, or a subscriber hears of it.
const FOLLOW_EVERY: Duration = Duration::from_millis(300);
/// How soon a first webhook that another process created is noticed.
const FIRST_EVERY: Duration = Duration::from_secs(2);
/// Deliveries that are under way at the same time. Each waits for somebody else's server.
const CONCURRENCY: usize = 32;

fn kind() -> Kind {
    WEBHOOK.parse().expect("a valid kind")
}

fn delivery_kind() -> Kind {
    DELIVERY.parse().expect("a valid kind")
}

/// Runs as long as the engine. The log is not followed until there is a webhook.
pub(crate) async fn run(parts: Parts, secrets: Secrets) {
    if !wait_for_first(&parts, &kind(), FIRST_EVERY).await {
        return;
    }
    let id = "webhooks".parse().expect("a valid id");
    let worker = Within {
        actor: Actor { incarnation: Some(parts.node.clone()), ..Actor::new(Role::Worker, id) },
        handlers: vec![(delivery_kind(), Arc::new(send::Send::new(parts.clone(), secrets)))],
        concurrency: CONCURRENCY,
        outside: Handle::current(),
    };
    let deliverer = Arc::new(deliver::Deliverer::default());
    let following = every("outbox", FOLLOW_EVERY, parts.clone(), move |parts| {
        let deliverer = deliverer.clone();
        async move { deliverer.turn(&parts).await }
    });
    tokio::join!(run_within(&parts, worker), following);
}
