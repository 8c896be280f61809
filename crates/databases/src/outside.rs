//! What comes from outside and is no request: this machine's time, and chance.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::Arc;
use std::time::SystemTime;

use tenure_core::time::Time;

/// Where the time comes from.
pub type Clock = Arc<dyn Fn() -> Time + Send + Sync>;

#[expect(
    clippy::disallowed_methods,
    reason = "the clock of SQLite and of memory is this machine's, and this is where it is read"
)]
pub fn now() -> Time {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Time::default().after(since)
}

/// A number that no other process draws. The standard library has it for its maps.
pub fn chance() -> u64 {
    RandomState::new().build_hasher().finish()
}
