//! Deciding: the one pure function of the kernel.
//!
//! `decide` looks at a world and a request and says what happens: an answer, and the rows to write. It reads no clock,
//! draws nothing but from the [`Draw`] it is given and changes nothing itself. Having read one verb's file you have read
//! them all: find the item, judge the role, recognize a repeat, judge the lease or the version, choose the row, write
//! the entry.
//!
//! A "no" is an `Err(Answer)` inside and writes nothing; the rows of a half-made decision are dropped with its draft.

pub mod acquire;
pub mod cancel;
pub mod commit;
pub mod control;
pub mod create;
mod draft;
mod effects;
mod end;
pub mod erase;
pub mod fail;
pub mod finish;
mod guards;
mod limits;
pub mod link;
pub mod note;
pub mod outlook;
pub mod plain;
pub mod progress;
pub mod prune;
mod records;
pub mod release;
pub mod renew;
pub mod start;
pub mod sweep;
pub mod take;

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use crate::answer::Answer;
use crate::code::Problem;
use crate::draw::Draw;
use crate::hash::Hash;
use crate::id::{ExecutionId, ItemId};
use crate::item::{Item, SharedItem};
use crate::lifecycle::event::Event;
use crate::request::{Command, Effects, REASON_BYTES_MAX, Request};
use crate::world::{Change, World};

pub(crate) use draft::record_marks;
pub use draft::{Draft, Unlogged};

/// What happens: the answer, and what must be written for it to be true.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Decision {
    pub answer: Answer,
    pub changes: Vec<Change>,
}

/// `Err` is a "no": an answer for which nothing may be written.
type Decided = Result<Answer, Answer>;

pub fn decide(world: &World, request: &Request, draw: &mut Draw) -> Decision {
    let mut draft = Draft::new(world);
    let decided = match &request.command {
        Command::Create(create) => create.decide(&mut draft, request, draw),
        Command::Acquire(acquire) => acquire.decide(&mut draft, request),
        Command::Take(take) => take.decide(&mut draft, request),
        Command::Start(start) => start.decide(&mut draft, request),
        Command::Renew(renew) => renew.decide(&mut draft, request),
        Command::Progress(progress) => progress.decide(&mut draft, request),
        Command::Commit(commit) => commit.decide(&mut draft, request, draw),
        Command::Finish(finish) => finish.decide(&mut draft, request),
        Command::Fail(fail) => fail.decide(&mut draft, request, draw),
        Command::Release(release) => release.decide(&mut draft, request, draw),
        Command::Move(step) => step.decide(&mut draft, request, draw),
        Command::Cancel(cancel) => cancel.decide(&mut draft, request, draw),
        Command::Note(note) => note.decide(&mut draft, request),
        Command::Link(link) => link.decide(&mut draft, request),
        Command::Erase(erase) => erase.decide(&mut draft, request),
        Command::Control(order) => order.decide(&mut draft, request),
        Command::Sweep(sweep) => sweep.decide(&mut draft, request, draw),
        Command::Prune(prune) => prune.decide(&mut draft, request),
    };
    match decided {
        Ok(answer) => Decision { answer, changes: draft.into_changes() },
        Err(answer) => Decision { answer, changes: Vec::new() },
    }
}

/// An item of the request's store. One of another store does not exist for the caller.
fn find(draft: &Draft, request: &Request, id: ItemId) -> Result<SharedItem, Answer> {
    match draft.shared(id) {
        Some(item) if item.store == request.store => Ok(item.clone()),
        _ => Err(Answer::NotFound(format!("there is no item {id} in store {}", request.store))),
    }
}

/// The fence: the item, if this caller holds this execution of it now.
fn held(draft: &Draft, request: &Request, item: &Item, execution: ExecutionId) -> Result<(), Answer> {
    let lost = |why| Err(Answer::LeaseLost(why));
    let Some(lease) = &item.lease else {
        return lost(format!("execution {execution} has ended; item {} is {}", item.id, item.state_name()));
    };
    if item.fence != execution.fence {
        return lost(format!("claim_version {} is in force, held by {}", item.fence, lease.owner));
    }
    if !request.actor.is(&lease.owner) {
        return lost(format!("the lease belongs to {}", lease.owner));
    }
    let now = draft.now();
    if !lease.is_live(now) {
        return lost(match lease.ends() {
            ends if ends <= now => format!("the lease ended at {ends}"),
            ends => format!(
                "the lease ended with a correction of the clock: it was granted until {ends}, and the time is {now}"
            ),
        });
    }
    Ok(())
}

/// What makes two requests of this sort the same one. The last accepted move keeps it, so that its repeat is known.
fn digest(request: &Request, event: &Event, about: &[&dyn fmt::Debug], effects: &Effects) -> Hash {
    let mut parts = effects.parts();
    parts.push(format!("{} {} {event} {about:?}", request.store, request.actor));
    let parts: Vec<&[u8]> = parts.iter().map(String::as_bytes).collect();
    Hash::of_parts(&parts)
}

/// A reason is kept in the log for ever, so it is bounded before it gets there.
fn check_reason(reason: Option<&str>) -> Result<(), Answer> {
    match reason {
        Some(reason) if reason.len() > REASON_BYTES_MAX => {
            let detail =
                format!("the reason has {} bytes and at most {REASON_BYTES_MAX} are kept", reason.len());
            Err(Answer::Invalid(Problem::invalid(detail)))
        }
        _ => Ok(()),
    }
}
