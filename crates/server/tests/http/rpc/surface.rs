//! The messages against the document of REST: what one has, the other has.

use std::collections::{BTreeMap, BTreeSet};

use prost_reflect::{FieldDescriptor, Kind, MessageDescriptor};
use serde_json::Value;
use tenure_server::{document, methods};

use super::caller::{every_method, method};

/// What a method calls by its own name, and REST by a shorter one.
const NAMED: [(&str, &str); 4] =
    [("execution", "exec"), ("claim_id", "id"), ("truthbit_id", "id"), ("validation_id", "id")];

/// The path as REST has it, and what the method calls the part of it that is named.
pub fn path_of(path: &str) -> (String, Option<(&'static str, &'static str)>) {
    let renamed = NAMED.into_iter().find(|(long, _)| path.contains(&format!("{{{long}}}")));
    match renamed {
        Some((long, short)) => (path.replace(&format!("{{{long}}}"), &format!("{{{short}}}")), renamed),
        None => (path.to_string(), None),
    }
}

/// What is only REST's: a stream, what a monitor reads, and what is no operation.
const ONLY_REST: [&str; 2] = ["GET /v1/log/stream", "GET /metrics"];

#[test]
fn every_operation_is_a_method_and_every_method_an_operation() {
    let document = serde_json::to_value(document()).unwrap();
    let mut operations = BTreeSet::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (verb, operation) in item.as_object().unwrap() {
            if operation["x-access"] != "open" {
                operations.insert(format!("{} {path}", verb.to_uppercase()));
            }
        }
    }
    for only in ONLY_REST {
        assert!(operations.remove(only), "{only}");
    }
    let called: BTreeSet<String> =
        methods().iter().map(|method| format!("{} {}", method.verb, path_of(method.path).0)).collect();
    assert_eq!(called, operations);
    let names: BTreeSet<&str> = methods().iter().map(|method| method.name).collect();
    let described = every_method();
    assert_eq!(names, described.iter().map(|(name, _)| name.as_str()).collect());
    assert_eq!(names.len(), methods().len());
    assert!(
        described.iter().all(|(_, method)| !method.is_client_streaming() && !method.is_server_streaming())
    );
}

#[test]
fn every_message_has_the_fields_of_rest() {
    let document = serde_json::to_value(document()).unwrap();
    let bulk = method("ItemService/Bulk").output();
    for row in methods() {
        let (name, method) = (row.name, method(row.name));
        let (path, renamed) = path_of(row.path);
        let operation = &document["paths"][path.as_str()][row.verb.as_str().to_lowercase()];
        let mut takes: BTreeMap<String, Value> = BTreeMap::new();
        for parameter in operation["parameters"].as_array().into_iter().flatten() {
            let named = parameter["name"].as_str().unwrap();
            if parameter["in"] != "header" {
                let named = renamed.filter(|(_, short)| *short == named).map_or(named, |(long, _)| long);
                takes.insert(named.to_string(), parameter["schema"].clone());
            }
        }
        let body = &operation["requestBody"]["content"]["application/json"]["schema"];
        match row.body {
            // What is sent as it is: any bytes.
            Some(field) if operation["requestBody"]["content"]["application/octet-stream"].is_object() => {
                takes.insert(field.to_string(), serde_json::json!({ "type": "string" }));
            }
            Some(field) => {
                let each = method.input().get_field_by_name(field).expect("the field that is the body");
                let Kind::Message(each) = each.kind() else { panic!("{name}: a list of messages") };
                gives(&document, body, &each, name);
                takes.insert(field.to_string(), serde_json::json!({ "type": "array" }));
            }
            None if !body.is_null() => takes.extend(properties(&document, body)),
            None => {}
        }
        // REST erases with a reason, in a body that OpenAPI has no word for.
        if name == "ItemService/EraseBody" {
            takes.insert("reason".to_string(), serde_json::json!({ "type": "string" }));
        }
        takes.insert("store".to_string(), serde_json::json!({ "type": "string" }));
        fields_are(&document, &takes, &method.input(), name);

        // Of many there is another answer than of one, for which OpenAPI has no word either.
        if row.body.is_some() && !body.is_null() {
            assert_eq!(method.output(), bulk);
            continue;
        }
        let answers = operation["responses"].as_object().unwrap();
        let yes = answers.iter().filter(|(status, _)| status.starts_with('2'));
        for (_, answer) in yes {
            let content = &answer["content"];
            let schema = &content["application/json"]["schema"];
            if !schema.is_null() {
                gives(&document, schema, &method.output(), name);
            } else if content["*/*"].is_object() {
                assert!(method.output().get_field_by_name("content").is_some(), "{name}: bytes");
            } else if content.is_object() {
                assert!(method.output().get_field_by_name("text").is_some(), "{name}: a text");
            } else {
                assert_eq!(method.output().fields().count(), 0, "{name}: nothing");
            }
        }
    }
}

