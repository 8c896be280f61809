//! Documents and their runs, by HTTP, with a pipeline of a test's own behind it.

use std::sync::Arc;

use axum::http::{Method, header};
use serde_json::{Value, json};
use tenure::Tenure;
use tenure::databases::url::Url;
use tenure_server::{App, Open};
use tenure_systems::runs::files::{DOCUMENT_BYTES_MAX, Files};
use tenure_systems::runs::step::{Input, Step, StepFailed, Stepping};
use tenure_systems::runs::{Library, Pipeline, Running, Settings, start};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::kit::{Answer, Call, Service, as_who, on_each, served_app, token};

/// Fails where the document says so, and else says how long it is.
struct Reads;

impl Step for Reads {
    fn name(&self) -> &str {
        "read"
    }

    fn run(&self, input: Input) -> Stepping {
        Box::pin(async move {
            match input.document.bytes.starts_with(b"torn") {
                true => Err(StepFailed {
                    code: "PAGE_TORN".to_string(),
                    details: "page 3".to_string(),
                    permanent: false,
                }),
                false => Ok(json!({ "bytes": input.document.bytes.len() })),
            }
        })
    }
}

async fn with_runs<F: Future<Output = ()>>(test: impl Fn(Service) -> F) {
    let tenure = Tenure::open("memory:").await.unwrap();
    let library = Library::new(Files::scratch().unwrap());
    let app = App::new(tenure.clone(), Open::WhileNoToken).await.unwrap().keeping(library.clone());
    let pipeline = Pipeline::new([Arc::new(Reads) as Arc<dyn Step>]).unwrap();
    let running: Running =
        start(tenure.clone(), library, pipeline, Settings::of(&Url::Memory)).await.unwrap();
    served_app(app, tenure, test).await;
    running.drain().await;
}

fn text(service: &Service, path: &str, kind: &str, body: &str) -> Call {
    let mut call = service.call(Method::POST, path).header("content-type", kind);
    call.body = body.to_string();
    call
}

async fn uploaded(service: &Service, path: &str, body: &str) -> Value {
    service.send(text(service, path, "text/plain", body)).await.yes(201)
}

fn word(value: &Value, name: &str) -> String {
    value[name].as_str().unwrap_or_else(|| panic!("{name}: {value}")).to_string()
}

//
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_document_is_uploaded_processed_and_read_again() {
    with_runs(async |service| {
        let made = uploaded(&service, "/v1/documents?name=letter.txt", "one two").await;
        let document = word(&made, "document_id");
        let shown = service.get(&format!("/v1/documents/{document}?wait_ms=30000")).await.yes(200);
        assert_eq!((&shown["status"], &shown["run_id"]), (&json!("COMPLETED"), &made["run_id"]));
        assert_eq!((&shown["name"], &shown["media_type"]), (&json!("letter.txt"), &json!("text/plain")));
        let run = service.get(&format!("/v1/runs/{}", word(&made, "run_id"))).await.yes(200);
        assert_eq!((&run["state"], &run["failure_type"]), (&json!("COMPLETED"), &Value::Null));
        let events: Vec<&str> =
            run["events"].as_array().unwrap().iter().map(|told| told["event"].as_str().unwrap()).collect();
        assert_eq!(events, ["RUN_CREATED", "RUN_STARTED", "STEP_STARTED", "STEP_SUCCEEDED", "RUN_COMPLETED"]);
        let artifacts = format!("/v1/runs/{}/artifacts", word(&made, "run_id"));
        let listed = service.get(&artifacts).await.yes(200);
        assert_eq!(listed["items"][0]["value"], json!({ "bytes": 7 }));
        assert_eq!(service.get(&format!("{artifacts}/read")).await.yes(200), listed["items"][0]);
        service.get(&format!("{artifacts}/nothing")).await.no(404, "NOT_FOUND");

        let torn = uploaded(&service, "/v1/documents", "torn").await;
        let path = format!("/v1/documents/{}", word(&torn, "document_id"));
        let shown = service.get(&format!("{path}?wait_ms=30000")).await.yes(200);
        assert_eq!((&shown["status"], &shown["failure_type"]), (&json!("FAILED"), &json!("PAGE_TORN")));
        let again = service.post(&format!("{path}/reprocess"), json!({})).await.yes(201);
        assert_eq!(again["state"], "QUEUED");
        service.get(&format!("/v1/runs/{}?wait_ms=30000", word(&again, "run_id"))).await.yes(200);
        let runs = service.get(&format!("{path}/runs")).await.yes(200);
        let ids: Vec<&Value> = runs["items"].as_array().unwrap().iter().map(|run| &run["run_id"]).collect();
        assert_eq!(ids, [&torn["run_id"], &again["run_id"]], "oldest first");
        assert_eq!(runs["items"][0]["steps"].as_array().unwrap().len(), 2);
        let first = service.get(&format!("{path}/runs?limit=1")).await.yes(200);
        let next = service.get(&format!("{path}/runs?cursor={}", word(&first, "next_cursor"))).await.yes(200);
        assert_eq!(next["items"][0]["run_id"], again["run_id"]);
        let all = service.get("/v1/documents?order=newest&limit=1").await.yes(200);
        assert_eq!(all["items"][0]["document_id"], torn["document_id"]);
    })
    .await;
}

