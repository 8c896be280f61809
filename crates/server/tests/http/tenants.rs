//! Two tenants in one database: whatever one of them reads, nothing of the other is in it.

use std::time::Duration;

use axum::http::Method;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::access::Operation;
use crate::kit::{Call, Dice, Service, as_who, on_each, token};

/// In all that the other tenant writes.
const CANARY: &str = "CANARY";
const STEPS: usize = 40;

/// Where a tenant is: its store, the kind of its items, and whether its words are the ones to be looked for.
#[derive(Clone, Copy)]
struct Tenant {
    store: &'static str,
    kind: &'static str,
    canary: &'static str,
}

impl Tenant {
    fn path(&self, path: &str) -> String {
        format!("{path}?store={}", self.store)
    }

    async fn ask(&self, service: &Service, admin: &str, path: &str, body: Value) -> Value {
        as_who(service, admin, Method::POST, &self.path(path), body).await.json()
    }

    /// One thing after the other, as the dice fall. The ids of all its items.
    async fn live(&self, service: &Service, admin: &str, dice: &mut Dice) -> Vec<String> {
        let (mut items, mut leases) = (Vec::new(), Vec::new());
        let word = |number: usize| format!("{}{number}", self.canary);
        for step in 0..STEPS {
            match dice.below(6) {
                0 | 1 => {
                    let key = word(dice.below(5));
                    let payload = json!({ "document_id": key, "n": step });
                    let name = word(step);
                    let body =
                        json!({ "kind": self.kind, "payload": payload, "key": key, "idempotency_key": name });
                    let made = self.ask(service, admin, "/v1/items", body).await;
                    items.push(made["id"].as_str().expect("an id").to_string());
                }
                2 => {
                    let body = json!({ "kinds": [self.kind], "worker": word(dice.below(3)), "max": 2, "start": true });
                    let leased = self.ask(service, admin, "/v1/leases", body).await;
                    leases.extend(leased["leases"].as_array().unwrap().clone());
                }
                3 if !leases.is_empty() => {
                    let lease: Value = leases.remove(dice.below(leases.len()));
                    let path = format!("/v1/executions/{}/commit", lease["execution"].as_str().unwrap());
                    let body = json!({ "lease_token": lease["lease_token"], "output": word(step) });
                    self.ask(service, admin, &path, body).await;
                }
                4 if !leases.is_empty() => {
                    let lease: Value = leases.remove(dice.below(leases.len()));
                    let path = format!("/v1/executions/{}/fail", lease["execution"].as_str().unwrap());
                    let body = json!({ "lease_token": lease["lease_token"], "reason": word(step) });
                    self.ask(service, admin, &path, body).await;
                }
                _ => {
                    let reason = json!({ "kind": self.kind, "concurrency": 50, "reason": word(step) });
                    self.ask(service, admin, "/v1/limits", reason).await;
                }
            }
        }
        // At the end somebody holds something.
        let body =
            json!({ "kind": self.kind, "payload": { "document_id": word(STEPS) }, "key": word(STEPS) });
        let made = self.ask(service, admin, "/v1/items", body).await["id"].clone();
        items.push(made.as_str().expect("an id").to_string());
        let body = json!({ "items": [made], "worker": word(STEPS) });
        assert!(self.ask(service, admin, "/v1/leases", body).await["leases"][0].is_object());
        items
    }
}

/// Everything that a token reads: every route of the document that only reads, about each of these items, and a bulk move that is
/// only tried.
async fn all_that_is_read(
    service: &Service,
    token: &str,
    operations: &[Operation],
    ids: &[String],
) -> String {
    let mut text = String::new();
    for operation in operations.iter().filter(|one| one.method == Method::GET && !one.streams) {
        let about = if operation.path.contains("{id}") { &ids[..5] } else { &ids[..1] };
        for id in about {
            let path = operation.about(id, "");
            text.push_str(&as_who(service, token, Method::GET, &path, Value::Null).await.text);
        }
    }
    for event in ["cancel", "redrive"] {
        let body = json!({ "filter": {}, "reason": "r", "dry_run": true });
        let path = format!("/v1/items/bulk/{event}");
        text.push_str(&as_who(service, token, Method::POST, &path, body).await.text);
    }
    text.push_str(&streamed(service, token).await);
    text
}

/// The stream up to where the log is now.
async fn streamed(service: &Service, token: &str) -> String {
    let head = service.tenure.head().await.unwrap().position;
    let call: Call = service.call(Method::GET, "/v1/log/stream").token(token);
    let mut events = service.open(call).await.unwrap();
    let mut text = String::new();
    let patience = Duration::from_secs(60);
    while let Some(event) = timeout(patience, events.next()).await.expect("the stream goes on") {
        text.push_str(&event);
        let id = event.lines().find_map(|line| line.strip_prefix("id: "));
        if id.is_some_and(|id| id.parse::<u64>().unwrap() >= head) {
            break;
        }
    }
    text
}

