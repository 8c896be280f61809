//! The end of the service, and of a token, for those who wait.

use std::time::Duration;

use axum::body::Body;
use axum::http::{Method, Request};
use http_body_util::BodyExt;
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::{Value, json};
use tenure::Tenure;
use tenure::databases::outside::now;
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

/// Lifetimes of a token: on a busy machine the first may be over before anything was asked with it.
const BRIEF_SECONDS: [u64; 4] = [2, 4, 8, 16];

/// A token that lasts for a moment.
async fn brief(service: &Service, admin: &str, role: &str, seconds: u64) -> String {
    let span = Duration::from_secs(seconds);
    let body = json!({ "name": "brief", "role": role, "expires_at": now().after(span).to_string() });
    token(service, Some(admin), body).await.1
}

// covers: K-07
// fault: A30
#[test]
fn a_stream_ends_with_the_time_of_its_token() {
    on_each(async |service| {
        let (_, admin) = token(&service, None, json!({ "name": "root", "role": "admin" })).await;
        let job = async |payload| {
            let made =
                as_who(&service, &admin, Method::POST, "/v1/jobs", json!({ "payload": payload })).await;
            made.yes(201)["id"].as_str().unwrap().to_string()
        };
        let before = job(1).await;
        for seconds in BRIEF_SECONDS {
            let reader = brief(&service, &admin, "api", seconds).await;
            let call = service.call(Method::GET, "/v1/log/stream").token(&reader);
            let Ok(mut events) = service.open(call).await else { continue };
            let Some((_, seen)) = events.entry().await else { continue };
            assert_eq!(seen["item"], before.as_str());
            while as_who(&service, &reader, Method::GET, "/v1/stats", Value::Null).await.status != 401 {
                tokio::task::yield_now().await;
            }
            let after = job(2).await;
            while let Some(event) = events.next().await {
                assert!(!event.contains(&after), "it is shown what came after its end: {event}");
            }
            return;
        }
        panic!("every token was over before its stream was open");
    });
}

// covers: K-07
// fault: A30
#[test]
fn whoever_waits_is_refused_when_their_token_is_over() {
    on_each(async |service| {
        let (_, admin) = token(&service, None, json!({ "name": "root", "role": "admin" })).await;
        let later = json!({ "payload": 1, "run_at": "2126-01-01T00:00:00Z" });
        let job = as_who(&service, &admin, Method::POST, "/v1/jobs", later).await.yes(201);
        let mut upload = service.call(Method::POST, "/v1/documents").token(&admin);
        upload = upload.header("content-type", "application/octet-stream");
        upload.body = "a letter".to_string();
        let document = service.send(upload).await.yes(201);
        let one = |kind: &str, id: &Value| {
            let path = format!("/v1/{kind}/{}?wait_ms={WAIT_MS}", id.as_str().expect("an id"));
            ("api", Method::GET, path, Value::Null)
        };
        let lease = json!({ "kinds": ["job"], "worker": "w", "wait_ms": WAIT_MS });
        let waits = [
            one("items", &job["id"]),
            one("jobs", &job["id"]),
            one("documents", &document["document_id"]),
            one("runs", &document["run_id"]),
            ("worker", Method::POST, "/v1/leases".to_string(), lease),
        ];
        for (role, method, path, body) in waits {
            let mut has_waited = false;
            for seconds in BRIEF_SECONDS {
                let token = brief(&service, &admin, role, seconds).await;
                let answer = as_who(&service, &token, method.clone(), &path, body.clone()).await;
                let problem = answer.no(401, "UNAUTHENTICATED");
                has_waited |= problem["detail"].as_str().unwrap().contains("since this was asked");
                if has_waited {
                    break;
                }
            }
            assert!(has_waited, "{path}: every token was over before it was asked with");
        }
    });
}
