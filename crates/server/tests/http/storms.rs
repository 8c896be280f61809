//! More than is good: bodies that are too large, writes that the queue has no room for, callers who only wait, a database that can not, errors without end.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::http::Method;
use serde_json::{Value, json};
use tenure::Tenure;
use tenure::core::time::Time;
use tenure_server::{Access, App, CALL_MAX, ERROR_LINES_MAX, Form, Open, REQUEST_BYTES_MAX};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::kit::{Service, as_who, on_each, served, served_app, token};
use crate::schema;
use crate::watching::Page;

fn resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux tells it");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a line");
    line.split_whitespace().next().unwrap().parse::<u64>().unwrap() << 10
}

// fault: R1
#[tokio::test]
async fn memory_is_flat_while_bodies_come_that_are_too_large() {
    const BODIES: usize = 200;
    const AT_ONCE: usize = 10;
    /// A piece of a body; the bodies themselves are nowhere as a whole.
    static PIECE: [u8; 64 << 10] = [b'x'; 64 << 10];
    let tenure = Tenure::open("memory:").await.unwrap();
    let app = App::new(tenure.clone(), Open::Always).await.unwrap();
    served_app(app, tenure, async |service| {
        let too_large = REQUEST_BYTES_MAX + PIECE.len();
        // One says how long it is, the next does not.
        let one = async |number: usize| -> String {
            let mut stream = TcpStream::connect(service.address).await.unwrap();
            let (length, is_chunked) = match number % 2 {
                0 => (format!("content-length: {too_large}"), false),
                _ => ("transfer-encoding: chunked".to_string(), true),
            };
            let head = format!(
                "POST /v1/items HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n{length}\r\n\r\n"
            );
            stream.write_all(head.as_bytes()).await.unwrap();
            for _ in 0..too_large / PIECE.len() {
                if is_chunked {
                    stream.write_all(format!("{:x}\r\n", PIECE.len()).as_bytes()).await.unwrap();
                }
                stream.write_all(&PIECE).await.unwrap();
                if is_chunked {
                    stream.write_all(b"\r\n").await.unwrap();
                }
            }
            if is_chunked {
                stream.write_all(b"0\r\n\r\n").await.unwrap();
            }
            let mut answer = String::new();
            stream.read_to_string(&mut answer).await.unwrap();
            answer
        };
        let round = async |from: usize| {
            let all: Vec<_> = (from..from + AT_ONCE).map(one).collect();
            for answer in futures_util::future::join_all(all).await {
                assert!(
                    answer.starts_with("HTTP/1.1 413 ") && answer.contains("PAYLOAD_TOO_LARGE"),
                    "{answer}"
                );
            }
        };
        // The first ones make the allocator's own room.
        round(0).await;
        let before = resident_bytes();
        for from in (0..BODIES).step_by(AT_ONCE) {
            round(from).await;
        }
        let after = resident_bytes();
        // All of them together are 1.6 GB; what ten at once may hold is 80 MB.
        let most = before + 2 * (AT_ONCE * REQUEST_BYTES_MAX) as u64;
        assert!(after < most, "{} MB before, {} MB after", before >> 20, after >> 20);
        service.get("/health/ready").await.yes(200);
    })
    .await;
}

/// Of each of these calls all is in one batch, and together they are more than the queue and the writer take.
const CALLS: usize = 12;
const EACH: usize = CALL_MAX;
const SINGLES: usize = 50;

fn creates(call: usize) -> Value {
    (0..EACH).map(|n| json!({ "kind": "job", "payload": [call, n] })).collect()
}

