//! A "no" as HTTP has it: RFC 9457 problem documents with a stable code, what was wrong and what to do.

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use axum::response::IntoResponse;
use serde_json::{Map, Value, json};
use std::fmt::Display;
use tenure::core::actor::Role;
use tenure::core::answer::Answer;
use tenure::core::code::{self, Code};
use tenure::core::word::NotAWord;
use tenure::databases;
use tenure::databases::outside;
use tenure_systems::{claims, todos};

/// A failure that may be over soon is worth asking again after so many seconds.
const RETRY_AFTER: u64 = 1;

/// Makes a token on the machine with the database, also when no token is left to ask a server with.
const CREATE_TOKEN: &str = "tenure token create NAME --role admin --without-server --db URL";

#[derive(Clone, Debug)]
pub struct Problem {
    status: u16,
    code: Code,
    detail: String,
    more: Map<String, Value>,
    retry_after: Option<u64>,
}

impl Problem {
    pub fn new(code: Code, detail: impl Into<String>) -> Problem {
        let (status, retry_after) = (code.status(), None);
        Problem { status, code, detail: detail.into(), more: Map::new(), retry_after }
    }

    pub fn invalid(detail: impl Into<String>) -> Problem {
        Problem::new(Code::InvalidRequest, detail)
    }

    /// A field, or a parameter, that is not as it should be.
    pub fn wrong(field: &str, detail: impl Display) -> Problem {
        Problem::invalid(format!("{field}: {detail}")).with("field", field)
    }

    pub fn not_found(detail: impl Into<String>) -> Problem {
        Problem::new(Code::NotFound, detail)
    }

    pub fn forbidden(detail: impl Into<String>) -> Problem {
        Problem::new(Code::Forbidden, detail)
    }

    pub fn unauthenticated(detail: impl Into<String>) -> Problem {
        Problem::new(Code::Unauthenticated, detail).with("fix", CREATE_TOKEN)
    }

    pub fn unavailable(detail: impl Into<String>) -> Problem {
        Problem { retry_after: Some(RETRY_AFTER), ..Problem::new(Code::StoreUnavailable, detail) }
    }

    pub fn status(mut self, status: StatusCode) -> Problem {
        self.status = status.as_u16();
        self
    }

    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Problem {
        self.more.insert(name.to_string(), value.into());
        self
    }

    /// Who is refused for who they are is told who that is. What is refused to everybody has another way (`instead`).
    pub fn said_to(mut self, actor: &impl Display) -> Problem {
        let is_about_them = !self.more.contains_key("actor") && !self.more.contains_key("instead");
        if self.code == Code::Forbidden && is_about_them {
            self.detail = format!("{}, and you are {actor}", self.detail);
            self.more.insert("actor".to_string(), actor.to_string().into());
        }
        self
    }

    pub fn code(&self) -> &Code {
        &self.code
    }

    /// The field or the parameter that it is about.
    pub fn field(&self) -> Option<&str> {
        self.more.get("field")?.as_str()
    }

    pub fn status_code(&self) -> u16 {
        self.status
    }

    /// The document itself: also the outcome of one of many.
    pub fn document(&self, instance: Option<&str>) -> Value {
        let mut document = self.more.clone();
        document.insert("type".into(), format!("urn:tenure:problem:{}", self.code).into());
        document.insert("title".into(), title(&self.code).into());
        document.insert("status".into(), self.status.into());
        document.insert("detail".into(), self.detail.as_str().into());
        document.insert("code".into(), self.code.as_str().into());
        if let Some(instance) = instance {
            document.insert("instance".into(), instance.into());
        }
        Value::Object(document)
    }

    /// The response, once it is known what was asked for.
    pub fn response(&self, instance: &str) -> Response<Body> {
        let body = Body::from(self.document(Some(instance)).to_string());
        let mut response = Response::new(body);
        *response.status_mut() = StatusCode::from_u16(self.status).unwrap_or(StatusCode::CONFLICT);
        *response.headers_mut() = self.headers();
        let kind = HeaderValue::from_static("application/problem+json");
        response.headers_mut().insert(header::CONTENT_TYPE, kind);
        response
    }

