//! The same operations as typed methods: Connect, gRPC and gRPC-Web, on the port of REST.
//!
//! ```text
//!   message ─▶ ask: the request of REST ─▶ the route itself ─▶ answer: the message of its answer
//! ```
//!
//! A method is a call of a route in this process (`methods` says of which), so there is nothing that REST checks, limits, counts or
//! refuses and RPC does not. Callers are known before their message is read, as in REST. What is on the wire is left to `connectrpc`.

mod answer;
mod ask;
mod methods;
mod no;
mod schema;

use std::convert::Infallible;
use std::sync::{Arc, OnceLock};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderValue, Response, StatusCode, header};
use axum::routing;
use buffa_descriptor::reflect::{DynamicMessage, DynamicMessageSeed};
use buffa_descriptor::{DescriptorPool, MessageIndex};
use connectrpc::dispatcher::{RequestStream, StreamingResult, UnaryResult};
use connectrpc::{
    CodecFormat, ConnectError, ConnectRpcService, Dispatcher, EncodedResponse, Limits, MethodDescriptor,
    Payload, Protocol, RequestContext,
};
use http_body_util::{BodyExt, Full};
use serde::de::DeserializeSeed;
use tower::ServiceExt;

use crate::access::Asker;
use crate::app::App;
use crate::caller::bearer;
use crate::extract::read_body;
use crate::fault::{self, Part};
use crate::limits::REQUEST_BYTES_MAX;
use crate::problem::{Problem, internal};
use crate::serve::Serving;
use crate::token::Bearer;
pub use methods::Method;
use methods::{METHODS, PACKAGE};
use schema::{Described, Schema};

/// The status that REST would have answered with.
const STATUS: &str = "tenure-status";

/// What `connectrpc` 0.9 says of a gRPC no both before and after the body. The details come after it only, and a client that believes the
/// first (tonic does) never sees them. So nothing of it is said before.
const SAID_TWICE: [&str; 2] = ["grpc-status", "grpc-message"];

/// What came of a call, which the status of an RPC answer does not say: gRPC always answers 200.
#[derive(Clone, Debug, Default)]
pub(crate) struct Told(Arc<OnceLock<(u16, Option<Problem>)>>);

impl Told {
    fn yes(&self, status: StatusCode) {
        let _ = self.0.set((status.as_u16(), None));
    }

    fn no(&self, problem: &Problem) {
        let _ = self.0.set((problem.status_code(), Some(problem.clone())));
    }

    /// The status and the problem of it. None: it did not come to a route.
    pub fn get(&self) -> Option<&(u16, Option<Problem>)> {
        self.0.get()
    }
}

/// Every method, and the call of REST that it is.
pub fn methods() -> &'static [Method] {
    METHODS
}

/// The methods, in front of the routes that they call.
pub fn router(app: &App, rest: Router) -> Router<App> {
    let limits = Limits::default()
        .with_max_request_body_size(REQUEST_BYTES_MAX)
        .with_max_message_size(REQUEST_BYTES_MAX);
    let service = ConnectRpcService::new(Rpc(rest)).with_limits(limits);
    let front = routing::post(call).with_state((app.clone(), service));
    METHODS.iter().fold(Router::new(), |router, method| {
        router.route(&format!("/{PACKAGE}.{}", method.name), front.clone())
    })
}

type Front = (App, ConnectRpcService<Rpc>);

async fn call(State((app, service)): State<Front>, request: Request) -> Response<Body> {
    let (mut parts, body) = request.into_parts();
    let told = Told::default();
    let read = match bearer(&parts, &app).await {
        Ok(bearer) => {
            if let Some(asker) = parts.extensions.get::<Asker>() {
                asker.is(&bearer.actor);
            }
            parts.extensions.insert(bearer);
            read_body(&parts.extensions, body).await
        }
        Err(problem) => Err(problem),
    };
    let response = match read {
        Ok(bytes) => {
            parts.extensions.insert(told.clone());
            let asked = Request::from_parts(parts, Full::new(bytes));
            service.oneshot(asked).await.unwrap_or_else(|never: Infallible| match never {})
        }
        Err(problem) => {
            told.no(&problem);
            let protocol = Protocol::detect(&parts.headers).map(|found| found.protocol);
            let error = no::error(&problem, parts.uri.path(), protocol.or(Some(Protocol::Connect)));
            error.into_http_response(&parts.headers)
        }
    };
    let mut response = response.map(Body::new);
    for name in SAID_TWICE {
        response.headers_mut().remove(name);
    }
    response.extensions_mut().insert(told);
    response
}

/// The routes, called by messages.
#[derive(Clone, Debug)]
struct Rpc(Router);

