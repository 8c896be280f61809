//! A service on a socket of this machine, on each database, and somebody who calls it.

use std::future::Future;
use std::net::SocketAddr;
use std::time::Duration;

use axum::body::Body;
use axum::http::{Method, Request, StatusCode, header};
use http_body_util::BodyExt;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tenure::Tenure;
use tenure_server::{App, Open, router, serve};
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
    let app = App::new(tenure.clone(), open).await.unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel::<()>();
    let serving = serve(listener, router(app), async { drop(stopped.await) }, Duration::from_secs(5));
    let tested = async {
        test(Service { address, tenure }).await;
        drop(stop);
    };
    let (served, ()) = tokio::join!(serving, tested);
    served.unwrap();
}
