//! Around every request: room for it, a name for it, and problems written out.

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, Method, Response, StatusCode, Uri};
use axum::middleware::Next;

use crate::app::App;
use crate::problem::Problem;
use crate::token;

/// A request's name, in the answer and in the log.
const REQUEST_ID: &str = "x-request-id";
const REQUEST_ID_MAX: usize = 100;

pub async fn outermost(State(app): State<App>, request: Request, next: Next) -> Response<Body> {
    let (path, id) = (request.uri().path().to_string(), request_id(&request));
    let mut response = match app.room.clone().try_acquire_owned() {
        Ok(_room) => next.run(request).await,
        Err(_) => axum::response::IntoResponse::into_response(Problem::unavailable(
            "more requests are under way than this server takes at once; come back in a moment",
        )),
    };
    if let Some(problem) = response.extensions_mut().remove::<Problem>() {
        response = problem.response(&path);
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
