//! A service on a socket of this machine, on each database, and somebody who calls it.

use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::time::Duration;

use axum::body::Body;
use axum::http::{Method, Request, StatusCode, header};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tenure::Tenure;
use tenure_server::{App, Open, Patience, router, serve};
use tenure_systems::runs::Library;
use tenure_systems::runs::files::Files;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;

use crate::schema;

/// A service, and who calls it.
pub struct Service {
    pub address: SocketAddr,
    pub tenure: Tenure,
}

/// What came back.
#[derive(Debug)]
pub struct Answer {
    pub status: StatusCode,
    pub headers: axum::http::HeaderMap,
    pub text: String,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text)
            .unwrap_or_else(|why| panic!("{why}: {} {:?}", self.status, self.text))
    }

    /// What a yes shows.
    #[track_caller]
    pub fn yes(&self, status: u16) -> Value {
        assert_eq!(self.status.as_u16(), status, "{}", self.text);
        if self.text.is_empty() { Value::Null } else { self.json() }
    }

    /// The problem of a no, which is always one.
    #[track_caller]
    pub fn no(&self, status: u16, code: &str) -> Value {
        assert_eq!(self.status.as_u16(), status, "{}", self.text);
        assert_eq!(self.headers[header::CONTENT_TYPE], "application/problem+json");
        let problem = self.json();
        assert_eq!(
            (problem["status"].as_u64(), problem["code"].as_str()),
            (Some(status.into()), Some(code)),
            "{problem}"
        );
        for field in ["type", "title", "detail", "instance"] {
            assert!(problem[field].as_str().is_some_and(|text| !text.is_empty()), "{field}: {problem}");
        }
        problem
    }
}

/// The leases that a request got, without the time that is left of them: a repeat has less.
pub async fn leased(service: &Service, asked: &Value) -> Value {
    let mut leases = service.post("/v1/leases", asked.clone()).await.yes(200)["leases"].take();
    for lease in leases.as_array_mut().expect("a list") {
        let left = lease.as_object_mut().expect("a lease").remove("lease_left_ms");
        assert!(left.and_then(|left| left.as_u64()).is_some_and(|left| left > 0), "{lease}");
    }
    leases
}

/// One call, with a connection of its own.
pub struct Call {
    pub request: axum::http::request::Builder,
    pub body: String,
}

impl Service {
    pub fn call(&self, method: Method, path: &str) -> Call {
        let request =
            Request::builder().method(method).uri(path).header(header::HOST, self.address.to_string());
        Call { request, body: String::new() }
    }

    /// Waits until the log can be read so far: an entry has its place a moment after its commit.
    pub async fn placed(&self, position: u64) {
        let patience = Duration::from_secs(60);
        let page = self.tenure.log_or_wait(position - 1, 1, patience).await.unwrap();
        assert!(!page.is_empty(), "entry {position} has no place");
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.send(self.call(Method::GET, path)).await
    }

    pub async fn post(&self, path: &str, body: Value) -> Answer {
        self.send(self.call(Method::POST, path).json(&body)).await
    }

    pub async fn send(&self, call: Call) -> Answer {
        let stream = TcpStream::connect(self.address).await.expect("the service listens");
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.unwrap();
        let request = call.request.body(Body::from(call.body)).unwrap();
        let answered = async {
            let response = sender.send_request(request).await.unwrap();
            let (parts, body) = response.into_parts();
            let bytes = body.collect().await.unwrap().to_bytes();
            Answer {
                status: parts.status,
                headers: parts.headers,
                text: String::from_utf8(bytes.to_vec()).unwrap(),
            }
        };
        tokio::select! {
            answer = answered => answer,
            ended = async { connection.await.unwrap(); std::future::pending().await } => ended,
        }
    }
}

/// An answer that goes on: the events that it has sent so far.
pub struct Events {
    connection: Pin<Box<dyn Future<Output = ()> + Send>>,
    body: Incoming,
    text: String,
}

