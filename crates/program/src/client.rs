//! A client of the service. Every command that creates or reads work is one.
//!
//! The service is either somewhere else, behind a socket, or here: the very same router on a database that the command opened
//! itself. Nothing is done in two ways. Of a SQLite file whose server runs the server is asked: it is the one who writes.

mod events;
mod socket;
mod target;

use std::path::Path;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::Bytes;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use hyper::{Method, Request, Response};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tenure::Tenure;
use tenure_core::word::Store;
use tenure_databases::regular_file::{self, SECRET_BYTES_MAX};
use tenure_databases::sqlite::side;
use tenure_databases::url::{SecretUrl, Url};
use tenure_server::{App, Open, WAIT_MAX};
use tenure_systems::runs::Library;
use tenure_systems::runs::files::Files;
use tenure_systems::tickets;
use tenure_systems::todos::Settings;
use tokio::time::timeout;
use tower::ServiceExt;

use crate::cli::{At, Place, Reach};
use crate::database::{self, Access};
use crate::outcome::{Error, Refused};
use crate::places;
use events::Events;
use socket::Socket;

pub use target::Target;

/// A page of a thousand items has some hundred kilobytes, an item two megabytes: what is longer is not ours.
const ANSWER_BYTES_MAX: usize = 64 << 20;
/// Beyond what it was asked to wait, a server has so long for an answer.
const PATIENCE: Duration = Duration::from_secs(30);

/// A document may take as long as a server waits for it.
const UPLOAD_PATIENCE: Duration = Duration::from_secs(600);

/// Whether the command that opens a database minds it: expired leases, retries that are due, the inbox.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Loops {
    /// It is there for one call.
    LeftToOthers,
    /// It is there for one call, and nobody else may be: what time has ended is ended first.
    Once,
    /// It stays, and may be the only one.
    Run,
}

#[derive(Clone, Debug)]
pub struct Client {
    way: Way,
    store: Option<Store>,
    /// Shown to a server. Who has opened the database needs none.
    token: Option<String>,
    actor: Option<String>,
    /// The trace that the command runs in, as tracing tools tell it: whatever it creates belongs to it.
    trace: Option<String>,
    /// How long an answer is waited for.
    patience: Duration,
    /// Another place, which is asked for what is not found in this one.
    further: Option<Box<At>>,
}

#[derive(Clone, Debug)]
enum Way {
    Here(Router),
    There(Box<Socket>),
}

/// An answer that is a yes.
#[derive(Debug)]
pub struct Reply {
    /// The body as it came: its payloads are the bytes that were kept.
    pub text: String,
    /// Something was made. A repeat that is answered as the first time made nothing.
    pub made: bool,
}

impl Reply {
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, Error> {
        serde_json::from_str(&self.text)
            .map_err(|why| Error::Strange(format!("an answer that does not fit: {why}")))
    }
}

impl Client {
    pub async fn at(at: &At, access: Access) -> Result<Client, Error> {
        Client::open(&at.reach, at.store.clone(), access, Loops::LeftToOthers).await
    }

    pub async fn open(
        reach: &Reach,
        store: Option<Store>,
        access: Access,
        loops: Loops,
    ) -> Result<Client, Error> {
        let mut places = places::of(reach, store.as_ref(), access)?;
        let further = (places.len() > 1).then(|| places.swap_remove(1)).map(Box::new);
        let At { reach, store } = places.swap_remove(0);
        let client = Client::with(&reach, store, access, loops, Settings::default()).await?;
        Ok(Client { further, ..client })
    }

    /// A client of exactly this place, with these settings for tasks where it opens the database itself.
    pub async fn with(
        reach: &Reach,
        store: Option<Store>,
        access: Access,
        loops: Loops,
        todos: Settings,
    ) -> Result<Client, Error> {
        let way = match &reach.place {
            Place::Server(url) => Way::There(Box::new(Socket::new(url)?)),
            Place::Database(url) => match server_of(&database::parse(url, access)?)? {
                Some(address) => Way::There(Box::new(Socket::new(&address.into())?)),
                None => Way::Here(here(url, reach.files.as_deref(), loops, todos).await?),
            },
        };
        let token = match way {
            Way::Here(_) => None,
            Way::There(_) => token(reach)?,
        };
        let trace = std::env::var("TRACEPARENT").ok();
        let patience = PATIENCE + WAIT_MAX;
        Ok(Client { way, store, token, actor: None, trace, patience, further: None })
    }

    /// On the database itself, whether a server runs on it or not: whoever can open it needs no token.
    pub async fn beside(reach: &Reach, access: Access) -> Result<Client, Error> {
        let Place::Database(url) = &reach.place else {
            return Err(Error::WantsDatabase { url: reach.place.url().clone() });
        };
        database::parse(url, access)?;
        let (loops, todos) = (Loops::LeftToOthers, Settings::default());
        let way = Way::Here(here(url, reach.files.as_deref(), loops, todos).await?);
        let patience = PATIENCE + WAIT_MAX;
        Ok(Client { way, store: None, token: None, actor: None, trace: None, patience, further: None })
    }

