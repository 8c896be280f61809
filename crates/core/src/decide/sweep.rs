//! sweep: what time has made due. The engine's own command; correct however late, twice or stale it arrives.
//!
//! A sweeper works from a list it read earlier, so it names the fence it saw: whoever renewed, ended or took over in
//! between is left alone.

use super::draft::Draft;
use super::end::{self, Ending};
use super::finish::finish;
use super::{Decided, find};
use crate::actor::{Role, Roles};
use crate::answer::Answer;
use crate::draw::Draw;
use crate::execution::Status;
use crate::id::{Fence, ItemId};
use crate::item::Item;
use crate::lifecycle::event::Event;
use crate::request::{Effects, Request};
use crate::time::Time;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sweep {
    pub item: ItemId,
    pub fence: Fence,
    pub due: Due,
    /// What a system row must write, made by the system that the kind belongs to.
    pub offers: Effects,
}

/// Why the sweeper thinks that something is due.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Due {
    /// The lease's end or the window's end has passed; or it committed and was not finished.
    Time,
    /// The process that held it is known to be dead. Counts only if it has not been heard of since.
    Orphan { heartbeat: Time },
    /// The session it was taken under has ended.
    Lapsed { session: ItemId },
    /// Its holder shuts down, and its table has no `release`. The fence says that it is this holder's.
    GivenUp,
}

impl Sweep {
    pub(super) fn decide(&self, draft: &mut Draft, request: &Request, draw: &mut Draw) -> Decided {
        let item = find(draft, request, self.item)?;
        if request.actor.role != Role::System {
            return Err(Answer::Forbidden { event: Event::Expire, roles: Roles::NONE.with(Role::System) });
        }
        let Some((event, reason)) = self.due_event(draft, &item) else {
            return Ok(Answer::Same(item));
        };
        if event == Event::Finish {
            finish(draft, &item, &request.actor)?;
        } else {
            let ending = Ending {
                event,
                on: None,
                actor: &request.actor,
                reason: Some(reason),
                permanent: false,
                delay: None,
                attests: &[],
                offers: &self.offers,
            };
            end::end(draft, &item, ending, draw)?;
        }
        Ok(draft.done(self.item))
    }

    /// What the loss of a process does here: `orphan`, or `expire` where the table has only that.
    fn lost(&self, item: &Item) -> Event {
        if item.table.has_row(item.state, &Event::Orphan) { Event::Orphan } else { Event::Expire }
    }

    /// What is due, judged now and not when the list was read.
    fn due_event(&self, draft: &Draft, item: &Item) -> Option<(Event, &'static str)> {
        let lease = item.lease.as_ref().filter(|_| item.fence == self.fence)?;
        let committed = lease.status() == Status::Committed;
        match self.due {
            Due::Time => item.due(draft.now()).map(|event| {
                let reason = end::why(&event);
                (event, reason)
            }),
            Due::Orphan { heartbeat } if lease.heartbeat == heartbeat => {
                Some((if committed { Event::Finish } else { self.lost(item) }, "its process died"))
            }
            Due::Lapsed { session } if lease.session == Some(session) => {
                let ended = draft.item(session).is_none_or(|session| session.lease.is_none());
                ended.then(|| (if committed { Event::Finish } else { item.expiry() }, "its session ended"))
            }
            Due::GivenUp => {
                Some((if committed { Event::Finish } else { self.lost(item) }, "its worker shut down"))
            }
            Due::Orphan { .. } | Due::Lapsed { .. } => None,
        }
    }
}
