//! The document against the service: every route, for every sort of caller.

use axum::http::{Method, StatusCode};
use serde_json::{Value, json};
use tenure_server::document;

use crate::kit::{Answer, Service, as_who, on_each, token};
use crate::scene::Scene;

/// One operation of the document.
pub struct Operation {
    pub method: Method,
    pub path: String,
    /// `open`, `admin`, or none: whoever has a good token.
    pub access: Option<String>,
    pub streams: bool,
    /// Its own part of the document.
    pub described: Value,
}

impl Operation {
    pub fn all(document: &Value) -> Vec<Operation> {
        let mut all = Vec::new();
        for (path, item) in document["paths"].as_object().unwrap() {
            for (method, operation) in item.as_object().unwrap() {
                let access = operation.get("x-access").map(|access| access.as_str().unwrap().to_string());
                assert!(
                    matches!(access.as_deref(), None | Some("open" | "admin")),
                    "{method} {path}: x-access {access:?}"
                );
                all.push(Operation {
                    method: method.to_uppercase().parse().unwrap(),
                    path: path.clone(),
                    access,
                    streams: !operation["responses"]["200"]["content"]["text/event-stream"].is_null(),
                    described: operation.clone(),
                });
            }
        }
        assert!(all.len() > 40, "the document has its routes");
        all
    }

    pub fn is_open(&self) -> bool {
        self.access.as_deref() == Some("open")
    }

    /// The path, about this item and this execution.
    pub fn about(&self, item: &str, execution: &str) -> String {
        let path =
            self.path.replace("{event}", "cancel").replace("{kind}", "job").replace("{exec}", execution);
        path.replace("{id}", item).replace("{name}", "nobody")
    }

    async fn call(&self, service: &Service, token: Option<&str>, path: &str) -> (StatusCode, Option<Answer>) {
        let mut call = service.call(self.method.clone(), path);
        if let Some(token) = token {
            call = call.token(token);
        }
        if self.method == Method::POST {
            call = call.json(&json!({}));
        }
        if self.streams {
            // It has no end: its beginning says enough.
            let opened = service.open(call).await;
            return (opened.err().unwrap_or(StatusCode::OK), None);
        }
        let answer = service.send(call).await;
        (answer.status, Some(answer))
    }
}