    /// The same, as somebody else. A token says for itself who its bearer is.
    pub fn acting(self, actor: impl Into<String>) -> Client {
        Client { actor: Some(actor.into()), ..self }
    }

    /// The same, for what takes so long by itself.
    pub fn patient(self, with: Duration) -> Client {
        Client { patience: PATIENCE + with, ..self }
    }

    pub async fn get(&self, target: Target) -> Result<Reply, Error> {
        self.ask(Method::GET, target, None).await
    }

    pub async fn post(&self, target: Target, body: &impl Serialize) -> Result<Reply, Error> {
        self.ask(Method::POST, target, Some(body_of(body)?)).await
    }

    pub async fn delete(&self, target: Target, body: &impl Serialize) -> Result<Reply, Error> {
        self.ask(Method::DELETE, target, Some(body_of(body)?)).await
    }

    /// Sends a file as it is.
    pub async fn upload(&self, target: Target, bytes: Vec<u8>) -> Result<Reply, Error> {
        let target = target.with("store", self.store.as_ref());
        let mut request = self.request(Method::POST, &target.to_string(), bytes)?;
        request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
        self.answered(request, UPLOAD_PATIENCE).await.and_then(text)
    }

    /// What is no text.
    pub async fn bytes(&self, target: Target) -> Result<Bytes, Error> {
        let target = target.with("store", self.store.as_ref());
        let request = self.request(Method::GET, &target.to_string(), Vec::new())?;
        self.answered(request, UPLOAD_PATIENCE).await.map(|(_, bytes)| bytes)
    }

    async fn ask(&self, method: Method, target: Target, body: Option<Vec<u8>>) -> Result<Reply, Error> {
        let body = body.unwrap_or_default();
        match (&self.further, self.ask_here(&method, &target, body.clone()).await) {
            (Some(further), Err(Error::Refused(no))) if no.code == "NOT_FOUND" => {
                let At { reach, store } = &**further;
                let (access, loops) = (Access::Existing, Loops::LeftToOthers);
                let client = Client::with(reach, store.clone(), access, loops, Settings::default()).await?;
                let client = Client { actor: self.actor.clone(), patience: self.patience, ..client };
                client.ask_here(&method, &target, body).await
            }
            (_, answered) => answered,
        }
    }

    async fn ask_here(&self, method: &Method, target: &Target, body: Vec<u8>) -> Result<Reply, Error> {
        let target = target.clone().with("store", self.store.as_ref());
        let request = self.request(method.clone(), &target.to_string(), body)?;
        self.answered(request, self.patience).await.and_then(text)
    }

    /// The status and the body of a yes.
    async fn answered(
        &self,
        request: Request<Full<Bytes>>,
        patience: Duration,
    ) -> Result<(u16, Bytes), Error> {
        let answer = async { read(self.send(request).await?).await };
        let (status, bytes) = match timeout(patience, answer).await {
            Ok(answer) => answer.map_err(|why| self.unanswered(why))?,
            Err(_) => return Err(self.unanswered("no answer in time".to_string())),
        };
        match status {
            200..=299 => Ok((status, bytes)),
            _ => Err(self.refused(status, &bytes)),
        }
    }

    /// Asks for something that goes on, from behind what was seen of it last.
    pub async fn stream(&self, target: Target, last: u64) -> Result<Events, Error> {
        let target = target.with("store", self.store.as_ref());
        let mut request = self.request(Method::GET, &target.to_string(), Vec::new())?;
        request.headers_mut().insert("last-event-id", last.into());
        let response = match timeout(PATIENCE, self.send(request)).await {
            Ok(response) => response.map_err(|why| self.unanswered(why))?,
            Err(_) => return Err(self.unanswered("no answer in time".to_string())),
        };
        match response.status().as_u16() {
            200 => Ok(Events::new(response.into_body())),
            status => {
                let (_, bytes) = read(response).await.map_err(|why| self.unanswered(why))?;
                Err(self.refused(status, &bytes))
            }
        }
    }

    async fn send(&self, request: Request<Full<Bytes>>) -> Result<Response<Body>, String> {
        match &self.way {
            Way::Here(router) => match router.clone().oneshot(request.map(Body::new)).await {
                Ok(response) => Ok(response),
                Err(never) => match never {},
            },
            Way::There(socket) => Ok(socket.send(request).await?.map(Body::new)),
        }
    }

