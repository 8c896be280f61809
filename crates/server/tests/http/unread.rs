//! HTTP/2 peers that request many answers and read none.

use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{Method, Request, Response, StatusCode};
use hyper::body::Incoming;
use hyper::client::conn::http2::{Builder, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::{Value, json};
use tenure::Tenure;
use tenure_server::{App, Open, Patience};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use crate::kit::{Service, served_by};

const SHORT: Duration = Duration::from_millis(200);
const LONG: Duration = Duration::from_secs(600);
/// As the server's limits have them.
const CONNECTION_ANSWER_BYTES_MAX: u64 = 4 << 20;
const CONNECTION_BODY_BYTES_MAX: usize = 16 << 20;
const STREAMS: usize = 100;

async fn with(unread: Duration, test: impl AsyncFn(&Service)) {
    let tenure = Tenure::open("memory:").await.unwrap();
    let app = App::new(tenure.clone(), Open::Always).await.unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let patience = Patience { grace: SHORT, head: LONG, body: LONG, unread };
    served_by(listener, patience, app, tenure, async |service| {
        let many: Vec<Value> = (0..1_000).map(|n| json!({ "kind": "job", "payload": n })).collect();
        service.post("/v1/items", json!(many)).await.yes(200);
        test(&service).await;
    })
    .await;
}

/// A connection whose streams have no window, and the task that ends with it.
async fn closed_window(service: &Service) -> (SendRequest<Body>, JoinSet<()>) {
    let stream = TokioIo::new(TcpStream::connect(service.address).await.unwrap());
    let mut builder = Builder::new(TokioExecutor::new());
    let (sender, connection) =
        builder.initial_stream_window_size(0).handshake(stream).await.expect("it speaks HTTP/2");
    let mut ended = JoinSet::new();
    ended.spawn(async move { drop(connection.await) });
    (sender, ended)
}

async fn asked(sender: &mut SendRequest<Body>, method: Method, path: &str, body: Body) -> Response<Incoming> {
    sender.ready().await.unwrap();
    let request = Request::builder().method(method).uri(format!("http://x{path}"));
    sender.send_request(request.header("content-type", "application/json").body(body).unwrap()).await.unwrap()
}

fn length(response: &Response<Incoming>) -> u64 {
    response.headers()["content-length"].to_str().unwrap().parse().unwrap()
}

// fault: R11
#[tokio::test]
async fn a_connection_that_opens_no_window_holds_a_bounded_number_of_bytes() {
    with(LONG, async |service| {
        let (mut sender, _connection) = closed_window(service).await;
        let (mut held, mut refused) = (Vec::new(), 0);
        for _ in 0..STREAMS {
            let response = asked(&mut sender, Method::GET, "/v1/items?limit=1000", Body::empty()).await;
            match response.status() {
                StatusCode::OK => held.push(response),
                StatusCode::SERVICE_UNAVAILABLE => {
                    assert!(response.headers().contains_key("retry-after"));
                    refused += 1;
                }
                other => panic!("{other}"),
            }
        }
        let bytes: u64 = held.iter().map(length).sum();
        assert!(length(&held[0]) > 100_000, "a page is long: {}", length(&held[0]));
        assert!((1..=CONNECTION_ANSWER_BYTES_MAX).contains(&bytes), "{bytes}");
        assert!(refused > STREAMS / 2, "{refused}");
        // Other connections are answered meanwhile. This one is answered again after it reset its streams.
        service.get("/v1/items?limit=1000").await.yes(200);
        drop(held);
        loop {
            let again = asked(&mut sender, Method::GET, "/v1/items?limit=1000", Body::empty()).await;
            if again.status() == StatusCode::OK {
                break;
            }
        }
    })
    .await;
}

// fault: R11
#[tokio::test]
async fn a_connection_that_reads_none_of_its_answers_is_closed() {
    with(SHORT, async |service| {
        let (mut sender, mut connection) = closed_window(service).await;
        let held = asked(&mut sender, Method::GET, "/v1/items?limit=1000", Body::empty()).await;
        assert_eq!(held.status(), StatusCode::OK);
        connection.join_next().await.expect("the connection has a task").unwrap();
        assert!(sender.ready().await.is_err());
        service.get("/v1/items?limit=1000").await.yes(200);
    })
    .await;
}

// fault: R11
#[tokio::test]
async fn stalled_bodies_fill_the_budget_of_their_own_connection_only() {
    with(LONG, async |service| {
        let (sender, _connection) = closed_window(service).await;
        let piece = Bytes::from(vec![b' '; 1 << 20]);
        let mut stalled = Vec::new();
        for _ in 0..CONNECTION_BODY_BYTES_MAX / (7 << 20) + 1 {
            // Seven megabytes, and then nothing more.
            let frames = vec![piece.clone(); 7].into_iter().map(Ok::<_, std::io::Error>);
            let body = futures_util::StreamExt::chain(
                futures_util::stream::iter(frames),
                futures_util::stream::pending(),
            );
            let mut sender = sender.clone();
            stalled.push(Box::pin(async move {
                asked(&mut sender, Method::POST, "/v1/items", Body::from_stream(body)).await
            }));
        }
        let (refused, _, _) = futures_util::future::select_all(stalled).await;
        assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE);
        service.post("/v1/jobs", json!({ "payload": "x".repeat(100_000) })).await.yes(201);
    })
    .await;
}
