//! Waiting for an item to come to rest, longer than one request may.

use std::time::Duration;

use tenure_server::WAIT_MAX;

use super::Of;
use super::shown::Shown;
use crate::client::{Client, Reply};
use crate::outcome::Error;
use crate::time::Stopwatch;

/// The item as it is when it rests, or when so many seconds are over. None: however long it takes.
pub async fn at_rest(client: &Client, of: Of, id: &str, seconds: Option<u64>) -> Result<Reply, Error> {
    let began = Stopwatch::start();
    loop {
        let left = seconds.map(|seconds| Duration::from_secs(seconds).saturating_sub(began.elapsed()));
        let wait = left.unwrap_or(WAIT_MAX).min(WAIT_MAX);
        let reply = client.get(of.one(id).with("wait_ms", Some(wait.as_millis()))).await?;
        let item: Shown = reply.read()?;
        if item.is_ended() || left.is_some_and(|left| left <= wait) {
            return Ok(reply);
        }
    }
}
