//! Creating: the payload as a command line names it, and what is asked for with it.

use std::fs;
use std::io::{self, Read};

use serde::Serialize;
use serde_json::value::RawValue;
use tenure_databases::outside;
use tenure_server::REQUEST_BYTES_MAX;

use super::Of;
use crate::cli::{At, New, span};
use crate::client::{Client, Reply};
use crate::database::{Access, run as block_on};
use crate::outcome::Error;

#[derive(Serialize)]
struct Create<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<&'a str>,
    payload: &'a RawValue,
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    priority: Option<i8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    run_at: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    idempotency_key: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_attempts: Option<u32>,
}

pub fn create(of: Of, kind: Option<&str>, new: &New, at: &At) -> Result<Reply, Error> {
    let payload = payload(new.payload.as_deref())?;
    // A span counts from now; whatever else it is, the service judges.
    let run_at = new.run_at.as_ref().map(|text| match span(text) {
        Ok(span) => outside::now().after(span).to_string(),
        Err(_) => text.clone(),
    });
    let body = Create {
        kind,
        payload: &payload,
        key: new.key.as_deref(),
        priority: new.priority,
        run_at: run_at.as_deref(),
        idempotency_key: new.idempotency_key.as_deref(),
        max_attempts: new.max_attempts,
    };
    block_on(async { Client::at(at, Access::MayCreate).await?.post(of.all(), &body).await })
}

/// JSON, as a command line names it: itself, a file, or standard input.
pub fn payload(named: Option<&str>) -> Result<Box<RawValue>, Error> {
    let (what, text) = match named {
        None => ("the payload".to_string(), "{}".to_string()),
        Some("-") => ("standard input".to_string(), text("<stdin>", io::stdin().lock())?),
        Some(named) => match named.strip_prefix('@') {
            Some(file) => (file.to_string(), text(file, open(file)?)?),
            None => ("the payload".to_string(), named.to_string()),
        },
    };
    serde_json::from_str(&text).map_err(|why| Error::NotJson { what, why: why.to_string() })
}

fn open(file: &str) -> Result<fs::File, Error> {
    fs::File::open(file).map_err(|why| Error::Unreadable { file: file.to_string(), why, near: None })
}

/// No more than a request may have: the service says no to what is longer than an item's payload, and in better words.
fn text(file: &str, from: impl Read) -> Result<String, Error> {
    let mut bytes = Vec::new();
    let read = from.take(REQUEST_BYTES_MAX as u64).read_to_end(&mut bytes);
    read.map_err(|why| Error::Unreadable { file: file.to_string(), why, near: None })?;
    String::from_utf8(bytes).map_err(|_| Error::NotText { file: file.to_string() })
}
