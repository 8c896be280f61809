//! Todos: tasks that are done when they are proved done. One owner at a time, for as long as their session lives.
//!
//! | where | what |
//! |---|---|
//! | [`session`] | the time in which somebody works, and what they hold in it |
//! | [`Todos`] | add, list, claim, release, done, abandon, depend, attest; `next` picks |
//! | [`plan`] | the gates that a task must pass, as they are written |
//! | [`receipt`] | proofs, their hash, and how they drift; [`normal`] makes outputs comparable |
//! | [`workspace`] | where somebody works, and whether anything may be changed from there |
//! | [`validate`] | is the list itself sound: every task but the one that is being decided |
//! | [`checklist`] | tasks from a Markdown checklist |
//!
//! Gates run where the workspace is, which is not here: whoever calls `done` brings results, and they are judged.

mod asked;
mod attest;
pub mod checklist;
mod circles;
mod claim;
mod depend;
mod done;
pub mod list;
pub mod normal;
pub mod plan;
pub mod receipt;
mod refusal;
pub mod session;
mod task;
pub mod validate;
pub mod workspace;

use tenure::Tenure;
use tenure::core::actor::{Actor, Role, Roles};
use tenure::core::answer::Answer;
use tenure::core::code::Code;
use tenure::core::hash::Hash;
use tenure::databases::batch::Reply;

pub use asked::{New, Proved};
pub use refusal::{ACQUIRE, Error, Refusal, acquire_as};
pub use session::Session;
pub use task::{Attestation, KeptReceipt, Task};
use workspace::{Facts, Protected};

/// The kind that tasks are items of.
pub const KIND: &str = "todo";

/// What the operator of a list decides about it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Settings {
    pub protected: Protected,
    /// Whether tasks are added from protected branches too: writing down what is to be done changes no code.
    pub add_anywhere: bool,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { protected: Protected::default(), add_anywhere: true }
    }
}

/// The tasks of one store, for one caller.
#[derive(Clone, Debug)]
pub struct Todos {
    tenure: Tenure,
    actor: Actor,
    session: Option<Session>,
    settings: Settings,
}

/// A task after it was changed, and the receipt of that change.
#[derive(Clone, Debug)]
pub struct Changed {
    pub task: Task,
    /// The canonical hash of the log entry that says it. Where nothing had to change, that of the last one.
    pub receipt: Hash,
    /// False: it was so already.
    pub fresh: bool,
}

impl Todos {
    /// As this actor, in the store of the handle. A session says for itself who acts.
    pub fn new(tenure: &Tenure, actor: Actor, session: Option<Session>, settings: Settings) -> Todos {
        let actor = session.as_ref().map_or(actor, |session| session.actor.clone());
        let tenure = tenure.acting(tenure.store().clone(), actor.clone());
        Todos { tenure, actor, session, settings }
    }

    /// A task after a move, an append or a link.
    async fn changed(&self, reply: Reply) -> Result<Changed, Error> {
        match reply.answer {
            Answer::Done(item) | Answer::Same(item) => {
                Ok(Changed { task: self.task(item.id).await?, receipt: item.head, fresh: reply.fresh })
            }
            no => Err(no.into()),
        }
    }

    fn workspace(&self, facts: Option<&Facts>, what: &str) -> Result<(), Refusal> {
        self.settings.protected.judge(facts, what)
    }

    /// Refuses whoever has another role, in the words of whoever asked for it.
    fn only(&self, what: &str, roles: Roles) -> Result<(), Refusal> {
        if roles.allow(self.actor.role) { Ok(()) } else { Err(self.forbidden(what, roles)) }
    }

    /// A no to who asks. In a session that is its agent, whoever has sent the request.
    fn forbidden(&self, what: &str, roles: Roles) -> Refusal {
        // Nobody is made `system`.
        let roles: Vec<&str> = roles.iter().filter(|role| *role != Role::System).map(Role::as_str).collect();
        let who = format!("{}:{}", self.actor.role, self.actor.id);
        let detail = format!("`{what}` is for {}, and you are {who}", roles.join(" or "));
        let refusal = Refusal::new(Code::Forbidden, detail).with("event", what);
        refusal.with("roles", roles.join("/")).with("actor", who)
    }

    fn session(&self) -> Result<&Session, Refusal> {
        self.session.as_ref().ok_or_else(|| Refusal::session("this is done in a session, and none is named"))
    }
}
