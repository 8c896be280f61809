//! The decomposer that asks a language model: any endpoint that speaks OpenAI's chat completions with structured output.
//!
//! | what comes back | what follows |
//! |---|---|
//! | 200 with parts as the schema says | the parts |
//! | 200 with anything else, cut off, refused | not decomposed: asking again would cost the same and say the same |
//! | 429, 5xx, no answer | asked again, up to `calls_max`, not before Retry-After |
//! | any other status | not decomposed |
//!
//! A text can talk a model into wrong parts, and into nothing else: what comes back is read as data of one form, within bounds, and
//! nothing in it is followed. The key is sent to the endpoint and shown nowhere.

mod answer;
mod ask;

use std::fmt;
use std::time::Duration;

use serde::Deserialize;

use super::{Decomposer, Decomposing, NotDecomposed, Part, Statement};
use crate::post::{Answered, NotAnswered, Poster};
use crate::time::pause;

/// How a model is asked, and how much that may cost.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LlmSettings {
    /// `https://api.openai.com/v1`: `/chat/completions` is added to it.
    pub base_url: String,
    pub model: String,
    /// The environment variable that holds the key. Without one no key is sent.
    #[serde(default)]
    pub key_env: Option<String>,
    #[serde(default)]
    pub tokens_field: TokensField,
    #[serde(default)]
    pub limits: LlmLimits,
}

/// What an endpoint calls the limit of an answer's tokens.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TokensField {
    /// Nearly all.
    #[default]
    MaxTokens,
    /// OpenAI's models that think first. They take no temperature either.
    MaxCompletionTokens,
}

/// What a claim may cost at the most.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LlmLimits {
    pub text_bytes_max: usize,
    pub answer_bytes_max: usize,
    pub parts_max: usize,
    pub tokens_max: u32,
    /// How often a model is asked for one claim, the first time included.
    pub calls_max: u32,
    /// How long one answer is waited for.
    pub answer_ms: u64,
    /// Before the second call; doubled before each further one.
    pub backoff_ms: u64,
    /// Who asks to be left alone for longer is not waited for.
    pub wait_ms_max: u64,
}

impl Default for LlmLimits {
    fn default() -> LlmLimits {
        LlmLimits {
            // Some 4,000 tokens: a claim is a paragraph or a page, not a book.
            text_bytes_max: 16 << 10,
            // What `tokens_max` tokens can be, escaped, with room for what surrounds them.
            answer_bytes_max: 256 << 10,
            parts_max: 100,
            tokens_max: 8_192,
            calls_max: 3,
            // Models that think first need most of a minute.
            answer_ms: 60_000,
            backoff_ms: 500,
            // Longer waits are the orchestrator's: it tries a failed claim again later.
            wait_ms_max: 20_000,
        }
    }
}

/// What is done between two calls takes no longer.
const BETWEEN_CALLS: Duration = Duration::from_secs(1);

impl LlmLimits {
    /// Every call answered at the last moment, and every pause between two as long as one may be.
    fn all_calls(&self) -> Duration {
        let (call, pause) = (Duration::from_millis(self.answer_ms), Duration::from_millis(self.wait_ms_max));
        let each = call.saturating_add(BETWEEN_CALLS);
        let pauses = pause.saturating_mul(self.calls_max.saturating_sub(1));
        each.saturating_mul(self.calls_max).saturating_add(pauses)
    }
}

/// Asks a language model.
#[derive(Clone, Debug)]
pub struct LlmDecomposer {
    settings: LlmSettings,
    poster: Poster,
    key: Key,
}

/// Never shown.
#[derive(Clone)]
struct Key(Option<String>);

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "a key" } else { "no key" })
    }
}

impl LlmDecomposer {
    pub fn new(settings: LlmSettings, key: Option<&str>) -> Result<LlmDecomposer, String> {
        let limits = settings.limits;
        if settings.model.trim().is_empty() {
            return Err("model is empty".to_string());
        }
        if limits.calls_max == 0 || limits.parts_max == 0 || limits.answer_ms == 0 {
            return Err("calls_max, parts_max and answer_ms are at least 1".to_string());
        }
        // It is shown: a password in it would be too.
        if settings.base_url.contains('@') {
            return Err("base_url has an @: a key stands in the environment".to_string());
        }
        let to = format!("{}/chat/completions", settings.base_url.trim_end_matches('/'));
        let patience = Duration::from_millis(limits.answer_ms);
        let poster = Poster::new(&to, key, patience, limits.answer_bytes_max)?;
        Ok(LlmDecomposer { settings, poster, key: Key(key.map(str::to_string)) })
    }

