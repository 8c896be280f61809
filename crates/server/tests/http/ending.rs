//! The end of the service, and of a token, for those who wait.

use std::time::Duration;

use axum::body::Body;
use axum::http::{Method, Request};
use http_body_util::BodyExt;
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::{Value, json};
use tenure::Tenure;
use tenure_server::{App, Open, router, serve};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use crate::kit::{Service, as_who, on_each, token};

/// Shorter than the waits: who would wait on is cut off, and has no answer.
const GRACE: Duration = Duration::from_secs(25);
const WAIT_MS: u64 = 30_000;

// covers: K-54
// fault: X2
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_waits_for_work_or_for_a_result_is_answered_when_the_service_ends() {
    let tenure = Tenure::open("memory:").await.unwrap();
    let app = App::new(tenure.clone(), Open::Always).await.unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let service = Service { address: listener.local_addr().unwrap(), tenure };
    let (stop, stopped) = oneshot::channel::<()>();
    let serving = serve(listener, router(app), async { drop(stopped.await) }, GRACE);
    let calling = async {
        let job = json!({ "payload": 1, "run_at": "2126-01-01T00:00:00Z" });
        let job = service.post("/v1/jobs", job).await.yes(201)["id"].as_str().unwrap().to_string();
        // One connection: what was sent before something that was answered has come, too.
        let stream = TcpStream::connect(service.address).await.unwrap();
        let (sender, connection) =
            http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
        let mut moving = JoinSet::new();
        moving.spawn(async move { drop(connection.await) });
        // What is asked is on its way when this returns.
        let ask = |method: Method, path: &str, body: Value| {
            let uri = format!("http://{}{path}", service.address);
            let request =
                Request::builder().method(method).uri(uri).header("content-type", "application/json");
            let body = if body.is_null() { Body::empty() } else { Body::from(body.to_string()) };
            let sent = sender.clone().send_request(request.body(body).unwrap());
            async move {
                let answer = sent.await.expect("it is answered");
                assert_eq!(answer.status(), 200);
                let bytes = answer.into_body().collect().await.unwrap().to_bytes();
                serde_json::from_slice::<Value>(&bytes).unwrap()
            }
        };
        let lease = json!({ "kinds": ["job"], "worker": "w", "wait_ms": WAIT_MS });
        let leased = ask(Method::POST, "/v1/leases", lease);
        let item = ask(Method::GET, &format!("/v1/items/{job}?wait_ms={WAIT_MS}"), Value::Null);
        let same = ask(Method::GET, &format!("/v1/jobs/{job}?wait_ms={WAIT_MS}"), Value::Null);
        while service.tenure.counters().acquires() == 0 {
            tokio::task::yield_now().await;
        }
        ask(Method::GET, "/health/live", Value::Null).await;
        drop(stop);
        let (leased, item, same) = tokio::join!(leased, item, same);
        assert_eq!(leased["leases"], json!([]));
        for shown in [item, same] {
            assert_eq!((&shown["id"], &shown["phase"]), (&json!(job), &json!("ready")));
        }
        drop(sender);
        while moving.join_next().await.is_some() {}
    };
    let (served, ()) = tokio::join!(serving, calling);
    served.unwrap();
}

// covers: K-07
// fault: A15
#[test]
fn who_waits_for_work_gets_none_when_their_token_was_revoked() {
    on_each(async |service| {
        let (_, admin) = token(&service, None, json!({ "name": "root", "role": "admin" })).await;
        let (id, worker) = token(&service, Some(&admin), json!({ "name": "w", "role": "worker" })).await;
        let lease = json!({ "kinds": ["job"], "worker": "w", "wait_ms": WAIT_MS });
        let waiting = as_who(&service, &worker, Method::POST, "/v1/leases", lease);
        let then = async {
            while service.tenure.counters().acquires() == 0 {
                tokio::task::yield_now().await;
            }
            as_who(&service, &admin, Method::DELETE, &format!("/v1/tokens/{id}"), Value::Null).await.yes(204);
            as_who(&service, &admin, Method::POST, "/v1/jobs", json!({ "payload": 1 })).await.yes(201)
        };
        let (answer, job) = tokio::join!(waiting, then);
        answer.no(401, "UNAUTHENTICATED");
        // It is nobody's, and nothing is counted against it.
        let path = format!("/v1/jobs/{}", job["id"].as_str().unwrap());
        let job = as_who(&service, &admin, Method::GET, &path, Value::Null).await.yes(200);
        assert_eq!(
            (&job["phase"], &job["failures"], &job["lease"]),
            (&json!("ready"), &json!(0), &Value::Null)
        );
    });
}
