//! Databases that processes share: a file, or a schema of a test's own; and what is asked of them from outside.

use std::future::Future;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tenure::core::entry::Sealed;
use tenure::core::id::ItemId;
use tenure::core::item::Item;
use tenure::core::lifecycle::event::Event;
use tenure::core::lifecycle::shipped;
use tenure::databases::postgres::{self, Postgres};
use tenure::databases::sqlite::{self, Sqlite};
use tenure::databases::url::Url;
use tenure::databases::verify;
use tenure::{New, Tenure};

use crate::program::Program;
use crate::schema;

/// A fact that does not come at all fails the test.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Runs a test on both databases that processes can share, each new.
pub fn on_each<F: Future<Output = ()>>(test: impl Fn(String) -> F) {
    on_sqlite(&test);
    on_postgres(&test);
}

pub fn on_sqlite<F: Future<Output = ()>>(test: impl Fn(String) -> F) {
    let folder = tempfile::tempdir().unwrap();
    eprintln!("on sqlite");
    runtime().block_on(test(format!("sqlite:{}", folder.path().join("tenure.db").display())));
}

pub fn on_postgres<F: Future<Output = ()>>(test: impl Fn(String) -> F) {
    let name = schema::fresh();
    eprintln!("on postgres");
    runtime().block_on(async {
        test(schema::url(&name)).await;
        schema::drop(&name).await;
    });
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

/// Creates so many jobs with these payloads, from 0.
pub async fn jobs(tenure: &Tenure, count: usize) -> Vec<ItemId> {
    let created = tenure.create_all((0..count).map(|number| New::job(&number))).await;
    created.into_iter().map(|job| job.unwrap().id).collect()
}

/// Looks at an item until it is so.
pub async fn until(tenure: &Tenure, id: ItemId, is_so: impl Fn(&Item) -> bool) -> Item {
    let looked = async {
        let mut looks = tokio::time::interval(Duration::from_millis(10));
        loop {
            looks.tick().await;
            match tenure.item(id).await {
                Ok(item) if is_so(&item) => return item,
                Ok(_) => {}
                // Its connection was cut just now; the next look has another.
                Err(error) => assert!(error.is_retryable(), "{error}"),
            }
        }
    };
    tokio::time::timeout(PATIENCE, looked).await.expect("it becomes so")
}

/// Looks at something else until it is so.
pub async fn until_so(is_so: impl Fn() -> bool) {
    let looked = async {
        let mut looks = tokio::time::interval(Duration::from_millis(10));
        while !is_so() {
            looks.tick().await;
        }
    };
    tokio::time::timeout(PATIENCE, looked).await.expect("it becomes so");
}

pub fn actions(history: &[Sealed]) -> Vec<Event> {
    history.iter().map(|entry| entry.action.clone()).collect()
}

/// Every row is what the log says, and every chain is whole.
pub async fn is_sound(url: &str) {
    let report = match url.parse::<Url>().unwrap() {
        Url::Memory => panic!("processes share no memory"),
        Url::Sqlite(path) => {
            let options = sqlite::Options { tables: shipped::tables(), ..sqlite::Options::default() };
            verify::database(&Sqlite::open(&path, options).unwrap(), None, |_| {}).await
        }
        Url::Postgres(url) => {
            let options = postgres::Options { tables: shipped::tables(), ..postgres::Options::default() };
            verify::database(&Postgres::connect(&url, options).await.unwrap(), None, |_| {}).await
        }
    };
    let report = report.unwrap();
    assert!(report.is_sound(), "{report:#?}");
}

/// SIGSTOP: it stands still and knows nothing of it.
pub fn stop(child: &Program) {
    signal(child, Signal::STOP);
}

pub fn go_on(child: &Program) {
    signal(child, Signal::CONT);
}

fn signal(child: &Program, signal: Signal) {
    let pid = Pid::from_raw(child.id().try_into().unwrap()).unwrap();
    kill_process(pid, signal).unwrap();
}
