//! A process that works on a database until it is killed, and prints what it was answered, each line once it was:
//! `writer URL SEED [WORKERS]`. It is the worker of `tests/crash`, for whoever wants to kill it by hand.

#[path = "../tests/conformance/requests.rs"]
#[allow(dead_code, reason = "the conformance suite needs all of them")]
mod requests;
#[path = "../tests/crash/voice.rs"]
#[allow(dead_code, reason = "a test reads what is said here")]
mod voice;
#[path = "../tests/crash/writer.rs"]
mod writer;

use std::sync::Arc;

use tenure_core::lifecycle::shipped;
use tenure_databases::Database;
use tenure_databases::postgres::{self, Postgres};
use tenure_databases::sqlite::{self, Sqlite};
use tenure_databases::url::Url;
use voice::Voice;
use writer::fast_clock;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (url, seed, workers) = match &arguments[..] {
        [url, seed] => (url, seed, "1"),
        [url, seed, workers] => (url, seed, &**workers),
        _ => panic!("usage: writer URL SEED [WORKERS]"),
    };
    let (seed, workers) = (seed.parse().expect("a seed"), workers.parse().expect("a number of workers"));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.expect("a runtime").block_on(async {
        let tables = shipped::tables();
        let clock = Some(Arc::new(fast_clock) as _);
        match url.parse::<Url>().expect("an address") {
            Url::Memory => panic!("nothing survives in memory"),
            Url::Sqlite(path) => {
                let options = sqlite::Options { tables, clock, ..sqlite::Options::default() };
                work(&Sqlite::open(&path, options).expect("it opens"), seed, workers).await;
            }
            Url::Postgres(url) => {
                let options = postgres::Options { tables, clock };
                work(&Postgres::connect(url.reveal(), options).await.expect("it opens"), seed, workers).await;
            }
        }
    });
}

async fn work<D: Database>(database: &D, seed: u64, workers: usize) {
    writer::work(database, &Voice::new(), seed, workers).await;
}