    /// What is said to whoever handles the answer before it is read.
    pub fn headers(&self) -> HeaderMap {
        let mut headers = HeaderMap::new();
        if let Some(seconds) = self.retry_after {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self.code == Code::Unauthenticated {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        headers
    }
}

/// `LEASE_LOST` is "Lease lost".
fn title(code: &Code) -> String {
    let words = code.as_str().replace('_', " ").to_lowercase();
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// The outermost layer writes it, because it knows what was asked for.
impl IntoResponse for Problem {
    fn into_response(self) -> Response<Body> {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::from_u16(self.status).unwrap_or(StatusCode::CONFLICT);
        response.extensions_mut().insert(self);
        response
    }
}

impl From<NotAWord> for Problem {
    fn from(not: NotAWord) -> Problem {
        Problem::invalid(not.to_string())
    }
}

impl From<code::Problem> for Problem {
    fn from(problem: code::Problem) -> Problem {
        Problem::new(problem.code, problem.detail)
    }
}

impl From<databases::Error> for Problem {
    fn from(error: databases::Error) -> Problem {
        match error {
            databases::Error::Unavailable(why) | databases::Error::Locked(why) => {
                Problem::unavailable(format!("{why}; try again"))
            }
            databases::Error::LostRace(why) => {
                Problem::unavailable(format!("nothing was written ({why}); try again"))
            }
            databases::Error::Unknown(why) => Problem::unavailable(format!(
                "it is not known whether this was written ({why}); ask again with the same idempotency key, or look"
            )),
            databases::Error::Statement(why) => internal(why),
        }
    }
}

/// A mistake of ours.
pub fn internal(why: impl Into<String>) -> Problem {
    let code = "INTERNAL_ERROR".parse().unwrap_or(Code::StoreUnavailable);
    Problem::new(code, why).status(StatusCode::INTERNAL_SERVER_ERROR)
}

impl From<tenure::Error> for Problem {
    fn from(error: tenure::Error) -> Problem {
        let words = error.to_string();
        match error {
            tenure::Error::Database(error) => error.into(),
            tenure::Error::Refused(answer) => (*answer).into(),
            tenure::Error::Taken { item, .. } => {
                Problem::new(Code::IdempotencyConflict, words).with("item", item.to_string())
            }
            tenure::Error::NotFound(_) | tenure::Error::NoSuchName { .. } => Problem::not_found(words),
            tenure::Error::Word(_)
            | tenure::Error::Json(_)
            | tenure::Error::Schedule(_)
            | tenure::Error::Webhook(_) => Problem::invalid(words),
            tenure::Error::StillOpen(_) | tenure::Error::StillRunning(_) => {
                Problem::new(Code::ValidateTimeoutOrLock, words)
            }
        }
    }
}

impl From<todos::Error> for Problem {
    fn from(error: todos::Error) -> Problem {
        match error {
            todos::Error::Engine(error) => error.into(),
            todos::Error::Refused(refusal) => {
                Problem { more: refusal.more, ..Problem::new(refusal.code, refusal.detail) }
            }
        }
    }
}

impl From<claims::Error> for Problem {
    fn from(error: claims::Error) -> Problem {
        match error {
            claims::Error::Engine(error) => error.into(),
            claims::Error::No(problem) => problem.into(),
        }
    }
}

fn texts<T: ToString>(many: impl IntoIterator<Item = T>) -> Value {
    json!(many.into_iter().map(|one| one.to_string()).collect::<Vec<String>>())
}

/// A no of the kernel. A yes that comes here was not expected by its route.
impl From<Answer> for Problem {
    fn from(answer: Answer) -> Problem {
        match answer {
            Answer::Stale { event, found } => {
                let detail = format!(
                    "the item is at version {} and not at the one expected; read it again and decide anew",
                    found.version
                );
                let problem = Problem::new(Code::TransitionRefused, detail).with("version", found.version);
                let allowed = found.table.events_from(found.state);
                let problem = problem.with("item", found.id.to_string()).with("event", event.to_string());
                problem.with("state", found.state_name().as_str()).with("allowed", texts(allowed))
            }
            Answer::LeaseLost(why) => {
                Problem::new(Code::LeaseLost, format!("{why}; stop, and write nothing more under this lease"))
            }
            Answer::AlreadyCommitted(execution) => {
                let detail = format!("execution {} committed this item first", execution.id);
                let problem = Problem::new(Code::AlreadyCommitted, detail);
                problem.with("execution", execution.id.to_string())
            }
            Answer::Held { item, owner, until } => {
                let detail = format!("{owner} holds item {item} until {until}");
                let problem = Problem::new(Code::ClaimConflict, detail).with("owner_id", owner.to_string());
                problem.with("lease_expires_at", until.to_string())
            }
            Answer::Limited(held) => {
                let seconds = held.until.map(|until| until.since(outside::now()).as_secs() + 1);
                let problem = Problem::new(Code::RateLimited, held.to_string());
                Problem { retry_after: Some(seconds.unwrap_or(RETRY_AFTER)), ..problem }
            }
            Answer::NotFound(what) => Problem::not_found(what),
            Answer::Refused(refusal) => {
                let problem = Problem::new(refusal.problem.code, refusal.problem.detail);
                let problem = problem.with("item", refusal.item.to_string());
                let problem = problem.with("state", refusal.state.as_str());
                problem.with("event", refusal.event.to_string()).with("allowed", texts(&refusal.allowed))
            }
            Answer::Forbidden { event, roles } => {
                // Nobody is made `system`: what is for it alone is asked for by nobody.
                let roles: Vec<&str> =
                    roles.iter().filter(|role| *role != Role::System).map(Role::as_str).collect();
                let problem = Problem::forbidden(match &roles[..] {
                    [] => format!("`{event}` is what the engine does by itself"),
                    [one] => format!("`{event}` is for the role {one}"),
                    many => format!("`{event}` is for the roles {}", many.join(", ")),
                });
                problem.with("event", event.to_string()).with("roles", roles.join("/"))
            }
            Answer::Conflict { name, item } => {
                let detail = format!(
                    "the idempotency key {name} was used for another request; repeat that one, or use another key"
                );
                Problem::new(Code::IdempotencyConflict, detail).with("item", item.to_string())
            }
            Answer::Invalid(problem) => problem.into(),
            yes => internal(format!("an answer that does not fit: {yes:?}")),
        }
    }
}
