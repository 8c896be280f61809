//! Wake-ups between processes. On PostgreSQL they tell each other; on SQLite each notices that others have written to the file. Both
//! are hints: who misses one finds the work when it looks by itself. What this process writes rings where it is answered.

use std::time::Duration;

use tenure_core::word::Kind;
use tenure_databases::postgres::{Listener, Postgres, WORDS_BYTES_MAX};
use tenure_databases::sqlite::Sqlite;

use super::Parts;
use crate::bell::Far;
use crate::kept::Kept;
use crate::time::pause;

/// What happens within this time after a call is told with the next one. A call takes a lock of the whole server.
const TELL_EVERY: Duration = Duration::from_millis(10);
/// The file is looked at so often while somebody waits: one look at shared memory. Where something happens more is to be expected;
/// where nothing does the looking should not be noticed.
const WATCH_BUSY: Duration = Duration::from_millis(20);
const WATCH_QUIET: Duration = Duration::from_millis(200);
/// Looks without a change after which it is quiet.
const QUIET_AFTER: u32 = 100;
/// A connection that was lost is not asked for again at once.
const AWAY: Duration = Duration::from_secs(1);
/// Stands for every kind.
const ANY: &str = "*";

/// Runs until the engine ends, whether this process has loops or not: who only creates must be heard too.
pub(crate) async fn run(parts: Parts) {
    match &parts.kept {
        Kept::Memory(_) => {}
        Kept::Sqlite(sqlite) => watch(&parts, sqlite).await,
        Kept::Postgres(postgres) => {
            tokio::join!(tell(&parts, postgres), listen(&parts, postgres));
        }
    }
}

async fn watch(parts: &Parts, sqlite: &Sqlite) {
    loop {
        parts.bells.somebody_listens().await;
        let watched = async {
            let mut watch = sqlite.watch()?;
            let mut unchanged = 0;
            while !parts.bells.listened().is_empty() {
                unchanged = if watch.has_changed()? { 0 } else { QUIET_AFTER.min(unchanged + 1) };
                if unchanged == 0 {
                    parts.bells.ring_all();
                }
                pause(if unchanged < QUIET_AFTER { WATCH_BUSY } else { WATCH_QUIET }).await;
            }
            Ok::<(), tenure_databases::Error>(())
        };
        if let Err(error) = watched.await {
            parts.counters.failed_turn(&error.to_string());
            pause(AWAY).await;
        }
    }
}

async fn tell(parts: &Parts, postgres: &Postgres) {
    loop {
        parts.bells.telling.notified().await;
        let words = words(&parts.node, &parts.bells.take_far());
        if let Err(error) = postgres.tell(&words).await {
            parts.counters.failed_turn(&error.to_string());
        }
        pause(TELL_EVERY).await;
    }
}

async fn listen(parts: &Parts, postgres: &Postgres) {
    loop {
        parts.bells.somebody_listens().await;
        match postgres.listen().await {
            Ok(Some(listener)) => {
                // Whatever was told before nobody listened is looked for.
                parts.bells.ring_all();
                hear(parts, listener).await;
            }
            Ok(None) => return,
            Err(error) => parts.counters.failed_turn(&error.to_string()),
        }
        pause(AWAY).await;
    }
}

/// Until the connection is lost.
async fn hear(parts: &Parts, mut listener: Listener) {
    while let Some(words) = listener.next().await {
        let mut words = words.split(' ');
        if words.next() == Some(parts.node.as_str()) {
            continue;
        }
        for word in words {
            match word.parse::<Kind>() {
                Ok(kind) => parts.bells.ring(&kind),
                Err(_) => parts.bells.ring_all(),
            }
        }
    }
}

/// Who tells, and of which kinds there may be work.
fn words(node: &str, far: &Far) -> String {
    let kinds: Vec<&str> = far.kinds.iter().map(|kind| &**kind).collect();
    let words = format!("{node} {}", kinds.join(" "));
    if far.all || words.len() > WORDS_BYTES_MAX { format!("{node} {ANY}") } else { words }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_fits_into_one_call() {
        let far =
            Far { kinds: (0..2_000).map(|n| format!("kind_{n}").parse().unwrap()).collect(), all: false };
        assert_eq!(words("me", &far), "me *");
        let far = Far { kinds: ["job".parse().unwrap(), "run".parse().unwrap()].into(), all: false };
        assert_eq!(words("me", &far), "me job run");
        assert!(ANY.parse::<Kind>().is_err(), "the sign for every kind is no kind");
    }
}