impl Service {
    /// Opens a stream of events.
    pub async fn open(&self, call: Call) -> Result<Events, StatusCode> {
        let stream = TcpStream::connect(self.address).await.expect("the service listens");
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.unwrap();
        let mut connection: Pin<Box<dyn Future<Output = ()> + Send>> =
            Box::pin(async { drop(connection.await) });
        let request = call.request.body(Body::from(call.body)).unwrap();
        let response = tokio::select! {
            response = sender.send_request(request) => response.unwrap(),
            () = &mut connection => panic!("the connection ended before there was an answer"),
        };
        match response.status() {
            StatusCode::OK => Ok(Events { connection, body: response.into_body(), text: String::new() }),
            no => Err(no),
        }
    }
}

impl Events {
    /// The next event: its lines up to an empty one. None: the stream has ended as it should.
    pub async fn next(&mut self) -> Option<String> {
        loop {
            if let Some((event, rest)) = self.text.split_once("\n\n") {
                let (event, rest) = (event.to_string(), rest.to_string());
                self.text = rest;
                return Some(event);
            }
            let frame = tokio::select! {
                frame = self.body.frame() => frame,
                () = &mut self.connection => self.body.frame().await,
            };
            let bytes = frame?.unwrap().into_data().unwrap();
            self.text.push_str(std::str::from_utf8(&bytes).unwrap());
        }
    }

    /// The next entry and its position; what is no event is passed over.
    pub async fn entry(&mut self) -> Option<(u64, Value)> {
        loop {
            let event = self.next().await?;
            let field = |name: &str| event.lines().find_map(|line| line.strip_prefix(name));
            if let (Some(id), Some(data)) = (field("id: "), field("data: ")) {
                return Some((id.parse().unwrap(), serde_json::from_str(data).unwrap()));
            }
        }
    }
}

impl Call {
    pub fn header(mut self, name: &str, value: &str) -> Call {
        self.request = self.request.header(name, value);
        self
    }

    pub fn token(self, token: &str) -> Call {
        self.header("authorization", &format!("Bearer {token}"))
    }

    pub fn json(mut self, body: &Value) -> Call {
        self.body = body.to_string();
        self.header("content-type", "application/json")
    }
}

/// A call as who shows this token.
pub async fn as_who(service: &Service, token: &str, method: Method, path: &str, body: Value) -> Answer {
    let call = service.call(method, path).token(token);
    service.send(if body.is_null() { call } else { call.json(&body) }).await
}

/// Makes a token: its id, and itself.
pub async fn token(service: &Service, admin: Option<&str>, body: Value) -> (String, String) {
    let mut call = service.call(Method::POST, "/v1/tokens").json(&body);
    if let Some(admin) = admin {
        call = call.token(admin);
    }
    let made = service.send(call).await.yes(201);
    (made["id"].as_str().unwrap().to_string(), made["token"].as_str().unwrap().to_string())
}

/// Runs a test on each database, behind a service of its own.
pub fn on_each<F: Future<Output = ()>>(test: impl Fn(Service) -> F) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let folder = tempfile::tempdir().unwrap();
        let file = format!("sqlite:{}", folder.path().join("tenure.db").display());
        served(&file, Open::WhileNoToken, &test).await;
        let schema = schema::fresh();
        served(&schema::url(&schema), Open::WhileNoToken, &test).await;
        schema::drop(&schema).await;
    });
}

pub async fn served<F: Future<Output = ()>>(url: &str, open: Open, test: impl Fn(Service) -> F) {
    let tenure = Tenure::open(url).await.unwrap();
    let app = App::new(tenure.clone(), open).await.unwrap().keeping(Library::new(Files::scratch().unwrap()));
    served_app(app, tenure, test).await;
}

pub async fn served_app<F: Future<Output = ()>>(app: App, tenure: Tenure, test: impl Fn(Service) -> F) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    served_by(listener, Duration::from_secs(5).into(), app, tenure, test).await;
}

pub async fn served_by<F: Future<Output = ()>>(
    listener: TcpListener,
    patience: Patience,
    app: App,
    tenure: Tenure,
    test: impl Fn(Service) -> F,
) {
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel::<()>();
    let serving = serve(listener, router(app), async { drop(stopped.await) }, patience);
    let tested = async {
        test(Service { address, tenure }).await;
        drop(stop);
    };
    let (served, ()) = tokio::join!(serving, tested);
    served.unwrap();
}

/// The same dice in every run.
pub struct Dice(pub u64);

impl Dice {
    /// Less than this.
    pub fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % most
    }
}
