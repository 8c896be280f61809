//! Tasks and sessions over HTTP.

use axum::http::Method;
use serde_json::{Value, json};

use crate::kit::{Answer, Service, on_each, token};

/// Somebody who works in a session, on a branch of their own.
pub struct Agent<'a> {
    pub service: &'a Service,
    token: Option<String>,
    pub session: String,
    pub session_id: String,
}

impl<'a> Agent<'a> {
    /// Without a token, as whoever the service takes them for.
    pub async fn of(service: &'a Service, token: Option<&str>) -> Agent<'a> {
        let mut agent = Agent {
            service,
            token: token.map(str::to_string),
            session: String::new(),
            session_id: String::new(),
        };
        let made = agent.post("/v1/sessions", json!({ "workspace": "/w" })).await.yes(201);
        agent.session = made["session"].as_str().unwrap().to_string();
        agent.session_id = made["session_id"].as_str().unwrap().to_string();
        agent
    }

    pub fn workspace(&self) -> Value {
        json!({ "branch": "todo/1", "commit": "c0ffee", "tree": "7ree" })
    }

    async fn call(&self, method: Method, path: &str, body: Option<&Value>) -> Answer {
        let mut call = self.service.call(method, path);
        if let Some(token) = &self.token {
            call = call.token(token);
        }
        if let Some(body) = body {
            call = call.json(body);
        }
        self.service.send(call).await
    }

    pub async fn post(&self, path: &str, body: Value) -> Answer {
        self.call(Method::POST, path, Some(&body)).await
    }

    pub async fn get(&self, path: &str) -> Value {
        self.call(Method::GET, path, None).await.yes(200)
    }

    /// Does something to a task, in the session and from the workspace.
    pub async fn does(&self, id: &str, what: &str, more: Value) -> Answer {
        let mut body = json!({ "session": self.session, "workspace": self.workspace() });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        self.post(&format!("/v1/todos/{id}/{what}"), body).await
    }
}

pub async fn added(agent: &Agent<'_>, body: Value) -> String {
    let made = agent.post("/v1/todos", body).await.yes(201);
    made["todo_id"].as_str().unwrap().to_string()
}

pub async fn claimed(agent: &Agent<'_>, body: Value) -> String {
    let id = added(agent, body).await;
    agent.does(&id, "claim", json!({})).await.yes(200);
    id
}

pub fn results(of: &[(&str, bool)]) -> Value {
    let result = |(gate, passed): &(&str, bool)| {
        let runs = ["cmd:", "test:", "build:"].iter().any(|sort| gate.contains(sort));
        let exit = runs.then_some(i32::from(!passed));
        json!({ "gate": gate, "exit": exit, "output_sha256": "0".repeat(64), "passed": passed })
    };
    of.iter().map(result).collect()
}

pub async fn proved(agent: &Agent<'_>, id: &str, of: &[(&str, bool)]) -> Answer {
    agent.does(id, "done", json!({ "results": results(of) })).await
}

// covers: T-02, T-10, T-14
#[test]
fn another_learns_who_holds_a_task_and_until_when() {
    on_each(async |service| {
        let (_, admin) = token(&service, None, json!({ "name": "root", "role": "admin" })).await;
        let (one, first) = token(&service, Some(&admin), json!({ "name": "a", "role": "worker" })).await;
        let (_, second) = token(&service, Some(&admin), json!({ "name": "b", "role": "worker" })).await;
        let (first, second) =
            (Agent::of(&service, Some(&first)).await, Agent::of(&service, Some(&second)).await);
        let id = claimed(&first, json!({ "title": "Paint it" })).await;
        let held = first.get(&format!("/v1/todos/{id}")).await;
        assert_eq!(
            (held["state"].as_str(), held["owner_id"].as_str()),
            (Some("Claimed"), Some(one.as_str()))
        );
        let no = second.does(&id, "claim", json!({})).await.no(409, "CLAIM_CONFLICT");
        assert!(no["owner_id"].as_str().unwrap().starts_with(&one), "{no}");
        assert_eq!(no["lease_expires_at"], held["claimed_until"], "{no}");
        second.does(&id, "release", json!({})).await.no(409, "CLAIM_CONFLICT");
        proved(&second, &id, &[("validate", true)]).await.no(409, "CLAIM_CONFLICT");
        // A session is whose it is, also when its proof has leaked.
        let stolen = Agent { session: first.session.clone(), ..second };
        stolen.does(&id, "release", json!({})).await.no(401, "SESSION_REQUIRED");
    });
}

// covers: T-10, T-08, T-14
#[test]
fn a_session_is_proved_and_never_replaced() {
    on_each(async |service| {
        let agent = Agent::of(&service, None).await;
        let again = agent.post("/v1/sessions", json!({ "session": agent.session })).await.yes(200);
        assert_eq!(again["session_id"], agent.session_id.as_str());
        for wrong in ["", "x", &agent.session[1..], &agent.session.replace('.', ":")] {
            agent.post("/v1/sessions", json!({ "session": wrong })).await.no(401, "SESSION_REQUIRED");
        }
        let mut forged = agent.session.clone();
        let last = if forged.pop() == Some('0') { '1' } else { '0' };
        forged.push(last);
        agent.post("/v1/sessions", json!({ "session": forged })).await.no(401, "SESSION_REQUIRED");
        let id = added(&agent, json!({ "title": "x" })).await;
        agent
            .post(&format!("/v1/todos/{id}/claim"), json!({ "workspace": agent.workspace() }))
            .await
            .no(401, "SESSION_REQUIRED");
        let elsewhere = agent.post("/v1/todos?store=b", json!({ "title": "x" })).await.yes(201);
        let path = format!("/v1/todos/{}/claim?store=b", elsewhere["todo_id"].as_str().unwrap());
        let body = json!({ "session": agent.session, "workspace": agent.workspace() });
        agent.post(&path, body).await.no(409, "STORE_BOUNDARY_VIOLATION");
        let on = elsewhere["todo_id"].clone();
        let body = json!({ "title": "y", "depends": [on] });
        agent.post("/v1/todos", body).await.no(409, "STORE_BOUNDARY_VIOLATION");
        let path = format!("/v1/sessions/{}", agent.session_id);
        assert!(agent.get(&path).await["session"].is_null(), "its proof is shown once");
        agent.does(&id, "claim", json!({})).await.yes(200);
        assert_eq!(agent.call(Method::DELETE, &path, None).await.status, 204);
        agent.does(&id, "claim", json!({})).await.no(401, "SESSION_REQUIRED");
        assert_eq!(agent.get(&format!("/v1/todos/{id}")).await["state"], "Draft", "its claims have lapsed");
    });
}

// covers: T-06, T-07, T-14, T-16
#[test]
fn a_task_is_done_with_a_proof_and_every_change_has_its_receipt() {
    on_each(async |service| {
        let agent = Agent::of(&service, None).await;
        let id = added(&agent, json!({ "title": "x", "gates": ["cmd:make"] })).await;
        let no = agent.does(&id, "claim", json!({ "workspace": { "branch": "main" } })).await;
        let no = no.no(409, "WORKSPACE_REQUIRED");
        assert_eq!(no["fix"], format!("git switch -c todo/{id}"));
        let claimed = agent.does(&id, "claim", json!({})).await.yes(200);
        let no = agent.does(&id, "done", json!({})).await.no(409, "VERIFICATION_REQUIRED");
        assert_eq!(no["failing"], json!(["validate (has no result)", "cmd:make (has no result)"]));
        let passing = [("validate", true), ("cmd:make", true)];
        let body = json!({ "results": results(&passing), "proof_sha256": "0".repeat(64) });
        agent.does(&id, "done", body).await.no(409, "VERIFICATION_REQUIRED");
        let done = proved(&agent, &id, &passing).await.yes(200);
        assert_eq!(done["state"], "Verified");
        let again = proved(&agent, &id, &passing).await.yes(200);
        assert_eq!((&again["receipt"], &again["version"]), (&done["receipt"], &done["version"]), "a no-op");
        let log = agent.get(&format!("/v1/items/{id}/log")).await;
        let hashes: Vec<&Value> =
            log["items"].as_array().unwrap().iter().map(|entry| &entry["hash"]).collect();
        for receipt in [&claimed["receipt"], &done["receipt"]] {
            assert!(hashes.contains(&receipt), "{receipt} in {hashes:?}");
        }
        let receipt = agent.get(&format!("/v1/todos/{id}/receipt")).await;
        assert_eq!((&receipt["sha256"], &receipt["entry_sha256"]), (&done["proof_sha256"], &done["receipt"]));
    });
}

// covers: T-15
#[test]
fn the_list_is_validated_over_the_wire() {
    on_each(async |service| {
        let agent = Agent::of(&service, None).await;
        let id = added(&agent, json!({ "title": "x" })).await;
        let look = async |more: Value| {
            let mut body = json!({ "all": true, "workspace": agent.workspace() });
            body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            agent.post("/v1/todos/validate", body).await
        };
        let sound = look(json!({})).await.yes(200);
        assert_eq!((&sound["passed"], &sound["looked_at"]), (&json!(true), &json!(1)));
        assert_eq!(
            look(json!({ "except": id })).await.yes(200)["looked_at"],
            0,
            "what is decided is left out"
        );
        let found = look(json!({ "workspace": { "branch": "main" } })).await.yes(200);
        assert_eq!((&found["passed"], &found["checks"][0]["passed"]), (&json!(false), &json!(false)));
        for wrong in [0, 999, 120_001] {
            look(json!({ "limit_ms": wrong })).await.no(400, "INVALID_REQUEST");
        }
    });
}

// covers: T-04, T-14
#[test]
fn a_person_answers_for_a_task_in_the_inbox_and_nobody_else_does() {
    on_each(async |service| {
        let (_, admin) = token(&service, None, json!({ "name": "root", "role": "admin" })).await;
        let (_, worker) = token(&service, Some(&admin), json!({ "name": "a", "role": "worker" })).await;
        let (eva, person) = token(&service, Some(&admin), json!({ "name": "eva", "role": "human" })).await;
        let jobs = json!({ "name": "j", "role": "human", "kinds": ["job"] });
        let (_, limited) = token(&service, Some(&admin), jobs).await;
        let agent = Agent::of(&service, Some(&worker)).await;
        let gate = "human:is it kind?";
        let id = claimed(&agent, json!({ "title": "Write it", "gates": [gate] })).await;
        let asks = async |token: &str, word: &str, body: Value| {
            let call = service.call(Method::POST, &format!("/v1/inbox/{id}/{word}")).token(token);
            service.send(call.json(&body)).await
        };
        let look = async |token: &str| {
            service.send(service.call(Method::GET, "/v1/inbox").token(token)).await.yes(200)
        };
        let waiting = look(&person).await;
        assert_eq!((&waiting["items"][0]["id"], &waiting["items"][0]["kind"]), (&json!(id), &json!("todo")));
        assert_eq!(look(&limited).await["items"], json!([]), "a token for jobs sees no task");
        asks(&limited, "approve", json!({})).await.no(404, "NOT_FOUND");
        asks(&worker, "approve", json!({})).await.no(403, "FORBIDDEN");
        asks(&person, "reject", json!({})).await.no(400, "INVALID_REQUEST");
        let no = asks(&person, "reject", json!({ "note": "too harsh", "gate": gate })).await.yes(200);
        assert!(no["question"].as_str().unwrap().contains("said no: too harsh"), "{no}");
        let done = proved(&agent, &id, &[("validate", true), (gate, false)]).await;
        let done = done.no(409, "VERIFICATION_REQUIRED");
        assert!(done["failing"][0].as_str().unwrap().contains("too harsh"), "{done}");
        // Whoever speaks in a session speaks as its agent, also with another's words.
        asks(&worker, "approve", json!({ "session": agent.session })).await.no(403, "FORBIDDEN");
        asks(&person, "approve", json!({ "session": "nonsense" })).await.no(401, "SESSION_REQUIRED");
        asks(&person, "approve", json!({ "note": "now it is" })).await.yes(200);
        let shown = agent.get(&format!("/v1/todos/{id}")).await;
        let said: Vec<_> =
            shown["attestations"].as_array().unwrap().iter().map(|one| &one["approved"]).collect();
        assert_eq!(said, [&json!(false), &json!(true)]);
        assert_eq!(shown["attestations"][1]["by"], format!("human:{eva}"));
        proved(&agent, &id, &[("validate", true), (gate, true)]).await.yes(200);
        assert_eq!(look(&person).await["items"], json!([]));
        asks(&person, "reject", json!({ "note": "late", "gate": gate })).await.no(409, "TRANSITION_REFUSED");
    });
}
