//! The inbox: rows that somebody's own transaction left, to become items.
//!
//! Any driver writes them, so any type can stand in any column, and any length. What can not be read as what it should be is said
//! here, in words for whoever wrote it; everything else is judged by the kernel.

use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row};
use tenure_core::body::BODY_BYTES_MAX;
use tenure_core::code::Problem;
use tenure_core::time::Time;

use crate::Posted;
use crate::batch::inbox::{TURN_BYTES_MAX, WORD_CHARACTERS_MAX, too_long};

/// A number below this is in another unit: it is March 1973 in microseconds, the year 5138 in seconds.
const RUN_AT_MICROS_MIN: i64 = 100_000_000_000_000;
/// Of a value that is refused, so much is repeated in the reason.
const SHOWN_CHARACTERS_MAX: usize = 64;
/// A text that is no word is not read to its end. (`@` is the column, `#` how much of it.)
const WORD: &str = "case when octet_length(@) <= # then @ else substr(@, 1, #) end";
/// Nor is a payload that is longer than any.
const PAYLOAD: &str = "case when octet_length(payload) <= ?2 then payload end, octet_length(payload)";

/// The oldest rows that were not judged yet, until what they hold is enough for a turn.
pub(super) fn waiting(connection: &Connection, limit: usize) -> Result<Vec<Posted>, rusqlite::Error> {
    let word = |name: &str| WORD.replace('@', name).replace('#', &WORD_CHARACTERS_MAX.to_string());
    let sql = format!(
        "select id, {}, {}, {}, {}, priority, run_at, {PAYLOAD} from tenure_inbox where error is null order by id limit ?1",
        word("store"),
        word("kind"),
        word("idempotency_key"),
        word("key")
    );
    let (mut posted, mut bytes) = (Vec::new(), 0);
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows =
        statement.query([limit, BODY_BYTES_MAX].map(|limit| i64::try_from(limit).unwrap_or(i64::MAX)))?;
    while let Some(row) = rows.next()? {
        let row = read(row)?;
        bytes += row.payload.as_ref().map_or(0, String::len);
        if bytes > TURN_BYTES_MAX {
            break;
        }
        posted.push(row);
    }
    Ok(posted)
}

pub(super) fn judged(connection: &Connection, rows: &[(i64, Option<String>)]) -> Result<(), rusqlite::Error> {
    for (id, why) in rows {
        match why {
            None => connection.prepare_cached("delete from tenure_inbox where id = ?1")?.execute([id])?,
            Some(why) => {
                let sql = "update tenure_inbox set error = ?2 where id = ?1";
                connection.prepare_cached(sql)?.execute((id, why))?
            }
        };
    }
    Ok(())
}

fn read(row: &Row<'_>) -> Result<Posted, rusqlite::Error> {
    let mut wrong = None;
    let mut text = |index: usize, name: &str| -> Result<Option<String>, rusqlite::Error> {
        let value = row.get_ref(index)?;
        let text = match value {
            ValueRef::Null => return Ok(None),
            ValueRef::Integer(number) => Some(number.to_string()),
            ValueRef::Real(number) => Some(number.to_string()),
            ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
                std::str::from_utf8(bytes).ok().map(str::to_string)
            }
        };
        if text.is_none() {
            wrong = Some(Problem::invalid(format!("{name} is not UTF-8 text")));
        }
        Ok(text)
    };
    let (store, kind, payload) = (text(1, "store")?, text(2, "kind")?, text(7, "payload")?);
    let (idempotency_key, key) = (text(3, "idempotency_key")?, text(4, "key")?);
    let priority = match row.get_ref(5)? {
        ValueRef::Null => None,
        ValueRef::Integer(number) => Some(number),
        ValueRef::Text(_) | ValueRef::Real(_) | ValueRef::Blob(_) => {
            wrong = Some(Problem::invalid("priority is not an integer"));
            None
        }
    };
    let run_at = match row.get_ref(6)? {
        ValueRef::Null => None,
        // Seconds and milliseconds of our time would be moments of 1970, and the row would run at once.
        ValueRef::Integer(micros) if micros < RUN_AT_MICROS_MIN => {
            wrong = Some(Problem::invalid(format!(
                "run_at is {micros}; a number is in microseconds since 1970 and at least {RUN_AT_MICROS_MIN}"
            )));
            None
        }
        ValueRef::Integer(micros) => Some(micros),
        ValueRef::Text(bytes) if time(bytes).is_some() => time(bytes).map(Time::micros),
        value @ (ValueRef::Text(_) | ValueRef::Real(_) | ValueRef::Blob(_)) => {
            wrong = Some(Problem::invalid(format!(
                "run_at is {}; it is either microseconds since 1970 or a time like 2026-11-15T20:25:00Z",
                shown(value)
            )));
            None
        }
    };
    wrong = wrong.or(row.get::<_, Option<i64>>(8)?.and_then(too_long));
    Ok(Posted { id: row.get(0)?, store, kind, payload, idempotency_key, key, priority, run_at, wrong })
}

fn shown(value: ValueRef<'_>) -> String {
    match value {
        ValueRef::Real(number) => number.to_string(),
        ValueRef::Text(bytes) => {
            let text: String = String::from_utf8_lossy(bytes).chars().take(SHOWN_CHARACTERS_MAX).collect();
            format!("{text:?}")
        }
        ValueRef::Null | ValueRef::Integer(_) | ValueRef::Blob(_) => "a blob".to_string(),
    }
}

/// RFC 3339, or what SQLite's own `datetime()` gives, which is UTC.
fn time(bytes: &[u8]) -> Option<Time> {
    let text = std::str::from_utf8(bytes).ok()?;
    text.parse().or_else(|_| format!("{text}Z").parse()).ok()
}
