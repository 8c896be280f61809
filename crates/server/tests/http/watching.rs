//! Workers, stats, receipts, metrics and the line that a request leaves.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use axum::http::Method;
use serde_json::{Value, json};
use tenure::Tenure;
use tenure::databases::verify;
use tenure_server::{Access, App, Form, Open};

use crate::kit::{as_who, on_each, served, served_app, token};

// covers: K-19
#[test]
fn workers_and_what_waits_are_counted() {
    on_each(async |service| {
        for number in 0..4 {
            service.post("/v1/jobs", json!({ "payload": number })).await.yes(201);
        }
        let later = json!({ "payload": 9, "run_at": "2199-01-01T00:00:00Z" });
        service.post("/v1/jobs", later).await.yes(201);
        service
            .post("/v1/items", json!({ "kind": "run", "payload": { "document_id": "d" }, "key": "d" }))
            .await
            .yes(201);
        let leases = json!({ "kinds": ["job"], "worker": "p1", "max": 2, "start": true });
        let leased = service.post("/v1/leases", leases).await.yes(200)["leases"].clone();
        let path = format!("/v1/executions/{}/fail", leased[0]["execution"].as_str().unwrap());
        let fail = json!({ "lease_token": leased[0]["lease_token"], "reason": "r", "retryable": false });
        service.post(&path, fail).await.yes(200);

        let workers = service.get("/v1/workers").await.yes(200);
        assert_eq!(workers["items"].as_array().unwrap().len(), 1);
        assert_eq!(
            (&workers["items"][0]["owner_id"], &workers["items"][0]["holds"]),
            (&json!("local/p1"), &json!(1))
        );
        assert_eq!(service.get("/v1/workers?kind=run").await.yes(200)["items"], json!([]));

        service.placed(9).await;
        let stats = service.get("/v1/stats").await.yes(200);
        let kind = |name: &str| {
            let kinds = stats["kinds"].as_array().unwrap();
            kinds.iter().find(|kind| kind["kind"] == name).unwrap().clone()
        };
        let job = kind("job");
        let counts: Vec<u64> = ["ready", "scheduled", "active", "failed", "stopped"]
            .into_iter()
            .map(|phase| job[phase].as_u64().unwrap())
            .collect();
        assert_eq!(counts, [2, 1, 1, 1, 0], "{job}");
        assert!(job["oldest_ready_ms"].as_u64().is_some());
        // One that waits behind its key is ready too.
        assert_eq!((kind("run")["ready"].as_u64(), kind("run")["oldest_ready_ms"].is_u64()), (Some(1), true));
        assert!(stats["log_position"].as_u64().unwrap() >= 9);
        assert!(stats["counters"]["failed_turns"].is_u64());
        assert_eq!(service.get("/v1/stats?store=other").await.yes(200)["kinds"], json!([]));
    });
}

// covers: K-43, K-46
#[test]
fn a_receipt_is_verified_without_a_server_and_a_changed_one_is_found() {
    on_each(async |service| {
        let job = service.post("/v1/jobs", json!({ "payload": 1 })).await.yes(201);
        let old = job["job_id"].as_str().unwrap();
        service.post(&format!("/v1/jobs/{old}/cancel"), json!({ "reason": "r" })).await.yes(200);
        let new = service.post(&format!("/v1/jobs/{old}/retry"), json!({})).await.yes(201);
        for id in [old, new["job_id"].as_str().unwrap()] {
            let receipt = service.get(&format!("/v1/items/{id}/receipt")).await;
            assert_eq!(receipt.headers["content-type"], "application/x-ndjson");
            let report = verify::file(receipt.text.as_bytes(), None, |_| {}).unwrap();
            assert!(report.is_sound(), "{:?}", report.faults);
            assert_eq!(report.items, 1);
            let item = service.get(&format!("/v1/items/{id}")).await.yes(200);
            assert_eq!(Some(report.entries), item["version"].as_u64());
            let lines: Vec<&str> = receipt.text.lines().collect();
            let without = |left_out: usize| -> String {
                let kept = lines.iter().enumerate().filter(|(place, _)| *place != left_out);
                kept.map(|(_, line)| format!("{line}\n")).collect()
            };
            for place in 0..lines.len() {
                assert!(
                    !verify::file(without(place).as_bytes(), None, |_| {}).unwrap().is_sound(),
                    "line {place}"
                );
            }
            let changed = receipt.text.replace("admin:local", "admin:other");
            assert!(!verify::file(changed.as_bytes(), None, |_| {}).unwrap().is_sound());
        }
        service.get("/v1/items/01M7GE4XB00006645Z0KC20ZT6/receipt").await.no(404, "NOT_FOUND");
    });
}

