//! A clerk: a worker of the demonstration that sends letters, one at a time, and says so.

use std::time::Duration;

use tenure::{Done, Failure, Job, Tenure};

use super::{Orders, Voice, open};
use crate::cli::PartClerk;
use crate::outcome::Error;
use crate::time::pause;

pub async fn run(arguments: &PartClerk, voice: Voice, mut orders: Orders) -> Result<(), Error> {
    let tenure = open(|| Tenure::builder(&arguments.db).without_loops()).await?;
    let takes = Duration::from_millis(arguments.takes_ms);
    let said = voice.clone();
    let handler = move |job: Job| {
        let voice = said.clone();
        async move {
            voice.say(&format!("began {}", job.id()));
            // A handler whose lease is lost is ended where it stands: it may not come to hear of it.
            let mut letter = Letter { voice, id: job.id().to_string(), is_sent: false };
            tokio::select! {
                () = pause(takes) => {}
                () = job.cancelled() => return Err(Failure::retry("its lease was lost")),
            }
            letter.is_sent = true;
            letter.voice.say(&format!("sent {}", letter.id));
            Done::with(&"sent")
        }
    };
    let lease = Duration::from_millis(arguments.lease_ms);
    let worker = tenure.worker(&arguments.name).concurrency(1).lease(lease).handle(&arguments.kind, handler);
    let worker = worker.start().map_err(|error| Error::Part(error.to_string()))?;
    voice.say("open");
    orders.next().await;
    worker.drain().await;
    Ok(())
}

/// Dropped before it is sent, it is lost.
struct Letter {
    voice: Voice,
    id: String,
    is_sent: bool,
}

impl Drop for Letter {
    fn drop(&mut self) {
        if !self.is_sent {
            self.voice.say(&format!("lost {}", self.id));
        }
    }
}
