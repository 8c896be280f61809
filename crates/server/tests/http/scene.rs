//! Something of every kind, and a request about it that could succeed: what a route is asked for who may not ask.

use axum::http::Method;
use serde_json::{Value, json};
use tenure::New;
use tenure::core::actor::Actor;

use crate::access::Operation;
use crate::kit::{Service, as_who};

/// Whoever makes things in one store: an administrator, who may do nearly everything.
pub struct Scene<'a> {
    pub service: &'a Service,
    pub admin: &'a str,
    pub store: &'a str,
    /// Names of what is made here differ.
    pub name: String,
}

impl Scene<'_> {
    async fn ask(&self, method: Method, path: &str, body: Value) -> Value {
        let joint = if path.contains('?') { '&' } else { '?' };
        let path = format!("{path}{joint}store={}", self.store);
        let answer = as_who(self.service, self.admin, method, &path, body).await;
        assert!(answer.status.is_success(), "{path}: {}", answer.text);
        if answer.text.is_empty() { Value::Null } else { answer.json() }
    }

    async fn made(&self, path: &str, body: Value, id: &str) -> String {
        let made = self.ask(Method::POST, path, body).await;
        made[id].as_str().unwrap_or_else(|| panic!("{path}: {made}")).to_string()
    }

    async fn job(&self) -> String {
        self.made("/v1/jobs", json!({ "payload": 1 }), "id").await
    }

    async fn claim(&self) -> String {
        let body = json!({ "domain": "general", "text": "The lamp is red.", "idempotency_key": self.name });
        self.made("/v0.1/claims", body, "claim_id").await
    }

    /// A claim that is held, and what proves that.
    async fn held_claim(&self, token: &str) -> (String, Value) {
        let claim = self.claim().await;
        self.ask(Method::POST, &format!("/v0.1/claims/{claim}/enqueue-decomposition"), json!({})).await;
        let lease = self.lease(token, "claim", &claim).await;
        (claim, lease["lease_token"].clone())
    }

    async fn truthbit(&self) -> (String, String) {
        let (claim, lease_token) = self.held_claim(self.admin).await;
        let body = json!({ "lease_token": lease_token });
        self.ask(Method::POST, &format!("/v0.1/claims/{claim}/decompose"), body).await;
        let bits = self.ask(Method::GET, &format!("/v0.1/claims/{claim}/truthbits"), Value::Null).await;
        (claim, bits["items"][0]["id"].as_str().unwrap().to_string())
    }

    async fn validation(&self) -> String {
        let (_, bit) = self.truthbit().await;
        self.made(&format!("/v0.1/truthbits/{bit}/validations"), json!({}), "id").await
    }

    async fn document(&self) -> (String, String) {
        let made = self.ask(Method::POST, "/v1/documents", json!("a text")).await;
        let id = |field: &str| made[field].as_str().unwrap().to_string();
        (id("document_id"), id("run_id"))
    }

    async fn todo(&self) -> String {
        self.made("/v1/todos", json!({ "title": "sweep", "gates": ["human:look"] }), "todo_id").await
    }

    async fn ticket(&self) -> String {
        self.made("/v1/tickets", json!({ "title": "a lamp" }), "ticket_id").await
    }

    /// One whose ticket is not there: nobody plans here.
    async fn order(&self) -> String {
        let system: Actor = "system:scheduler".parse().unwrap();
        let planned = json!({ "event_id": self.name, "ticket_id": self.ticket().await, "number": 1 });
        let tenure = self.service.tenure.acting(self.store.parse().unwrap(), system);
        tenure.create(New::of("work_order", &planned)).await.unwrap().id.to_string()
    }

    /// A lease of this item for who shows the token, or the administrator's where they may not have one.
    async fn lease(&self, token: &str, kind: &str, item: &str) -> Value {
        let body = json!({ "kinds": [kind], "worker": "w", "items": [item], "start": true });
        let path = format!("/v1/leases?store={}", self.store);
        for token in [token, self.admin] {
            let answer = as_who(self.service, token, Method::POST, &path, body.clone()).await;
            if answer.status == 200 {
                return answer.json()["leases"][0].clone();
            }
        }
        panic!("an administrator may lease a {kind}");
    }

    /// A path about something that is there, and a body that is good; of what is done under a lease, as who shows this token.
    pub async fn good(&self, operation: &Operation, token: &str) -> (String, Value) {
        let path = operation.path.as_str();
        if path.contains("{exec}") {
            let lease = self.lease(token, "job", &self.job().await).await;
            let path = path.replace("{exec}", lease["execution"].as_str().unwrap());
            let mut body = json!({ "lease_token": lease["lease_token"] });
            if path.ends_with("/fail") {
                body["reason"] = json!("r");
            }
            if path.ends_with("/progress") {
                body["records"] = json!([{ "label": "note", "name": "1", "body": 1 }]);
            }
            return (path, body);
        }
        let id = match path {
            _ if !path.contains("{id}") => String::new(),
            _ if path.starts_with("/v1/items") || path.starts_with("/v1/jobs") => {
                let job = self.job().await;
                if path.ends_with("/retry") || path.ends_with("/body") {
                    self.ask(Method::POST, &format!("/v1/jobs/{job}/cancel"), json!({ "reason": "r" })).await;
                }
                job
            }
            "/v0.1/claims/{id}/decompose" => {
                let (claim, lease_token) = self.held_claim(token).await;
                return (path.replace("{id}", &claim), json!({ "lease_token": lease_token }));
            }
            "/v0.1/claims/{id}/validations" if operation.method == Method::POST => {
                let (claim, bit) = self.truthbit().await;
                return (path.replace("{id}", &claim), json!({ "truthbit_id": bit }));
            }
            "/v0.1/claims/{id}/compute-verdict" => self.truthbit().await.0,
            _ if path.starts_with("/v0.1/claims") => self.claim().await,
            _ if path.starts_with("/v0.1/truthbits") => self.truthbit().await.1,
            _ if path.starts_with("/v0.1/validations") => self.validation().await,
            _ if path.starts_with("/v1/documents") => self.document().await.0,
            _ if path.starts_with("/v1/runs") => self.document().await.1,
            _ if path.starts_with("/v1/sessions") => self.made("/v1/sessions", json!({}), "session_id").await,
            _ if path.starts_with("/v1/todos") => self.todo().await,
            "/v1/tickets/{id}/block" | "/v1/tickets/{id}/resolve" => {
                let ticket = self.ticket().await;
                self.ask(Method::POST, &format!("/v1/tickets/{ticket}/approve"), json!({})).await;
                if path.ends_with("/resolve") {
                    let blocked = json!({ "reason": "no paint" });
                    self.ask(Method::POST, &format!("/v1/tickets/{ticket}/block"), blocked).await;
                }
                ticket
            }
            _ if path.starts_with("/v1/tickets") || path.starts_with("/v1/inbox") => self.ticket().await,
            _ if path.starts_with("/v1/work-orders") => self.order().await,
            _ if path.starts_with("/v1/tokens") => {
                let body = json!({ "name": self.name, "role": "api" });
                let made = as_who(self.service, self.admin, Method::POST, "/v1/tokens", body).await;
                made.yes(201)["id"].as_str().unwrap().to_string()
            }
            other => panic!("{other} is about something: say here what it is about"),
        };
        let body = match (operation.method.as_str(), path) {
            ("GET" | "DELETE", _) => Value::Null,
            (_, "/v1/items") => json!({ "kind": "job", "payload": 1 }),
            (_, "/v1/jobs") => json!({ "payload": 1 }),
            (_, "/v1/items/bulk/{event}") => json!({ "filter": {}, "reason": "r", "dry_run": true }),
            (_, "/v1/leases") => json!({ "kinds": ["job"], "worker": "w" }),
            (_, "/v1/leases/renew") => json!({ "leases": [{ "execution": "x", "lease_token": "t" }] }),
            (_, "/v1/executions/commit") => json!({ "commits": [{ "execution": "x", "lease_token": "t" }] }),
            (_, "/v0.1/claims") => {
                json!({ "domain": "general", "text": "The lamp is red.", "idempotency_key": self.name })
            }
            (_, "/v0.1/evidence") => json!({ "type": "primary_artifact", "uri": "https://example.org",
                "captured_at": "2026-01-01T00:00:00Z" }),
            (_, "/v0.1/validations/{id}/submit") => json!({ "outcome": "supports", "confidence": 0.5 }),
            (_, "/v1/todos") => json!({ "title": "sweep" }),
            (_, "/v1/todos/{id}/plan") => json!({ "gates": ["human:look twice"] }),
            (_, "/v1/todos/{id}/depend") => json!({ "add": [] }),
            (_, "/v1/tickets") => json!({ "title": "a lamp" }),
            (_, "/v1/lifecycles") => {
                let job = include_str!("../../../../lifecycles/job.md");
                json!({ "source": job.replace("# job", &format!("# k{}", self.name.replace('-', ""))) })
            }
            (_, "/v1/limits") => json!({ "kind": "job", "concurrency": 1000, "reason": "r" }),
            (_, "/v1/tokens") => json!({ "name": "n", "role": "api" }),
            (_, "/v1/schedules") => {
                json!({ "name": self.name, "times": "0 3 * * *", "creates": { "kind": "job", "payload": 1 } })
            }
            (_, "/v1/webhooks") => {
                json!({ "name": self.name, "url": "https://example.org/in", "secrets": ["env:S"] })
            }
            (
                _,
                "/v1/items/{id}/{event}"
                | "/v1/jobs/{id}/cancel"
                | "/v1/tickets/{id}/block"
                | "/v1/todos/{id}/abandon",
            ) => {
                json!({ "reason": "r" })
            }
            (_, "/v0.1/validations/{id}/invalidate") => json!({ "reason": "r" }),
            (_, "/v1/inbox/{id}/reject") => json!({ "note": "r" }),
            (_, "/v1/work-orders/{id}/output") => {
                let lease = self.lease(token, "work_order", &id).await;
                json!({ "execution": lease["execution"], "lease_token": lease["lease_token"],
                    "output_bundle": { "work_order_id": id, "ticket_id": id, "outcome": "COMPLETED",
                        "budget_ms": 1000, "took_ms": 5, "output": "painted" } })
            }
            _ => json!({}),
        };
        let mut body = body;
        let in_session = ["/next", "/claim", "/release", "/done", "/abandon", "/depend"];
        if path.starts_with("/v1/todos/") && in_session.iter().any(|end| path.ends_with(end)) {
            body["workspace"] = json!({ "branch": "work", "commit": "c", "tree": "t" });
            let begun = format!("/v1/sessions?store={}", self.store);
            let begun = as_who(self.service, token, Method::POST, &begun, json!({})).await;
            // Who may have no session is told that one is needed.
            if begun.status == 201 {
                body["session"] = begun.json()["session"].clone();
            }
        }
        let path = path.replace("{id}", &id).replace("{event}", "cancel").replace("{kind}", "job");
        (path.replace("{name}", "nobody"), body)
    }
}
