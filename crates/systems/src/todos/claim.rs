//! claim, release, abandon, next: whose a task is.

use tenure::core::actor::Owner;
use tenure::core::answer::{Answer, Granted, Refusal as Refused};
use tenure::core::code::Code;
use tenure::core::execution::Lease;
use tenure::core::hash::Hash;
use tenure::core::id::{ExecutionId, ItemId};
use tenure::core::item::Item;
use tenure::core::lifecycle::event::Event;
use tenure::core::lifecycle::guard::Guard;
use tenure::core::request::{Acquire, Command, Move, Release, Take, Terms};
use tenure::databases::outside::now;

use super::refusal::{Error, Refusal};
use super::session::Session;
use super::task::Task;
use super::workspace::Facts;
use super::{Changed, KIND, Todos};

impl Todos {
    /// Makes a task mine. Mine already: nothing changes, but that it moves to this session.
    pub async fn claim(&self, id: ItemId, workspace: Option<&Facts>) -> Result<Changed, Error> {
        let task = self.task(id).await?;
        let session = self.session()?.clone();
        self.workspace(workspace, &id.to_string())?;
        if task.item.phase().is_ended() {
            let detail = format!("{id} is {}, which is final", task.state());
            return Err(Refusal::new(Code::TransitionRefused, detail).with("state", task.state()).into());
        }
        let taken = self.take(&task.item, &session).await;
        let (granted, fresh) = match taken {
            Err(error) if error.code() == Some(Code::TransitionRefused) => {
                return Err(self.open_dependencies(&task).await?.map_or(error, Error::from));
            }
            taken => taken?,
        };
        Ok(Changed { task: self.task(id).await?, receipt: granted.item.head, fresh })
    }

    async fn take(&self, item: &Item, session: &Session) -> Result<(Granted, bool), Error> {
        let reply = self.tenure.ask(Command::Take(Take { item: item.id, terms: terms(session) })).await?;
        match reply.answer {
            Answer::Leased(mut leases) if !leases.is_empty() => Ok((leases.remove(0), reply.fresh)),
            no => Err(no.into()),
        }
    }

    /// What it waits for, each by its name and its state.
    async fn open_dependencies(&self, task: &Task) -> Result<Option<Refusal>, Error> {
        let mut open = Vec::new();
        for id in task.depends() {
            let on = self.task(id).await?;
            match on.state() {
                "Verified" => {}
                state => open.push(format!(
                    "{id} ({}) is {state}; unless it must be, `tenure todo depend {} --remove {id}`",
                    on.title,
                    task.id()
                )),
            }
        }
        let detail = format!("it depends on what is not verified: {}", open.join("; "));
        Ok((!open.is_empty()).then(|| Refusal::new(Code::TransitionRefused, detail)))
    }

    /// The best task that can be claimed, claimed: by priority and age, with everything done that it depends on. None: there is
    /// none. What this session holds already comes first.
    pub async fn next(&self, workspace: Option<&Facts>) -> Result<Option<Changed>, Error> {
        self.workspace(workspace, "next")?;
        let session = self.session()?.clone();
        if let Some(held) = super::session::held(&self.tenure, &session).await?.first() {
            return Ok(Some(Changed { receipt: held.head, task: self.task(held.id).await?, fresh: false }));
        }
        let kinds = vec![KIND.parse().map_err(tenure::Error::from)?];
        let acquire = Acquire { kinds, max: 1, terms: terms(&session) };
        match self.tenure.ask(Command::Acquire(acquire)).await?.answer {
            Answer::Leased(leases) => match leases.first() {
                Some(granted) => {
                    let task = self.task(granted.item.id).await?;
                    Ok(Some(Changed { task, receipt: granted.item.head, fresh: true }))
                }
                None => Ok(None),
            },
            no => Err(no.into()),
        }
    }

