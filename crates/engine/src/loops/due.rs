//! Ringing when something that was put off becomes due. What is due is decided by the claim; this only sees to it that somebody
//! looks then, and not up to a second later.

use std::time::Duration;

use super::Parts;
use crate::time::pause;

/// How often it is asked what comes next. Items that other processes put off for less than that are found by who looks.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Much may be put off at once: it is asked once for all of it.
const LOOK_PAUSE: Duration = Duration::from_millis(20);
/// A moment later than due, so that the clock that judges agrees.
const SLACK: Duration = Duration::from_millis(1);

/// Looks once, rings when the first of each kind is due, and ends when it is time to look again.
pub(super) async fn turn(parts: &Parts) -> Result<bool, tenure_databases::Error> {
    let kinds = parts.bells.somebody_listens().await;
    let mut put_off = std::pin::pin!(parts.bells.put_off.notified());
    let mut coming = parts.kept.upcoming(&parts.store, &kinds).await?;
    coming.retain(|(_, wait)| *wait < LOOK_EVERY);
    coming.sort_by_key(|(_, wait)| *wait);
    let look_again = async {
        pause(LOOK_PAUSE).await;
        let _ = tokio::time::timeout(LOOK_EVERY - LOOK_PAUSE, put_off.as_mut()).await;
    };
    let ring = async {
        let mut passed = Duration::ZERO;
        for (kind, wait) in &coming {
            if *wait > Duration::ZERO {
                let wait = *wait + SLACK;
                pause(wait.saturating_sub(passed)).await;
                passed = passed.max(wait);
            }
            parts.bells.ring(kind);
        }
        std::future::pending::<()>().await;
    };
    tokio::select! {
        () = look_again => {}
        () = ring => {}
    }
    Ok(true)
}