/// The names that a document or an answer has, with a sort for each.
fn documented() -> BTreeSet<(String, String)> {
    let page = include_str!("../../../../docs/metrics.md");
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `"));
    let cells = rows.map(|row| row.split('|').map(str::trim).collect::<Vec<_>>());
    let families = cells.filter(|cells| ["counter", "gauge", "histogram"].contains(&cells[1]));
    families.map(|cells| (cells[0].trim_end_matches('`').to_string(), cells[1].to_string())).collect()
}

// covers: K-55
#[test]
fn the_metrics_that_are_served_are_those_that_are_documented() {
    on_each(async |service| {
        service.post("/v1/jobs", json!({ "payload": 1 })).await.yes(201);
        service.post("/v1/leases", json!({ "kinds": ["job"], "worker": "w" })).await.yes(200);
        service.get("/v1/nothing/at/all").await.no(404, "NOT_FOUND");
        for (kind, run_at) in [("ready", "2020-01-01T00:00:00Z"), ("scheduled", "2999-01-01T00:00:00Z")] {
            let body = json!({ "kind": "job", "payload": kind, "run_at": run_at, "key": kind });
            service.post("/v1/items", body).await.yes(201);
        }
        let stopped = service.post("/v1/items", json!({ "kind": "job", "payload": 1 })).await.yes(201);
        let path = format!("/v1/items/{}/cancel", stopped["id"].as_str().unwrap());
        service.post(&path, json!({ "reason": "enough" })).await.yes(200);
        let answer = service.get("/metrics").await;
        let served: BTreeSet<(String, String)> = answer
            .text
            .lines()
            .filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' '))
            .map(|(name, sort)| (name.to_string(), sort.to_string()))
            .collect();
        assert_eq!(served, documented());
        let page = include_str!("../../../../docs/metrics.md");
        for (name, _) in service.tenure.counters().all() {
            assert!(page.contains(&format!("| `{name}` |")), "{name} is not in docs/metrics.md");
            assert!(answer.text.contains(&format!("tenure_engine_total{{what=\"{name}\"}} ")));
        }
        let rows = |family: &str| -> BTreeSet<String> {
            let begins = format!("{family}{{what=\"");
            let names = answer.text.lines().filter_map(|line| line.strip_prefix(&*begins)?.split_once('"'));
            names.map(|(name, _)| name.to_string()).collect()
        };
        for (family, heading) in
            [("tenure_claims_total", "| `what` of claims |"), ("tenure_runs_total", "| `what` of runs |")]
        {
            let table = page.split_once(heading).expect("its table").1.lines().skip(2);
            let table =
                table.take_while(|line| line.starts_with('|')).filter_map(|line| line.split('`').nth(1));
            assert_eq!(rows(family), table.map(str::to_string).collect(), "{family}");
        }
        for line in [
            "tenure_http_requests_total{route=\"/v1/jobs\",method=\"POST\",status=\"201\"} 1",
            "tenure_http_requests_total{route=\"none\",method=\"GET\",status=\"404\"} 1",
            "tenure_problems_total{code=\"NOT_FOUND\"} 1",
            "tenure_engine_total{what=\"leased\"} 1",
            "tenure_http_request_seconds_count{route=\"/v1/jobs\"} 1",
            "tenure_items{store=\"default\",kind=\"job\",phase=\"active\"} 1",
            "tenure_items{store=\"default\",kind=\"job\",phase=\"ready\"} 1",
            "tenure_items{store=\"default\",kind=\"job\",phase=\"scheduled\"} 1",
            "tenure_items{store=\"default\",kind=\"job\",phase=\"stopped\"} 1",
            "tenure_batch_requests_bucket{le=\"+Inf\"} 6",
            "tenure_batch_requests_sum 6",
            "tenure_batch_seconds_count 6",
        ] {
            assert!(answer.text.lines().any(|served| served == line), "{line} is not in\n{}", answer.text);
        }
        for begin in
            ["tenure_oldest_ready_seconds{store=\"default\",kind=\"job\"} ", "process_resident_memory_bytes "]
        {
            let value = answer.text.lines().find_map(|line| line.strip_prefix(begin)).expect(begin);
            assert!(value.parse::<f64>().unwrap() > 0.0, "{begin}{value}");
        }
    });
}

