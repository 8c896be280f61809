//! Requests that nobody means well: fields that are not there, names that are none, texts that would be something elsewhere.
//!
//! Which ones there are is read from the document, so a route that is added is asked too.

use axum::http::Method;
use serde_json::{Map, Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::access::Operation;
use crate::kit::{Answer, Service, on_each};

/// As JSON writes them.
const TEXTS: [&str; 6] = [
    r#""""#,
    r#""a\u0000b""#,
    r#""\u202eab\u2066""#,
    r#""../../etc/passwd""#,
    r#""'; drop table items; --""#,
    r#""\ud800""#,
];
/// As a path has them.
const NAMES: [&str; 7] = [
    "",
    "a%00b",
    "%E2%80%AEab",
    "..%2F..%2Fetc%2Fpasswd",
    "';%20drop%20table%20items;%20--",
    "%ED%A0%80",
    "%FF",
];
/// Stands where a text shall go.
const HERE: &str = "HERE";

/// One place in a request's body.
struct Place {
    /// The body, with `HERE` in the place.
    body: Value,
    /// As `json` names it: `effects.moves[0].item`.
    path: String,
}

/// The document, and how bodies are made from it.
struct Surface {
    document: Value,
    operations: Vec<Operation>,
}

impl Surface {
    async fn read(service: &Service) -> Surface {
        let document = service.get("/openapi.json").await.yes(200);
        let operations = Operation::all(&document);
        Surface { document, operations }
    }

    /// Those with a body of JSON, and its schema.
    fn with_body(&self) -> impl Iterator<Item = (&Operation, &Value)> {
        self.operations.iter().filter_map(|operation| {
            let schema = &operation.described["requestBody"]["content"]["application/json"]["schema"];
            (!schema.is_null()).then(|| (operation, self.resolved(schema)))
        })
    }

    /// What a reference stands for, and of alternatives the one that is not null.
    fn resolved<'a>(&'a self, schema: &'a Value) -> &'a Value {
        if let Some(name) = schema["$ref"].as_str() {
            let name = name.rsplit('/').next().unwrap();
            return self.resolved(&self.document["components"]["schemas"][name]);
        }
        match schema["oneOf"].as_array() {
            Some(all) => self.resolved(all.iter().find(|one| one["type"] != "null").unwrap()),
            None => schema,
        }
    }

    /// A small body that is well formed.
    fn good(&self, schema: &Value, name: &str) -> Value {
        let schema = self.resolved(schema);
        match type_of(schema) {
            "object" => {
                let required = schema["required"].as_array().cloned().unwrap_or_default();
                let field = |name: &Value| {
                    let name = name.as_str().unwrap().to_string();
                    let value = self.good(&schema["properties"][&name], &name);
                    (name, value)
                };
                Value::Object(required.iter().map(field).collect())
            }
            "array" => json!([]),
            "string" => json!(word(name)),
            "integer" => json!(1),
            "boolean" => json!(true),
            _ => json!({}),
        }
    }

    /// Every object in it, whole, and every text: with `HERE` as a field of the one and in place of the other.
    fn places(&self, schema: &Value) -> (Vec<Place>, Vec<Place>) {
        let (mut objects, mut texts) = (Vec::new(), Vec::new());
        self.walk(schema, "", &|body| body, &mut objects, &mut texts);
        (objects, texts)
    }

    fn walk(
        &self,
        schema: &Value,
        path: &str,
        within: &dyn Fn(Value) -> Value,
        objects: &mut Vec<Place>,
        texts: &mut Vec<Place>,
    ) {
        let schema = self.resolved(schema);
        let name = path.rsplit('.').next().unwrap();
        match type_of(schema) {
            "object" if schema["properties"].is_object() => {
                let good = self.good(schema, name);
                let with = |field: &str, value: Value| -> Value {
                    let mut body = good.clone();
                    body[field] = value;
                    within(body)
                };
                let dot = if path.is_empty() { "" } else { "." };
                objects.push(Place { body: with(HERE, json!(1)), path: format!("{path}{dot}{HERE}") });
                let fields: &Map<String, Value> = schema["properties"].as_object().unwrap();
                for (field, of) in fields {
                    let inner = |value: Value| with(field, value);
                    self.walk(of, &format!("{path}{dot}{field}"), &inner, objects, texts);
                }
            }
            "array" => {
                let inner = |value: Value| within(json!([value]));
                self.walk(&schema["items"], &format!("{path}[0]"), &inner, objects, texts);
            }
            "string" => texts.push(Place { body: within(json!(HERE)), path: path.to_string() }),
            _ => {}
        }
    }
}

/// The type, or of several the one that is not null.
fn type_of(schema: &Value) -> &str {
    match &schema["type"] {
        Value::Array(all) => all.iter().filter_map(Value::as_str).find(|one| *one != "null").unwrap_or(""),
        one => one.as_str().unwrap_or(""),
    }
}

/// Where not any word will do.
fn word(field: &str) -> &'static str {
    match field {
        "kind" => "job",
        "role" => "api",
        "times" => "0 3 * * *",
        "url" => "https://example.org/in",
        "source" => "# nothing",
        "event" => "cancel",
        _ => "a",
    }
}

