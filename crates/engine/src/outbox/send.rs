//! Sending a delivery: the message is read, signed and posted, and the answer says what becomes of it.
//!
//! | answer | what becomes of the delivery |
//! |---|---|
//! | 2xx | delivered |
//! | 410 | failed for good: the other side wants no more of it |
//! | 429, 503 with Retry-After | tried again, not before that |
//! | anything else, redirects included, or none | tried again, later every time |
//! | an address inside | failed for good |

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use jiff::Timestamp;
use jiff::fmt::rfc2822;
use serde::Serialize;
use serde_json::value::RawValue;
use tenure_core::time::Time;
use tenure_core::word::Label;
use tenure_databases::outside::now;

use super::deliver::{Delivery, key_of};
use super::post::{Answered, Post, Unanswered};
use super::sign::{Secrets, signatures};
use super::webhook::Subscribed;
use crate::loops::Parts;
use crate::worker::{Done, Failure, Handler, Job};

/// Who needs longer than this to say that they have it does the work before they answer.
const TIME_OUT: Duration = Duration::from_secs(10);
/// As long as the other side may ask us to wait.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(3600);
/// How soon a delivery to a paused webhook is looked at again: soon at first, and never so late that who resumes it wonders.
const PAUSED_MIN: Duration = Duration::from_secs(30);
const PAUSED_MAX: Duration = Duration::from_secs(300);

/// What is posted: the form that Standard Webhooks recommends, and where it comes from.
#[derive(Serialize)]
struct Posted<'a> {
    r#type: &'a Label,
    timestamp: Time,
    item: tenure_core::id::ItemId,
    data: &'a RawValue,
}

#[derive(Clone, Debug)]
pub(super) struct Send {
    parts: Parts,
    secrets: Secrets,
}

impl Send {
    pub fn new(parts: Parts, secrets: Secrets) -> Send {
        Send { parts, secrets }
    }

    async fn send(&self, job: &Job) -> Result<Done, Failure> {
        let delivery: Delivery = job.payload()?;
        let (store, kept) = (&job.item().store, &self.parts.kept);
        let webhook = kept.whole(store, delivery.webhook).await?;
        let webhook = webhook.ok_or_else(|| Failure::permanent("there is no such webhook"))?;
        match &**webhook.item.state_name() {
            "ACTIVE" => {}
            "PAUSED" => {
                let wait = PAUSED_MIN.saturating_mul(job.item().interruptions.saturating_add(1));
                return Err(Failure::snooze(wait.min(PAUSED_MAX), "the webhook is paused"));
            }
            _ => return Err(Failure::permanent("the webhook was removed")),
        }
        let payload = webhook.payload.ok_or_else(|| Failure::permanent("the webhook was erased"))?;
        let subscribed = Subscribed::read(&payload).map_err(Failure::permanent)?;
        let message = kept.message(store, delivery.message()).await?;
        let message = message.ok_or_else(|| Failure::permanent("there is no such message"))?;
        let data = serde_json::from_slice(message.body.bytes())?;
        let posted = Posted { r#type: &message.label, timestamp: delivery.at, item: message.item, data };
        let body = serde_json::to_vec(&posted)?;
        let answer = self.post(&subscribed, &key_of(&delivery.message()), body).await?;
        judge(answer)
    }

    async fn post(&self, subscribed: &Subscribed, id: &str, body: Vec<u8>) -> Result<Answered, Failure> {
        let target = subscribed.target().map_err(Failure::permanent)?;
        let mut secrets = Vec::new();
        for reference in subscribed.references().map_err(Failure::permanent)? {
            // It may be put there any moment.
            secrets.push(self.secrets.find(&reference).await.map_err(Failure::retry)?);
        }
        let seconds = now().micros().div_euclid(1_000_000);
        let headers = vec![
            ("webhook-id", id.to_string()),
            ("webhook-timestamp", seconds.to_string()),
            ("webhook-signature", signatures(&secrets, id, seconds, &body)),
        ];
        let allow_private = subscribed.allow_private;
        let post = Post { target: &target, allow_private, headers, body, time_out: TIME_OUT };
        post.send().await.map_err(|unanswered| match unanswered {
            Unanswered::Refused(refused) => Failure::permanent(refused.to_string()),
            Unanswered::Failed(why) => Failure::retry(why),
        })
    }
}

impl Handler for Send {
    fn run(&self, job: Job) -> Pin<Box<dyn Future<Output = Result<Done, Failure>> + std::marker::Send>> {
        let send = self.clone();
        Box::pin(async move { send.send(&job).await })
    }
}

fn judge(answer: Answered) -> Result<Done, Failure> {
    #[derive(Serialize)]
    struct Delivered {
        status: u16,
    }
    let Answered { status, retry_after, shown } = answer;
    let why = format!("the webhook answered {status}: {shown}");
    match status {
        200..=299 => Done::with(&Delivered { status }),
        410 => Err(Failure::permanent(why)),
        300..=399 => {
            Err(Failure::retry(format!("the webhook answered {status}, and redirects are not followed")))
        }
        429 | 503 => match retry_after.as_deref().and_then(|text| wait_of(text, now())) {
            Some(wait) => Err(Failure::retry_after(wait, why)),
            None => Err(Failure::retry(why)),
        },
        _ => Err(Failure::retry(why)),
    }
}

/// Retry-After: seconds, or a date. Never longer than its bound.
fn wait_of(text: &str, now: Time) -> Option<Duration> {
    let text = text.trim();
    let wait = match text.parse::<u64>() {
        Ok(seconds) => Duration::from_secs(seconds),
        Err(_) => {
            let then: Timestamp = rfc2822::DateTimeParser::new().parse_timestamp(text).ok()?;
            Time::from_micros(then.as_microsecond()).since(now)
        }
    };
    Some(wait.min(RETRY_AFTER_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::worker::How;

    // covers: K-26
    #[test]
    fn an_answer_says_what_becomes_of_the_delivery() {
        let judged = |status, retry_after: Option<&str>| {
            let retry_after = retry_after.map(ToString::to_string);
            judge(Answered { status, retry_after, shown: "said".to_string() }).map_err(|failure| failure.how)
        };
        for status in [200, 202, 204, 299] {
            assert!(judged(status, None).is_ok(), "{status}");
        }
        let wait = How::Retry(Some(Duration::from_secs(7)));
        for (status, retry_after, how) in [
            (410, None, How::Permanent),
            (429, Some("7"), wait),
            (503, Some("7"), wait),
            (503, Some("soon"), How::Retry(None)),
            (500, Some("7"), How::Retry(None)),
            (301, None, How::Retry(None)),
            (404, None, How::Retry(None)),
            (100, None, How::Retry(None)),
        ] {
            assert_eq!(judged(status, retry_after).unwrap_err(), how, "{status}");
        }
    }

    #[test]
    fn a_wait_is_seconds_or_a_date_and_bounded() {
        let now: Time = "2026-10-21T07:28:00Z".parse().unwrap();
        for (text, wait) in [
            ("0", Some(0)),
            (" 120 ", Some(120)),
            ("999999999", Some(3600)),
            ("Wed, 21 Oct 2026 07:28:30 GMT", Some(30)),
            ("Wed, 21 Oct 2026 07:27:00 GMT", Some(0)),
            ("Tue, 31 Dec 2199 00:00:00 GMT", Some(3600)),
            ("soon", None),
            ("-1", None),
        ] {
            assert_eq!(wait_of(text, now), wait.map(Duration::from_secs), "{text}");
        }
    }
}
