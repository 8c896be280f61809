//! Databases of a test's own.

use std::future::Future;
use std::time::Duration;

use tenure::Tenure;

/// A fact that does not come at all fails the test.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Runs a test on all three databases, each new.
pub fn on_each<F: Future<Output = ()>>(test: impl Fn(String) -> F) {
    on_memory(&test);
    on_kept(&test);
}

pub fn on_memory<F: Future<Output = ()>>(test: impl Fn(String) -> F) {
    eprintln!("on memory");
    runtime().block_on(test("memory:".to_string()));
}

/// Runs a test on both databases that outlive their process.
pub fn on_kept<F: Future<Output = ()>>(test: impl Fn(String) -> F) {
    on_sqlite(&test);
    on_postgres(&test);
}

pub fn on_sqlite<F: Future<Output = ()>>(test: impl Fn(String) -> F) {
    let folder = tempfile::tempdir().unwrap();
    eprintln!("on sqlite");
    runtime().block_on(test(format!("sqlite:{}", folder.path().join("tenure.db").display())));
}

pub fn on_postgres<F: Future<Output = ()>>(test: impl Fn(String) -> F) {
    let server = std::env::var("TENURE_TEST_POSTGRES").expect("run the tests with ./check");
    let number = tenure::databases::outside::chance();
    eprintln!("on postgres");
    runtime().block_on(test(format!("{server}?schema=systems_{number:x}")));
}

/// The same engine, at home in another store. A process works for every store, so tests start a system there and work here.
pub fn at_home_elsewhere(tenure: &Tenure) -> Tenure {
    tenure.acting("elsewhere".parse().unwrap(), tenure.actor().clone())
}

pub fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}