// covers: K-55
#[test]
fn what_workers_elsewhere_do_is_counted_once() {
    on_each(async |service| {
        for number in 0..7 {
            service.post("/v1/jobs", json!({ "payload": number })).await.yes(201);
        }
        let lease = json!({ "kinds": ["job"], "worker": "w", "max": 7, "request_id": "r" });
        let leased = crate::kit::leased(&service, &lease).await;
        assert_eq!(crate::kit::leased(&service, &lease).await, leased);
        let path = |index: usize, step: &str| {
            format!("/v1/executions/{}/{step}", leased[index]["execution"].as_str().unwrap())
        };
        let body = |index: usize| json!({ "lease_token": leased[index]["lease_token"], "reason": "r" });
        let token = |index: usize| json!({ "lease_token": leased[index]["lease_token"] });
        for index in 0..7 {
            service.post(&path(index, "start"), token(index)).await.yes(200);
        }
        // Repeated as after an answer that was lost: the same, and counted once.
        for _ in 0..2 {
            service.post(&path(0, "commit"), token(0)).await.yes(200);
            service.post(&path(1, "fail"), body(1)).await.yes(200);
            service.post(&path(3, "release"), body(3)).await.yes(200);
        }
        let mut for_good = body(2);
        for_good["retryable"] = json!(false);
        service.post(&path(2, "fail"), for_good).await.yes(200);
        let one = |index: usize| {
            let lease = &leased[index];
            json!({ "execution": lease["execution"], "lease_token": lease["lease_token"] })
        };
        // Of those that were given back nobody holds a lease any more.
        let commits = json!({ "commits": [one(4), one(5), one(3)] });
        let many = service.post("/v1/executions/commit", commits).await.yes(200)["items"].clone();
        assert_eq!((&many[0]["status"], &many[2]["problem"]["code"]), (&json!(200), &json!("LEASE_LOST")));
        let renewals = json!({ "leases": [one(6), one(3), one(1)] });
        let many = service.post("/v1/leases/renew", renewals).await.yes(200)["items"].clone();
        assert_eq!((&many[0]["status"], &many[2]["problem"]["code"]), (&json!(200), &json!("LEASE_LOST")));
        service.post(&path(3, "progress"), token(3)).await.no(409, "LEASE_LOST");
        // Who never had the lease writes nothing that a database would have to refuse.
        let mut forged = one(6);
        forged["lease_token"] = json!("w.0");
        service.post("/v1/executions/commit", json!({ "commits": [forged] })).await.yes(200);
        let many = json!([{ "kind": "job", "payload": 1 }, { "kind": "nothing", "payload": 1 }]);
        service.post("/v1/items", many).await.yes(200);

        let text = service.get("/metrics").await.text;
        for (what, count) in [
            ("leased", 7),
            ("committed", 3),
            ("failed", 1),
            ("failed_for_good", 1),
            ("released", 1),
            ("stale_writes", 4),
        ] {
            let line = format!("tenure_engine_total{{what=\"{what}\"}} {count}");
            assert!(text.lines().any(|served| served == line), "{line} is not in\n{text}");
        }
        for line in [
            "tenure_problems_total{code=\"LEASE_LOST\"} 5",
            "tenure_problems_total{code=\"INVALID_REQUEST\"} 1",
        ] {
            assert!(text.lines().any(|served| served == line), "{line} is not in\n{text}");
        }
    });
}

