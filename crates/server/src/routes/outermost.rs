//! Around every request: room for it, a name for it, problems written out, and a line and a count of it.

use axum::body::Body;
use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderValue, Method, Response, StatusCode, Uri};
use axum::middleware::Next;

use tenure::core::code::Code;
use tenure::databases::measure::Since;

use crate::access::{Answered, Asker};
use crate::app::App;
use crate::problem::Problem;
use crate::rest;
use crate::rpc::Told;
use crate::token;

/// A request's name, in the answer and in the log.
const REQUEST_ID: &str = "x-request-id";
const REQUEST_ID_MAX: usize = 100;
/// What is asked for and not there is counted as one.
const NO_ROUTE: &str = "none";

pub async fn outermost(State(app): State<App>, mut request: Request, next: Next) -> Response<Body> {
    let (path, id) = (request.uri().path().to_string(), request_id(&request));
    let (began, method, asker) = (Since::now(), request.method().clone(), Asker::default());
    let route = request.extensions().get::<MatchedPath>().cloned();
    request.extensions_mut().insert(asker.clone());
    let request = request.map(rest::whole);
    let mut response = match app.room.clone().try_acquire_owned() {
        Ok(_room) => next.run(request).await,
        Err(_) => axum::response::IntoResponse::into_response(Problem::unavailable(
            "more requests are under way than this server takes at once; come back in a moment",
        )),
    };
    let mut code = None;
    if let Some(problem) = response.extensions_mut().remove::<Problem>() {
        let problem = match asker.get() {
            Some(actor) => problem.said_to(&actor),
            None => problem,
        };
        code = Some(problem.code().clone());
        response = problem.response(&path);
    }
    let told = response.extensions_mut().remove::<Told>().and_then(|told| told.get().cloned());
    if let Some((_, Some(problem))) = &told {
        code = Some(problem.code().clone());
    }
    if let Some(code) = &code {
        app.requests.add_problem(code.as_str());
    }
    let status = told.map_or(response.status().as_u16(), |(status, _)| status);
    let micros = began.micros();
    let route = route.as_ref().map(MatchedPath::as_str);
    app.requests.add(route.unwrap_or(NO_ROUTE), &method, status, micros);
    if let Some(access) = &app.access {
        access.write(&Answered {
            request: &id,
            method: method.as_str(),
            route,
            status,
            code: code.as_ref().map(Code::as_str),
            micros,
            asker: &asker,
        });
    }
    if let Ok(value) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(REQUEST_ID, value);
    }
    response
}

/// The caller's own name for it, if it is one that can be shown; else a fresh one.
fn request_id(request: &Request) -> String {
    let given = request.headers().get(REQUEST_ID).and_then(|value| value.to_str().ok());
    let good = |id: &&str| {
        !id.is_empty()
            && id.len() <= REQUEST_ID_MAX
            && id.chars().all(|c| c.is_ascii_alphanumeric() || "-_.:".contains(c))
    };
    match given.filter(good) {
        Some(id) => id.to_string(),
        None => token::secret().map_or_else(|_| "unnamed".to_string(), |secret| secret[..16].to_string()),
    }
}

pub async fn nothing_here(uri: Uri) -> Problem {
    Problem::not_found(format!("there is nothing at {}; /openapi.json says what there is", uri.path()))
}

pub async fn no_such_method(method: Method, uri: Uri) -> Problem {
    let detail = format!("{} takes no {method}; /openapi.json says what it takes", uri.path());
    Problem::invalid(detail).status(StatusCode::METHOD_NOT_ALLOWED)
}