/// Items and leases, for those who use them up.
struct Supply {
    jobs: Vec<Value>,
    leases: Vec<Value>,
}

impl Supply {
    async fn of(service: &Service) -> Supply {
        let many: Vec<Value> = (0..1_000).map(|n| json!({ "kind": "job", "payload": n })).collect();
        let jobs = service.post("/v1/items", json!(many)).await.yes(200)["items"].as_array().unwrap().clone();
        let lease =
            json!({ "kinds": ["job"], "worker": "w", "max": 700, "start": true, "lease_ms": 3_600_000 });
        let leases = service.post("/v1/leases", lease).await.yes(200)["leases"].as_array().unwrap().clone();
        Supply { jobs: jobs.into_iter().skip(700).map(|one| one["item"]["id"].clone()).collect(), leases }
    }

    /// The path of an operation, about something that is there, and the token of the lease that it is about.
    fn about(&mut self, operation: &Operation) -> (String, Value) {
        if operation.path.contains("{exec}") {
            let lease = self.leases.pop().expect("there are enough");
            return (operation.about("", lease["execution"].as_str().unwrap()), lease["lease_token"].clone());
        }
        // What is about other things finds that a job is none of them, and leaves it as it was.
        let uses_up = ["/v1/items/{id}", "/v1/jobs/{id}"].iter().any(|path| operation.path.starts_with(path));
        let job = if uses_up { self.jobs.pop() } else { self.jobs.last().cloned() };
        (operation.about(job.expect("there are enough").as_str().unwrap(), ""), Value::Null)
    }
}

async fn send(service: &Service, operation: &Operation, path: &str, body: String) -> Answer {
    let mut call = service.call(operation.method.clone(), path).header("content-type", "application/json");
    call.body = body;
    service.send(call).await
}

/// An answer that says yes, or no in a problem document.
#[track_caller]
fn judged(answer: &Answer, named: &str) {
    let status = answer.status.as_u16();
    assert!(status < 500, "{named}: {status} {}", answer.text);
    if status >= 400 {
        let code = answer.json()["code"].as_str().unwrap_or_default().to_string();
        answer.no(status, &code);
    }
}

// fault: A7
#[test]
fn a_field_that_no_body_has_is_refused_and_named() {
    on_each(async |service| {
        let surface = Surface::read(&service).await;
        let mut asked = 0;
        for (operation, schema) in surface.with_body() {
            for place in surface.places(schema).0 {
                let path = operation.about("01M7GE4XB00006645Z0KC20ZT6", "01M7GE4XB00006645Z0KC20ZT6-1");
                let answer = send(&service, operation, &path, place.body.to_string()).await;
                let named = format!("{} {} {}", operation.method, operation.path, place.body);
                assert_eq!(answer.status, 400, "{named}: {}", answer.text);
                let no = answer.no(400, "INVALID_REQUEST");
                assert!(no["detail"].as_str().unwrap().contains(HERE), "{named}: {no}");
                assert_eq!(no["field"], json!(place.path), "{named}: {no}");
                asked += 1;
            }
        }
        assert!(asked > 30, "{asked}");
        for operation in &surface.operations {
            let path = operation.about("01M7GE4XB00006645Z0KC20ZT6", "01M7GE4XB00006645Z0KC20ZT6-1");
            for query in [format!("{HERE}=1"), format!("store=default&{HERE}=1")] {
                let call = service.call(operation.method.clone(), &format!("{path}?{query}"));
                let no = service.send(call).await.no(400, "INVALID_REQUEST");
                assert!(no["detail"].as_str().unwrap().contains(HERE), "{path}: {no}");
                assert_eq!(no["field"], HERE, "{path}: {no}");
            }
            let parameters = operation.described["parameters"].as_array().unwrap();
            let is_store = |one: &&Value| one["name"] == "store" && one["in"] == "query";
            assert_eq!(parameters.iter().filter(is_store).count(), 1, "{path} says that it takes a store");
        }
    });
}

