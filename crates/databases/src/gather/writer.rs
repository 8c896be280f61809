//! A writer: takes what waits, runs it as a batch, answers, and again, until nobody calls any more.

use std::sync::Arc;

use tenure_core::draw::Draw;
use tenure_core::request::Request;
use tokio::sync::watch;

use super::Replies;
use super::Turns;
use super::call::Load;
use super::measures::Measures;
use super::shield::Shield;
use crate::batch;
use crate::measure::Since;
use crate::wait::caught;
use crate::{Database, Error};

#[derive(Debug)]
pub(super) struct Writer<D> {
    database: Shield<D>,
    turns: Arc<Turns>,
    draw: Draw,
    measures: Arc<Measures>,
    /// Tells that this writer lives, by not being dropped.
    _alive: watch::Receiver<()>,
}

impl<D: Database> Writer<D> {
    pub fn new(
        database: Arc<D>,
        turns: Arc<Turns>,
        seed: u64,
        number: u64,
        alive: watch::Receiver<()>,
    ) -> Writer<D> {
        // Two writers of one seed draw from places that are far from each other.
        let seed = Draw::new(seed ^ Draw::new(number).number()).number();
        let measures = Arc::default();
        Writer { database: Shield(database), turns, draw: Draw::new(seed), measures, _alive: alive }
    }

    /// The same writer, counting where others read.
    pub fn measured(self, measures: Arc<Measures>) -> Writer<D> {
        Writer { measures, ..self }
    }

    pub async fn run(mut self) {
        // The turn ends before the batch begins: a slow batch keeps only its own callers waiting.
        while let Some(load) = self.next().await {
            let began = Since::now();
            let replies = self.replies(&load.requests).await;
            self.measures.batch(&replies, began);
            load.answer(replies, began);
        }
    }

    async fn next(&self) -> Option<Load> {
        self.turns.0.load().await
    }

    async fn replies(&mut self, requests: &[Request]) -> Replies {
        let mut seeds = Vec::with_capacity(requests.len());
        seeds.extend((0..).zip(requests).map(|(ordinal, _)| Draw::numbered(self.draw.number(), ordinal)));
        run(&self.database, requests, &seeds, &mut self.draw).await
    }
}

/// Runs a batch. One that panics did so before its commit ([`Shield`] sees to that), so nothing was written: its halves
/// are run by themselves, until the request that has the bug stands alone and is told so.
async fn run<D: Database>(
    database: &Shield<D>,
    requests: &[Request],
    seeds: &[Draw],
    draw: &mut Draw,
) -> Replies {
    let panic = match caught(batch::run_seeded(database, requests, seeds, draw)).await {
        Ok(replies) => return replies,
        Err(panic) => panic,
    };
    if requests.len() == 1 {
        return vec![Err(Error::Statement(format!("a bug in Tenure, please report it: {panic}")))];
    }
    let half = requests.len() / 2;
    let (left, right) = (&requests[..half], &requests[half..]);
    let mut replies = Box::pin(run(database, left, &seeds[..half], draw)).await;
    replies.extend(Box::pin(run(database, right, &seeds[half..], draw)).await);
    replies
}
