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
            tokio::select! {
                () = pause(takes) => {}
                () = job.cancelled() => {
                    voice.say(&format!("lost {}", job.id()));
                    return Err(Failure::retry("its lease was lost"));
                }
            }
            voice.say(&format!("sent {}", job.id()));
            Done::with(&"sent")
        }
    };
    let lease = Duration::from_millis(arguments.lease_ms);
    let worker = tenure.worker(&arguments.name).concurrency(1).lease(lease).handle("job", handler);
    let worker = worker.start().map_err(|error| Error::Part(error.to_string()))?;
    voice.say("open");
    orders.next().await;
    worker.drain().await;
    Ok(())
}