    async fn asked(&self, statement: &Statement) -> Result<Vec<Part>, NotDecomposed> {
        let limits = &self.settings.limits;
        if statement.text.len() > limits.text_bytes_max {
            let (bytes, most) = (statement.text.len(), limits.text_bytes_max);
            return Err(NotDecomposed(format!("the text has {bytes} bytes, more than {most}")));
        }
        let body = ask::body(&self.settings, statement);
        let mut call = 1;
        loop {
            let heard = heard(self.poster.post(body.clone(), &[]).await, limits);
            match heard {
                Heard::Parts(parts) => return Ok(parts),
                Heard::No(why) => return Err(self.not(&why)),
                Heard::Later(why, retry_after) => {
                    let Some(wait) = wait_after(limits, call, retry_after) else {
                        return Err(self.not(&format!("{why} (asked {call} times)")));
                    };
                    pause(wait).await;
                    call += 1;
                }
            }
        }
    }

    /// What others said may hold what was sent to them: the key is taken out.
    fn not(&self, why: &str) -> NotDecomposed {
        let why = match &self.key.0 {
            Some(key) => why.replace(key, "[key]"),
            None => why.to_string(),
        };
        NotDecomposed(format!("the model {} {why}", self.settings.model))
    }
}

impl Decomposer for LlmDecomposer {
    fn decompose<'a>(&'a self, statement: &'a Statement) -> Decomposing<'a> {
        Box::pin(self.asked(statement))
    }

    fn needs_at_most(&self) -> Option<Duration> {
        Some(self.settings.limits.all_calls())
    }
}

/// What came of one call.
enum Heard {
    Parts(Vec<Part>),
    /// Asking again is of no use.
    No(String),
    Later(String, Option<Duration>),
}

fn heard(answered: Result<Answered, NotAnswered>, limits: &LlmLimits) -> Heard {
    let Answered { status, retry_after, body } = match answered {
        Ok(answered) => answered,
        Err(why @ NotAnswered::TooLong(_)) => return Heard::No(format!("was not listened to: {why}")),
        Err(why) => return Heard::Later(format!("was not reached: {why}"), None),
    };
    match status.as_u16() {
        200 => match answer::read(&body, limits.parts_max, limits.tokens_max) {
            Ok(parts) => Heard::Parts(parts),
            Err(why) => Heard::No(why),
        },
        429 | 500..=599 => Heard::Later(format!("answered {status}"), retry_after),
        // What is said about a wrong key tells a part of it.
        401 | 403 => Heard::No(format!("answered {status}: it does not accept the key")),
        _ => Heard::No(format!("answered {status}: {}", answer::excerpt(&String::from_utf8_lossy(&body)))),
    }
}

/// How long to wait before the next call; nothing if this was the last.
fn wait_after(limits: &LlmLimits, call: u32, retry_after: Option<Duration>) -> Option<Duration> {
    let doubled = limits.backoff_ms.saturating_mul(1 << (call - 1).min(20));
    let wait = retry_after.unwrap_or(Duration::ZERO).max(Duration::from_millis(doubled));
    (call < limits.calls_max && wait <= Duration::from_millis(limits.wait_ms_max)).then_some(wait)
}

#[cfg(test)]
mod tests {
    use super::*;

    // covers: C-08
    #[test]
    fn waits_double_obey_retry_after_and_have_an_end() {
        let limits = LlmLimits { calls_max: 3, backoff_ms: 100, wait_ms_max: 5_000, ..LlmLimits::default() };
        let wait = |call, seconds: Option<u64>| {
            wait_after(&limits, call, seconds.map(Duration::from_secs)).map(|wait| wait.as_millis())
        };
        assert_eq!((wait(1, None), wait(2, None), wait(3, None)), (Some(100), Some(200), None));
        assert_eq!((wait(1, Some(4)), wait(1, Some(0)), wait(1, Some(6))), (Some(4_000), Some(100), None));
    }

    // covers: C-08
    #[test]
    fn there_is_time_for_every_call_and_every_pause_that_the_limits_allow() {
        for limits in [
            LlmLimits { calls_max: 3, answer_ms: 100, wait_ms_max: 50, ..LlmLimits::default() },
            LlmLimits { calls_max: 1, ..LlmLimits::default() },
            LlmLimits::default(),
        ] {
            let mut needed = Duration::ZERO;
            for call in 1..=limits.calls_max {
                let longest = Some(Duration::from_millis(limits.wait_ms_max));
                let pause = wait_after(&limits, call, longest).unwrap_or_default();
                needed += Duration::from_millis(limits.answer_ms) + pause;
            }
            assert!(limits.all_calls() >= needed, "{:?} for {needed:?}", limits.all_calls());
        }
        let endless = LlmLimits { calls_max: u32::MAX, answer_ms: u64::MAX, ..LlmLimits::default() };
        assert_eq!(endless.all_calls(), Duration::MAX);
    }
}
