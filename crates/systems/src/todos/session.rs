//! Sessions: the time in which somebody works. One is held under a lease that every command of it renews, with everything
//! that was claimed in it; when it ends, whatever way, its claims lapse.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::json;
use tenure::Tenure;
use tenure::core::actor::{Actor, Role};
use tenure::core::answer::{Answer, Granted};
use tenure::core::body::Body;
use tenure::core::id::{ExecutionId, ItemId};
use tenure::core::item::Item;
use tenure::core::lifecycle::Phase;
use tenure::core::request::{Command, Create, Release, Renew, Terms};
use tenure::core::time::Time;
use tenure::core::word::{Store, Who};
use tenure::databases::outside::{chance, now};
use tenure::databases::{PAGE_MAX, Query, Whole};

use super::KIND as TODO;
use super::refusal::{Error, Refusal};

pub const KIND: &str = "session";
/// One agent that holds more than this works on none of it; the rest lapses if nobody renews it.
const RENEWED_MAX: usize = PAGE_MAX;

/// A session that is live: the envelope.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Session {
    pub id: ItemId,
    /// Who works: role, agent and, as the incarnation, this session of it.
    pub actor: Actor,
    pub store: Store,
    /// Where, as they said.
    pub workspace: Option<String>,
    pub issued_at: Time,
    pub expires_at: Time,
    /// The lease that it is held under.
    pub execution: ExecutionId,
}

impl Session {
    pub fn agent_id(&self) -> &Who {
        &self.actor.id
    }

    fn of(item: &Item, workspace: Option<String>) -> Option<Session> {
        let lease = item.lease.as_ref().filter(|_| item.table.kind.as_str() == KIND)?;
        let (id, incarnation) = (lease.owner.id.clone(), lease.owner.incarnation.clone());
        Some(Session {
            id: item.id,
            actor: Actor { role: item.created_by.role, id, incarnation },
            store: item.store.clone(),
            workspace,
            issued_at: lease.since,
            expires_at: lease.expires,
            execution: item.execution_id(),
        })
    }
}

/// Begins a session of this agent. `once` names the request: repeated while the session lives, it is the same one.
pub async fn acquire(
    tenure: &Tenure,
    agent: &Actor,
    workspace: Option<String>,
    once: Option<&str>,
) -> Result<Session, Error> {
    Ok(begin(tenure, agent, workspace, once).await?.0)
}

/// As [`acquire`], with whether it is new.
pub async fn begin(
    tenure: &Tenure,
    agent: &Actor,
    workspace: Option<String>,
    once: Option<&str>,
) -> Result<(Session, bool), Error> {
    let word = match once {
        Some(once) => tenure::core::hash::Hash::of_parts(&[agent.id.as_bytes(), once.as_bytes()]).to_string(),
        None => format!("{:016x}{:016x}", chance(), chance()),
    };
    let incarnation: Who = word[..32].parse().map_err(tenure::Error::from)?;
    let actor = Actor { incarnation: Some(incarnation), ..agent.clone() };
    let payload = json!({ "agent_id": agent.id, "workspace": workspace });
    let payload =
        Body::json(payload.to_string()).map_err(|problem| Refusal::new(problem.code, problem.detail))?;
    let mut create = Create::new(KIND.parse().map_err(tenure::Error::from)?, payload);
    create.take = Some(Terms::default());
    create.name = once.map(|_| word.parse()).transpose().map_err(tenure::Error::from)?;
    let asked = tenure.acting(tenure.store().clone(), actor);
    let reply = asked.ask(Command::Create(create)).await?;
    match reply.answer {
        Answer::Leased(leases) => {
            let granted: Option<&Granted> = leases.first();
            let session = granted.and_then(|granted| Session::of(&granted.item, workspace));
            let ended = || Refusal::session("the session ended as it began");
            Ok((session.ok_or_else(ended)?, reply.fresh))
        }
        Answer::Same(_) => Err(Refusal::session("the session that this request began has ended").into()),
        no => Err(no.into()),
    }
}

/// A session of the handle's store that is live now.
pub async fn live(tenure: &Tenure, id: ItemId) -> Result<Session, Error> {
    let ended = || Refusal::session(format!("the session {id} is not live: acquire another"));
    let whole = match tenure.whole(id).await {
        Err(tenure::Error::NotFound(_)) => return Err(ended().into()),
        whole => whole?,
    };
    let is_live = whole.item.lease.as_ref().is_some_and(|lease| lease.is_live(now()));
    let session = Session::of(&whole.item, workspace_of(&whole)).filter(|_| is_live);
    session.ok_or_else(|| ended().into())
}

