//! A runner: a worker that does nothing with its jobs, and says when it has committed so many.

use std::time::Duration;

use tenure::{Done, Job, Tenure};

use super::{Orders, Voice, open};
use crate::cli::PartRunner;
use crate::outcome::Error;
use crate::time::pause;

/// Short beside the seconds that are measured.
const LOOK_EVERY: Duration = Duration::from_millis(2);

pub async fn run(arguments: &PartRunner, voice: Voice, mut orders: Orders) -> Result<(), Error> {
    let tenure = open(|| Tenure::builder(&arguments.db)).await?;
    let worker = tenure.worker("runner").handle("job", async |_: Job| Ok(Done::default()));
    let worker = worker.start().map_err(|error| Error::Part(error.to_string()))?;
    voice.say("open");
    let done = async {
        while tenure.counters().committed() < arguments.jobs as u64 {
            pause(LOOK_EVERY).await;
        }
    };
    tokio::select! {
        () = done => voice.say("done"),
        _ = orders.next() => return Ok(()),
    }
    worker.drain().await;
    Ok(())
}
