//! The engine's own threads. Heartbeats, loops and writes run here and nowhere else: a handler that blocks its thread, or a
//! program that is busy, keeps none of them from running.

use std::future::Future;
use std::io;

use tokio::runtime::{Builder, Handle, Runtime};

/// One could be kept busy by a large batch; with two the heartbeats go on beside it.
const THREADS: usize = 2;

#[derive(Debug)]
pub(crate) struct Background {
    /// None once it has ended.
    runtime: Option<Runtime>,
}

impl Background {
    pub fn start() -> io::Result<Background> {
        let runtime =
            Builder::new_multi_thread().worker_threads(THREADS).thread_name("tenure").enable_all().build()?;
        Ok(Background { runtime: Some(runtime) })
    }

    pub fn handle(&self) -> &Handle {
        self.runtime.as_ref().expect("it ends when it is dropped").handle()
    }

    /// Starts a task that ends with the engine.
    pub fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.handle().spawn(task);
    }

    /// Runs something here and waits for it from anywhere.
    pub async fn run<T: Send + 'static>(&self, work: impl Future<Output = T> + Send + 'static) -> T {
        match self.handle().spawn(work).await {
            Ok(done) => done,
            Err(ended) => std::panic::resume_unwind(ended.into_panic()),
        }
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        // Whoever drops the engine may be on a runtime of its own, where nothing may be waited for.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
