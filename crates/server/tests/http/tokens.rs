//! Tokens: roles, stores, kinds, expiry, revocation, and the door that closes when there is one.

use axum::http::Method;
use serde_json::{Value, json};

use crate::kit::{as_who, on_each, token};

// covers: K-07
#[test]
fn the_first_token_closes_the_door_and_roles_decide() {
    on_each(async |service| {
        service.get("/v1/items").await.yes(200);
        let (_, admin) = token(&service, None, json!({ "name": "root", "role": "admin" })).await;
        service.get("/v1/items").await.no(401, "UNAUTHENTICATED");
        let said = service.call(Method::GET, "/v1/items").header("tenure-actor", "admin:me");
        service.send(said).await.no(401, "UNAUTHENTICATED");
        for bad in ["", "x", "tnr_", &admin[..admin.len() - 1], &format!("{admin}0")] {
            as_who(&service, bad, Method::GET, "/v1/items", Value::Null).await.no(401, "UNAUTHENTICATED");
        }
        service.get("/health/live").await.yes(200);
        service.get("/health/ready").await.yes(200);
        let (id, worker) = token(&service, Some(&admin), json!({ "name": "w", "role": "worker" })).await;
        let job = json!({ "kind": "job", "payload": {} });
        as_who(&service, &admin, Method::POST, "/v1/items", job.clone()).await.yes(201);
        // The table says who may create a job and who may cancel one.
        let no = as_who(&service, &worker, Method::POST, "/v1/items", job).await.no(403, "FORBIDDEN");
        assert_eq!(no["event"], "create");
        as_who(&service, &worker, Method::GET, "/v1/tokens", Value::Null).await.no(403, "FORBIDDEN");
        let lease = json!({ "kinds": ["job"], "worker": "p1", "start": true });
        let leased = as_who(&service, &worker, Method::POST, "/v1/leases", lease).await.yes(200);
        let claims = as_who(&service, &worker, Method::GET, "/v1/leases", Value::Null).await.yes(200);
        assert_eq!(claims["items"][0]["owner_id"], format!("{id}/p1"));
        // The lease is this token's, whoever else may do everything.
        let commit = json!({ "lease_token": leased["leases"][0]["lease_token"] });
        let path = format!("/v1/executions/{}/commit", leased["leases"][0]["execution"].as_str().unwrap());
        as_who(&service, &admin, Method::POST, &path, commit.clone()).await.no(409, "LEASE_LOST");
        as_who(&service, &worker, Method::POST, &path, commit).await.yes(200);
    });
}

// covers: K-07
#[test]
fn a_token_is_for_its_stores_and_kinds_until_it_ends() {
    on_each(async |service| {
        let (_, admin) = token(&service, None, json!({ "name": "root", "role": "admin" })).await;
        let scope = json!({ "name": "a", "role": "api", "stores": ["a"], "kinds": ["job"] });
        let (id, api) = token(&service, Some(&admin), scope).await;
        let job = |store: &str| json!({ "kind": "job", "payload": {}, "store": store });
        let mine = as_who(&service, &api, Method::POST, "/v1/items", json!({ "kind": "job", "payload": {} }))
            .await
            .yes(201);
        assert_eq!(mine["store"], "a");
        as_who(&service, &api, Method::POST, "/v1/items", job("b")).await.no(403, "FORBIDDEN");
        as_who(&service, &api, Method::GET, "/v1/items?store=b", Value::Null).await.no(403, "FORBIDDEN");
        let run = json!({ "kind": "run", "payload": { "document_id": "d" } });
        as_who(&service, &api, Method::POST, "/v1/items", run).await.no(403, "FORBIDDEN");
        let other = as_who(&service, &admin, Method::POST, "/v1/items", job("b")).await.yes(201);
        let path = format!("/v1/items/{}", other["id"].as_str().unwrap());
        as_who(&service, &api, Method::GET, &path, Value::Null).await.no(404, "NOT_FOUND");
        as_who(&service, &admin, Method::GET, &format!("{path}?store=b"), Value::Null).await.yes(200);
        // The tokens themselves are nobody's to read as items.
        as_who(&service, &admin, Method::GET, "/v1/items?store=tenure", Value::Null)
            .await
            .no(403, "FORBIDDEN");
        let listed = as_who(&service, &admin, Method::GET, "/v1/tokens", Value::Null).await;
        assert!(!listed.text.contains("sha256") && !listed.text.contains(&api), "{}", listed.text);
        assert_eq!(listed.yes(200)["items"].as_array().unwrap().len(), 2);
        let revoke = format!("/v1/tokens/{id}");
        as_who(&service, &api, Method::DELETE, &revoke, Value::Null).await.no(403, "FORBIDDEN");
        as_who(&service, &admin, Method::DELETE, &revoke, Value::Null).await.yes(204);
        as_who(&service, &api, Method::GET, "/v1/items", Value::Null).await.no(401, "UNAUTHENTICATED");
        let past = json!({ "name": "past", "role": "api", "expires_at": "2020-01-01T00:00:00.000000Z" });
        let (_, past) = token(&service, Some(&admin), past).await;
        as_who(&service, &past, Method::GET, "/v1/items", Value::Null).await.no(401, "UNAUTHENTICATED");
        // Who is limited makes nobody who is not.
        let some = json!({ "name": "some", "role": "admin", "stores": ["a"] });
        let (_, some) = token(&service, Some(&admin), some).await;
        let all = json!({ "name": "all", "role": "admin" });
        as_who(&service, &some, Method::POST, "/v1/tokens", all).await.no(403, "FORBIDDEN");
        as_who(&service, &some, Method::GET, "/v1/tokens", Value::Null).await.no(403, "FORBIDDEN");
        let system = json!({ "name": "s", "role": "system" });
        as_who(&service, &admin, Method::POST, "/v1/tokens", system).await.no(400, "INVALID_REQUEST");
    });
}

#[test]
fn every_token_is_listed_page_after_page() {
    on_each(async |service| {
        let (id, admin) = token(&service, None, json!({ "name": "root", "role": "admin" })).await;
        let mut made = vec![id];
        for name in ["a", "b", "c", "d"] {
            made.push(token(&service, Some(&admin), json!({ "name": name, "role": "api" })).await.0);
        }
        let revoked = format!("/v1/tokens/{}", made[1]);
        as_who(&service, &admin, Method::DELETE, &revoked, Value::Null).await.yes(204);
        let (mut found, mut path) = (Vec::new(), "/v1/tokens?limit=2".to_string());
        loop {
            let page = as_who(&service, &admin, Method::GET, &path, Value::Null).await.yes(200);
            let items = page["items"].as_array().unwrap();
            assert!(items.len() <= 2);
            found.extend(items.iter().map(|one| one["id"].as_str().unwrap().to_string()));
            let Some(cursor) = page["next_cursor"].as_str() else { break };
            path = format!("/v1/tokens?limit=2&cursor={cursor}");
        }
        assert_eq!(found, made);
        for bad in ["limit=0", "limit=1001", "cursor=x", "kind=job"] {
            let path = format!("/v1/tokens?{bad}");
            as_who(&service, &admin, Method::GET, &path, Value::Null).await.no(400, "INVALID_REQUEST");
        }
    });
}
