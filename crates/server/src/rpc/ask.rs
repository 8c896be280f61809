//! A message becomes the request of REST that it stands for.

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, Method as Verb, Request, Uri, header};
use buffa_descriptor::FieldDescriptor;
use buffa_descriptor::reflect::{DynamicMessage, ReflectMessage, Value};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::ser::{Error, SerializeMap};
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use super::methods::Method;
use super::schema::JSON;
use crate::problem::Problem;

/// Every request may name it, and it is never in a body.
const STORE: &str = "store";
/// What may stand in a URL as it is (RFC 3986).
const ESCAPED: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
/// What is about the bytes of the message, and not about what is asked for.
const OF_THE_BYTES: [header::HeaderName; 3] =
    [header::CONTENT_LENGTH, header::CONTENT_ENCODING, header::TRANSFER_ENCODING];

pub fn request(
    method: &Method,
    message: &DynamicMessage,
    headers: &HeaderMap,
) -> Result<Request<Body>, Problem> {
    let (mut url, in_path) = path(method, message)?;
    let rest = Rest { message, left_out: &in_path };
    let mut query = vec![];
    query.extend(text(message, STORE).map(|store| format!("{STORE}={}", escaped(store))));
    let mut kind = "application/json";
    let body = match (&method.verb, method.body) {
        (&Verb::GET, _) => {
            known(message)?;
            query.extend(rest.fields().filter_map(|(field, value)| pair(field, value)));
            Vec::new()
        }
        (_, Some(name)) => {
            known(message)?;
            match rest.fields().find(|(field, _)| field.name() == name) {
                Some((_, Value::Bytes(bytes))) => {
                    kind = "application/octet-stream";
                    let others = rest.fields().filter(|(field, _)| field.name() != name);
                    query.extend(others.filter_map(|(field, value)| pair(field, value)));
                    bytes.to_vec()
                }
                whole => written(&whole.map(|(field, value)| Written { field, value }))?,
            }
        }
        (_, None) => written(&rest)?,
    };
    if !query.is_empty() {
        url = format!("{url}?{}", query.join("&"));
    }
    let mut request = Request::new(Body::from(body));
    *request.method_mut() = method.verb.clone();
    *request.uri_mut() =
        Uri::try_from(url).map_err(|why| Problem::invalid(format!("this names nothing: {why}")))?;
    *request.headers_mut() = headers.clone();
    for name in OF_THE_BYTES {
        request.headers_mut().remove(name);
    }
    request.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    Ok(request)
}

/// The path, and the fields that are in it.
fn path(method: &Method, message: &DynamicMessage) -> Result<(String, Vec<&'static str>), Problem> {
    let mut path = String::new();
    let mut fields = vec![STORE];
    for segment in method.path.split('/').skip(1) {
        path.push('/');
        match segment.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) {
            Some(field) => {
                let value = text(message, field).filter(|value| !value.is_empty());
                let value = value.ok_or_else(|| missing(field))?;
                path.push_str(&escaped(value));
                fields.push(field);
            }
            None => path.push_str(segment),
        }
    }
    Ok((path, fields))
}

fn missing(field: &str) -> Problem {
    Problem::wrong(field, "say which")
}

fn escaped(text: &str) -> String {
    utf8_percent_encode(text, &ESCAPED).to_string()
}

fn text<'a>(message: &'a DynamicMessage, name: &str) -> Option<&'a str> {
    let field = message.message_descriptor().field_by_name(name)?;
    match message.field_by_number(field.number())? {
        Value::String(text) => Some(text),
        _ => None,
    }
}

/// One of a list's parameters.
fn pair(field: &FieldDescriptor, value: &Value) -> Option<String> {
    let value = match value {
        Value::String(text) => escaped(text),
        Value::U32(number) => number.to_string(),
        Value::U64(number) => number.to_string(),
        Value::Bool(is_so) => is_so.to_string(),
        // No list has others; a test looks.
        _ => return None,
    };
    Some(format!("{}={value}", field.name()))
}

fn written(body: &impl Serialize) -> Result<Vec<u8>, Problem> {
    serde_json::to_vec(body).map_err(|why| Problem::invalid(why.to_string()))
}

/// A caller who asks for something that this server does not know must not believe that it was heard.
fn unknown(message: &DynamicMessage) -> Option<String> {
    let first = message.unknown_fields().iter().next()?;
    let name = message.message_descriptor().full_name();
    Some(format!("{name} has no field with the number {}", first.number))
}

fn known(message: &DynamicMessage) -> Result<(), Problem> {
    unknown(message).map_or(Ok(()), |why| Err(Problem::invalid(why)))
}

/// A message as REST writes it, but for some fields.
struct Rest<'a> {
    message: &'a DynamicMessage,
    left_out: &'a [&'static str],
}

impl<'a> Rest<'a> {
    /// What the caller has said. A field that can not be left out and has its type's zero was not said.
    fn fields(&self) -> impl Iterator<Item = (&'a FieldDescriptor, &'a Value)> {
        let (message, left_out) = (self.message, self.left_out);
        let fields = message.message_descriptor().fields().iter();
        let said = fields.filter(move |field| message.has(field) && !left_out.contains(&field.name()));
        said.filter_map(move |field| Some((field, message.field_by_number(field.number())?)))
    }
}

impl Serialize for Rest<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if let Some(why) = unknown(self.message) {
            return Err(S::Error::custom(why));
        }
        let mut map = serializer.serialize_map(None)?;
        for (field, value) in self.fields() {
            let name = field.name();
            map.serialize_entry(name.strip_suffix(JSON).unwrap_or(name), &Written { field, value })?;
        }
        map.end()
    }
}

struct Written<'a> {
    field: &'a FieldDescriptor,
    value: &'a Value,
}

impl Serialize for Written<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.value {
            Value::Bool(value) => serializer.serialize_bool(*value),
            Value::I32(value) => serializer.serialize_i32(*value),
            Value::I64(value) => serializer.serialize_i64(*value),
            Value::U32(value) => serializer.serialize_u32(*value),
            Value::U64(value) => serializer.serialize_u64(*value),
            Value::F64(value) => serializer.serialize_f64(*value),
            Value::String(text) if self.field.name().ends_with(JSON) => {
                // Not a byte of it is changed, and it is one value: nothing can be slipped in behind it.
                let raw: &RawValue = serde_json::from_str(text)
                    .map_err(|why| S::Error::custom(format!("{}: not JSON: {why}", self.field.name())))?;
                raw.serialize(serializer)
            }
            Value::String(text) => serializer.serialize_str(text),
            Value::Message(message) => Rest { message, left_out: &[] }.serialize(serializer),
            Value::List(values) => {
                serializer.collect_seq(values.iter().map(|value| Written { field: self.field, value }))
            }
            Value::F32(_) | Value::Bytes(_) | Value::EnumNumber(_) | Value::Map(_) => {
                Err(S::Error::custom(format!("{}: no request has such a field", self.field.name())))
            }
        }
    }
}