// fault: A22
#[test]
fn a_body_that_no_route_reads_is_refused_and_its_field_named() {
    on_each(async |service| {
        let surface = Surface::read(&service).await;
        let without = |one: &&Operation| one.described["requestBody"].is_null();
        let bodiless: Vec<&Operation> = surface.operations.iter().filter(without).collect();
        let writing = bodiless.iter().filter(|one| one.method != Method::GET).count();
        assert!(writing > 10 && bodiless.len() > writing, "{writing} of {}", bodiless.len());
        for operation in bodiless {
            let path = operation.about("01M7GE4XB00006645Z0KC20ZT6", "01M7GE4XB00006645Z0KC20ZT6-1");
            let named = format!("{} {path}", operation.method);
            let no = send(&service, operation, &path, format!(r#"{{"{HERE}":1}}"#)).await;
            let no = no.no(400, "INVALID_REQUEST");
            assert!(no["field"] == HERE && no["detail"].as_str().unwrap().contains(HERE), "{named}: {no}");
            for other in ["[]", "[1]", "null", "payload=1"] {
                send(&service, operation, &path, other.to_string()).await.no(400, "INVALID_REQUEST");
            }
            if operation.streams {
                continue;
            }
            let plain = service.send(service.call(operation.method.clone(), &path)).await.status;
            for empty in ["", " ", "{}", " { } "] {
                let status = send(&service, operation, &path, empty.to_string()).await.status;
                assert_eq!(status, plain, "{named} with {empty:?}");
            }
        }
    });
}

// covers: J-09
// fault: A22
#[test]
fn a_retry_with_another_payload_is_refused_and_makes_no_job() {
    on_each(async |service| {
        let job = service.post("/v1/jobs", json!({ "payload": { "customer": 7 } })).await.yes(201);
        let path = format!("/v1/jobs/{}", job["id"].as_str().unwrap());
        service.post(&format!("{path}/cancel"), json!({ "reason": "r" })).await.yes(200);
        let other = json!({ "payload": { "customer": 8 } });
        let no = service.post(&format!("{path}/retry"), other).await.no(400, "INVALID_REQUEST");
        assert_eq!(no["field"], "payload");
        assert_eq!(service.get("/v1/jobs").await.yes(200)["items"].as_array().unwrap().len(), 1);
        service.post(&format!("{path}/retry"), json!({})).await.yes(201);
    });
}

// fault: A7
#[test]
fn a_store_that_is_named_twice_is_refused_and_one_that_is_misspelt_is_not_the_default() {
    on_each(async |service| {
        let job = json!({ "payload": 1 });
        let no = service.post("/v1/jobs?sotre=prod", job.clone()).await.no(400, "INVALID_REQUEST");
        assert_eq!(no["field"], "sotre");
        service.post("/v1/jobs?store=a&store=b", job.clone()).await.no(400, "INVALID_REQUEST");
        assert_eq!(service.post("/v1/jobs?store=%61", job).await.yes(201)["store"], "a");
        let item = |store: &str| json!({ "kind": "job", "payload": 1, "store": store });
        let no = service.post("/v1/items?store=a", item("b")).await.no(400, "INVALID_REQUEST");
        assert_eq!(no["field"], "store");
        assert_eq!(service.post("/v1/items?store=a", item("a")).await.yes(201)["store"], "a");
        service.post("/v1/items?store=a", json!([item("b")])).await.no(400, "INVALID_REQUEST");
        let many = service.post("/v1/items", json!([item("b"), item("b")])).await.yes(200);
        assert_eq!((&many["items"][0]["status"], &many["items"][1]["status"]), (&json!(201), &json!(201)));
        for store in ["default", "prod"] {
            let found = service.get(&format!("/v1/items?store={store}")).await.yes(200);
            assert_eq!(found["items"], json!([]), "nothing was created in {store}");
        }
    });
}

// fault: A9
#[test]
fn a_hostile_text_is_kept_or_refused_and_never_a_failure() {
    on_each(async |service| {
        let surface = Surface::read(&service).await;
        let mut supply = Supply::of(&service).await;
        let (mut yes, mut no) = (0, 0);
        for (operation, schema) in surface.with_body() {
            // The first token would close the door.
            let is_door = operation.path == "/v1/tokens";
            for place in surface.places(schema).1.iter().filter(|_| !is_door) {
                for text in TEXTS {
                    let (path, lease_token) = supply.about(operation);
                    let mut body = place.body.clone();
                    if lease_token.is_string() && place.path != "lease_token" {
                        body["lease_token"] = lease_token;
                    }
                    let body = body.to_string().replace(&format!("\"{HERE}\""), text);
                    let named = format!("{} {path} {body}", operation.method);
                    let answer = send(&service, operation, &path, body).await;
                    judged(&answer, &named);
                    if answer.status.is_success() {
                        yes += 1
                    } else {
                        no += 1
                    }
                    assert!(text != TEXTS[5] || answer.status == 400, "{named}: {}", answer.text);
                }
            }
        }
        assert!(yes > 50 && no > 200, "yes {yes}, no {no}");
        service.get("/health/ready").await.yes(200);
        // What was kept is shown again, whatever it is.
        let mut after = None::<String>;
        loop {
            let cursor = after.map(|after| format!("&after={after}")).unwrap_or_default();
            let page = service.get(&format!("/v1/log?limit=1000{cursor}")).await.yes(200);
            after = page["next_cursor"].as_str().map(str::to_string);
            if after.is_none() {
                break;
            }
        }
    });
}

// fault: A9
#[test]
fn a_hostile_name_in_a_path_names_nothing() {
    on_each(async |service| {
        let surface = Surface::read(&service).await;
        for operation in surface.operations.iter().filter(|one| one.path.contains('{') && !one.streams) {
            for name in NAMES {
                let path = operation.path.replace("{event}", "cancel");
                let path = ["{id}", "{exec}", "{kind}", "{name}"]
                    .iter()
                    .fold(path, |path, part| path.replace(part, name));
                let mut call = service.call(operation.method.clone(), &path);
                if operation.method == Method::POST {
                    call = call.json(&json!({ "lease_token": "t", "reason": "r" }));
                }
                let answer = service.send(call).await;
                let named = format!("{} {path}", operation.method);
                // A bulk move has no name in its path.
                assert!(
                    answer.status.is_client_error() || path == operation.path.replace("{event}", "cancel"),
                    "{named}: {}",
                    answer.text
                );
                judged(&answer, &named);
            }
        }
        for parameter in ["kind", "state", "phase", "key", "store", "cursor", "order", "limit"] {
            for name in NAMES {
                judged(
                    &service.get(&format!("/v1/items?{parameter}={name}")).await,
                    &format!("{parameter}={name}"),
                );
            }
        }
    });
}

// fault: A9
#[test]
fn ten_megabytes_are_refused_wherever_they_come() {
    const MUCH: usize = 10 << 20;
    on_each(async |service| {
        let surface = Surface::read(&service).await;
        for (operation, _) in surface.with_body() {
            let path = operation.about("01M7GE4XB00006645Z0KC20ZT6", "01M7GE4XB00006645Z0KC20ZT6-1");
            let body = format!("{{\"lease_token\":\"{}\"}}", "x".repeat(MUCH));
            send(&service, operation, &path, body).await.no(413, "PAYLOAD_TOO_LARGE");
        }
        // A head of that length is no request at all: it is answered without a word of ours, and the connection is over.
        let mut stream = TcpStream::connect(service.address).await.unwrap();
        let _ = stream
            .write_all(
                format!("GET /v1/items/{} HTTP/1.1\r\nhost: localhost\r\n\r\n", "x".repeat(MUCH)).as_bytes(),
            )
            .await;
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer).await;
        assert!(
            answer.is_empty() || answer.starts_with(b"HTTP/1.1 4"),
            "{}",
            String::from_utf8_lossy(&answer)
        );
        service.get("/health/ready").await.yes(200);
    });
}