/// The other live sessions of the same agent, oldest first, with a free name. The agent owns its claims, so these sessions share
/// them. None: there are no others.
pub async fn shared(tenure: &Tenure, session: &Session) -> Result<Option<Shared>, Error> {
    let kind = Some(KIND.parse().map_err(tenure::Error::from)?);
    let mut query = Query { kind, phase: Some(Phase::Active), limit: PAGE_MAX, ..Query::default() };
    let (mut names, mut others) = (BTreeSet::new(), Vec::new());
    loop {
        let page = tenure.list(query.clone()).await?;
        for item in &page {
            let Some(live) = item.lease.as_ref().filter(|lease| lease.is_live(now())) else { continue };
            names.insert(live.owner.id.to_string());
            if live.owner.id == session.actor.id && item.id != session.id {
                others.push(item.id);
            }
        }
        match page.last() {
            Some(last) if page.len() == PAGE_MAX => query.after = Some(last.id),
            _ => break,
        }
    }
    if others.is_empty() {
        return Ok(None);
    }
    let wholes = tenure.wholes(others).await?;
    let others = wholes.iter().filter_map(|whole| Session::of(&whole.item, workspace_of(whole))).collect();
    Ok(Some(Shared { others, free: free_name(session.agent_id(), &names) }))
}

/// Sessions that share the claims of their agent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Shared {
    pub others: Vec<Session>,
    /// A name without a live session.
    pub free: String,
}

/// `robo-2` where `robo` is taken, and `robo-3` where that is taken too.
fn free_name(agent: &str, taken: &BTreeSet<String>) -> String {
    // A name has a bound, and its number must have room.
    let stem: String = agent.chars().take(agent.len().min(Who::BYTES_MAX - 8)).collect();
    let mut names = (2..).map(|number: u64| format!("{stem}-{number}"));
    names.find(|name| !taken.contains(name)).expect("there are more numbers than sessions")
}

fn workspace_of(whole: &Whole) -> Option<String> {
    let value = whole.payload.as_ref().and_then(Body::value)?;
    value["workspace"].as_str().map(str::to_string)
}

/// A session that is used: it and all that is claimed in it last from now on.
pub async fn attend(tenure: &Tenure, id: ItemId) -> Result<Session, Error> {
    let session = live(tenure, id).await?;
    let held = held(tenure, &session).await?;
    let own = tenure.acting(session.store.clone(), session.actor.clone());
    let renew = |execution| Command::Renew(Renew { execution, lease: None });
    let asked = std::iter::once(session.execution).chain(held.iter().map(Item::execution_id));
    // What has lapsed since it was listed is no claim of this session any more.
    let mut answers = own.ask_each(asked.map(renew).collect()).await.into_iter();
    match answers.next().expect("every request has its reply")?.answer {
        Answer::Renewed { expires, .. } => Ok(Session { expires_at: expires, ..session }),
        _ => Err(Refusal::session(format!("the session {id} has just ended: acquire another")).into()),
    }
}

/// The tasks that are claimed in a session.
pub async fn held(tenure: &Tenure, session: &Session) -> Result<Vec<Item>, Error> {
    let kind = Some(TODO.parse().map_err(tenure::Error::from)?);
    let owner = Some(session.actor.owner());
    Ok(tenure.list(Query { kind, owner, limit: RENEWED_MAX, ..Query::default() }).await?)
}

/// Ends a session; what was claimed in it is on the list again.
pub async fn release(tenure: &Tenure, session: &Session) -> Result<(), Error> {
    let own = tenure.acting(session.store.clone(), session.actor.clone());
    let release =
        Release { execution: session.execution, reason: None, delay: None::<Duration>, attests: Vec::new() };
    match own.ask(Command::Release(release)).await?.answer {
        Answer::Ran(_) => {
            tenure.sweep().await?;
            Ok(())
        }
        Answer::LeaseLost(_) => {
            Err(Refusal::session(format!("the session {} has ended already", session.id)).into())
        }
        no => Err(no.into()),
    }
}

/// Who may work in sessions: a person or an agent. An administrator may what they may.
pub fn may_work(role: Role) -> bool {
    matches!(role, Role::Human | Role::Worker | Role::Admin)
}
