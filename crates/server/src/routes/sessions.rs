//! Sessions: the time in which somebody works on tasks.
//!
//! What proves a session is its lease's token, with its id and its store in front: `ID.STORE.INCARNATION.MAC`.

use axum::Json as Shown;
use axum::http::{HeaderMap, StatusCode};
use serde::Deserialize;
use tenure::core::actor::{Actor, Role, Roles};
use tenure::core::answer::Answer;
use tenure::core::code::Code;
use tenure::core::id::ItemId;
use tenure::core::lifecycle::event::Event;
use tenure::core::word::{Kind, Store};
use tenure_systems::todos::{ACQUIRE, Session, acquire_as, session};
use utoipa::ToSchema;

use super::surface::{Surface, routes};
use crate::caller::Caller;
use crate::extract::{Id, Json};
use crate::once;
use crate::problem::Problem;
use crate::shape::todo::SessionView;

pub fn routes() -> Surface {
    Surface::default().routes(routes!(acquire)).routes(routes!(show, release))
}

#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SessionBody {
    /// A session that lives: its envelope is answered, and it lasts from now on.
    session: Option<String>,
    /// Where the agent works, for people.
    workspace: Option<String>,
    /// Repeated with the same key while it lives, it is the same session. The header `Idempotency-Key` is the same.
    idempotency_key: Option<String>,
}

/// Begin a session, or go on with one
///
/// The same live session answers the same envelope. A wrong one is refused and never replaced in silence. Other live sessions of the
/// same agent share its claims: they are named, with a name that is free.
#[utoipa::path(post, path = "/v1/sessions", tag = "sessions", request_body = SessionBody,
    params(("Idempotency-Key" = Option<String>, Header, description = "the same as the field")),
    responses((status = 201, body = SessionView), (status = 200, description = "the session that was named, or repeated: the first answer", body = SessionView), (status = 409)))]
pub async fn acquire(
    caller: Caller,
    headers: HeaderMap,
    Json(body): Json<SessionBody>,
) -> Result<(StatusCode, Shown<SessionView>), Problem> {
    may_use(&caller)?;
    if let Some(token) = &body.session {
        let session = named(&caller, token).await?;
        let shared = session::shared(&caller.tenure, &session).await?;
        let shown = SessionView::of(&session, Some(token.clone())).sharing(shared);
        return Ok((StatusCode::OK, Shown(shown)));
    }
    let key = once::key(body.idempotency_key, &headers)?;
    let begun = session::begin(&caller.tenure, caller.actor(), body.workspace, key.as_deref());
    let (session, fresh) = begun.await?;
    let shared = session::shared(&caller.tenure, &session).await?;
    let shown = SessionView::of(&session, Some(proof(&caller, &session))).sharing(shared);
    Ok((once::status(fresh), Shown(shown)))
}

/// Show a session that lives
#[utoipa::path(get, path = "/v1/sessions/{id}", tag = "sessions", params(("id" = String, Path)),
    responses((status = 200, body = SessionView), (status = 404)))]
pub async fn show(caller: Caller, Id(id): Id) -> Result<Shown<SessionView>, Problem> {
    Ok(Shown(SessionView::of(&found(&caller, id).await?, None)))
}

/// End a session
///
/// Its own agent may, and an administrator. What was claimed in it is on the list again.
#[utoipa::path(delete, path = "/v1/sessions/{id}", tag = "sessions", params(("id" = String, Path)),
    responses((status = 204), (status = 404)))]
pub async fn release(caller: Caller, Id(id): Id) -> Result<StatusCode, Problem> {
    let session = found(&caller, id).await?;
    let actor = caller.actor();
    if actor.id != session.actor.id && actor.role != Role::Admin {
        return Err(Answer::Forbidden { event: Event::Release, roles: Roles::NONE.with(Role::Admin) }.into());
    }
    session::release(&caller.tenure, &session).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// A session of this store, by its id. One that has ended is none.
async fn found(caller: &Caller, id: ItemId) -> Result<Session, Problem> {
    let none = || Problem::not_found(format!("there is no live session {id} in this store"));
    let item = caller.item(id).await?;
    if item.table.kind.as_str() != session::KIND {
        return Err(none());
    }
    session::live(&caller.tenure, id).await.map_err(|error| match error.code() {
        Some(Code::SessionRequired) => none(),
        _ => error.into(),
    })
}

fn may_use(caller: &Caller) -> Result<(), Problem> {
    let kind: Kind = session::KIND.parse()?;
    caller.may_use(&kind)
}

fn proof(caller: &Caller, session: &Session) -> String {
    let signed = caller.app.signer.sign(&session.store, session.execution, &session.actor);
    format!("{}.{}.{signed}", session.id, session.store)
}

/// The session that a token proves, renewed. Whoever shows a token of their own shows a session of theirs.
pub async fn named(caller: &Caller, token: &str) -> Result<Session, Problem> {
    let no = |why: &str| Problem::new(Code::SessionRequired, why).with("fix", ACQUIRE);
    let wrong = || no("this is not the proof of a live session; acquire one");
    let (id, store, signed) = parts(token).ok_or_else(wrong)?;
    if store != caller.store {
        let detail =
            format!("the session is of store {store}, and this is {}; nothing crosses stores", caller.store);
        return Err(Problem::new(Code::StoreBoundaryViolation, detail));
    }
    let session = session::live(&caller.tenure, id).await?;
    let proved = caller.app.signer.worker(signed, &store, session.execution, &session.actor);
    if proved.is_none() || proved != session.actor.incarnation {
        return Err(wrong());
    }
    if is_of_another(caller, &session) {
        let Actor { role, id, .. } = caller.actor();
        let detail =
            format!("the session is {}'s, and not {id}'s; acquire one of your own", session.agent_id());
        let fix = match role {
            Role::Worker => acquire_as(id),
            Role::Human | Role::Admin | Role::Api | Role::Orchestrator | Role::System => ACQUIRE.to_string(),
        };
        return Err(Problem::new(Code::SessionRequired, detail).with("fix", fix));
    }
    Ok(session::attend(&caller.tenure, id).await?)
}

/// Whether the caller is known not to be whose session it is: by their token, or because an agent says its name. Whoever comes with
/// neither is whoever the session says.
fn is_of_another(caller: &Caller, session: &Session) -> bool {
    let Actor { role, id, .. } = caller.actor();
    (caller.has_token() || *role == Role::Worker) && *id != session.actor.id
}

fn parts(token: &str) -> Option<(ItemId, Store, &str)> {
    let (id, rest) = token.split_once('.')?;
    let (rest, mac) = rest.rsplit_once('.')?;
    let (store, incarnation) = rest.rsplit_once('.')?;
    let signed = &token[token.len() - mac.len() - 1 - incarnation.len()..];
    Some((id.parse().ok()?, store.parse().ok()?, signed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_names_its_session_and_its_store() {
        let id = ItemId(7);
        let text = format!("{id}.a.b-c.{}.{}", "0f".repeat(16), "ab".repeat(16));
        let (found, store, signed) = parts(&text).unwrap();
        assert_eq!((found, store.as_str()), (id, "a.b-c"));
        assert_eq!(signed, format!("{}.{}", "0f".repeat(16), "ab".repeat(16)));
        for wrong in ["", "x", "a.b", "a.b.c", "....", &format!("{id}..x.y")] {
            assert!(parts(wrong).is_none(), "{wrong}");
        }
    }
}
