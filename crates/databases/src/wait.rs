//! Waiting for a future without a runtime, and without being taken along by its panic.

use std::any::Any;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.unpark();
    }
}

/// Runs a future on this thread, which sleeps while there is nothing to do. For futures that need no runtime.
pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(done) => return done,
            Poll::Pending => thread::park(),
        }
    }
}

/// Keeps this thread waiting, as everything does that is asked of a database which blocks.
#[expect(clippy::disallowed_methods, reason = "the one place where a thread of ours waits for time to pass")]
pub(crate) fn block_for(span: Duration) {
    thread::sleep(span);
}

/// Runs a future to its end or to its panic, whose words are returned. It is dropped either way, so a transaction that
/// it held is rolled back.
pub async fn caught<F: Future>(future: F) -> Result<F::Output, String> {
    let mut future = Box::pin(future);
    // What it leaves behind is dropped with it and looked at by nobody, so nothing half-made is seen.
    let polled = poll_fn(|context| match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context))) {
        Ok(Poll::Pending) => Poll::Pending,
        Ok(Poll::Ready(done)) => Poll::Ready(Ok(done)),
        Err(panic) => Poll::Ready(Err(words(panic.as_ref()))),
    })
    .await;
    match catch_unwind(AssertUnwindSafe(|| drop(future))) {
        Ok(()) => polled,
        Err(panic) => polled.and(Err(words(panic.as_ref()))),
    }
}

fn words(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(ToString::to_string);
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "without words".to_string())
}
