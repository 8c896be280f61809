//! What is asked and under way, in a box.
//!
//! The body of an `async fn` is built in every crate that awaits it, with all that it awaits in turn: each program and each test
//! would build most of the engine again. What is called often or reaches far is boxed here, and built once.

use std::future::Future;
use std::pin::Pin;

/// To be awaited.
pub type Asked<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;
