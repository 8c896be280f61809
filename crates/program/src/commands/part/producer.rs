//! A producer: as many callers as it is told, each waiting for its answer before it asks again.

use tenure::{New, Tenure};
use tokio::task::JoinSet;

use super::{Orders, Voice, open};
use crate::cli::PartProducer;
use crate::commands::bench::payload;
use crate::outcome::Error;

pub async fn run(arguments: &PartProducer, voice: Voice, mut orders: Orders) -> Result<(), Error> {
    let tenure = open(|| Tenure::builder(&arguments.db)).await?;
    voice.say("open");
    if orders.next().await.is_none() {
        return Ok(());
    }
    let mut callers = JoinSet::new();
    let each = arguments.jobs.div_ceil(arguments.callers);
    for caller in 0..arguments.callers {
        let tenure = tenure.clone();
        callers.spawn(async move {
            for turn in 0..each {
                tenure.create(New::job(&payload(caller * each + turn))).await?;
            }
            Ok::<_, tenure::Error>(())
        });
    }
    while let Some(ended) = callers.join_next().await {
        ended.expect("a caller does not panic").map_err(|error| Error::Part(error.to_string()))?;
    }
    voice.say("done");
    Ok(())
}
