//! Items: create, read, list, move, erase.

use axum::Extension;
use axum::Json as Shown;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::time::Duration;
use tenure::Error;
use tenure::core::answer::Answer;
use tenure::core::body::Body;
use tenure::core::id::ItemId;
use tenure::core::item::Item;
use tenure::core::lifecycle::event::Event;
use tenure::core::request::{Cancel, Command, Create, Effects, Erase, Move};
use tenure::databases::batch::Reply;
use tenure::databases::{Order, Query, Whole};
use tenure_systems::runs::Documents;
use utoipa::{IntoParams, ToSchema};

use crate::caller::{Caller, With};
use crate::extract::{Id, Json, Text, json, segment};
use crate::hidden::{self, Originated};
use crate::limits::{CALL_MAX, WAIT_MAX};
use crate::once;
use crate::own::not_moved_by_hand;
use crate::page::{Page, after, limit};
use crate::problem::Problem;
use crate::serve::{Serving, ended};
use crate::shape::attempt::AttemptView;
use crate::shape::create::{CreateBody, time};
use crate::shape::filter::Filter;
use crate::shape::item::ItemView;
use crate::shape::outcome::Outcome;

/// Create an item, or many
///
/// An array of up to 1,000 creates many, each with its own outcome; the answer is then `{items: [{status, item | problem}]}`.
#[utoipa::path(post, path = "/v1/items", tag = "items", request_body = CreateBody,
    params(("Idempotency-Key" = Option<String>, Header, description = "the same as the field"),
        ("traceparent" = Option<String>, Header, description = "handed on to whoever works on it; so is `tracestate`")),
    responses((status = 201, body = ItemView), (status = 200, description = "repeated: the first answer", body = ItemView)))]
pub async fn create(caller: Caller, headers: HeaderMap, Text(text): Text) -> Result<Response, Problem> {
    let header = once::header(&headers)?;
    if text.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'[') {
        return create_many(&caller, header, json(&text)?).await.map(IntoResponse::into_response);
    }
    let (status, item) = create_one(&caller, header, &json(&text)?).await?;
    Ok((status, Shown(item)).into_response())
}

pub async fn create_one(
    caller: &Caller,
    header: Option<&str>,
    body: &CreateBody,
) -> Result<(StatusCode, ItemView), Problem> {
    let create = Create { trace: caller.trace.clone(), ..body.create(header)? };
    caller.may_create(&create.kind)?;
    let tenure = caller.within(body.store.as_deref())?;
    let reply = tenure.ask(Command::Create(create)).await?;
    let (status, item) = created(caller, &body.kind, reply, &body.payload)?;
    Ok((status, seen_by(caller, item).await?))
}

async fn create_many(
    caller: &Caller,
    header: Option<&str>,
    bodies: Vec<CreateBody>,
) -> Result<Shown<Page<Outcome>>, Problem> {
    if header.is_some() {
        return Err(Problem::wrong("Idempotency-Key", "each of many has its own, in its field"));
    }
    if bodies.len() > CALL_MAX {
        return Err(Problem::invalid(format!("one call creates at most {CALL_MAX}; send them in several")));
    }
    let mut outcomes: Vec<Option<Outcome>> = Vec::with_capacity(bodies.len());
    let mut asked = Vec::new();
    let tenure = match bodies.first().and_then(|body| body.store.as_deref()) {
        Some(store) => caller.within(Some(store))?,
        None => caller.tenure.clone(),
    };
    for (index, body) in bodies.iter().enumerate() {
        let create = body.create(None).and_then(|create| caller.may_create(&create.kind).map(|()| create));
        let same_store = body.store == bodies[0].store;
        match create {
            Ok(create) if same_store => {
                let create = Create { trace: caller.trace.clone(), ..create };
                asked.push((index, Command::Create(create)));
                outcomes.push(None);
            }
            Ok(_) => {
                let problem = Problem::wrong("store", "one call creates in one store");
                outcomes.push(Some(Outcome::no(caller.no(problem))));
            }
            Err(problem) => outcomes.push(Some(Outcome::no(caller.no(problem)))),
        }
    }
    let (indexes, commands): (Vec<usize>, Vec<Command>) = asked.into_iter().unzip();
    for (index, reply) in indexes.into_iter().zip(tenure.ask_each(commands).await) {
        let made = reply.map_err(Problem::from).and_then(|reply| {
            let body = &bodies[index];
            created(caller, &body.kind, reply, &body.payload)
        });
        outcomes[index] = Some(match made {
            Ok((status, item)) => Outcome { item: Some(item), ..Outcome::of(status) },
            Err(problem) => Outcome::no(caller.no(problem)),
        });
    }
    let mut items: Vec<Outcome> = outcomes.into_iter().flatten().collect();
    hidden::origins(caller, items.iter_mut().filter_map(|one| one.item.as_mut())).await?;
    Ok(Shown(Page { items, next_cursor: None }))
}

