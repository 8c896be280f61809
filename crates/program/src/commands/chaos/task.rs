//! What the jobs of a chaos run are told to do: drawn by the loaders, done by the workers.

use serde::{Deserialize, Serialize};
use tenure_core::draw::Draw;

/// The label of what a commit leaves behind: one record and one message.
pub const EFFECT: &str = "effect";

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Task {
    pub number: u64,
    pub act: Act,
    /// How long it takes, at least.
    pub ms: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Act {
    Work,
    /// Takes longer than its lease: heartbeats must keep it.
    Slow,
    FailOnce,
    PanicOnce,
    /// Fails for good.
    Never,
    /// Until somebody calls it off.
    Hang,
    /// Its commit creates another job.
    Child,
}

impl Task {
    pub fn draw(seed: u64, number: u64) -> Task {
        let mut draw = Draw::new(seed.wrapping_mul(0x5851_f42d_4c95_7f2d) ^ number);
        let act = match draw.number() % 100 {
            0..55 => Act::Work,
            55..63 => Act::Slow,
            63..73 => Act::FailOnce,
            73..77 => Act::PanicOnce,
            77..82 => Act::Never,
            82..88 => Act::Hang,
            _ => Act::Child,
        };
        Task { number, act, ms: 1 + draw.number() % 400 }
    }
}
