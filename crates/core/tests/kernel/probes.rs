//! The adversarial probes: what a hostile or unlucky worker tries, and must not get.

use std::time::Duration;

use tenure_core::answer::Answer;

use crate::kit::*;

const PAST_THE_LEASE: Duration = Duration::from_secs(61);

// covers: J-06, K-12
#[test]
fn an_expired_worker_can_not_commit() {
    let mut bench = Bench::new();
    let job = bench.job();
    let execution = bench.run("worker:a/1", job);
    bench.wait(PAST_THE_LEASE);
    let answer = bench.ask("worker:a/1", commit(execution));
    assert!(matches!(answer, Answer::LeaseLost(_)), "{answer:?}");
    assert_eq!(bench.story(job), "create lease start");
}