// fault: R3
#[tokio::test]
async fn what_the_queue_has_no_room_for_is_refused_and_what_was_taken_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tenure.db");
    served(&format!("sqlite:{}", file.display()), Open::Always, async |service| {
        let service = Arc::new(service);
        // Somebody else has the file's write lock: nothing is written while it is held, so there is no room for some for certain.
        let other = rusqlite::Connection::open(&file).unwrap();
        other.execute_batch("begin immediate").unwrap();
        let mut calls = JoinSet::new();
        for call in 0..CALLS {
            let service = service.clone();
            calls.spawn(async move { service.post("/v1/items", creates(call)).await });
        }
        let refused = calls.join_next().await.unwrap().unwrap();
        assert!(refused.text.contains("too many requests wait already"), "{}", refused.text);
        let mut singles = JoinSet::new();
        for single in 0..SINGLES {
            let service = service.clone();
            singles.spawn(async move { service.post("/v1/jobs", json!({ "payload": single })).await });
        }
        // Whoever only reads is answered.
        service.get("/v1/items?limit=1").await.yes(200);
        other.execute_batch("rollback").unwrap();
        let mut answers = vec![refused];
        answers.extend(calls.join_all().await);
        let (mut taken, mut refused) = (Vec::new(), 0);
        for answer in answers {
            for one in answer.yes(200)["items"].as_array().unwrap() {
                match one["status"].as_u64() {
                    Some(201) => taken.push(one["item"]["id"].as_str().unwrap().to_string()),
                    Some(503) => refused += 1,
                    other => panic!("{other:?}: {one}"),
                }
            }
        }
        assert!(
            refused >= EACH && taken.len() + refused == CALLS * EACH,
            "{} taken, {refused} refused",
            taken.len()
        );
        for answer in singles.join_all().await {
            match answer.status.as_u16() {
                201 => taken.push(answer.json()["id"].as_str().unwrap().to_string()),
                _ => {
                    answer.no(503, "STORE_UNAVAILABLE");
                    assert!(answer.headers.contains_key("retry-after"));
                }
            }
        }
        // All that was taken is there, once; nothing that was refused is.
        let (mut found, mut cursor) = (std::collections::BTreeSet::new(), String::new());
        loop {
            let page = service.get(&format!("/v1/items?limit=1000{cursor}")).await.yes(200);
            for item in page["items"].as_array().unwrap() {
                assert!(found.insert(item["id"].as_str().unwrap().to_string()));
            }
            match page["next_cursor"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => break,
            }
        }
        assert_eq!(found, taken.into_iter().collect());
    })
    .await;
}

/// The number that `/metrics` shows under this name.
async fn gauge(service: &Service, name: &str) -> usize {
    let text = service.get("/metrics").await.text;
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')).expect(name);
    line.parse().expect("a number")
}

// fault: R2
#[test]
fn many_who_only_wait_cost_little_and_keep_nobody_from_an_answer() {
    const POLLS: usize = 150;
    const STREAMS: usize = 60;
    const EACH_BYTES_MAX: u64 = 200 << 10;
    on_each(async |service| {
        let service = Arc::new(service);
        service.get("/v1/items").await.yes(200);
        let before = resident_bytes();
        let mut streams = Vec::new();
        for _ in 0..STREAMS {
            streams.push(service.open(service.call(Method::GET, "/v1/log/stream")).await.unwrap());
        }
        let mut polls = JoinSet::new();
        for number in 0..POLLS {
            let service = service.clone();
            let body = json!({ "kinds": ["job"], "worker": format!("w{number}"), "wait_ms": 30_000 });
            // Whoever has waited in vain asks again, as a worker does.
            polls.spawn(async move {
                loop {
                    let leases = service.post("/v1/leases", body.clone()).await.yes(200)["leases"].clone();
                    if leases != json!([]) {
                        return leases;
                    }
                }
            });
        }
        while gauge(&service, "tenure_connections").await <= STREAMS + POLLS {}
        let cost = resident_bytes().saturating_sub(before);
        assert!(cost < (STREAMS + POLLS) as u64 * EACH_BYTES_MAX, "{} KB for those who wait", cost >> 10);
        // Whoever does not wait is answered; one item is for one of those who do, and is told in every stream.
        let made = service.post("/v1/jobs", json!({ "payload": 0 })).await.yes(201)["id"].clone();
        let first = polls.join_next().await.unwrap().unwrap();
        assert_eq!((first.as_array().unwrap().len(), &first[0]["item"]), (1, &made));
        for stream in &mut streams {
            assert_eq!(stream.entry().await.unwrap().1["item"], made);
        }
        let more: Vec<Value> = (1..POLLS).map(|n| json!({ "kind": "job", "payload": n })).collect();
        service.post("/v1/items", json!(more)).await.yes(200);
        let leased = polls.join_all().await;
        let items: std::collections::BTreeSet<String> = leased
            .iter()
            .flat_map(|leases| leases.as_array().unwrap())
            .map(|one| one["item"].to_string())
            .collect();
        assert_eq!((leased.len(), items.len()), (POLLS - 1, POLLS - 1), "each has one of its own");
    });
}