fn created(
    caller: &Caller,
    kind: &str,
    reply: Reply,
    payload: &RawValue,
) -> Result<(StatusCode, ItemView), Problem> {
    let status = once::status(reply.fresh);
    let payload = Body::json(payload.get().as_bytes()).ok();
    match reply.answer {
        // What a repeat brings along is what the first one did, or it would be a conflict.
        Answer::Created(item) => Ok((status, ItemView::with(&item, payload.as_ref()))),
        Answer::Coalesced(item) => Ok((StatusCode::OK, ItemView::brief(&item))),
        no => match kind.parse() {
            Ok(kind) if caller.tenure.lifecycles().current(&kind).is_none() => {
                Err(caller.unknown_kind("kind", &kind))
            }
            _ => Err(no.into()),
        },
    }
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct ShowParams {
    /// Waits so long for it to come to rest, at most 30,000.
    wait_ms: Option<u64>,
    #[serde(rename = "store")]
    _store: Option<String>,
}

/// Show an item
#[utoipa::path(get, path = "/v1/items/{id}", tag = "items", params(("id" = String, Path), ShowParams),
    responses((status = 200, body = ItemView), (status = 404)))]
pub async fn show(
    With(caller, params): With<ShowParams>,
    Id(id): Id,
    serving: Option<Extension<Serving>>,
) -> Result<Shown<ItemView>, Problem> {
    caller.item(id).await?;
    let whole = params.whole(&caller, id, serving).await?;
    seen_by(&caller, ItemView::whole(&whole)).await.map(Shown)
}

impl ShowParams {
    /// The item with its bodies, once it is at rest or the wait is over.
    pub async fn whole(
        &self,
        caller: &Caller,
        id: ItemId,
        serving: Option<Extension<Serving>>,
    ) -> Result<Whole, Problem> {
        let patience = wait(self.wait_ms)?;
        if patience.is_zero() {
            return Ok(caller.tenure.whole(id).await?);
        }
        let waited = tokio::select! {
            waited = caller.tenure.wait(id, caller.patience(patience)) => waited,
            () = ended(serving) => Err(Error::StillOpen(id)),
        };
        caller.must_be_good().await?;
        match waited {
            Err(Error::StillOpen(_)) => Ok(caller.tenure.whole(id).await?),
            waited => Ok(waited?),
        }
    }
}

pub fn wait(milliseconds: Option<u64>) -> Result<Duration, Problem> {
    match Duration::from_millis(milliseconds.unwrap_or(0)) {
        patience if patience <= WAIT_MAX => Ok(patience),
        _ => Err(Problem::wrong("wait_ms", format!("at most {}", WAIT_MAX.as_millis()))),
    }
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct ListParams {
    kind: Option<String>,
    state: Option<String>,
    /// waiting, ready, active, succeeded, failed or stopped.
    phase: Option<String>,
    key: Option<String>,
    #[serde(rename = "store")]
    _store: Option<String>,
    /// `oldest` (the default) or `newest`.
    order: Option<String>,
    limit: Option<usize>,
    cursor: Option<String>,
}

impl ListParams {
    /// The same list for a kind that the path names.
    pub fn of_kind(self, kind: &str) -> Result<ListParams, Problem> {
        match self.kind.as_deref() {
            None => Ok(ListParams { kind: Some(kind.to_string()), ..self }),
            Some(named) if named == kind => Ok(self),
            Some(_) => Err(Problem::wrong("kind", format!("these are all of the kind {kind}"))),
        }
    }

    pub fn query(self, caller: &Caller) -> Result<Query, Problem> {
        let order = match self.order.as_deref() {
            None | Some("oldest") => Order::Oldest,
            Some("newest") => Order::Newest,
            Some(_) => return Err(Problem::wrong("order", "`oldest` or `newest`")),
        };
        let Self { kind, state, phase, key, .. } = self;
        let filter = Filter { kind, state, phase, key };
        let (after, limit) = (after(self.cursor.as_deref())?, limit(self.limit)?);
        Ok(Query { order, after, limit, ..filter.query(caller)? })
    }
}

/// List items
///
/// Oldest first, without their payloads and outputs.
#[utoipa::path(get, path = "/v1/items", tag = "items", params(ListParams), responses((status = 200, body = Page<ItemView>)))]
pub async fn list(With(caller, params): With<ListParams>) -> Result<Shown<Page<ItemView>>, Problem> {
    let query = params.query(&caller)?;
    listed(&caller, query, ItemView::brief).await.map(Shown)
}

pub async fn listed<T: Originated>(
    caller: &Caller,
    query: Query,
    show: impl Fn(&Item) -> T,
) -> Result<Page<T>, Problem> {
    let limit = query.limit;
    let items = caller.tenure.list(query).await?;
    let next_cursor = items.last().filter(|_| items.len() == limit).map(|last| last.id.to_string());
    let mut items: Vec<T> = items.iter().map(show).collect();
    hidden::origins(caller, items.iter_mut()).await?;
    Ok(Page { items, next_cursor })
}

/// An item as the caller may see it.
pub async fn seen_by<T: Originated>(caller: &Caller, mut shown: T) -> Result<T, Problem> {
    hidden::origins(caller, [&mut shown].into_iter()).await?;
    Ok(shown)
}

#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct EventBody {
    reason: Option<String>,
    /// Only if the item is still at this version.
    expected_version: Option<u64>,
    /// When it may be leased, where the move makes it ready.
    run_at: Option<String>,
}

