//! The kernel of Tenure: lifecycles as tables, one pure decision function, and the log.
//!
//! > **Load, decide, write.** Whoever serves a request loads a [`World`](world::World), asks [`decide`](decide::decide)
//! > what happens, and writes the [`Change`](world::Change)s it answered with in one transaction.
//!
//! There is no I/O here, no clock, no randomness and no thread: the crate is `no_std`, and what it needs of the outside
//! (the time, a seed, the rows) comes in as arguments. The same world and the same request always have the same answer.
//!
//! ```
//! use std::sync::Arc;
//! use tenure_core::{answer::Answer, body::Body, decide::decide, draw::Draw, lifecycle::shipped, request::*, world::World};
//!
//! let mut world = World::new(Arc::new(shipped::tables()));
//! let mut draw = Draw::new(1);
//! let mut ask = |world: &mut World, actor: &str, command| {
//!     let request = Request { store: "default".parse().unwrap(), actor: actor.parse().unwrap(), command };
//!     let decision = decide(world, &request, &mut draw);
//!     world.apply(decision.changes);
//!     decision.answer
//! };
//!
//! // A job is created and waits.
//! let payload = Body::json(r#"{"mail": "hello"}"#).unwrap();
//! let create = Command::Create(Create::new("job".parse().unwrap(), payload));
//! let Answer::Created(job) = ask(&mut world, "api:shop", create) else { panic!() };
//! assert_eq!(&**job.state_name(), "PENDING");
//!
//! // A worker takes it, and for a minute nobody else can.
//! let take = Command::Take(Take { item: job.id, terms: Terms { start: true, ..Terms::default() } });
//! let Answer::Leased(leases) = ask(&mut world, "worker:w/1", take.clone()) else { panic!() };
//! assert!(matches!(ask(&mut world, "worker:w/2", take.clone()), Answer::Held { .. }));
//!
//! // The minute passes. Another worker takes over, and the first one's commit finds that out.
//! world.now = leases[0].item.lease.as_ref().unwrap().expires;
//! let Answer::Leased(_) = ask(&mut world, "worker:w/2", take) else { panic!() };
//! let (execution, effects) = (leases[0].execution, Effects::default());
//! let commit = Commit { execution, output: None, effects, finish: true, session: None, attests: vec![] };
//! assert!(matches!(ask(&mut world, "worker:w/1", Command::Commit(commit)), Answer::LeaseLost(_)));
//!
//! // Everything that happened, in order.
//! let story: Vec<String> = world.history(job.id).map(|entry| entry.shown().to_string()).collect();
//! assert_eq!(story, ["create", "lease", "expire", "lease"]);
//! ```
//!
//! # Reading order
//!
//! 1. [`lifecycle`]: what a table is; [`lifecycle::parse`] reads one from its Markdown file.
//! 2. [`item`], [`execution`], [`entry`]: the three nouns. An item is work, an execution is one attempt, an entry is one
//!    line of history.
//! 3. [`project`]: what an entry does to an item. The only place where items change.
//! 4. [`request`], [`answer`], [`world`]: what comes in, what goes out, what is looked at.
//! 5. [`decide`]: one file a verb.
//! 6. [`retry`]: how what ended badly is tried again.
//! 7. [`replay`], [`derive`], [`check`]: the same machine run backwards (from its log), sideways (from its executions)
//!    and exhaustively (over everything that can happen).
#![no_std]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::indexing_slicing))]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod actor;
pub mod answer;
pub mod body;
pub mod check;
pub mod code;
pub mod control;
pub mod decide;
pub mod derive;
pub mod draw;
pub mod entry;
pub mod execution;
pub mod follower;
pub mod hash;
pub mod id;
pub mod item;
pub mod lane;
pub mod lifecycle;
pub mod pace;
pub mod project;
pub mod replay;
pub mod request;
pub mod retry;
pub mod time;
pub mod trace;
pub mod word;
pub mod world;
