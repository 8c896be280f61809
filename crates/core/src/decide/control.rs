//! control: an operator pauses a kind, lets it go on, or gives it other limits. Saying it twice changes nothing.
//!
//! Work is still created while a kind is paused, and what is held goes on: only leases are held back. So nobody who
//! creates work has to know, and a drain is a pause and a little patience.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;

use super::draft::Draft;
use super::{Decided, check_reason};
use crate::actor::{Role, Roles};
use crate::answer::Answer;
use crate::code::Problem;
use crate::control::{Control, Limits, QueueKey, Said};
use crate::lifecycle::event::Event;
use crate::lifecycle::settings::{LIMIT_MAX, PACE_MAX, PACE_MIN, Rate};
use crate::request::Request;
use crate::word::Kind;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Order {
    pub kind: Kind,
    pub what: What,
    pub reason: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum What {
    /// No new leases.
    Pause,
    Resume,
    /// These instead of the lifecycle's; None is the lifecycle's own.
    Limit {
        concurrency: Option<u32>,
        rate: Option<Rate>,
    },
}

/// Who may: those who answer for what runs. Clients that create work and workers that do it may not.
pub const OPERATORS: Roles = Roles::NONE.with(Role::Admin).with(Role::Human);

impl Order {
    pub fn queue(&self, request: &Request) -> QueueKey {
        QueueKey { store: request.store.clone(), kind: self.kind.clone() }
    }

    pub(super) fn decide(&self, draft: &mut Draft, request: &Request) -> Decided {
        if !OPERATORS.allow(request.actor.role) {
            return Err(Answer::Forbidden { event: Event::Lease, roles: OPERATORS });
        }
        check_reason(Some(&self.reason))?;
        if draft.world().tables.current(&self.kind).is_none() {
            let detail = format!("there is no lifecycle `{}`", self.kind);
            return Err(Answer::Invalid(Problem::invalid(detail)));
        }
        let key = self.queue(request);
        let mut control = draft.control(&key);
        let said = Said { by: request.actor.clone(), at: draft.now(), why: self.reason.clone() };
        match self.what {
            What::Pause if control.pause.is_none() => control.pause = Some(said),
            What::Pause => {}
            What::Resume => control.pause = None,
            What::Limit { concurrency, rate } => {
                check(concurrency, rate)?;
                limit(&mut control, concurrency, rate, said);
            }
        }
        draft.set_control(key, control.clone());
        Ok(Answer::Controlled(Box::new(control)))
    }
}

/// The same limits again keep who said them first.
fn limit(control: &mut Control, concurrency: Option<u32>, rate: Option<Rate>, said: Said) {
    let before = control.limits.as_ref().map_or((None, None), |limits| (limits.concurrency, limits.rate));
    if before != (concurrency, rate) {
        let some = concurrency.is_some() || rate.is_some();
        control.limits = some.then_some(Limits { concurrency, rate, said });
    }
}

fn check(concurrency: Option<u32>, rate: Option<Rate>) -> Result<(), Answer> {
    let within = |count: u32| (1..=LIMIT_MAX).contains(&count);
    let paced = |rate: Rate| within(rate.count) && (PACE_MIN..=PACE_MAX).contains(&rate.per);
    if concurrency.is_none_or(within) && rate.is_none_or(paced) {
        return Ok(());
    }
    let detail =
        format!("a limit goes from 1 to {LIMIT_MAX}, a rate's span from {PACE_MIN:?} to {PACE_MAX:?}");
    Err(Answer::Invalid(Problem::invalid(detail)))
}
