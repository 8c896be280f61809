//! A node: an engine with its loops and no worker.

use tenure::Tenure;

use super::{Orders, Voice, count, open, say_counters};
use crate::cli::PartNode;
use crate::outcome::Error;

pub async fn run(arguments: &PartNode, voice: Voice, mut orders: Orders) -> Result<(), Error> {
    let tenure = open(|| Tenure::builder(&arguments.db)).await?;
    voice.say("open");
    tokio::select! {
        () = count(&voice, tenure.counters()) => {}
        _ = orders.next() => {}
    }
    say_counters(&voice, tenure.counters());
    Ok(())
}
