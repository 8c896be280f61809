//! What waits for a person, of every system, and what they say to it.

use axum::Json as Shown;
use serde::{Deserialize, Serialize};
use tenure::core::id::ItemId;
use tenure_systems::inbox::{Inbox, Said, Waiting, Word};
use utoipa::{IntoParams, ToSchema};

use super::sessions::named;
use crate::caller::{Caller, With};
use crate::extract::{Id, Json};
use crate::page::{Page, after, limit};
use crate::problem::Problem;

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct InboxParams {
    #[serde(rename = "store")]
    _store: Option<String>,
    limit: Option<usize>,
    cursor: Option<String>,
}

/// Something that waits for a person.
#[derive(Debug, Serialize, ToSchema)]
pub struct WaitingView {
    id: String,
    kind: String,
    state: String,
    /// The ticket that it is about, if it is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    ticket_id: Option<String>,
    title: String,
    /// What is asked of the person. Empty: nothing is, any more.
    question: String,
    since: String,
}

impl From<Waiting> for WaitingView {
    fn from(waiting: Waiting) -> WaitingView {
        WaitingView {
            id: waiting.id.to_string(),
            kind: waiting.kind,
            state: waiting.state,
            ticket_id: waiting.ticket_id.map(|id| id.to_string()),
            title: waiting.title,
            question: waiting.question,
            since: waiting.since.to_string(),
        }
    }
}

#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WordBody {
    /// Kept with who said it, and when. Whoever says no to a task's gate says why.
    note: Option<String>,
    /// Of a task: the one `human:` gate that it is about. Left out: all that wait.
    gate: Option<String>,
    /// Whoever speaks in a session speaks as its agent.
    session: Option<String>,
}

/// List what waits for a person
///
/// Tickets to be approved, tickets that are blocked, outputs to be looked at, tasks that are held and whose plan has a `human:`
/// gate, and items of other lifecycles in states that only people lead out of; oldest first. A page may be short and have others
/// behind it: go on while there is a `next_cursor`.
#[utoipa::path(get, path = "/v1/inbox", tag = "inbox", params(InboxParams),
    responses((status = 200, body = Page<WaitingView>)))]
pub async fn list(With(caller, params): With<InboxParams>) -> Result<Shown<Page<WaitingView>>, Problem> {
    let (after, limit) = (after(params.cursor.as_deref())?, limit(params.limit)?);
    let may_see = |kind: &_| caller.may_use(kind).is_ok();
    let page = Inbox::of(&caller.tenure).page(may_see, after, limit).await?;
    let next_cursor = page.next.map(|last| last.to_string());
    Ok(Shown(Page { items: page.waiting.into_iter().map(WaitingView::from).collect(), next_cursor }))
}

/// Say yes
///
/// A ticket that is NEW is approved, one that is BLOCKED is resolved, an output passes its `human:` gates, and so does a task; an
/// item of another lifecycle takes its event `approve`.
#[utoipa::path(post, path = "/v1/inbox/{id}/approve", tag = "inbox", request_body = WordBody,
    params(("id" = String, Path)), responses((status = 200, body = WaitingView), (status = 404), (status = 409)))]
pub async fn approve(
    caller: Caller,
    Id(id): Id,
    Json(body): Json<WordBody>,
) -> Result<Shown<WaitingView>, Problem> {
    answer(&caller, id, Word::Approve, body).await
}

/// Say no
///
/// An output fails its `human:` gates; a ticket that is NEW gets a blocker; a task stays with its holder, who reads why, and can not
/// be done until a person says yes; an item of another lifecycle takes its event `reject`.
#[utoipa::path(post, path = "/v1/inbox/{id}/reject", tag = "inbox", request_body = WordBody,
    params(("id" = String, Path)), responses((status = 200, body = WaitingView), (status = 404), (status = 409)))]
pub async fn reject(
    caller: Caller,
    Id(id): Id,
    Json(body): Json<WordBody>,
) -> Result<Shown<WaitingView>, Problem> {
    answer(&caller, id, Word::Reject, body).await
}

async fn answer(
    caller: &Caller,
    id: ItemId,
    word: Word,
    body: WordBody,
) -> Result<Shown<WaitingView>, Problem> {
    caller.item(id).await?;
    let said = Said { word, note: body.note, gate: body.gate };
    let tenure = match body.session.as_deref() {
        Some(token) => {
            let session = named(caller, token).await?;
            caller.tenure.acting(session.store, session.actor)
        }
        None => caller.tenure.clone(),
    };
    Ok(Shown(Inbox::of(&tenure).answer(id, said).await?.into()))
}
