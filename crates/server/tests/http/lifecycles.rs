//! Lifecycles: shown, drawn, and put in force.

use axum::http::Method;
use serde_json::{Value, json};

use crate::kit::{as_who, on_each, token};

const EXPENSE: &str = "# expense

An expense that somebody approves.

## States

| State    | Phase     | Meaning  |
|----------|-----------|----------|
| FILED    | waiting   | filed    |
| APPROVED | succeeded | paid out |

## Transitions

| From  | Event   | To       | Actor |
|-------|---------|----------|-------|
| —     | create  | FILED    | api   |
| FILED | approve | APPROVED | human |
";

#[test]
fn a_lifecycle_is_shown_as_its_author_wrote_it_and_as_a_table() {
    on_each(async |service| {
        let list = service.get("/v1/lifecycles").await.yes(200);
        let kinds: Vec<&str> =
            list["items"].as_array().unwrap().iter().map(|one| one["kind"].as_str().unwrap()).collect();
        assert!(kinds.is_sorted() && kinds.contains(&"job") && kinds.contains(&"ticket"), "{kinds:?}");
        let job = service.get("/v1/lifecycles/job").await.yes(200);
        assert!(job["source"].as_str().unwrap().starts_with("# job\n"));
        assert_eq!(job["settings"]["attempts"], "5");
        let state = |name: &str| {
            let states = job["states"].as_array().unwrap();
            states.iter().find(|state| state["name"] == name).unwrap().clone()
        };
        assert_eq!(
            (&state("PENDING")["phase"], &state("PENDING")["final"]),
            (&json!("ready"), &json!(false))
        );
        assert_eq!(state("SUCCEEDED")["final"], true);
        let transitions = job["transitions"].as_array().unwrap();
        let find = |event: &str| transitions.iter().find(|row| row["event"] == event).unwrap();
        assert_eq!((&find("create")["from"], &find("create")["to"]), (&Value::Null, &json!("PENDING")));
        assert_eq!(
            (&find("fail")["actors"], &find("fail")["guards"]),
            (&json!(["worker"]), &json!(["permanent"]))
        );
        assert_eq!(find("finish")["effects"], json!(["record any", "create any", "message any"]));
        let line = find("lease")["line"].as_u64().unwrap() as usize;
        assert!(job["source"].as_str().unwrap().lines().nth(line - 1).unwrap().contains("| lease"));
        let claim = service.get("/v1/lifecycles/claim").await.yes(200);
        assert!(claim["transitions"].to_string().contains("ALREADY_DECOMPOSED"));

        let picture = service.get("/v1/lifecycles/job/diagram.svg").await;
        assert_eq!(picture.headers["content-type"], "image/svg+xml");
        assert!(picture.text.contains("<svg") && picture.text.contains("PENDING"));
        for nothing in
            ["/v1/lifecycles/nonsense", "/v1/lifecycles/n%20o", "/v1/lifecycles/nonsense/diagram.svg"]
        {
            service.get(nothing).await.no(404, "NOT_FOUND");
        }
    });
}

// covers: K-01
#[test]
fn a_lifecycle_that_is_put_in_force_is_obeyed() {
    on_each(async |service| {
        let mut call = service
            .call(Method::POST, "/v1/lifecycles")
            .header("content-type", "text/markdown; charset=utf-8");
        call.body = EXPENSE.to_string();
        let added = service.send(call).await.yes(201);
        assert_eq!((&added["kind"], &added["source"]), (&json!("expense"), &json!(EXPENSE)));
        let expense =
            service.post("/v1/items", json!({ "kind": "expense", "payload": { "euro": 12 } })).await.yes(201);
        let path = format!("/v1/items/{}/approve", expense["id"].as_str().unwrap());
        let worker = service.call(Method::POST, &path).header("tenure-actor", "api:a").json(&json!({}));
        service.send(worker).await.no(403, "FORBIDDEN");
        let human = service.call(Method::POST, &path).header("tenure-actor", "human:ann").json(&json!({}));
        assert_eq!(service.send(human).await.yes(200)["state"], "APPROVED");
        // JSON does as well, and the same again is the same version.
        let again = service.post("/v1/lifecycles", json!({ "source": EXPENSE })).await.yes(200);
        assert_eq!(again["hash"], added["hash"]);
    });
}

#[test]
fn faults_are_told_with_their_lines_and_nothing_is_in_force() {
    on_each(async |service| {
        let bad = EXPENSE.replace("| FILED | approve |", "| FILLED | approve |");
        let no = service.post("/v1/lifecycles", json!({ "source": bad })).await.no(422, "SCHEMA_VIOLATION");
        let line = EXPENSE.lines().position(|line| line.starts_with("| FILED | approve")).unwrap() + 1;
        assert_eq!(no["faults"][0]["line"], line);
        assert!(no["faults"][0]["what"].as_str().unwrap().contains("FILLED"), "{no}");
        service.get("/v1/lifecycles/expense").await.no(404, "NOT_FOUND");
        let token_file = EXPENSE.replace("# expense", "# token");
        service.post("/v1/lifecycles", json!({ "source": token_file })).await.no(400, "INVALID_REQUEST");
        service.post("/v1/lifecycles", json!({ "sauce": EXPENSE })).await.no(400, "INVALID_REQUEST");

        let (_, admin) = token(&service, None, json!({ "name": "root", "role": "admin" })).await;
        let limited = json!({ "name": "l", "role": "admin", "stores": ["default"] });
        let (_, limited) = token(&service, Some(&admin), limited).await;
        let (_, api) =
            token(&service, Some(&admin), json!({ "name": "a", "role": "api", "kinds": ["job"] })).await;
        for who in [&limited, &api] {
            as_who(&service, who, Method::POST, "/v1/lifecycles", json!({ "source": EXPENSE }))
                .await
                .no(403, "FORBIDDEN");
        }
        // Kinds that a token is not for are not there.
        let list = as_who(&service, &api, Method::GET, "/v1/lifecycles", Value::Null).await.yes(200);
        assert_eq!(list["items"].as_array().unwrap().len(), 1);
        as_who(&service, &api, Method::GET, "/v1/lifecycles/run", Value::Null).await.no(404, "NOT_FOUND");
    });
}

#[test]
fn a_table_that_is_not_sound_is_put_in_force_with_warnings() {
    on_each(async |service| {
        let stuck = "# parcel\n\n## States\n\n| State | Phase | Meaning |\n|---|---|---|\n| NEW | ready | a |\n| OUT | active | b |\n| IN | succeeded | c |\n\n## Transitions\n\n| From | Event | To | Actor |\n|---|---|---|---|\n| — | create | NEW | api |\n| NEW | lease | OUT | worker |\n| OUT | commit | IN | worker |\n";
        let added = service.post("/v1/lifecycles", json!({ "source": stuck })).await.yes(201);
        let warning = &added["warnings"][0];
        assert_eq!((&added["kind"], &warning["line"]), (&json!("parcel"), &json!(8)), "{added}");
        assert!(warning["what"].as_str().is_some_and(|what| what.contains("`expire`")), "{added}");
        let sound = stuck.replace("| OUT | commit", "| OUT | expire | NEW | system |\n| OUT | commit");
        let added = service.post("/v1/lifecycles", json!({ "source": sound })).await.yes(201);
        assert_eq!(added["warnings"], json!([]), "{added}");
    });
}
