//! Tenure, to embed: every piece of work has one owner at a time, one committed effect ever, and a history.
//!
//! ```
//! use std::time::Duration;
//! use tenure::{Done, Failure, Job, New, Tenure};
//!
//! # tokio::runtime::Runtime::new().unwrap().block_on(async {
//! let tenure = Tenure::open("memory:").await?; // or sqlite:work.db, or postgres://…
//! let greet = async |job: Job| {
//!     let name: String = job.payload()?;
//!     Ok(Done::with(&format!("hello, {name}"))?)
//! };
//! let worker = tenure.worker("greeter").handle("job", greet).start()?;
//! let job = tenure.create(New::job(&"Ada")).await?;
//! let done = tenure.wait(job.id, Duration::from_secs(10)).await?;
//! assert_eq!(done.output.unwrap().bytes(), br#""hello, Ada""#);
//! worker.drain().await;
//! tenure.close(Duration::from_secs(20)).await; // gives back what this process still holds
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! ```
//!
//! What is answered is durable. A handler may run more than once (its process may die), its [`Done`] is committed once: the
//! database refuses a second commit and every write of a worker whose lease has passed to another.
//!
//! | where | what |
//! |---|---|
//! | [`Tenure`] | open, create, read, wait, cancel; retry and redrive; who holds what; pause, drain and limit kinds |
//! | [`Standing`] | what holds a kind back |
//! | [`Explanation`] | why an item is where it is, and how it moves on |
//! | [`WorkerBuilder`], [`Worker`] | handlers, heartbeats, draining |
//! | [`Job`], [`Done`], [`Failure`] | what a handler gets and gives |
//! | [`Schedule`] | work that is created at its times |
//! | [`Webhook`], [`Subscription`] | who is told of messages, outside and in this process |
//! | [`Counters`] | what was done and met |

mod around;
mod asked;
mod attempts;
mod background;
mod bell;
mod closing;
mod controls;
mod error;
mod explain;
mod kept;
mod lease;
mod loops;
mod offers;
mod outbox;
mod reading;
mod recovery;
mod redrive;
mod refused;
mod schedule;
mod tenure;
mod time;
mod watching;
mod worker;

pub use asked::Asked;
pub use attempts::{Attempt, Holder, Holding};
pub use controls::Standing;
pub use error::{Error, OpenError};
pub use explain::{
    AHEAD_MAX, Because, Ended, Explanation, Facts, Failed, Held, Known, Move, Next, Reason, Related, Tries,
    explain,
};
pub use lease::Leasing;
pub use loops::Counters;
pub use offers::Offer;
pub use outbox::{Hooked, Message, NotASecret, Secret, Subscriber, Subscription, Webhook};
pub use redrive::{BULK_MAX, Bulk, Mode, Outcome};
pub use refused::{REFUSED_MAX, Refused};
pub use schedule::{CatchUp, GRACE, Schedule, Scheduled};
pub use tenure::{Builder, New, Tenure};
pub use tenure_core as core;
pub use tenure_databases as databases;
pub use worker::{Done, Failure, Handler, Job, LeaseTerm, Lines, Worker, WorkerBuilder};

/// The README's examples: `cargo test --doc` compiles them as they are printed.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
#[derive(Debug)]
pub struct Readme;
