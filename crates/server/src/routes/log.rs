//! The log: of an item, of everything after a position, and as a stream that goes on.
//!
//! An entry is shown as an export has it: its canonical text, with its hash and its position put in. A position is never used
//! twice and what was read once never changes, so whoever names the last one they have seen gets the next ones, each once.
//! Entries that a caller has nothing to do with are left out; positions still grow.

use std::collections::BTreeMap;

use axum::Extension;
use axum::Json as Shown;
use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use futures_util::stream::unfold;
use serde::Deserialize;
use serde_json::value::RawValue;
use tenure::core::entry::{Facts, Sealed};
use tenure::core::id::ItemId;
use tenure::core::word::{Kind, Store};
use tenure::databases::export::line;
use utoipa::IntoParams;

use crate::caller::{Caller, With};
use crate::extract::Id;
use crate::limits::{KEEP_ALIVE, LOG_PAGES_MAX, STREAM_PAGE};
use crate::page::{Page, limit};
use crate::problem::{Problem, internal};
use crate::serve::Serving;
use crate::streams::Place;

/// What is shown of an entry.
type Line = Box<RawValue>;

fn raw(text: Vec<u8>) -> Result<Line, Problem> {
    let text = String::from_utf8(text).map_err(|why| internal(why.to_string()))?;
    RawValue::from_string(text).map_err(|why| internal(why.to_string()))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct HistoryParams {
    /// A version, or a `next_cursor`: entries after it. Without it, from the first.
    after: Option<u64>,
    limit: Option<usize>,
    #[serde(rename = "store")]
    _store: Option<String>,
}

/// Show an item's history
///
/// Its entries, oldest first; each holds the hash of the one before it.
#[utoipa::path(get, path = "/v1/items/{id}/log", tag = "log", params(("id" = String, Path), HistoryParams),
    responses((status = 200, body = Page<serde_json::Value>), (status = 404)))]
pub async fn item(
    With(caller, params): With<HistoryParams>,
    Id(id): Id,
) -> Result<Shown<Page<Line>>, Problem> {
    caller.item(id).await?;
    let (after, limit) = (params.after.unwrap_or(0), limit(params.limit)?);
    let history = caller.tenure.history(id).await?;
    let page: Vec<&Sealed> = history.iter().filter(|entry| entry.version > after).take(limit).collect();
    let next = page.last().filter(|_| page.len() == limit).map(|last| last.version.to_string());
    let items = page.into_iter().map(|entry| raw(line::hashed(entry))).collect::<Result<_, _>>()?;
    Ok(Shown(Page { items, next_cursor: next }))
}

#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct LogParams {
    /// A position, or a `next_cursor`: entries after it. Without it, from the beginning.
    after: Option<u64>,
    limit: Option<usize>,
    /// Only entries of this store.
    #[param(value_type = Option<String>)]
    store: Option<Store>,
}

/// Read the log
///
/// Every entry after a position that the caller may see, in an order that never changes. An entry is here a moment after its
/// commit, when it has its place.
#[utoipa::path(get, path = "/v1/log", tag = "log", params(LogParams), responses((status = 200, body = Page<serde_json::Value>)))]
pub async fn list(With(caller, params): With<LogParams>) -> Result<Shown<Page<Line>>, Problem> {
    let (limit, view) = (limit(params.limit)?, View { caller, store: params.store });
    let mut after = params.after.unwrap_or(0);
    let mut items = Vec::new();
    for _ in 0..LOG_PAGES_MAX {
        let page = view.caller.tenure.log(after, limit - items.len()).await?;
        let Some((last, _)) = page.last() else {
            return Ok(Shown(Page { items, next_cursor: None }));
        };
        after = *last;
        for (position, entry) in view.seen(page).await? {
            items.push(raw(line::entry(position, &entry))?);
        }
        if items.len() == limit {
            break;
        }
    }
    Ok(Shown(Page { items, next_cursor: Some(after.to_string()) }))
}

/// Follow the log
///
/// Server-sent events without end: `data` is an entry, `id` its position. Whoever comes back with `Last-Event-ID`, or with
/// `after`, goes on right behind it.
#[utoipa::path(get, path = "/v1/log/stream", tag = "log",
    params(LogParams, ("Last-Event-ID" = Option<u64>, Header, description = "goes on after this position")),
    responses((status = 200, content_type = "text/event-stream", body = String)))]
