//! A message for every method of tasks and sessions that it says yes to.

use axum::http::Method;
use serde_json::{Value, json};

use crate::kit::Service;
use crate::todos::{Agent, added, claimed, proved, results};

pub async fn example(service: &Service, admin: &str, name: &str) -> Value {
    let agent = Agent::of(service, Some(admin)).await;
    let by = json!({ "session": agent.session, "workspace": agent.workspace() });
    let with = |more: Value| {
        let mut message = by.clone();
        message.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        message
    };
    match name {
        "SessionService/Acquire" => json!({ "session": agent.session }),
        "SessionService/Get" | "SessionService/Release" => json!({ "id": agent.session_id }),
        "TodoService/Add" => {
            json!({ "title": "Add", "priority": 2, "tags": ["a"], "gates": ["advisory cmd:true"],
            "depends": [added(&agent, json!({ "title": "first" })).await] })
        }
        "TodoService/List" => json!({ "state": "Draft", "order": "newest", "limit": 1 }),
        "TodoService/Get" => json!({ "id": claimed(&agent, json!({ "title": "Get" })).await }),
        "TodoService/Next" => {
            added(&agent, json!({ "title": "Next" })).await;
            by
        }
        "TodoService/Claim" => with(json!({ "id": added(&agent, json!({ "title": "Claim" })).await })),
        "TodoService/Release" | "TodoService/Abandon" => {
            with(json!({ "id": claimed(&agent, json!({ "title": "Mine" })).await, "reason": "r" }))
        }
        "TodoService/Done" => {
            let id = claimed(&agent, json!({ "title": "Done", "gates": ["file_exists:a"] })).await;
            let artifacts = json!([{ "path": "a", "sha256": "0".repeat(64) }]);
            let more = json!({ "id": id, "results": results(&[("validate", true), ("file_exists:a", true)]),
                "artifacts": artifacts, "run_json": "{\"host\":\"h\"}" });
            with(more)
        }
        "TodoService/Depend" => {
            let on = added(&agent, json!({ "title": "first" })).await;
            with(json!({ "id": added(&agent, json!({ "title": "second" })).await, "add": [on] }))
        }
        "TodoService/Attest" => {
            let id = added(&agent, json!({ "title": "Attest", "gates": ["human:looks good"] })).await;
            json!({ "id": id, "note": "it does" })
        }
        "TodoService/Plan" => {
            json!({ "id": added(&agent, json!({ "title": "Plan" })).await, "gates": ["cmd:true"] })
        }
        "TodoService/GetReceipt" => {
            let id = claimed(&agent, json!({ "title": "Proved" })).await;
            proved(&agent, &id, &[("validate", true)]).await.yes(200);
            json!({ "id": id })
        }
        "TodoService/Validate" => json!({ "workspace": agent.workspace(), "all": true, "limit_ms": 60000 }),
        other => panic!("{other} has no example for {}", Method::POST),
    }
}