/// A token of every sort.
pub struct Callers {
    pub admin: String,
    /// By role.
    pub good: Vec<(&'static str, String)>,
    pub revoked: String,
}

impl Callers {
    pub async fn of(service: &Service) -> Callers {
        let (_, admin) = token(service, None, json!({ "name": "root", "role": "admin" })).await;
        let mut good = vec![("admin", admin.clone())];
        for role in ["api", "orchestrator", "worker", "human"] {
            good.push((role, token(service, Some(&admin), json!({ "name": role, "role": role })).await.1));
        }
        let (id, revoked) = token(service, Some(&admin), json!({ "name": "r", "role": "admin" })).await;
        as_who(service, &admin, Method::DELETE, &format!("/v1/tokens/{id}"), Value::Null).await.yes(204);
        Callers { admin, good, revoked }
    }
}

pub async fn job(service: &Service, admin: &str, store: &str) -> String {
    let body = json!({ "kind": "job", "payload": {}, "store": store });
    let item = as_who(service, admin, Method::POST, "/v1/items", body).await.yes(201);
    item["id"].as_str().unwrap().to_string()
}

// covers: K-07
// fault: A1, A2
#[test]
fn every_route_lets_in_whom_the_document_says() {
    on_each(async |service| {
        let operations = Operation::all(&service.get("/openapi.json").await.yes(200));
        let Callers { admin, good, revoked } = Callers::of(&service).await;
        let past = json!({ "name": "past", "role": "admin", "expires_at": "2020-01-01T00:00:00Z" });
        let (_, past) = token(&service, Some(&admin), past).await;
        let bad = [("nobody", None), ("revoked", Some(revoked.as_str())), ("expired", Some(past.as_str()))];

        for operation in &operations {
            let named = format!("{} {}", operation.method, operation.path);
            let is_open = operation.access.as_deref() == Some("open");
            for (who, token) in bad {
                let item = job(&service, &admin, "default").await;
                let (status, _) =
                    operation.call(&service, token, &operation.about(&item, &format!("{item}-1"))).await;
                assert_eq!(status == StatusCode::UNAUTHORIZED, !is_open, "{named} as {who}: {status}");
            }
            for (role, token) in &good {
                let item = job(&service, &admin, "default").await;
                let path = operation.about(&item, &format!("{item}-1"));
                let (status, answer) = operation.call(&service, Some(token), &path).await;
                let text = answer.as_ref().map(|answer| answer.text.as_str()).unwrap_or_default();
                assert_ne!(status, StatusCode::UNAUTHORIZED, "{named} as {role}: {text}");
                assert!(!status.is_server_error(), "{named} as {role}: {status} {text}");
                let is_admins = operation.access.as_deref() == Some("admin");
                if is_admins && *role != "admin" {
                    answer.unwrap().no(403, "FORBIDDEN");
                } else if status == StatusCode::FORBIDDEN {
                    // Nothing but an item's own table says no to a good token.
                    let no = answer.unwrap().no(403, "FORBIDDEN");
                    assert!(no["roles"].is_string() && !is_admins, "{named} as {role}: {no}");
                }
            }
        }
    });
}

/// The roles of a page, in the order of its columns.
const ROLES: [&str; 5] = ["admin", "api", "orchestrator", "worker", "human"];

/// What every route answers to a good request of every role. `TENURE_UPDATE=1` writes it anew; look at the difference before you
/// keep it: a role that is let in where it was not is a hole.
// covers: K-07
// fault: A2
#[test]
fn every_route_says_yes_and_no_to_each_role_as_it_did() {
    on_each(async |service| {
        let operations = Operation::all(&service.get("/openapi.json").await.yes(200));
        let Callers { admin, good, .. } = Callers::of(&service).await;
        let mut page = format!("{:<60} {}\n", "", ROLES.join(" "));
        for (number, operation) in operations.iter().filter(|one| !one.streams && !one.is_open()).enumerate()
        {
            let mut line = format!("{:<60}", format!("{} {}", operation.method, operation.path));
            for role in ROLES {
                let token = &good.iter().find(|(name, _)| *name == role).unwrap().1;
                let name = format!("n{number}-{role}");
                let scene = Scene { service: &service, admin: &admin, store: "default", name };
                let (path, body) = scene.good(operation, token).await;
                let answer = as_who(&service, token, operation.method.clone(), &path, body).await;
                let status = answer.status.as_u16();
                // 401 is told to a good token only where a session is needed, and its role can have none.
                let is_known = status != 401 || answer.json()["code"] == "SESSION_REQUIRED";
                assert!(status < 500 && is_known, "{path} as {role}: {}", answer.text);
                line.push_str(&format!(" {status:<width$}", width = role.len()));
            }
            page.push_str(line.trim_end());
            page.push('\n');
        }
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/http/access.txt");
        if std::env::var_os("TENURE_UPDATE").is_some_and(|update| !update.is_empty()) {
            std::fs::write(file, &page).unwrap();
        }
        let kept = std::fs::read_to_string(file).unwrap_or_default();
        let changed: Vec<_> = page.lines().zip(kept.lines()).filter(|(now, kept)| now != kept).collect();
        assert!(kept == page, "who may do what has changed (now, and as it was): {changed:#?}");
    });
}

/// What is there and has nothing to show of this yet: its own store says that too, in other words.
const NOT_YET: [&str; 4] = [
    "/v1/tickets/{id}/pause-state",
    "/v1/todos/{id}/receipt",
    "/v1/work-orders/{id}/output",
    "/v1/runs/{id}/artifacts/{name}",
];

// fault: A3
#[test]
fn what_is_in_another_store_is_not_there() {
    on_each(async |service| {
        let operations = Operation::all(&serde_json::to_value(document()).unwrap());
        let (_, admin) = token(&service, None, json!({ "name": "root", "role": "admin" })).await;
        let (_, limited) =
            token(&service, Some(&admin), json!({ "name": "a", "role": "api", "stores": ["a"] })).await;
        let about_something = |one: &&Operation| {
            one.access.is_none() && (one.path.contains("{id}") || one.path.contains("{exec}"))
        };
        for (number, operation) in operations.iter().filter(about_something).enumerate() {
            let named = format!("{} {}", operation.method, operation.path);
            let scene = Scene { service: &service, admin: &admin, store: "b", name: format!("n{number}") };
            let (path, body) = scene.good(operation, &admin).await;
            let mut foreign = Value::Null;
            for token in [&admin, &limited] {
                let answer = as_who(&service, token, operation.method.clone(), &path, body.clone()).await;
                // An execution is proved by its lease's token: one of elsewhere is answered as one that never was.
                let no = match operation.path.contains("{exec}") {
                    true => answer.no(409, "LEASE_LOST"),
                    false => answer.no(404, "NOT_FOUND"),
                };
                foreign = no["detail"].clone();
            }
            // Whoever asks where it is finds it: the no was about the store, and about nothing else.
            let there = format!("{path}?store=b");
            let answer = as_who(&service, &admin, operation.method.clone(), &there, body).await;
            let is_not_yet = NOT_YET.contains(&operation.path.as_str()) && operation.method == Method::GET;
            match is_not_yet {
                true => assert_ne!(answer.no(404, "NOT_FOUND")["detail"], foreign, "{named}"),
                false => assert!(
                    answer.status != 404 && !answer.text.contains("LEASE_LOST"),
                    "{named}: {}",
                    answer.text
                ),
            }
        }
    });
}

#[test]
fn every_route_documents_its_problems() {
    let document = serde_json::to_value(document()).unwrap();
    assert!(document["openapi"].as_str().unwrap().starts_with("3.1"));
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let responses = operation["responses"].as_object().unwrap();
            let named = format!("{method} {path}");
            assert!(responses.contains_key("default"), "{named}");
            assert_eq!(responses.contains_key("401"), operation["x-access"] != "open", "{named}");
            assert_eq!(responses.contains_key("401"), operation["security"].is_array(), "{named}");
            assert!(operation["x-access"] != "admin" || responses.contains_key("403"), "{named}");
            let takes_an_id = ["{id}", "{kind}", "{name}"].iter().any(|part| path.contains(part));
            assert!(!takes_an_id || responses.contains_key("404"), "{named} takes an id and has no 404");
            for (status, response) in responses.iter().filter(|(status, _)| !status.starts_with('2')) {
                assert!(!response["description"].as_str().unwrap().is_empty(), "{named} {status}");
                let content = &response["content"]["application/problem+json"]["schema"];
                assert_eq!(content["$ref"], "#/components/schemas/ProblemDocument", "{named} {status}");
            }
        }
    }
}

/// The surface as it is. `TENURE_UPDATE=1` writes it anew; look at the difference before you keep it.
#[test]
fn the_surface_is_as_it_was() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/http/openapi.json");
    let now = format!("{}\n", document().to_pretty_json().unwrap());
    if std::env::var_os("TENURE_UPDATE").is_some_and(|update| !update.is_empty()) {
        std::fs::write(file, &now).unwrap();
    }
    let kept = std::fs::read_to_string(file).unwrap();
    assert!(kept == now, "the surface has changed: run with TENURE_UPDATE=1 and look at the difference");
}