    /// Gives a task back.
    pub async fn release(
        &self,
        id: ItemId,
        reason: Option<String>,
        workspace: Option<&Facts>,
    ) -> Result<Changed, Error> {
        let task = self.task(id).await?;
        let session = self.session()?.clone();
        self.workspace(workspace, &id.to_string())?;
        let execution = self.own(&task.item, &session, Event::Release).await?;
        let release = Release { execution, reason, delay: None, attests: vec![Guard::Workspace] };
        match self.tenure.ask(Command::Release(release)).await?.answer {
            Answer::Ran(_) => {
                let receipt = self.entry_of(execution, &Event::Release).await?;
                Ok(Changed { task: self.task(id).await?, receipt, fresh: true })
            }
            no => Err(no.into()),
        }
    }

    /// Gives a task up, for ever.
    pub async fn abandon(
        &self,
        id: ItemId,
        reason: String,
        workspace: Option<&Facts>,
    ) -> Result<Changed, Error> {
        self.task(id).await?;
        let outside = self.actor.role == tenure::core::actor::Role::Admin;
        let attests = match self.workspace(workspace, &id.to_string()) {
            Ok(()) => vec![Guard::Workspace],
            // An administrator abandons from anywhere.
            Err(_) if outside => Vec::new(),
            Err(refusal) => return Err(refusal.into()),
        };
        let event = "abandon".parse().map_err(tenure::Error::from)?;
        let session = self.session.as_ref().map(|session| session.id);
        let is_silent = reason.trim().is_empty();
        let step = Move { reason: Some(reason), attests, session, ..Move::new(id, event) };
        let reply = self.tenure.ask(Command::Move(step)).await?;
        if let Answer::Forbidden { roles, .. } = &reply.answer {
            let refusal = self.forbidden("abandon", *roles);
            let detail = format!("{}; what you have claimed yourself you may give up", refusal.detail);
            return Err(Refusal { detail, ..refusal }.into());
        }
        match self.changed(reply).await {
            Err(no) if is_silent && no.code() == Some(Code::InvalidRequest) => {
                let refusal = Refusal::invalid("a task is given up for ever: say why");
                Err(refusal.with("fix", format!("tenure todo abandon {id} --reason WHY")).into())
            }
            changed => changed,
        }
    }

    /// The lease of a task that is mine: taken over if another session of mine holds it.
    pub(super) async fn own(
        &self,
        item: &Item,
        session: &Session,
        event: Event,
    ) -> Result<ExecutionId, Error> {
        match &item.lease {
            Some(lease) if !lease.is_live(now()) => Err(nobodys(item, event)),
            Some(lease) if lease.owner == session.actor.owner() => Ok(item.execution_id()),
            Some(lease) if lease.owner.id == session.actor.id => {
                self.take(item, session).await.map(|(granted, _)| granted.execution)
            }
            Some(lease) => Err(held(item, lease)),
            None => Err(nobodys(item, event)),
        }
    }

    /// The receipt of what was done under a lease.
    pub(super) async fn entry_of(&self, execution: ExecutionId, action: &Event) -> Result<Hash, Error> {
        let history = self.tenure.history(execution.item).await?;
        let is_it =
            |entry: &&tenure::core::entry::Sealed| entry.fence == execution.fence && entry.action == *action;
        let entry = history.iter().rev().find(is_it).or(history.last());
        Ok(entry.expect("an item has entries").hash())
    }
}

pub(super) fn terms(session: &Session) -> Terms {
    Terms { start: true, session: Some(session.id), attests: vec![Guard::Workspace], ..Terms::default() }
}

fn held(item: &Item, lease: &Lease) -> Error {
    let owner: Owner = lease.owner.clone();
    Answer::Held { item: item.id, owner, until: lease.expires }.into()
}

/// Nobody holds it, so there is nothing to give back and nothing to finish.
fn nobodys(item: &Item, event: Event) -> Error {
    let problem = tenure::core::code::Problem::new(
        Code::TransitionRefused,
        match item.phase().is_ended() {
            true => format!("{} is {}, which is final: nobody holds it", item.id, item.state_name()),
            false => format!("{} is {}: nobody holds it; claim it first", item.id, item.state_name()),
        },
    );
    let refused = Refused {
        item: item.id,
        state: item.state_name().clone(),
        event,
        allowed: item.table.events_from(item.state).into_iter().cloned().collect(),
        problem,
    };
    Answer::Refused(Box::new(refused)).into()
}
