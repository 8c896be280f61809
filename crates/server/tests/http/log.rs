//! The log: of an item, after a position, and as a stream that is cut and resumed.

use std::time::Duration;

use axum::http::{Method, StatusCode};
use serde_json::{Value, json};
use tenure::{New, Tenure};
use tenure_server::{App, Open, STREAMS_EACH_MAX, STREAMS_MAX, router, serve};
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use crate::kit::{Call, Dice, Service, as_who, on_each, token};

fn stream(service: &Service, last: Option<u64>) -> Call {
    let call = service.call(Method::GET, "/v1/log/stream");
    match last {
        Some(last) => call.header("last-event-id", &last.to_string()),
        None => call,
    }
}

async fn write(service: &Service, count: usize) {
    for number in 0..count {
        service.tenure.create(New::job(&number)).await.unwrap();
    }
}

// covers: K-40, K-45
#[test]
fn entries_are_shown_as_an_export_has_them_a_page_at_a_time() {
    on_each(async |service| {
        write(&service, 5).await;
        service.placed(5).await;
        let (mut found, mut after) = (Vec::new(), String::from("0"));
        loop {
            let page = service.get(&format!("/v1/log?limit=2&after={after}")).await.yes(200);
            found.extend(page["items"].as_array().unwrap().clone());
            match page["next_cursor"].as_str() {
                Some(next) => after = next.to_string(),
                None => break,
            }
        }
        let positions: Vec<u64> = found.iter().map(|entry| entry["position"].as_u64().unwrap()).collect();
        assert_eq!(positions, [1, 2, 3, 4, 5]);
        let id = found[0]["item"].as_str().unwrap();
        service.post(&format!("/v1/items/{id}/cancel"), json!({ "reason": "r" })).await.yes(200);
        let log = service.get(&format!("/v1/items/{id}/log")).await.yes(200);
        let entries = log["items"].as_array().unwrap();
        let last = entries.last().unwrap();
        assert_eq!(entries[0]["hash"], found[0]["hash"]);
        assert_eq!((last["action"].as_str(), last["actor"].as_str()), (Some("cancel"), Some("admin:local")));
        // Each holds the hash of the one before it: its text without the hash that was put in.
        for (before, after) in entries.iter().zip(&entries[1..]) {
            assert_eq!(after["previous"], before["hash"]);
        }
        let path = format!("/v1/items/{id}/log?limit=1");
        let first = service.get(&path).await.yes(200);
        assert_eq!(first["items"][0], entries[0]);
        let next =
            service.get(&format!("{path}&after={}", first["next_cursor"].as_str().unwrap())).await.yes(200);
        assert_eq!(next["items"][0], entries[1]);
        for field in ["event_id", "store", "item", "version", "action", "actor", "occurred_at"] {
            assert!(!last[field].is_null(), "{field}: {last}");
        }
        service.get("/v1/log?after=x").await.no(400, "INVALID_REQUEST");
        service.get("/v1/log?limit=1001").await.no(400, "INVALID_REQUEST");
        service.get("/v1/items/01M7GE4XB00006645Z0KC20ZT6/log").await.no(404, "NOT_FOUND");
    });
}

// covers: K-45
// fault: N5
#[test]
fn a_stream_that_is_cut_goes_on_with_every_entry_once_and_in_order() {
    const WRITERS: usize = 3;
    const EACH: usize = 60;
    const ALL: usize = WRITERS * EACH;
    const READERS: u64 = 3;
    on_each(async |service| {
        let reading = async |seed: u64| {
            let (mut positions, mut cuts, mut dice) = (Vec::new(), 0, Dice(seed));
            while positions.len() < ALL {
                let mut events = service.open(stream(&service, positions.last().copied())).await.unwrap();
                // The connection is dropped in the middle, with whatever was on its way.
                for _ in 0..dice.below(8) {
                    let (position, entry) = events.entry().await.unwrap();
                    assert_eq!(entry["position"].as_u64(), Some(position));
                    positions.push(position);
                    if positions.len() == ALL {
                        break;
                    }
                }
                cuts += 1;
            }
            assert!(cuts > 30, "{cuts}");
            positions
        };
        let readers = futures_util::future::join_all((1..=READERS).map(reading));
        let (all, ..) =
            tokio::join!(readers, write(&service, EACH), write(&service, EACH), write(&service, EACH));
        let expected: Vec<u64> = (1..=ALL as u64).collect();
        for positions in all {
            assert_eq!(positions, expected);
        }
        // Whatever place is named, the next one follows.
        let mut dice = Dice(READERS);
        for _ in 0..30 {
            let last = dice.below(ALL) as u64;
            let mut events = service.open(stream(&service, Some(last))).await.unwrap();
            assert_eq!(events.entry().await.unwrap().0, last + 1);
        }
        // The URL names a place too, and what a browser sends by itself is newer.
        let call = service.call(Method::GET, "/v1/log/stream?after=170");
        assert_eq!(service.open(call).await.unwrap().entry().await.unwrap().0, 171);
        let call = service.call(Method::GET, "/v1/log/stream?after=3").header("last-event-id", "175");
        assert_eq!(service.open(call).await.unwrap().entry().await.unwrap().0, 176);
        let call = service.call(Method::GET, "/v1/log/stream").header("last-event-id", "x");
        service.send(call).await.no(400, "INVALID_REQUEST");
    });
}

