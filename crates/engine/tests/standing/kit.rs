//! Databases to run a test on, and looking until something is so.

use std::future::Future;
use std::time::Duration;

use tenure::Tenure;
use tenure::core::item::Item;
use tenure::core::time::Time;
use tenure::databases::{PAGE_MAX, Query};

pub const PATIENCE: Duration = Duration::from_secs(120);

/// The databases that outlive an engine, both new. The folder goes with the first.
fn files() -> (tempfile::TempDir, [String; 2]) {
    let folder = tempfile::tempdir().unwrap();
    let server = std::env::var("TENURE_TEST_POSTGRES").expect("run the tests with ./check");
    let number = tenure::databases::outside::chance();
    let file = format!("sqlite:{}", folder.path().join("tenure.db").display());
    (folder, [file, format!("{server}?schema=standing_{number:x}")])
}

pub fn on_files<F: Future<Output = ()>>(test: impl Fn(String) -> F) {
    let (_folder, urls) = files();
    urls.into_iter().for_each(|url| run(url, &test));
}

/// Both at the same time.
pub fn on_files_together<F: Future<Output = ()>>(test: impl Fn(String) -> F) {
    let (_folder, [file, server]) = files();
    let both = async |_: String| {
        tokio::join!(test(file.clone()), test(server.clone()));
    };
    run("both:".to_string(), &both);
}

pub fn on_each<F: Future<Output = ()>>(test: impl Fn(String) -> F) {
    run("memory:".to_string(), &test);
    on_files(test);
}

fn run<F: Future<Output = ()>>(url: String, test: &impl Fn(String) -> F) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    eprintln!("on {}", url.split(':').next().unwrap_or_default());
    runtime.block_on(test(url));
}

/// This long ago.
pub fn ago(span: Duration) -> Time {
    tenure::databases::outside::now().before(span)
}

pub async fn all(tenure: &Tenure, kind: &str) -> Vec<Item> {
    let mut items: Vec<Item> = Vec::new();
    loop {
        let after = items.last().map(|item| item.id);
        let kind = Some(kind.parse().unwrap());
        let page = tenure.list(Query { kind, after, limit: PAGE_MAX, ..Query::default() }).await.unwrap();
        if page.is_empty() {
            return items;
        }
        items.extend(page);
    }
}

/// Looks again and again: what is waited for is made by loops that ring no bell of ours.
pub async fn until<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let looked = async {
        let mut ticks = tokio::time::interval(Duration::from_millis(20));
        loop {
            ticks.tick().await;
            if let Some(found) = look().await {
                return found;
            }
        }
    };
    tokio::time::timeout(PATIENCE, looked).await.unwrap_or_else(|_| panic!("waited in vain for: {what}"))
}
