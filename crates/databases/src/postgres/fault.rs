//! What an error of the server means to a batch.

use tokio_postgres::Error as Cause;
use tokio_postgres::error::SqlState;

use crate::batch::TORN;
use crate::{Commit, Error};

/// A statement failed; nothing of its transaction will be written.
pub(super) fn of(cause: &Cause) -> Error {
    let Some(error) = cause.as_db_error() else {
        return Error::Unavailable(words(cause));
    };
    let text = match error.constraint() {
        // A count that was not the planned one, where nobody could wait for it.
        _ if *error.code() == SqlState::DIVISION_BY_ZERO => TORN.to_string(),
        Some(constraint) => format!("{} ({constraint}, {})", error.message(), error.code().code()),
        None => format!("{} ({})", error.message(), error.code().code()),
    };
    if is_race(error.code(), error.constraint()) || is_outdated(cause) {
        Error::LostRace(text)
    } else if is_away(error.code()) {
        Error::Unavailable(text)
    } else {
        Error::Statement(text)
    }
}

/// The answer to a COMMIT was an error. Unless it is plainly about the transaction it is not believed: a server that is
/// shut down or runs full in the middle of a commit may have made it.
pub(super) fn of_commit(cause: &Cause) -> Commit {
    match cause.as_db_error() {
        Some(error) if !is_away(error.code()) => Commit::Not(of(cause)),
        _ => Commit::Unknown,
    }
}

/// A prepared statement answers with other types than when it was prepared: the schema was changed meanwhile. The connection says so
/// for as long as it lives; on another it is prepared anew.
pub(super) fn is_outdated(cause: &Cause) -> bool {
    let error = cause.as_db_error();
    error.is_some_and(|error| {
        *error.code() == SqlState::FEATURE_NOT_SUPPORTED && error.routine() == Some("RevalidateCachedQuery")
    })
}

/// Another transaction won. A name, a lane or a batch that is there already is somebody else's row, or the mark of a
/// settlement; an item, an execution or a running key is not, and trying again would hit it again.
fn is_race(state: &SqlState, constraint: Option<&str>) -> bool {
    const OTHERS: [&str; 3] = ["names_pkey", "lanes_pkey", "segments_batch_key"];
    match *state {
        SqlState::T_R_SERIALIZATION_FAILURE
        | SqlState::T_R_DEADLOCK_DETECTED
        | SqlState::LOCK_NOT_AVAILABLE => true,
        SqlState::UNIQUE_VIOLATION => constraint.is_some_and(|name| OTHERS.contains(&name)),
        _ => false,
    }
}

/// The server can not be reached, will not have us, can not write, or ran out of time.
fn is_away(state: &SqlState) -> bool {
    // Connection exceptions, insufficient resources, operator intervention (shutdown, timeouts), I/O and its own faults.
    const CLASSES: [&str; 5] = ["08", "53", "57", "58", "XX"];
    let code = state.code();
    CLASSES.iter().any(|class| code.starts_with(class))
        // Idle in a transaction for too long; a server that only reads, as a standby does.
        || ["25P03", "25006"].contains(&code)
}

/// The driver's own words hide the reason in its source.
fn words(cause: &Cause) -> String {
    let mut text = cause.to_string();
    let mut source = std::error::Error::source(cause);
    while let Some(inner) = source {
        text = format!("{text}: {inner}");
        source = inner.source();
    }
    text
}