    fn request(&self, method: Method, target: &str, body: Vec<u8>) -> Result<Request<Full<Bytes>>, Error> {
        let uri = match &self.way {
            Way::Here(_) => target.to_string(),
            Way::There(socket) => socket.uri(target),
        };
        let mut request = Request::builder().method(method).uri(uri).header(CONTENT_TYPE, "application/json");
        if let Some(token) = &self.token {
            request = request.header(AUTHORIZATION, format!("Bearer {token}"));
        }
        if let Some(actor) = &self.actor {
            request = request.header("tenure-actor", actor);
        }
        // What is no trace is no error, here and at the service.
        if let Some(trace) = self.trace.as_deref().and_then(|trace| HeaderValue::from_str(trace).ok()) {
            request = request.header("traceparent", trace);
        }
        request.body(Full::from(body)).map_err(|why| Error::Strange(format!("this can not be asked: {why}")))
    }

    fn unanswered(&self, why: String) -> Error {
        match &self.way {
            Way::Here(_) => Error::Strange(why),
            Way::There(socket) => Error::NoServer { url: socket.shown(), why },
        }
    }

    fn refused(&self, status: u16, bytes: &[u8]) -> Error {
        match serde_json::from_slice::<Refused>(bytes) {
            Ok(Refused { code, which, detail, .. }) if status >= 500 => {
                Error::Unavailable { code, which, detail }
            }
            Ok(refused) => Error::Refused(Box::new(refused)),
            Err(_) => self.unanswered(format!("it answers {status}, and not as Tenure does")),
        }
    }
}

fn body_of(body: &impl Serialize) -> Result<Vec<u8>, Error> {
    serde_json::to_vec(body).map_err(|why| Error::Strange(format!("this can not be asked: {why}")))
}

async fn here(url: &SecretUrl, files: Option<&str>, loops: Loops, todos: Settings) -> Result<Router, Error> {
    let files = Files::of(&url.database().map_err(tenure::OpenError::from)?, files.map(Path::new))?;
    let builder = tickets::known(Tenure::builder(url));
    let builder = match loops {
        Loops::LeftToOthers | Loops::Once => builder.without_loops(),
        Loops::Run => builder,
    };
    let tenure = builder.open().await?;
    if loops == Loops::Once {
        tenure.sweep().await?;
    }
    let app = App::new(tenure, Open::Always).await?.keeping(Library::new(files)).with_todos(todos);
    Ok(tenure_server::within(app))
}

/// The address of the server that runs on this database and on this machine.
fn server_of(database: &Url) -> Result<Option<String>, Error> {
    let Url::Sqlite(path) = database else { return Ok(None) };
    let server = side::read(path).map_err(|why| Error::Unreadable {
        file: format!("{}.server", path.display()),
        why,
        near: None,
    })?;
    Ok(server.map(|server| reachable(&server.address)))
}

/// Who listens on every address is reached on this machine by the nearest.
fn reachable(url: &str) -> String {
    let address =
        url.strip_prefix("http://").and_then(|address| address.parse::<std::net::SocketAddr>().ok());
    match address {
        Some(address) if address.ip().is_unspecified() => match address.is_ipv4() {
            true => format!("http://127.0.0.1:{}", address.port()),
            false => format!("http://[::1]:{}", address.port()),
        },
        _ => url.to_string(),
    }
}

fn token(reach: &Reach) -> Result<Option<String>, Error> {
    match (&reach.token, &reach.token_file) {
        (Some(token), _) => Ok(Some(token.trim().to_string())),
        (None, Some(file)) => match regular_file::read_text(Path::new(file), SECRET_BYTES_MAX) {
            Ok(token) => Ok(Some(token.trim().to_string())),
            Err(why) => Err(Error::Unreadable { file: file.clone(), why, near: None }),
        },
        (None, None) => Ok(None),
    }
}

fn text((status, bytes): (u16, Bytes)) -> Result<Reply, Error> {
    let text = String::from_utf8(bytes.to_vec());
    let text = text.map_err(|_| Error::Strange("an answer that is no text".to_string()))?;
    Ok(Reply { text, made: status == 201 })
}

/// The status and the bytes of an answer, or why there is none.
async fn read(response: Response<Body>) -> Result<(u16, Bytes), String> {
    let status = response.status().as_u16();
    let bytes = match Limited::new(response.into_body(), ANSWER_BYTES_MAX).collect().await {
        Ok(body) => body.to_bytes(),
        Err(error) if error.downcast_ref::<LengthLimitError>().is_some() => {
            return Err(format!("its answer has more than {ANSWER_BYTES_MAX} bytes"));
        }
        Err(error) => return Err(format!("its answer broke off: {error}")),
    };
    Ok((status, bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_on_every_address_is_asked_on_this_machine() {
        for (address, expected) in [
            ("http://0.0.0.0:7878", "http://127.0.0.1:7878"),
            ("http://[::]:7878", "http://[::1]:7878"),
            ("http://127.0.0.1:1", "http://127.0.0.1:1"),
            ("https://example.org", "https://example.org"),
        ] {
            assert_eq!(reachable(address), expected);
        }
    }
}