async fn nothing_is_seen(service: &Service, mine: Tenant, other: Tenant, scope: Value) {
    let operations = Operation::all(&service.get("/openapi.json").await.yes(200));
    let (_, admin) = token(service, None, json!({ "name": "root", "role": "admin" })).await;
    let mut dice = Dice(4);
    let others = other.live(service, &admin, &mut dice).await;
    let own = mine.live(service, &admin, &mut dice).await;
    assert!(others.len() > 5 && own.len() > 5);
    let last = service.tenure.head().await.unwrap().position;
    service.placed(last).await;
    for role in ["admin", "worker"] {
        let mut body = json!({ "name": role, "role": role });
        body.as_object_mut().unwrap().extend(scope.as_object().unwrap().clone());
        let (_, limited) = token(service, Some(&admin), body).await;
        let text = all_that_is_read(service, &limited, &operations, &own).await;
        assert!(text.contains(&own[0]), "{role} sees its own");
        if let Some(at) = text.find(CANARY) {
            panic!("{role}: {}", &text[at.saturating_sub(300)..(at + 100).min(text.len())]);
        }
        for id in &others {
            assert!(!text.contains(id), "{role} sees {id}");
        }
        for operation in operations.iter().filter(|one| one.path.contains("{id}") && one.access.is_none()) {
            let path = operation.about(&others[0], "");
            let path = if other.store == mine.store { path } else { format!("{path}?store={}", mine.store) };
            let body = if operation.method == Method::POST { json!({}) } else { Value::Null };
            as_who(service, &limited, operation.method.clone(), &path, body).await.no(404, "NOT_FOUND");
        }
    }
    // Whoever may see all of it does: the words are there to be found.
    let mut all = others.clone();
    all.truncate(3);
    let paths = all.iter().map(|id| other.path(&format!("/v1/items/{id}/explain")));
    for path in paths.chain([other.path("/v1/workers"), other.path("/v1/limits")]) {
        let text = as_who(service, &admin, Method::GET, &path, Value::Null).await.text;
        assert!(
            text.contains(CANARY) || text.contains(&all[0]) || path.contains("explain"),
            "{path}: {text}"
        );
    }
    assert!(streamed(service, &admin).await.contains(CANARY));
}

// covers: K-07
// fault: A4
#[test]
fn a_token_for_one_store_sees_nothing_of_another() {
    on_each(async |service| {
        let mine = Tenant { store: "a", kind: "job", canary: "mine" };
        let other = Tenant { store: "b", kind: "job", canary: CANARY };
        nothing_is_seen(&service, mine, other, json!({ "stores": ["a"] })).await;
    });
}

// covers: K-07
// fault: A4
#[test]
fn a_token_for_one_kind_sees_nothing_of_another() {
    on_each(async |service| {
        let mine = Tenant { store: "default", kind: "job", canary: "mine" };
        let other = Tenant { store: "default", kind: "run", canary: CANARY };
        nothing_is_seen(&service, mine, other, json!({ "kinds": ["job"] })).await;
    });
}

// fault: A4
#[test]
fn an_explanation_names_no_item_that_its_reader_may_not_see() {
    on_each(async |service| {
        let job = service.post("/v1/jobs", json!({ "payload": 1 })).await.yes(201);
        let job = job["id"].as_str().unwrap();
        let lease = json!({ "items": [job], "worker": "w", "start": true });
        let leases = service.post("/v1/leases", lease).await.yes(200)["leases"].clone();
        let creates =
            json!([{ "kind": "todo", "payload": { "title": "t" } }, { "kind": "job", "payload": 2 }]);
        let commit = json!({ "lease_token": leases[0]["lease_token"], "effects": { "creates": creates } });
        service.post(&format!("/v1/executions/{job}-1/commit"), commit).await.yes(200);
        let one = async |kind: &str| {
            let page = service.get(&format!("/v1/items?kind={kind}&order=newest&limit=1")).await.yes(200);
            page["items"][0]["id"].as_str().unwrap().to_string()
        };
        let (todo, second) = (one("todo").await, one("job").await);
        let (_, admin) = token(&service, None, json!({ "name": "root", "role": "admin" })).await;
        let of = async |kind: &str| {
            token(&service, Some(&admin), json!({ "name": kind, "role": "api", "kinds": [kind] })).await.1
        };
        let (of_job, of_todo) = (of("job").await, of("todo").await);
        let explain = async |token: &str, id: &str| {
            as_who(&service, token, Method::GET, &format!("/v1/items/{id}/explain"), Value::Null)
                .await
                .yes(200)
        };
        assert_eq!(explain(&admin, job).await["ended"]["created"], json!([todo, second]));
        assert_eq!(explain(&of_job, job).await["ended"]["created"], json!([second]));
        assert_eq!(explain(&admin, &todo).await["made_by"], json!(job));
        let limited = explain(&of_todo, &todo).await;
        assert_eq!(limited["made_by"], Value::Null);
        assert!(!limited.to_string().contains(job), "{limited}");
        // Nor does the item itself, alone or in a list; who may see that other one is told.
        let item = async |token: &str, path: &str| {
            as_who(&service, token, Method::GET, path, Value::Null).await.yes(200)
        };
        let path = format!("/v1/items/{todo}");
        assert_eq!(item(&admin, &path).await["origin"], json!(job));
        assert_eq!(item(&of_todo, &path).await.get("origin"), None);
        assert_eq!(item(&of_todo, "/v1/items").await["items"][0].get("origin"), None);
        for path in [format!("/v1/items/{second}"), format!("/v1/jobs/{second}")] {
            assert_eq!(item(&of_job, &path).await["origin"], json!(job));
        }
    });
}
