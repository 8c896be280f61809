//! Every method for every sort of caller: who REST lets in, and nobody else.

use prost_reflect::Kind;
use serde_json::{Map, Value, json};
use tenure_server::{document, methods};

use super::caller::{Caller, Way, every_method, method};
use super::surface::path_of;
use crate::access::{Callers, job};
use crate::kit::{on_each, token};

/// A message about this item: as much as names what is asked for.
fn about(name: &str, item: &str) -> Value {
    let row = methods().iter().find(|method| method.name == name).unwrap();
    let mut message = Map::new();
    for field in method(name).input().fields() {
        let value = match field.name() {
            "id" | "claim_id" | "truthbit_id" | "validation_id" => item.to_string(),
            "execution" => format!("{item}-1"),
            "event" => "cancel".to_string(),
            "kind" => "job".to_string(),
            "name" => "nobody".to_string(),
            _ => continue,
        };
        if row.path.contains(&format!("{{{}}}", field.name())) {
            assert_eq!(field.kind(), Kind::String);
            message.insert(field.name().to_string(), json!(value));
        }
    }
    Value::Object(message)
}

fn access(name: &str) -> Option<String> {
    let row = methods().iter().find(|method| method.name == name).unwrap();
    let document = serde_json::to_value(document()).unwrap();
    let (path, _) = path_of(row.path);
    let operation = &document["paths"][path.as_str()][row.verb.as_str().to_lowercase()];
    assert!(operation.is_object(), "{name}");
    operation["x-access"].as_str().map(str::to_string)
}

// covers: K-07
#[test]
fn every_method_lets_in_whom_rest_lets_in() {
    on_each(async |service| {
        let Callers { admin, good, revoked } = Callers::of(&service).await;
        for (name, _) in every_method() {
            let item = job(&service, &admin, "default").await;
            for token in [None, Some(revoked.as_str())] {
                // Who is not known is told nothing else, whatever they send.
                for (way, message) in [(Way::Grpc, about(&name, &item)), (Way::ConnectJson, json!({}))] {
                    let no = Caller { service: &service, way, token }.no(&name, message).await;
                    no.is("unauthenticated", "UNAUTHENTICATED");
                }
            }
            let is_admins = access(&name).as_deref() == Some("admin");
            for (role, token) in &good {
                let item = job(&service, &admin, "default").await;
                let caller = Caller { service: &service, way: Way::ConnectJson, token: Some(token) };
                let called = caller.call(&name, about(&name, &item)).await;
                let code = called.as_ref().err().map(|no| no.code.as_str());
                assert!(
                    !matches!(code, Some("unauthenticated" | "internal" | "unknown")),
                    "{name} as {role}: {called:?}"
                );
                if is_admins && *role != "admin" {
                    called.unwrap_err().is("permission_denied", "FORBIDDEN");
                } else if code == Some("permission_denied") {
                    // Nothing but an item's own table says no to a good token.
                    let no = called.unwrap_err();
                    let problem = no.is("permission_denied", "FORBIDDEN");
                    assert!(
                        problem["document_json"].as_str().unwrap().contains("\"roles\""),
                        "{name}: {problem}"
                    );
                }
            }
        }
    });
}

#[test]
fn what_is_in_another_store_is_not_there_for_rpc_either() {
    on_each(async |service| {
        let (_, admin) = token(&service, None, json!({ "name": "root", "role": "admin" })).await;
        let (_, limited) =
            token(&service, Some(&admin), json!({ "name": "a", "role": "api", "stores": ["a"] })).await;
        let foreign = job(&service, &admin, "b").await;
        let caller = |token| Caller { service: &service, way: Way::ConnectBinary, token: Some(token) };
        for name in ["ItemService/Get", "JobService/Get", "ItemService/Explain", "ItemService/GetReceipt"] {
            caller(&admin).no(name, json!({ "id": foreign })).await.is("not_found", "NOT_FOUND");
            caller(&limited).no(name, json!({ "id": foreign })).await.is("not_found", "NOT_FOUND");
            let there = json!({ "id": foreign, "store": "b" });
            caller(&limited).no(name, there.clone()).await.is("permission_denied", "FORBIDDEN");
            caller(&admin).yes(name, there).await;
        }
        let new = json!({ "kind": "job", "payload_json": "1", "store": "b" });
        caller(&limited).no("ItemService/Create", new.clone()).await.is("permission_denied", "FORBIDDEN");
        assert_eq!(caller(&admin).yes("ItemService/Create", new).await["store"], "b");
        let many = json!({ "items": [{ "kind": "job", "payload_json": "1" }], "store": "b" });
        assert_eq!(
            caller(&admin).yes("ItemService/CreateMany", many).await["items"][0]["item"]["store"],
            "b"
        );
    });
}