/// Move an item
///
/// A plain event of its lifecycle, in lower case with hyphens, or `cancel`.
#[utoipa::path(post, path = "/v1/items/{id}/{event}", tag = "items", request_body = EventBody,
    params(("id" = String, Path), ("event" = String, Path)), responses((status = 200, body = ItemView), (status = 409)))]
pub async fn event(
    caller: Caller,
    Id(id): Id,
    EventName(event): EventName,
    Json(body): Json<EventBody>,
) -> Result<Shown<ItemView>, Problem> {
    let item = caller.item(id).await?;
    not_moved_by_hand(&item.table.kind)?;
    let command = command(&item, &event, body)?;
    moved(&caller, command).await.map(Shown)
}

pub fn command(item: &Item, event: &str, body: EventBody) -> Result<Command, Problem> {
    let EventBody { reason, expected_version, run_at } = body;
    match event.parse::<Event>() {
        Ok(Event::Cancel) => Ok(Command::Cancel(Cancel {
            item: item.id,
            reason,
            expected_version,
            offers: Effects::default(),
        })),
        Ok(Event::Plain(name)) => {
            let run_at = run_at.map(|text| time("run_at", &text)).transpose()?;
            Ok(Command::Move(Move { reason, expected_version, run_at, ..Move::new(item.id, name) }))
        }
        Ok(other) => Err(Problem::invalid(format!(
            "`{other}` is not a move: it has a route of its own, or is the engine's"
        ))),
        Err(_) => Err(Problem::wrong("event", "lower case words with hyphens, as the lifecycle has them")),
    }
}

pub async fn moved(caller: &Caller, command: Command) -> Result<ItemView, Problem> {
    match caller.tenure.ask(command).await?.answer {
        Answer::Done(item) | Answer::Same(item) => seen_by(caller, ItemView::brief(&item)).await,
        no => Err(no.into()),
    }
}

/// The last part of the path.
#[derive(Debug)]
pub struct EventName(pub String);

impl<S: Send + Sync> axum::extract::FromRequestParts<S> for EventName {
    type Rejection = Problem;

    async fn from_request_parts(
        parts: &mut axum::http::request::Parts,
        state: &S,
    ) -> Result<EventName, Problem> {
        segment(parts, state, "event").await.map(EventName)
    }
}

#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct EraseBody {
    reason: Option<String>,
}

/// Erase an item's bodies
///
/// Payload, outputs and records are gone for good, and so is the file of a document; the history stays and still verifies.
#[utoipa::path(delete, path = "/v1/items/{id}/body", tag = "items", request_body = EraseBody, params(("id" = String, Path)),
    responses((status = 200, body = ItemView), (status = 409)))]
pub async fn erase(
    caller: Caller,
    Id(id): Id,
    Json(body): Json<EraseBody>,
) -> Result<Shown<ItemView>, Problem> {
    let item = caller.item(id).await?;
    // Where nothing is known of files the sweep of whoever keeps them finds them.
    match &caller.app.library {
        Some(library) if Documents::has_files(&item.table.kind) => {
            let erased = library.documents(caller.tenure.clone()).erase(&item, body.reason).await?;
            seen_by(&caller, ItemView::brief(&erased)).await.map(Shown)
        }
        _ => moved(&caller, Command::Erase(Erase { item: item.id, reason: body.reason })).await.map(Shown),
    }
}

/// List the executions of an item
#[utoipa::path(get, path = "/v1/items/{id}/executions", tag = "items", params(("id" = String, Path)),
    responses((status = 200, body = Page<AttemptView>)))]
pub async fn executions(caller: Caller, Id(id): Id) -> Result<Shown<Page<AttemptView>>, Problem> {
    caller.item(id).await?;
    executions_of(&caller, id).await
}

pub async fn executions_of(caller: &Caller, id: ItemId) -> Result<Shown<Page<AttemptView>>, Problem> {
    let attempts = caller.tenure.executions(id).await?;
    Ok(Shown(Page { items: attempts.into_iter().map(AttemptView::from).collect(), next_cursor: None }))
}