#[test]
fn what_became_ready_again_waits_since_then_and_not_since_it_was_first_to_run() {
    on_each(async |service| {
        // As after a lease that was lost: what it is ranked by is long ago, and it could be leased for a moment only.
        service.post("/v1/jobs", json!({ "payload": 1, "run_at": "2020-01-01T00:00:00Z" })).await.yes(201);
        let stats = service.get("/v1/stats").await.yes(200);
        let oldest = stats["kinds"][0]["oldest_ready_ms"].as_u64().unwrap();
        assert!(oldest < 3_600_000, "{stats}");
    });
}

// covers: K-03
#[tokio::test]
async fn health_says_what_an_answer_has_survived() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| format!("sqlite:{}", folder.path().join(name).display());
    for (url, durability) in [
        (file("a.db"), "full"),
        (format!("{}?durability=relaxed", file("b.db")), "relaxed"),
        ("memory:".to_string(), "none"),
    ] {
        served(&url, Open::WhileNoToken, async |service| {
            let ready = service.get("/health/ready").await.yes(200);
            assert_eq!(ready, json!({ "status": "ok", "durability": durability }), "{url}");
            assert_eq!(service.get("/v1/stats").await.yes(200)["durability"], durability);
        })
        .await;
    }
}

// covers: K-17
// fault: T9
#[tokio::test]
async fn t9_readiness_and_metrics_say_that_the_clock_is_behind() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    served(&format!("sqlite:{}", path.display()), Open::WhileNoToken, async |service| {
        let metric = async || service.get("/metrics").await.text;
        assert!(metric().await.contains("\ntenure_clock_behind_seconds 0\n"));
        assert_eq!(service.get("/health/ready").await.yes(200)["clock_behind_ms"], json!(null));
        // As a clock that was ahead leaves it: the log has an entry of the year 2100.
        let raw = rusqlite::Connection::open(&path).unwrap();
        let sql = "update meta set value = 4102444800000000 where name = 'latest'";
        assert_eq!(raw.execute(sql, []).unwrap(), 1);
        let behind = service.get("/health/ready").await.yes(200)["clock_behind_ms"].as_u64().unwrap();
        let now = tenure::databases::outside::now().micros().unsigned_abs() / 1_000;
        assert!((4_102_444_800_000 - now - 60_000..=4_102_444_800_000).contains(&behind), "{behind}");
        let text = metric().await;
        let line = text.lines().find_map(|line| line.strip_prefix("tenure_clock_behind_seconds ")).unwrap();
        assert!(line.parse::<f64>().unwrap() > 1e6, "{line}");
    })
    .await;
}

// covers: K-07
// fault: A4
#[test]
fn numbers_of_other_stores_and_kinds_are_not_shown() {
    on_each(async |service| {
        let (_, admin) = token(&service, None, json!({ "name": "root", "role": "admin" })).await;
        let scope = json!({ "name": "a", "role": "api", "stores": ["a"], "kinds": ["job"] });
        let (_, limited) = token(&service, Some(&admin), scope).await;
        for (kind, store) in [("job", "a"), ("todo", "a"), ("job", "b")] {
            let body = json!({ "kind": kind, "payload": { "title": "t" }, "store": store });
            as_who(&service, &admin, Method::POST, "/v1/items", body).await.yes(201);
        }
        let text = as_who(&service, &limited, Method::GET, "/metrics", Value::Null).await.text;
        assert!(text.contains("{store=\"a\",kind=\"job\""));
        assert!(
            !text.contains("store=\"b\"")
                && !text.contains("kind=\"todo\"")
                && !text.contains("store=\"tenure\"")
        );
        let stats = as_who(&service, &limited, Method::GET, "/v1/stats", Value::Null).await.yes(200);
        assert_eq!(stats["kinds"].as_array().unwrap().len(), 1);
        service.get("/metrics").await.no(401, "UNAUTHENTICATED");
    });
}

/// What was written, for a test to read.
#[derive(Clone, Default)]
pub struct Page(Arc<Mutex<Vec<u8>>>);

