//! Reading requests: every fault is told as a problem document that says where it is.

use axum::body::{Bytes, HttpBody};
use axum::extract::{FromRequest, FromRequestParts, Path, Request};
use axum::http::request::Parts;
use axum::http::{Extensions, StatusCode, Uri, header};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use tenure::core::body::Body;
use tenure::core::code::Code;
use tenure::core::id::{ExecutionId, ItemId};
use tokio::time::timeout;

use crate::fault::{self, Part};
use crate::limits::{BODY_WAIT, PIECE_BYTES, REQUEST_BYTES_MAX};
use crate::problem::Problem;
use crate::serve::{Bodies, Serving};

/// The bytes of a JSON request.
#[derive(Debug)]
pub struct Text(pub Bytes);

impl<S: Send + Sync> FromRequest<S> for Text {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Text, Problem> {
        if let Some(kind) = request.headers().get(header::CONTENT_TYPE) {
            let kind = kind.to_str().unwrap_or_default();
            let essence = kind.split(';').next().unwrap_or_default().trim();
            if !essence.eq_ignore_ascii_case("application/json") && !essence.ends_with("+json") {
                let detail = format!(
                    "this is said to be `{essence}`; send JSON with `content-type: application/json`"
                );
                let problem = Problem::wrong("content-type", detail);
                return Err(problem.status(StatusCode::UNSUPPORTED_MEDIA_TYPE));
            }
        }
        read(request).await.map(Text)
    }
}

/// The bytes of a body, no more of them than a request has and no later than they may come.
pub async fn read(request: Request) -> Result<Bytes, Problem> {
    let (parts, body) = request.into_parts();
    read_body(&parts.extensions, body).await
}

/// As [`read`], of a request whose parts are still needed.
pub async fn read_body(extensions: &Extensions, body: axum::body::Body) -> Result<Bytes, Problem> {
    let serving = extensions.get::<Serving>();
    let patience = serving.map_or(BODY_WAIT, |serving| serving.patience.body);
    let room = extensions.get::<Bodies>();
    // Of what says that it is too much nothing is kept.
    if body.size_hint().lower() > REQUEST_BYTES_MAX as u64 {
        return Err(too_large());
    }
    timeout(patience, collected(body, room)).await.unwrap_or_else(|_| {
        let detail = format!("the body did not come within {} s", patience.as_secs());
        Err(Problem::invalid(detail).status(StatusCode::REQUEST_TIMEOUT))
    })
}

/// Reads the whole body. Bytes beyond the first piece are counted against the budgets while the body arrives.
async fn collected(body: axum::body::Body, room: Option<&Bodies>) -> Result<Bytes, Problem> {
    let mut body = Limited::new(body, REQUEST_BYTES_MAX);
    let (mut first, mut bytes, mut shares) = (Bytes::new(), Vec::new(), Vec::new());
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| match error.downcast_ref::<LengthLimitError>() {
            Some(_) => too_large(),
            None => Problem::invalid(format!("the body ended early: {error}")),
        })?;
        let Ok(data) = frame.into_data() else { continue };
        if let Some(room) = room.filter(|_| first.len() + bytes.len() + data.len() > PIECE_BYTES) {
            let no_room = "bodies that are on their way fill the room of this connection, or of the server; send it again in a moment";
            shares.push(room.take(data.len()).ok_or_else(|| Problem::unavailable(no_room))?);
        }
        // Most bodies come in one frame, which is not copied.
        if first.is_empty() && bytes.is_empty() {
            first = data;
            continue;
        }
        bytes.extend_from_slice(&std::mem::take(&mut first));
        bytes.extend_from_slice(&data);
    }
    Ok(if bytes.is_empty() { first } else { bytes.into() })
}

fn too_large() -> Problem {
    let detail = format!("a request has at most {REQUEST_BYTES_MAX} bytes; send it in several");
    Problem::new(Code::PayloadTooLarge, detail)
}

