//! Writing new items, several in one statement.
//!
//! `items` has a trigger for inserts, and `items.id` is checked by a function, which might fail: SQLite therefore copies every page
//! that such a statement changes before it changes it. One statement a row would cost a bulk create a third more instructions; several
//! rows share the copies, and the cursors too.

use std::sync::LazyLock;

use rusqlite::Statement;
use tenure_core::body::Body;
use tenure_core::item::SharedItem;
use tenure_core::world::Change;

use super::fault::Fault;
use super::held::Touched;
use super::rows::{PAYLOAD, id_bytes};
use super::tx::{Known, Parts};
use super::write::{Statements, note_lane, queue_of_item, write_body};
use crate::row::item::{INLINE_BYTES_MAX, ItemRow};
use crate::row::slot_number;

/// What a statement has room for: a part of a batch as it is handed over (`batch/beside.rs`), less, and one. The largest that fit are used.
const ROWS: [usize; 3] = [32, 8, 1];
const COLUMNS: usize = 19;

static SQL: LazyLock<[String; ROWS.len()]> = LazyLock::new(|| ROWS.map(sql));

// A new item is held by nobody and has committed nothing: those columns are null. `or rollback`: a row that is refused ends the
// transaction, which is what happens to it anyway.
fn sql(rows: usize) -> String {
    let row = format!("({})", ["?"; COLUMNS].join(", "));
    let values = vec![row; rows].join(", ");
    format!(
        "insert or rollback into items (id, queue, lifecycle, state, slot, laned, rank, version, fence, run_at, created, \
         updated, key, segment, head, payload_hash, payload, rest, wait) values {values}"
    )
}

/// A new item and its payload.
type New<'w> = (&'w SharedItem, Option<&'w Body>);

/// Writes all new items of a wave. What hangs on them comes after.
pub(super) fn insert_all(
    parts: &mut Parts<'_>,
    statements: &mut Statements<'_>,
    wave: &[Change],
) -> Result<usize, Fault> {
    let inserts = wave.iter().filter_map(|change| match change {
        Change::Insert { item, payload } => Some((item, payload.as_ref())),
        _ => None,
    });
    let inserts: Vec<New<'_>> = inserts.collect();
    let mut rest = &inserts[..];
    for (rows, sql) in ROWS.into_iter().zip(&*SQL) {
        let mut chunks = rest.chunks_exact(rows);
        if chunks.len() > 0 {
            let mut statement = statements.connection.prepare_cached(sql)?;
            for chunk in &mut chunks {
                insert(parts, statements, &mut statement, chunk)?;
            }
        }
        rest = chunks.remainder();
    }
    Ok(inserts.len())
}

fn insert(
    parts: &mut Parts<'_>,
    statements: &mut Statements<'_>,
    statement: &mut Statement<'_>,
    items: &[New<'_>],
) -> Result<(), Fault> {
    let segment = parts.scratch.last.next();
    for (place, (item, payload)) in items.iter().enumerate() {
        assert!(item.lease.is_none() && item.committed.is_none(), "a new item is held by nobody");
        let queue = queue_of_item(parts, statements, item)?;
        bind(parts, statement, place * COLUMNS, queue, (item, *payload))?;
        note_lane(parts, queue, item);
    }
    statement.raw_execute()?;
    // They were numbered one after another.
    let last = statements.connection.last_insert_rowid();
    for (rowid, (item, payload)) in (last - items.len() as i64 + 1..).zip(items) {
        let known = Known { rowid, version: item.version, segment };
        parts.scratch.known.insert(item.id, known);
        parts.scratch.touched.push(Touched::Written((*item).clone(), known));
        if let Some(payload) = payload.filter(|payload| payload.bytes().len() > INLINE_BYTES_MAX) {
            write_body(statements, item.id, PAYLOAD, payload)?;
        }
    }
    Ok(())
}

fn bind(
    parts: &Parts<'_>,
    statement: &mut Statement<'_>,
    before: usize,
    queue: i64,
    (item, payload): New<'_>,
) -> Result<(), Fault> {
    let lifecycle = parts.context.lifecycles.number(&item.table)?;
    let row = ItemRow::of(item, parts.scratch.now);
    let inline = payload.map(Body::bytes).filter(|bytes| bytes.len() <= INLINE_BYTES_MAX);
    bind!(statement, before;
        id_bytes(item.id), queue, lifecycle, row.state, slot_number(row.slot), item.lane_key().is_some(), row.rank, row.version,
        row.fence, row.run_at, row.created, row.updated, row.key.as_deref(), parts.scratch.last.next(), row.head.0,
        row.payload.0, inline, &*row.rest, row.wait,
    );
    Ok(())
}