impl Write for Page {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Page {
    pub fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

// covers: K-55
// fault: R9
#[tokio::test]
async fn a_request_leaves_a_line_without_any_secret() {
    for form in [Form::Human, Form::Json] {
        let page = Page::default();
        let tenure = Tenure::open("memory:").await.unwrap();
        let app = App::new(tenure.clone(), Open::WhileNoToken)
            .await
            .unwrap()
            .logging(Access::new(form, page.clone()));
        served_app(app, tenure, async |service| {
            let (id, admin) = token(&service, None, json!({ "name": "root", "role": "admin" })).await;
            let secret = json!({ "payload": "CANARY-payload", "idempotency_key": "CANARY-key" });
            as_who(&service, &admin, Method::POST, "/v1/jobs", secret).await.yes(201);
            as_who(&service, "CANARY-token", Method::GET, "/v1/jobs?key=CANARY-query", Value::Null)
                .await
                .no(401, "UNAUTHENTICATED");
            let named =
                service.call(Method::GET, "/v1/CANARY-path").header("x-request-id", "mine-1").token(&admin);
            service.send(named).await.no(404, "NOT_FOUND");
            let lease = json!({ "kinds": ["job"], "worker": "w" });
            let leased = as_who(&service, &admin, Method::POST, "/v1/leases", lease).await.yes(200);
            let lease_token = leased["leases"][0]["lease_token"].as_str().unwrap();
            let path = format!("/v1/executions/{}/start", leased["leases"][0]["execution"].as_str().unwrap());
            as_who(&service, &admin, Method::POST, &path, json!({ "lease_token": lease_token }))
                .await
                .yes(200);

            let text = page.text();
            for hidden in ["CANARY", admin.as_str(), admin.rsplit('_').next().unwrap(), lease_token] {
                assert!(!text.contains(hidden), "{hidden} is in\n{text}");
            }
            assert_eq!(text.lines().count(), 6, "{text}");
            match form {
                Form::Human => {
                    let line = text.lines().nth(1).unwrap();
                    assert!(
                        line.contains(" 201 POST /v1/jobs ") && line.contains(&format!(" admin:{id} ")),
                        "{line}"
                    );
                    assert!(text.lines().nth(2).unwrap().ends_with(" UNAUTHENTICATED"), "{text}");
                }
                Form::Json => {
                    let lines: Vec<Value> =
                        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
                    assert_eq!((&lines[1]["route"], &lines[1]["status"]), (&json!("/v1/jobs"), &json!(201)));
                    assert_eq!(
                        (&lines[1]["actor"], &lines[1]["method"]),
                        (&json!(format!("admin:{id}")), &json!("POST"))
                    );
                    assert_eq!((&lines[2]["status"], &lines[2]["actor"]), (&json!(401), &Value::Null));
                    assert_eq!(
                        (&lines[1]["code"], &lines[2]["code"]),
                        (&Value::Null, &json!("UNAUTHENTICATED"))
                    );
                    assert_eq!((&lines[3]["request"], &lines[3]["route"]), (&json!("mine-1"), &Value::Null));
                    assert_eq!(lines[5]["route"], "/v1/executions/{exec}/start");
                }
            }
        })
        .await;
    }
}

#[test]
fn an_item_is_explained() {
    on_each(async |service| {
        let body = serde_json::json!({ "kind": "job", "payload": {} });
        let id = service.post("/v1/items", body).await.yes(201)["id"].as_str().unwrap().to_string();
        let explained = service.get(&format!("/v1/items/{id}/explain")).await.yes(200);
        assert_eq!(
            (explained["id"].as_str(), explained["phase"].as_str()),
            (Some(id.as_str()), Some("ready"))
        );
        assert!(explained["summary"].as_str().is_some_and(|text| text.len() > 20), "{explained}");
        let moves = explained["moves"].as_array().unwrap();
        assert!(moves.iter().any(|one| one["event"] == "cancel"), "{explained}");
        service.get("/v1/items/01M7HWQRJ60000MEBB15B51XNF/explain").await.no(404, "NOT_FOUND");
    });
}