//
#[test]
fn an_upload_is_a_body_or_a_form_and_comes_back_as_it_was() {
    on_each(async |service| {
        let page = "<!doctype html><script>alert(1)</script>";
        let form = format!(
            "--x\r\ncontent-disposition: form-data; name=\"file\"; filename=\"..\\\\räu\\u202eber.html\"\r\n\
            content-type: image/png\r\n\r\n{page}\r\n--x--\r\n"
        );
        let call = || text(&service, "/v1/documents", "multipart/form-data; boundary=x", &form);
        let made = service.send(call().header("idempotency-key", "k")).await.yes(201);
        assert_eq!(made["status"], "PROCESSING");
        assert_eq!(
            service.send(call().header("idempotency-key", "k")).await.yes(200),
            made,
            "the first answer"
        );
        let path = format!("/v1/documents/{}", word(&made, "document_id"));
        let shown = service.get(&path).await.yes(200);
        assert_eq!(shown["media_type"], "text/html", "by its bytes, whatever it was said to be");
        assert!(!word(&shown, "name").contains(['\\', '/', '\u{202e}']), "{shown}");
        let content = service.get(&format!("{path}/content")).await;
        assert_eq!((content.status.as_u16(), content.text.as_str()), (200, page));
        assert_eq!(content.headers[header::CONTENT_TYPE], "text/html");
        assert_eq!(content.headers["x-content-type-options"], "nosniff");
        assert!(content.headers[header::CONTENT_DISPOSITION].to_str().unwrap().starts_with("attachment; "));

        let other = text(&service, "/v1/documents", "text/plain", "other").header("idempotency-key", "k");
        service.send(other).await.no(409, "IDEMPOTENCY_CONFLICT");
        let refused = async |call: Call, field: Option<&str>| {
            let no: Answer = service.send(call).await;
            assert_eq!(no.no(400, "INVALID_REQUEST")["field"].as_str(), field);
        };
        refused(text(&service, "/v1/documents", "text/plain", ""), None).await;
        let form = "--x\r\ncontent-disposition: form-data; name=\"fiel\"\r\n\r\na\r\n--x--\r\n";
        refused(text(&service, "/v1/documents", "multipart/form-data; boundary=x", form), Some("fiel")).await;
        let cut = "--x\r\ncontent-disposition: form-data; name=\"file\"\r\n\r\na";
        refused(text(&service, "/v1/documents", "multipart/form-data; boundary=x", cut), None).await;
        let run = service.get(&format!("/v1/runs/{}", word(&made, "document_id"))).await;
        run.no(404, "NOT_FOUND");
    });
}

#[test]
fn what_is_too_large_is_refused_before_it_has_come() {
    on_each(async |service| {
        // Not one byte of it is sent, and the answer comes.
        let mut stream = TcpStream::connect(service.address).await.unwrap();
        let length = DOCUMENT_BYTES_MAX * 2;
        let head =
            format!("POST /v1/documents HTTP/1.1\r\nhost: localhost\r\ncontent-length: {length}\r\n\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut answer = vec![0; 1024];
        let count = stream.read(&mut answer).await.unwrap();
        let answer = String::from_utf8_lossy(&answer[..count]).into_owned();
        assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
        assert_eq!(service.get("/v1/documents").await.yes(200)["items"], json!([]));
    });
}

#[test]
fn who_is_not_for_documents_or_their_store_sees_none() {
    on_each(async |service| {
        let (_, admin) = token(&service, None, json!({ "name": "root", "role": "admin" })).await;
        let jobs = json!({ "name": "j", "role": "api", "kinds": ["job"] });
        let (_, jobs) = token(&service, Some(&admin), jobs).await;
        let call = text(&service, "/v1/documents?store=b", "text/plain", "secret").token(&admin);
        let made = service.send(call).await.yes(201);
        let (document, run) = (word(&made, "document_id"), word(&made, "run_id"));
        for path in [
            format!("/v1/documents/{document}"),
            format!("/v1/documents/{document}/content"),
            format!("/v1/documents/{document}/runs"),
            format!("/v1/runs/{run}"),
            format!("/v1/runs/{run}/artifacts"),
        ] {
            as_who(&service, &admin, Method::GET, &path, Value::Null).await.no(404, "NOT_FOUND");
            let there = format!("{path}?store=b");
            as_who(&service, &jobs, Method::GET, &there, Value::Null).await.no(404, "NOT_FOUND");
            assert_eq!(as_who(&service, &admin, Method::GET, &there, Value::Null).await.status, 200);
        }
        let call = text(&service, "/v1/documents", "text/plain", "a").token(&jobs);
        service.send(call).await.no(403, "FORBIDDEN");
        // A person may hand in a document, and its run is made with it.
        let (_, human) = token(&service, Some(&admin), json!({ "name": "h", "role": "human" })).await;
        service.send(text(&service, "/v1/documents", "text/plain", "a").token(&human)).await.yes(201);
    });
}