/// A JSON body. None at all is an empty object: what may be left out may be left out altogether.
#[derive(Debug)]
pub struct Json<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Json<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Json<T>, Problem> {
        let Text(bytes) = Text::from_request(request, state).await?;
        // A list of its fields would do for serde, and is not what the document says.
        if bytes.trim_ascii_start().starts_with(b"[") {
            return Err(not_a_list::<T>());
        }
        json(if bytes.is_empty() { b"{}" } else { &bytes }).map(Json)
    }
}

pub fn json<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let not_json = |why: &serde_json::Error| Problem::invalid(format!("the body is not JSON: {why}"));
    let value = serde_path_to_error::deserialize(&mut reader).map_err(|error| match error.inner() {
        why if why.is_data() => fault::told(Part::Body, &error.path().to_string(), &why.to_string()),
        why => not_json(why),
    })?;
    reader.end().map_err(|why| not_json(&why))?;
    Ok(value)
}

/// A list came for an object. Where the object has a list, that is what was meant.
fn not_a_list<T: DeserializeOwned>() -> Problem {
    let detail = "the body is an object and no list";
    let first = json::<T>(b"{}").err().and_then(|problem| Some(problem.field()?.to_string()));
    match first {
        Some(field) => Problem::invalid(format!("{detail}: {{\"{field}\": …}}")).with("field", field),
        None => Problem::invalid(detail),
    }
}

/// The parameters of a URL. Unknown ones are refused by name: who misspells one must not believe that it was heard.
pub fn params<T: DeserializeOwned>(uri: &Uri) -> Result<T, Problem> {
    let query = uri.query().unwrap_or_default();
    let reader = serde_urlencoded::Deserializer::new(form_urlencoded::parse(query.as_bytes()));
    serde_path_to_error::deserialize(reader)
        .map_err(|error| fault::told(Part::Query, &error.path().to_string(), &error.inner().to_string()))
}

/// Of a route that takes no parameter but this one, which every route takes.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OnlyStore {
    #[serde(rename = "store")]
    _store: Option<String>,
}

/// A route that anybody may call. A store is nothing to it, and no mistake: clients name it with everything.
#[derive(Debug)]
pub struct Anybody;

impl<S: Send + Sync> FromRequestParts<S> for Anybody {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Anybody, Problem> {
        params::<OnlyStore>(&parts.uri).map(|_| Anybody)
    }
}

/// An item's id. A text that is none names no item.
#[derive(Debug)]
pub struct Id(pub ItemId);

impl<S: Send + Sync> FromRequestParts<S> for Id {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Id, Problem> {
        let id = segment(parts, state, "id").await?;
        let none = |_| Problem::not_found(format!("there is no item {id:?}"));
        id.parse().map(Id).map_err(none)
    }
}

/// A name that a path has, of what is known by its name.
#[derive(Debug)]
pub struct Name(pub String);

impl<S: Send + Sync> FromRequestParts<S> for Name {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Name, Problem> {
        segment(parts, state, "name").await.map(Name)
    }
}

/// An execution's id.
#[derive(Debug)]
pub struct Exec(pub ExecutionId);

impl<S: Send + Sync> FromRequestParts<S> for Exec {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Exec, Problem> {
        execution(&segment(parts, state, "exec").await?).map(Exec)
    }
}

pub fn execution(id: &str) -> Result<ExecutionId, Problem> {
    id.parse().map_err(|_| Problem::not_found(format!("there is no execution {id:?}")))
}

/// A named part of the path.
pub async fn segment<S: Send + Sync>(parts: &mut Parts, state: &S, name: &str) -> Result<String, Problem> {
    let path = Path::<Vec<(String, String)>>::from_request_parts(parts, state).await;
    let found = path.ok().and_then(|Path(path)| path.into_iter().find(|(found, _)| found == name));
    found.map(|(_, value)| value).ok_or_else(|| Problem::not_found("there is nothing here"))
}

/// JSON that is kept as it came.
pub fn body(raw: &RawValue) -> Result<Body, Problem> {
    Ok(Body::json(raw.get().as_bytes())?)
}