impl Rpc {
    async fn called(
        self,
        described: Described,
        context: &RequestContext,
        payload: &Payload,
        format: CodecFormat,
    ) -> Result<EncodedResponse, Problem> {
        let schema = Schema::get();
        let message = read_message(schema, described, payload.bytes(), format)?;
        let mut request = ask::request(described.method, &message, context.headers())?;
        if let Some(bearer) = context.extensions().get::<Bearer>() {
            request.extensions_mut().insert(bearer.clone());
        }
        if let Some(serving) = context.extensions().get::<Serving>() {
            request.extensions_mut().insert(serving.clone());
        }
        let mut response = self.0.oneshot(request).await.unwrap_or_else(|never: Infallible| match never {});
        if let Some(problem) = response.extensions_mut().remove::<Problem>() {
            let bearer = context.extensions().get::<Bearer>();
            return Err(match bearer {
                Some(bearer) => problem.said_to(&bearer.actor),
                None => problem,
            });
        }
        let (parts, body) = response.into_parts();
        let bytes = body.collect().await.map_err(|why| internal(why.to_string()))?.to_bytes();
        let is_json = parts.headers.get(header::CONTENT_TYPE).is_some_and(|kind| kind == "application/json");
        let message = match (bytes.is_empty(), is_json) {
            _ if let Some(message) = answer::bytes(&schema.pool, described.gives, &bytes) => message,
            (true, _) => DynamicMessage::new(schema.pool.clone(), described.gives),
            (false, true) => answer::json(&schema.pool, described.gives, &bytes)
                .map_err(|why| internal(format!("an answer that does not fit: {why}")))?,
            (false, false) => {
                let text = String::from_utf8(bytes.to_vec()).map_err(|why| internal(why.to_string()))?;
                answer::text(&schema.pool, described.gives, text)
            }
        };
        if let Some(told) = context.extensions().get::<Told>() {
            told.yes(parts.status);
        }
        let mut response = connectrpc::Response::new(written(&message, format)?.into());
        response.headers.insert(STATUS, HeaderValue::from(parts.status.as_u16()));
        Ok(response)
    }
}

fn read_message(
    schema: &Schema,
    described: Described,
    bytes: &Bytes,
    format: CodecFormat,
) -> Result<DynamicMessage, Problem> {
    let pool = schema.pool.clone();
    match format {
        CodecFormat::Json => {
            let text =
                std::str::from_utf8(bytes).map_err(|_| Problem::invalid("the message is not UTF-8"))?;
            from_json(pool, described.takes, if text.is_empty() { "{}" } else { text })
        }
        _ => DynamicMessage::decode(pool, described.takes, bytes)
            .map_err(|why| Problem::invalid(format!("the message can not be read: {why}"))),
    }
}

/// Reads a message of JSON. A fault is named by its field, as in a body of REST.
fn from_json(pool: Arc<DescriptorPool>, takes: MessageIndex, text: &str) -> Result<DynamicMessage, Problem> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let mut track = serde_path_to_error::Track::new();
    let tracked = serde_path_to_error::Deserializer::new(&mut reader, &mut track);
    let not_json = |error: &serde_json::Error| Problem::invalid(format!("the message is not JSON: {error}"));
    let read = DynamicMessageSeed::new(pool, takes).deserialize(tracked);
    let message = read.map_err(|error| match error.is_data() {
        true => fault::told(Part::Body, &track.path().to_string(), &error.to_string()),
        false => not_json(&error),
    })?;
    reader.end().map_err(|error| not_json(&error))?;
    Ok(message)
}

fn written(message: &DynamicMessage, format: CodecFormat) -> Result<Bytes, Problem> {
    match format {
        CodecFormat::Json => message.to_json().map(Bytes::from).map_err(|why| internal(why.to_string())),
        _ => message.try_encode_to_vec().map(Bytes::from).map_err(|why| internal(why.to_string())),
    }
}

impl Dispatcher for Rpc {
    fn lookup(&self, path: &str) -> Option<MethodDescriptor> {
        Schema::get().method(path).map(|_| MethodDescriptor::unary(false))
    }

    fn call_unary(
        &self,
        path: &str,
        context: RequestContext,
        request: Payload,
        format: CodecFormat,
    ) -> UnaryResult {
        let Some(described) = Schema::get().method(path) else { return Box::pin(async { Err(none()) }) };
        let (rpc, path) = (self.clone(), format!("/{path}"));
        Box::pin(async move {
            rpc.called(described, &context, &request, format).await.map_err(|problem| {
                if let Some(told) = context.extensions().get::<Told>() {
                    told.no(&problem);
                }
                no::error(&problem, &path, context.protocol())
            })
        })
    }

    fn call_server_streaming(&self, _: &str, _: RequestContext, _: Bytes, _: CodecFormat) -> StreamingResult {
        Box::pin(async { Err(none()) })
    }

    fn call_client_streaming(
        &self,
        _: &str,
        _: RequestContext,
        _: RequestStream,
        _: CodecFormat,
    ) -> UnaryResult {
        Box::pin(async { Err(none()) })
    }

    fn call_bidi_streaming(
        &self,
        _: &str,
        _: RequestContext,
        _: RequestStream,
        _: CodecFormat,
    ) -> StreamingResult {
        Box::pin(async { Err(none()) })
    }
}

fn none() -> ConnectError {
    ConnectError::unimplemented("there is no such method")
}
