//! Draining while somebody keeps an old snapshot open, as a dump or a forgotten session does: dead rows can not be
//! removed meanwhile, and a queue that walks over them slows down.

use super::create::{Fill, fill};
use super::drain::{self, Drained};
use super::store::Stage;
use super::target::Pin;
use crate::outcome::Error;

/// Drains so many while the snapshot is held. The fill comes after it, so that every row is younger.
pub async fn drained(stage: &Stage, pin: Option<Pin>, n: usize) -> Result<Drained, Error> {
    fill(stage, Fill::Ready, n).await?;
    let drained = drain::all(stage, n).await;
    if let Some(pin) = pin {
        pin.release().await?;
    }
    drained
}
