//! What holds for every route is written into the document here, once: problems, and tokens.

use std::collections::BTreeSet;

use serde::Serialize;
use utoipa::ToSchema;
use utoipa::openapi::path::{Operation, Parameter, ParameterBuilder, ParameterIn, PathItem};
use utoipa::openapi::schema::{ObjectBuilder, Type};
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityRequirement, SecurityScheme};
use utoipa::openapi::{
    Content, OpenApi as Document, Ref, RefOr, Required, Response, ResponseBuilder, Schema,
};

/// What is said of every no (RFC 9457). Some have more fields, which their descriptions name.
#[derive(Debug, Serialize, ToSchema)]
pub struct ProblemDocument {
    pub r#type: String,
    pub title: String,
    pub status: u16,
    /// What was wrong, and what to do.
    pub detail: String,
    /// Stable, in upper case.
    pub code: String,
    /// The path that was asked for.
    pub instance: String,
}

const SCHEME: &str = "token";
const STORE: &str = "store";
const KEY: &str = "Idempotency-Key";
/// Who may call a route: everybody, administrators, or (without a word) whoever has a token.
const ACCESS: &str = "x-access";

pub fn complete(document: &mut Document) {
    let components = document.components.get_or_insert_default();
    let bearer = SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer));
    components.add_security_scheme(SCHEME, bearer);
    let empty: BTreeSet<String> = components
        .schemas
        .iter()
        .filter(|(_, schema)| needs_nothing(schema))
        .map(|(name, _)| reference(name))
        .collect();
    for (path, item) in &mut document.paths.paths {
        let PathItem { get, put, post, delete, patch, .. } = item;
        for operation in [get, put, post, delete, patch].into_iter().flatten() {
            describe(path, operation);
            if let Some(RefOr::T(body)) = &mut operation.request_body {
                let is_empty = |content: &RefOr<Content>| {
                    let RefOr::T(Content { schema: Some(RefOr::Ref(to)), .. }) = content else {
                        return false;
                    };
                    empty.contains(&to.ref_location)
                };
                if body.content.values().all(is_empty) {
                    body.required = Some(Required::False);
                }
            }
        }
    }
}

fn reference(name: &str) -> String {
    format!("#/components/schemas/{name}")
}

/// No body at all is the same as one without fields, so where no field is needed, no body is.
fn needs_nothing(schema: &RefOr<Schema>) -> bool {
    matches!(schema, RefOr::T(Schema::Object(object)) if object.required.is_empty())
}

fn describe(path: &str, operation: &mut Operation) {
    let access = operation.extensions.as_ref().and_then(|extensions| extensions.get(ACCESS));
    let is_open = access.is_some_and(|access| access == "open");
    let parameters = operation.parameters.get_or_insert_default();
    if !parameters.iter().any(|one| matches!(one, RefOr::T(one) if one.name == STORE)) {
        parameters.push(RefOr::T(store()));
    }
    let takes_a_key = parameters.iter().any(|one| matches!(one, RefOr::T(one) if one.name == KEY));
    let responses = &mut operation.responses.responses;
    for (status, response) in responses.iter_mut() {
        let RefOr::T(response) = response else { continue };
        if status.starts_with(['4', '5']) && response.content.is_empty() {
            let words = std::mem::take(&mut response.description);
            *response = problem(if words.is_empty() { words_of(status) } else { &words });
        }
    }
    let mut add = |status: &str| {
        responses.entry(status.to_string()).or_insert_with(|| RefOr::T(problem(words_of(status))));
    };
    add("default");
    add("400");
    let has_body = operation.request_body.is_some();
    if has_body {
        add("413");
        add("415");
    }
    if takes_a_key {
        add("409");
    }
    if !is_open {
        add("403");
        add("503");
    }
    if path.contains('{') {
        add("404");
    }
    if !is_open {
        add("401");
        operation.security = Some(vec![SecurityRequirement::new(SCHEME, [] as [&str; 0])]);
    }
}

/// Every route takes it.
fn store() -> Parameter {
    let text = ObjectBuilder::new().schema_type(Type::String);
    ParameterBuilder::new()
        .name(STORE)
        .parameter_in(ParameterIn::Query)
        .required(Required::False)
        .schema(Some(text))
        .build()
}

fn problem(description: &str) -> Response {
    let content = Content::new(Some(Ref::from_schema_name("ProblemDocument")));
    ResponseBuilder::new().description(description).content("application/problem+json", content).build()
}

fn words_of(status: &str) -> &'static str {
    match status {
        "400" => {
            "a field or a parameter is missing, unknown or of the wrong form: `field` and `detail` say which"
        }
        "401" => "no token, or one that is not good any more",
        "403" => "the caller's role, store or kind does not allow it",
        "404" => "there is none in this store that the caller may know of",
        "409" => "the item's state, lease or history says no",
        "413" => "it is larger than is kept",
        "415" => "the body is not said to be what it has to be",
        "422" => "it is not what its schema or its format asks for",
        "503" => "the database can not be reached; ask again",
        _ => "any other no",
    }
}
