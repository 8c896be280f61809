//! An engine with a worker that has nothing to do, and says what that costs.

use std::time::Duration;

use tenure::{Done, Job, Tenure};

use super::{Orders, Voice, open};
use crate::cli::PartIdle;
use crate::commands::bench::{processor_micros, resident_kb};
use crate::outcome::Error;
use crate::time::pause;

/// Says `idle KB MICROS`: the memory after it has settled, and the processor time of the span after that.
pub async fn run(arguments: &PartIdle, voice: Voice, _: Orders) -> Result<(), Error> {
    let tenure = open(|| Tenure::builder(&arguments.db)).await?;
    let worker = tenure.worker("idle").handle("job", async |_: Job| Ok(Done::default()));
    let _worker = worker.start().map_err(|error| Error::Part(error.to_string()))?;
    pause(Duration::from_millis(arguments.settle_ms)).await;
    let (resident, before) = (resident_kb().unwrap_or_default(), processor_micros());
    pause(Duration::from_millis(arguments.span_ms)).await;
    voice.say(&format!("idle {resident} {}", processor_micros() - before));
    Ok(())
}
