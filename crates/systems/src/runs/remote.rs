//! A step of one's own behind an address: the document is posted to it, and what it answers is what the step made.
//!
//! It is sent `{step, document: {id, name, media_type, content}, made}`, with the document's bytes in base64 and what the
//! steps before made by their names. Any 2xx with JSON is success. 429, 408 and 5xx are tried again, as is no answer at all; any
//! other answer is for good. A refusal may say why: `{"code": "UPPER_CASE", "details": "…"}` becomes the failure.

use std::time::Duration;

use base64::prelude::{BASE64_STANDARD, Engine};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

use super::builtin::{again, never, over, stopped};
use super::step::{Input, Step, StepFailed, Stepping};
use crate::post::{Answered, NotAnswered, Poster};

/// In base64 it is a third more, and it is held in memory: whoever has more to say fetches the document by its id.
pub const CONTENT_BYTES_MAX: usize = 16 << 20;
/// As much as a command may write.
pub const ANSWER_BYTES_MAX: usize = 16 << 20;
/// Half of a run's window, so that a second attempt has a chance.
const LIMIT_S: u64 = 55;
/// Of an answer that is no success.
const SAID_CHARS_MAX: usize = 500;
const CODE_BYTES_MAX: usize = 64;

/// As `tenure.toml` has it.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RemoteSettings {
    pub url: String,
    /// How long one attempt may take.
    #[serde(default = "limit_s")]
    pub limit_s: u64,
    /// The environment variable that has the token to show. The token itself is in no file and in no message.
    #[serde(default)]
    pub token_variable: Option<String>,
    #[serde(default)]
    pub send: Send,
}

/// What is sent of a document.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Send {
    /// Its bytes and what was made of it.
    #[default]
    All,
    /// What the steps before made; `content` is left out.
    Made,
}

fn limit_s() -> u64 {
    LIMIT_S
}

impl RemoteSettings {
    pub fn new(url: &str) -> RemoteSettings {
        RemoteSettings { url: url.to_string(), limit_s: LIMIT_S, token_variable: None, send: Send::All }
    }
}

/// The step.
#[derive(Clone, Debug)]
pub struct RemoteStep {
    name: String,
    send: Send,
    poster: Poster,
}

impl RemoteStep {
    pub fn new(name: &str, settings: &RemoteSettings) -> Result<RemoteStep, String> {
        let token = settings.token_variable.as_ref().map(|variable| {
            std::env::var(variable)
                .map_err(|_| format!("the step {name:?} needs a token in the variable {variable}"))
        });
        let limit = Duration::from_secs(settings.limit_s.max(1));
        let poster = Poster::new(&settings.url, token.transpose()?.as_deref(), limit, ANSWER_BYTES_MAX)?;
        Ok(RemoteStep { name: name.to_string(), send: settings.send, poster })
    }
}

impl Step for RemoteStep {
    fn name(&self) -> &str {
        &self.name
    }

    fn run(&self, input: Input) -> Stepping {
        let step = self.clone();
        Box::pin(async move {
            let stop = input.stop.clone();
            tokio::select! {
                made = step.attempt(&input) => made,
                () = stopped(stop) => Err(over()),
            }
        })
    }
}

#[derive(Serialize)]
struct Asked<'a> {
    step: &'a str,
    document: Sent<'a>,
    made: &'a BTreeMap<String, Value>,
}

#[derive(Serialize)]
struct Sent<'a> {
    id: &'a str,
    name: &'a str,
    media_type: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<String>,
}

impl RemoteStep {
    async fn attempt(&self, input: &Input) -> Result<Value, StepFailed> {
        let document = &*input.document;
        let content = match self.send {
            Send::Made => None,
            Send::All if document.bytes.len() > CONTENT_BYTES_MAX => {
                let details = format!("{} bytes; at most {CONTENT_BYTES_MAX} are sent", document.bytes.len());
                return Err(never("TOO_LARGE", details));
            }
            Send::All => Some(BASE64_STANDARD.encode(&document.bytes)),
        };
        let (id, name, media_type) = (&document.id[..], &document.name[..], &document.media_type[..]);
        let sent = Sent { id, name, media_type, content };
        let asked = Asked { step: &self.name, document: sent, made: &input.made };
        let body = serde_json::to_vec(&asked).expect("texts and JSON are JSON");
        match self.poster.post(body, &[("tenure-step", &self.name)]).await {
            Ok(answered) => answer(&answered),
            Err(why @ NotAnswered::TooLong(_)) => Err(never("TOO_LARGE", why.to_string())),
            Err(why @ NotAnswered::Late(_)) => Err(again("TOO_SLOW", why.to_string())),
            Err(why @ NotAnswered::Failed(_)) => Err(again("UNREACHABLE", why.to_string())),
        }
    }
}

/// What whoever was asked may say of a refusal.
#[derive(Deserialize)]
struct Refusal {
    code: String,
    #[serde(default)]
    details: String,
}

fn answer(answered: &Answered) -> Result<Value, StepFailed> {
    let status = answered.status;
    if status.is_success() {
        let parsed = serde_json::from_slice(&answered.body);
        return parsed.map_err(|why| never("NOT_JSON", format!("the answer is no JSON: {why}")));
    }
    let said: String = String::from_utf8_lossy(&answered.body).chars().take(SAID_CHARS_MAX).collect();
    let refusal =
        serde_json::from_slice::<Refusal>(&answered.body).ok().filter(|refusal| is_code(&refusal.code));
    let (code, details) = match refusal {
        Some(refusal) => (refusal.code, refusal.details.chars().take(SAID_CHARS_MAX).collect()),
        None if is_for_later(status.as_u16()) => ("REMOTE_FAILED".to_string(), format!("{status}: {said}")),
        None => ("REMOTE_REFUSED".to_string(), format!("{status}: {said}")),
    };
    Err(StepFailed { code, details, permanent: !is_for_later(status.as_u16()) })
}

fn is_for_later(status: u16) -> bool {
    matches!(status, 408 | 429 | 500..)
}

/// As our own are written.
fn is_code(code: &str) -> bool {
    let fits = (1..=CODE_BYTES_MAX).contains(&code.len());
    fits && code.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
}