// fault: P9
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_postgres_that_is_full_or_too_slow_is_a_503_and_nothing_is_there_by_half() {
    let name = schema::fresh();
    let url = format!("{}&options=-c%20statement_timeout%3D300", schema::url(&name));
    served(&url, Open::Always, async |service| {
        let raw = schema::raw().await;
        let full = format!(
            "set search_path = {name}; create function full_disk() returns trigger language plpgsql as $$ \
             begin raise exception 'could not extend file' using errcode = 'disk_full'; end $$; \
             create trigger full_disk before insert on items for each row execute function full_disk()"
        );
        raw.batch_execute(&full).await.unwrap();
        let job = json!({ "payload": 1, "idempotency_key": "once" });
        let refused = service.post("/v1/jobs", job.clone()).await;
        refused.no(503, "STORE_UNAVAILABLE");
        assert!(refused.headers.contains_key("retry-after"));
        assert_eq!(service.get("/v1/jobs").await.yes(200)["items"], json!([]), "who reads is answered");
        raw.batch_execute("drop trigger full_disk on items").await.unwrap();
        let made = service.post("/v1/jobs", job).await.yes(201);

        raw.batch_execute("begin; select from items for update").await.unwrap();
        let cancel = format!("/v1/jobs/{}/cancel", made["id"].as_str().unwrap());
        let refused = service.post(&cancel, json!({ "reason": "r" })).await;
        refused.no(503, "STORE_UNAVAILABLE");
        assert!(refused.headers.contains_key("retry-after"));
        raw.batch_execute("rollback").await.unwrap();
        let shown = service.get(&format!("/v1/items/{}", made["id"].as_str().unwrap())).await.yes(200);
        assert_eq!((&shown["version"], &shown["phase"]), (&json!(1), &json!("ready")));
        service.post(&cancel, json!({ "reason": "r" })).await.yes(200);
    })
    .await;
    schema::drop(&name).await;
}

// covers: K-55
// fault: R9
#[tokio::test]
async fn errors_without_end_leave_so_many_lines_and_the_number_of_the_rest() {
    const STORM: u64 = 350;
    for form in [Form::Human, Form::Json] {
        let (page, second) = (Page::default(), Arc::new(AtomicU64::new(1)));
        let tenure = Tenure::open("memory:").await.unwrap();
        let clock = {
            let second = second.clone();
            Arc::new(move || Time::default().after(Duration::from_secs(second.load(Ordering::SeqCst))))
        };
        let access = Access::new(form, page.clone()).clock(clock);
        let app = App::new(tenure.clone(), Open::WhileNoToken).await.unwrap().logging(access);
        served_app(app, tenure, async |service| {
            let (_, admin) = token(&service, None, json!({ "name": "root", "role": "admin" })).await;
            let job = json!({ "payload": "CANARY-payload", "idempotency_key": "CANARY-key" });
            let job = as_who(&service, &admin, Method::POST, "/v1/jobs", job).await.yes(201);
            for number in 0..STORM {
                let (path, bearer) = match number % 3 {
                    0 => ("/v1/CANARY-path", admin.as_str()),
                    1 => ("/v1/items?key=CANARY-query&limit=0", admin.as_str()),
                    _ => ("/v1/items", "tnr_CANARY-token"),
                };
                let body = json!({ "reason": "CANARY-body" });
                let answer = as_who(&service, bearer, Method::GET, path, body).await;
                assert!(answer.status.is_client_error(), "{}", answer.text);
            }
            // Who is answered well has a line, storm or not.
            as_who(&service, &admin, Method::GET, "/v1/jobs", Value::Null).await.yes(200);
            assert_eq!(page.text().lines().count() as u64, ERROR_LINES_MAX + 3);
            second.fetch_add(1, Ordering::SeqCst);
            as_who(&service, &admin, Method::GET, "/v1/jobs", Value::Null).await.yes(200);
            let text = page.text();
            let said = text.lines().nth_back(1).unwrap();
            let left_out = STORM - ERROR_LINES_MAX;
            match form {
                Form::Human => {
                    assert!(said.contains(&format!(" {left_out} more requests with errors")), "{said}")
                }
                Form::Json => assert_eq!(serde_json::from_str::<Value>(said).unwrap()["left_out"], left_out),
            }
            let metrics = as_who(&service, &admin, Method::GET, "/metrics", Value::Null).await.text;
            let explain = format!("/v1/items/{}/explain", job["id"].as_str().unwrap());
            let explained = as_who(&service, &admin, Method::GET, &explain, Value::Null).await.text;
            let secret = admin.rsplit('_').next().unwrap();
            for (what, text) in [("the log", &text), ("the metrics", &metrics), ("explain", &explained)] {
                assert!(!text.contains("CANARY") && !text.contains(secret), "{what}: {text}");
            }
        })
        .await;
    }
}
