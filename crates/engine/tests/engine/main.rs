//! The engine as a program sees it, on every database.

mod controls;
mod draining;
mod operations;
mod outcomes;
mod pages;
mod places;
mod promises;
mod readme;
mod retention;
mod working;

use std::future::Future;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(60);

/// Runs a test on all three databases, each new.
fn on_each<F: Future<Output = ()>>(test: impl Fn(String) -> F) {
    let folder = tempfile::tempdir().unwrap();
    let server = std::env::var("TENURE_TEST_POSTGRES").expect("run the tests with ./check");
    let number = tenure::databases::outside::chance();
    let urls = [
        "memory:".to_string(),
        format!("sqlite:{}", folder.path().join("tenure.db").display()),
        format!("{server}?schema=engine_{number:x}"),
    ];
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    for url in urls {
        eprintln!("on {}", url.split(':').next().unwrap_or_default());
        runtime.block_on(test(url));
    }
}

/// Runs a test of what is the same on every database.
fn on_memory<F: Future<Output = ()>>(test: impl FnOnce(tenure::Tenure) -> F) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async { test(tenure::Tenure::open("memory:").await.unwrap()).await });
}

/// Looks until it is so.
async fn until(is_so: impl Fn() -> bool) {
    let looked = async {
        let mut looks = tokio::time::interval(Duration::from_millis(10));
        while !is_so() {
            looks.tick().await;
        }
    };
    tokio::time::timeout(PATIENCE, looked).await.expect("it becomes so");
}
