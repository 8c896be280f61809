//! Databases that processes share: a file, or a schema of a test's own; and what is asked of them from outside.

use std::future::Future;
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
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
use crate::{raw, schema};

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

/// As [`on_each`], both at the same time: for what takes its time.
pub fn on_each_together<F: Future<Output = ()>>(test: impl Fn(String) -> F) {
    let folder = tempfile::tempdir().unwrap();
    let name = schema::fresh();
    let file = format!("sqlite:{}", folder.path().join("tenure.db").display());
    runtime().block_on(async {
        tokio::join!(test(file), test(schema::url(&name)));
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
            verify::database(&Postgres::connect(url.reveal(), options).await.unwrap(), None, |_| {}).await
        }
    };
    let report = report.unwrap();
    assert!(report.is_sound(), "{report:#?}");
}

/// SIGSTOP: it stands still and knows nothing of it. Not in the middle of a write: whoever stands still with the lock of a SQLite
/// file keeps everybody from writing there, and no lease of it could be taken over.
pub async fn stop(child: &Program, url: &str) {
    let stood_still = async {
        loop {
            signal(child, Signal::STOP);
            // A signal is sent, and comes when it comes: to be told is to know that all of its threads stand still.
            let told = waitid(WaitId::Pid(pid(child)), WaitIdOptions::STOPPED);
            told.unwrap().expect("it has stopped");
            if raw::may_write(url) {
                return;
            }
            go_on(child);
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, stood_still).await.expect("it does not write all the time");
}

pub fn go_on(child: &Program) {
    signal(child, Signal::CONT);
}

fn signal(child: &Program, signal: Signal) {
    kill_process(pid(child), signal).unwrap();
}

fn pid(child: &Program) -> Pid {
    Pid::from_raw(child.id().try_into().unwrap()).unwrap()
}