fn resolved<'a>(document: &'a Value, schema: &'a Value) -> &'a Value {
    match schema["$ref"].as_str() {
        Some(path) => document.pointer(path.trim_start_matches('#')).expect("a schema"),
        None => schema,
    }
}

/// The properties of an object, those of what is flattened into it among them.
fn properties(document: &Value, schema: &Value) -> BTreeMap<String, Value> {
    let schema = resolved(document, schema);
    let own = schema["properties"].as_object().into_iter().flatten();
    let mut all: BTreeMap<String, Value> = own.map(|(name, schema)| (name.clone(), schema.clone())).collect();
    for part in schema["allOf"].as_array().into_iter().flatten() {
        all.extend(properties(document, part));
    }
    all
}

/// An object within another, or an answer.
fn gives(document: &Value, schema: &Value, message: &MessageDescriptor, at: &str) {
    let mut properties = properties(document, schema);
    if message.name() == "NewItem" {
        // The store is said once, for all of a request.
        assert!(properties.remove("store").is_some());
    }
    if message.get_field_by_name("document_json").is_none() {
        fields_are(document, &properties, message, at);
    }
}

#[track_caller]
fn fields_are(document: &Value, properties: &BTreeMap<String, Value>, message: &MessageDescriptor, at: &str) {
    let bare = |field: &FieldDescriptor| field.name().trim_end_matches("_json").to_string();
    let fields: BTreeMap<String, FieldDescriptor> =
        message.fields().map(|field| (bare(&field), field)).collect();
    let (names, written): (BTreeSet<_>, BTreeSet<_>) = (fields.keys().collect(), properties.keys().collect());
    assert_eq!(names, written, "{at}: {}", message.full_name());
    for (name, field) in &fields {
        let at = format!("{at}: {}.{name}", message.full_name());
        // Null or a value, by reference or in place.
        let schema = &properties[name];
        let parts =
            schema["oneOf"].as_array().and_then(|parts| parts.iter().find(|part| part["type"] != "null"));
        let schema = resolved(document, parts.unwrap_or(schema));
        let is_array = of_type(schema, "array");
        assert_eq!(is_array, field.is_list(), "{at}: {schema}");
        let schema = if is_array { resolved(document, &schema["items"]) } else { schema };
        match field.kind() {
            _ if schema.is_null() => {}
            _ if field.is_map() => assert!(schema["additionalProperties"].is_object(), "{at}: {schema}"),
            Kind::String if field.name().ends_with("_json") => {
                assert!(schema["properties"].is_null() && !of_type(schema, "string"), "{at}: {schema}");
            }
            Kind::String => assert!(of_type(schema, "string"), "{at}: {schema}"),
            Kind::Bytes => assert!(of_type(schema, "string"), "{at}: {schema}"),
            Kind::Bool => assert!(of_type(schema, "boolean"), "{at}: {schema}"),
            Kind::Int32 | Kind::Uint32 | Kind::Uint64 => {
                assert!(of_type(schema, "integer"), "{at}: {schema}")
            }
            Kind::Double => assert!(of_type(schema, "number"), "{at}: {schema}"),
            Kind::Message(inner) => gives(document, schema, &inner, &at),
            other => panic!("{at}: {other:?} is translated by nobody"),
        }
    }
}

fn of_type(schema: &Value, name: &str) -> bool {
    let named = &schema["type"];
    *named == name || named.as_array().is_some_and(|names| names.iter().any(|one| one == name))
}