pub async fn stream(
    With(caller, params): With<LogParams>,
    headers: HeaderMap,
    serving: Option<Extension<Serving>>,
) -> Result<Response, Problem> {
    if params.limit.is_some() {
        return Err(Problem::wrong("limit", "a stream has none"));
    }
    let last =
        headers.get("last-event-id").map(|value| value.to_str().ok().and_then(|text| text.parse().ok()));
    let after = match last {
        // What the browser sends by itself is newer than the URL it was given once.
        Some(Some(last)) => last,
        Some(None) => {
            return Err(Problem::wrong("Last-Event-ID", "this is not a position that a stream gave"));
        }
        None => params.after.unwrap_or(0),
    };
    let place = caller.app.streams.place(caller.token())?;
    let view = View { caller, store: params.store };
    let follower =
        Follower { view, after, serving: serving.map(|Extension(serving)| serving), _place: place };
    let body = Body::from_stream(unfold(follower, |mut follower| async move {
        let chunk = follower.next().await?;
        Some((Ok::<_, std::convert::Infallible>(chunk), follower))
    }));
    let headers = [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-store")];
    Ok((headers, body).into_response())
}

/// Somebody who follows the log. A page is read when the one before it was sent.
struct Follower {
    view: View,
    after: u64,
    serving: Option<Serving>,
    _place: Place,
}

impl Follower {
    /// None: the service ends, the token is no longer good, or the database failed. The reader comes back and goes on.
    async fn next(&mut self) -> Option<Bytes> {
        let Follower { view, after, serving, .. } = self;
        let ended = async {
            match serving {
                Some(serving) => serving.ended().await,
                None => std::future::pending().await,
            }
        };
        let page = tokio::select! {
            () = ended => return None,
            page = view.caller.tenure.log_or_wait(*after, STREAM_PAGE, view.caller.patience(KEEP_ALIVE)) => {
                page.ok()?
            }
        };
        if !view.caller.is_still_good().await.ok()? {
            return None;
        }
        let Some(last) = page.last().map(|(last, _)| *last) else {
            return Some(Bytes::from_static(b": nothing new\n\n"));
        };
        let mut chunk = Vec::new();
        let seen = view.seen(page).await.ok()?;
        for (position, entry) in &seen {
            chunk.extend_from_slice(format!("id: {position}\ndata: ").as_bytes());
            chunk.extend_from_slice(&line::entry(*position, entry));
            chunk.extend_from_slice(b"\n\n");
        }
        if seen.last().is_none_or(|(position, _)| *position < last) {
            // An id alone is remembered by the reader and is no event.
            chunk.extend_from_slice(format!("id: {last}\n\n").as_bytes());
        }
        *after = last;
        Some(chunk.into())
    }
}

/// The log as one caller sees it.
struct View {
    caller: Caller,
    store: Option<Store>,
}

impl View {
    async fn seen(&self, page: Vec<(u64, Sealed)>) -> Result<Vec<(u64, Sealed)>, Problem> {
        let mut kinds = BTreeMap::new();
        let mut seen = Vec::with_capacity(page.len());
        for (position, entry) in page {
            let is_asked = self.store.as_ref().is_none_or(|store| *store == entry.store);
            if is_asked && self.caller.may_follow(&entry.store) && self.is_of_kind(&entry, &mut kinds).await?
            {
                seen.push((position, entry));
            }
        }
        Ok(seen)
    }

    /// Only an item's first entry names its kind. Of an item that is gone nobody is shown what they might not see.
    async fn is_of_kind(
        &self,
        entry: &Sealed,
        kinds: &mut BTreeMap<ItemId, Option<Kind>>,
    ) -> Result<bool, Problem> {
        if !self.caller.is_limited_to_kinds() {
            return Ok(true);
        }
        let known = match (&entry.facts, kinds.get(&entry.item)) {
            (Facts::Create(birth), _) => Some(Some(birth.kind.clone())),
            (_, known) => known.cloned(),
        };
        let kind = match known {
            Some(kind) => kind,
            None => self.kind_now(entry).await?,
        };
        kinds.insert(entry.item, kind.clone());
        Ok(kind.is_some_and(|kind| self.caller.may_use(&kind).is_ok()))
    }

    async fn kind_now(&self, entry: &Sealed) -> Result<Option<Kind>, Problem> {
        let there = self.caller.app.tenure.acting(entry.store.clone(), self.caller.actor().clone());
        match there.item(entry.item).await {
            Ok(item) => Ok(Some(item.table.kind.clone())),
            Err(tenure::Error::NotFound(_)) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}