// covers: K-07
// fault: A4
#[test]
fn a_limited_token_sees_its_own_entries_and_positions_still_grow() {
    on_each(async |service| {
        let (_, admin) = token(&service, None, json!({ "name": "root", "role": "admin" })).await;
        let make = async |body: Value| token(&service, Some(&admin), body).await;
        let (id, of_store) = make(json!({ "name": "a", "role": "api", "stores": ["a"] })).await;
        let (_, of_kind) = make(json!({ "name": "k", "role": "api", "kinds": ["todo"] })).await;
        let (_, of_job) = make(json!({ "name": "j", "role": "api", "kinds": ["job"] })).await;
        let (_, plain) = make(json!({ "name": "p", "role": "worker" })).await;
        let item = async |kind: &str, store: &str| {
            let body = json!({ "kind": kind, "payload": { "title": "t" }, "store": store });
            let item = as_who(&service, &admin, Method::POST, "/v1/items", body).await.yes(201);
            item["id"].as_str().unwrap().to_string()
        };
        let (there, here) = (item("job", "b").await, item("job", "a").await);
        let todo = item("todo", "default").await;
        let cancel = format!("/v1/items/{there}/cancel?store=b");
        as_who(&service, &admin, Method::POST, &cancel, json!({ "reason": "r" })).await.yes(200);
        service.placed(9).await;
        let seen = async |token: &str, query: &str| -> Vec<String> {
            let page =
                as_who(&service, token, Method::GET, &format!("/v1/log{query}"), Value::Null).await.yes(200);
            let items = page["items"].as_array().unwrap().iter();
            items.map(|entry| entry["item"].as_str().unwrap().to_string()).collect()
        };
        assert_eq!(seen(&of_store, "").await, [here.as_str()]);
        assert_eq!(seen(&of_kind, "").await, [todo.as_str()]);
        assert_eq!(seen(&of_job, "").await, [there.as_str(), here.as_str(), there.as_str()]);
        // The tokens' own store is an administrator's to follow.
        assert_eq!(seen(&plain, "").await, [there.as_str(), here.as_str(), todo.as_str(), there.as_str()]);
        assert_eq!(seen(&admin, "").await.len(), 5 + 4);
        assert_eq!(seen(&plain, "?store=b").await, [there.as_str(), there.as_str()]);
        as_who(&service, &of_store, Method::GET, "/v1/log?store=b", Value::Null).await.no(403, "FORBIDDEN");

        let mut events = service.open(stream(&service, None).token(&of_store)).await.unwrap();
        let (position, entry) = events.entry().await.unwrap();
        assert_eq!((position, entry["item"].as_str()), (7, Some(here.as_str())));
        // What it may not see moves it on without an event.
        assert_eq!(events.next().await.as_deref(), Some("id: 9"));
        // A stream ends with its token.
        as_who(&service, &admin, Method::DELETE, &format!("/v1/tokens/{id}"), Value::Null).await.yes(204);
        assert_eq!(events.entry().await, None);
        assert_eq!(
            service.open(stream(&service, None).token(&of_store)).await.err(),
            Some(StatusCode::UNAUTHORIZED)
        );
        assert_eq!(service.open(stream(&service, None)).await.err(), Some(StatusCode::UNAUTHORIZED));
    });
}

#[test]
fn there_are_so_many_streams_and_no_more() {
    on_each(async |service| {
        write(&service, 1).await;
        let mut open = Vec::new();
        for _ in 0..STREAMS_MAX {
            open.push(service.open(stream(&service, Some(1))).await.unwrap());
        }
        let full = service.send(stream(&service, None)).await;
        full.no(503, "STORE_UNAVAILABLE");
        assert!(full.headers.contains_key("retry-after"));
        service.get("/v1/items").await.yes(200);
        drop(open);
        // The server hears of it when it next looks at the connection.
        while service.open(stream(&service, None)).await.is_err() {}
    });
}

// fault: A15
#[test]
fn one_token_does_not_take_the_streams_of_others() {
    on_each(async |service| {
        write(&service, 1).await;
        let (_, admin) = token(&service, None, json!({ "name": "root", "role": "admin" })).await;
        let (_, other) = token(&service, Some(&admin), json!({ "name": "other", "role": "api" })).await;
        let mut open = Vec::new();
        for _ in 0..STREAMS_EACH_MAX {
            open.push(service.open(stream(&service, Some(1)).token(&admin)).await.unwrap());
        }
        let full = service.open(stream(&service, Some(1)).token(&admin)).await;
        assert_eq!(full.err(), Some(StatusCode::SERVICE_UNAVAILABLE));
        service.open(stream(&service, Some(1)).token(&other)).await.unwrap();
        drop(open);
        // The server hears of it when it next looks at the connection.
        while service.open(stream(&service, None).token(&admin)).await.is_err() {}
    });
}

#[tokio::test]
async fn a_stream_ends_when_the_service_does() {
    let tenure = Tenure::open("memory:").await.unwrap();
    let app = App::new(tenure.clone(), Open::Always).await.unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let service = Service { address: listener.local_addr().unwrap(), tenure };
    let (stop, stopped) = oneshot::channel::<()>();
    // Nobody is cut off: with this patience a stream that went on would hold the service for ever.
    let patience = Duration::from_secs(100 * 365 * 24 * 3600);
    let serving = serve(listener, router(app), async { drop(stopped.await) }, patience);
    let calling = async {
        write(&service, 1).await;
        let mut events = service.open(stream(&service, None)).await.unwrap();
        assert_eq!(events.entry().await.unwrap().0, 1);
        drop(stop);
        assert_eq!(events.next().await, None);
    };
    let (served, ()) = tokio::join!(serving, calling);
    served.unwrap();
}
