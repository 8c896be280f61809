//! Server-sent events, as they come.

use std::time::Duration;

use axum::body::Body;
use http_body_util::BodyExt;
use tokio::time::timeout;

use super::ANSWER_BYTES_MAX;

/// A server that has nothing to say says so every ten seconds. One that is silent for so long is gone.
const SILENCE: Duration = Duration::from_secs(60);

/// A stream of events. Whatever ends it, whoever reads comes back with the last position.
pub struct Events {
    body: Body,
    /// What was not yet a whole event.
    rest: Vec<u8>,
}

/// One event.
#[derive(PartialEq, Eq, Debug)]
pub struct Event {
    pub position: u64,
    /// None: only the position has moved on.
    pub data: Option<String>,
}

impl Events {
    pub fn new(body: Body) -> Events {
        Events { body, rest: Vec::new() }
    }

    /// None: the stream was cut, or its server is silent.
    pub async fn next(&mut self) -> Option<Event> {
        loop {
            while let Some(end) = self.rest.windows(2).position(|pair| pair == b"\n\n") {
                let event = event(&self.rest[..end]);
                self.rest.drain(..end + 2);
                if event.is_some() {
                    return event;
                }
            }
            let frame = timeout(SILENCE, self.body.frame()).await.ok()??.ok()?;
            self.rest.extend_from_slice(frame.data_ref()?);
            if self.rest.len() > ANSWER_BYTES_MAX {
                return None;
            }
        }
    }
}

/// None: a comment, there to show that somebody is.
fn event(lines: &[u8]) -> Option<Event> {
    let text = std::str::from_utf8(lines).ok()?;
    let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name));
    let position = field("id: ")?.parse().ok()?;
    Some(Event { position, data: field("data: ").map(str::to_string) })
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    /// A stream that comes in pieces.
    fn events(pieces: &[&'static str]) -> Events {
        let pieces: Vec<Result<&str, Infallible>> = pieces.iter().map(|piece| Ok(*piece)).collect();
        Events::new(Body::from_stream(futures_util::stream::iter(pieces)))
    }

    #[tokio::test]
    async fn events_come_whole_however_they_are_cut() {
        let mut events =
            events(&[": nothing new\n\nid: 1\nda", "ta: {}\n", "\nid: 5\n\n", "id: 6\ndata: half"]);
        assert_eq!(events.next().await, Some(Event { position: 1, data: Some("{}".to_string()) }));
        assert_eq!(events.next().await, Some(Event { position: 5, data: None }));
        assert_eq!(events.next().await, None, "half an event is none");
    }
}
