//! Items, executions and bodies from their rows.

use std::borrow::Cow;

use rusqlite::types::{FromSql, FromSqlError, ValueRef};
use rusqlite::{Connection, OptionalExtension, Row};
use tenure_core::body::Body;
use tenure_core::execution::Execution;
use tenure_core::hash::Hash;
use tenure_core::id::{ExecutionId, ItemId};
use tenure_core::item::{Item, Slot};

use super::catalog::{Lifecycles, Queues};
use super::fault::Fault;
use crate::row::item::ItemRow;
use crate::row::{Damaged, Memo, execution, signed};

/// A select of what [`read_item`] reads, in its order, of `items i` and whatever the condition joins.
macro_rules! items_where {
    ($condition:literal) => {
        items_from!("items i", $condition)
    };
}

macro_rules! items_from {
    ($from:literal, $condition:literal) => {
        concat!(
            "select i.rowid, i.id, i.queue, i.lifecycle, i.state, i.version, i.fence, i.run_at, i.created, i.updated, ",
            "i.key, i.owner, i.heartbeat, i.expires, i.window_ends, i.session, i.committed, i.segment, i.head, ",
            "i.payload_hash, i.payload, i.rest, i.wait from ",
            $from,
            " where ",
            $condition
        )
    };
}

/// Binds values one after another, those before them not counted.
macro_rules! bind {
    ($statement:expr, $before:expr; $($value:expr),+ $(,)?) => {{
        let mut index: usize = $before;
        $(
            index += 1;
            $statement.raw_bind_parameter(index, $value)?;
        )+
        let _ = index;
    }};
}

/// The columns of `bodies.part`.
pub(super) const PAYLOAD: i64 = 0;
pub(super) const OUTPUT: i64 = 1;

/// What is needed to make sense of a row.
pub(super) struct Context<'a> {
    pub connection: &'a Connection,
    pub lifecycles: &'a Lifecycles,
    pub queues: &'a mut Queues,
    pub memo: &'a mut Memo,
}

/// An item as it was found.
pub(super) struct FoundItem {
    pub item: Item,
    pub rowid: i64,
    /// The segment with its last entry.
    pub segment: i64,
    pub payload: Payload,
}

/// Which payloads are read along with their items.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Read {
    Payload,
    /// Only where a decision could look into it.
    PayloadForGuards,
}

pub(super) enum Payload {
    InRow(Body),
    /// Too long for the row, or erased.
    Elsewhere,
    Unread,
}

pub(super) fn id_bytes(id: ItemId) -> [u8; 16] {
    id.0.to_be_bytes()
}

/// The id of a row, which even a damaged one has.
pub(super) fn read_id(row: &Row<'_>) -> Result<ItemId, rusqlite::Error> {
    row.get::<_, [u8; 16]>(1).map(|bytes| ItemId(u128::from_be_bytes(bytes)))
}

pub(super) fn id_from(bytes: [u8; 16]) -> ItemId {
    ItemId(u128::from_be_bytes(bytes))
}

/// An item from a row of [`COLUMNS`].
pub(super) fn read_item(row: &Row<'_>, context: &mut Context<'_>, read: Read) -> Result<FoundItem, Fault> {
    let id = read_id(row)?;
    let about_item = |fault| match fault {
        Fault::Row(damaged) => Fault::Item(id, damaged),
        Fault::Sql(_) | Fault::Item(..) => fault,
    };
    read_columns(id, row, context, read).map_err(about_item)
}

fn read_columns(
    id: ItemId,
    row: &Row<'_>,
    context: &mut Context<'_>,
    read: Read,
) -> Result<FoundItem, Fault> {
    let table = context.lifecycles.table(column(row, 3)?)?.clone();
    let (store, kind) = context.queues.place(context.connection, column(row, 2)?)?;
    if *kind != table.kind {
        return Err(Damaged::because("its lifecycle is of another kind").into());
    }
    let state: i64 = column(row, 4)?;
    let is_read = read == Read::Payload || table.reads_payload();
    let found = ItemRow {
        id,
        state: u8::try_from(state)
            .map_err(|_| Damaged(format!("its lifecycle has no state number {state}")))?,
        // Derived columns, which an item is not read from.
        slot: Slot::None,
        rank: 0,
        exclusive: None,
        version: column(row, 5)?,
        fence: column(row, 6)?,
        run_at: column(row, 7)?,
        wait: column(row, 22)?,
        created: column(row, 8)?,
        updated: column(row, 9)?,
        key: column::<Option<&str>>(row, 10)?.map(Cow::Borrowed),
        owner: column::<Option<&str>>(row, 11)?.map(Cow::Borrowed),
        heartbeat: column(row, 12)?,
        expires: column(row, 13)?,
        window_ends: column(row, 14)?,
        session: column::<Option<[u8; 16]>>(row, 15)?.map(id_from),
        committed: column(row, 16)?,
        head: Hash(column(row, 18)?),
        payload: Hash(column(row, 19)?),
        rest: Cow::Borrowed(column(row, 21)?),
    };
    let item = found.read(store.clone(), table, context.memo)?;
    let payload = match is_read {
        true => column::<Option<&[u8]>>(row, 20)?
            .map_or(Ok(Payload::Elsewhere), |bytes| read_body(bytes, &found.payload).map(Payload::InRow))?,
        false => Payload::Unread,
    };
    Ok(FoundItem { item, rowid: column(row, 0)?, segment: column(row, 17)?, payload })
}

/// A column of another type than ours is damage, not a failure of the database.
fn column<'a, T: Column<'a>>(row: &'a Row<'_>, index: usize) -> Result<T, Fault> {
    let value = row.get_ref(index)?;
    T::of(value).map_err(|_| Fault::Row(Damaged(format!("column {index} holds something else"))))
}

trait Column<'a>: Sized {
    fn of(value: ValueRef<'a>) -> Result<Self, FromSqlError>;
}

impl Column<'_> for i64 {
    fn of(value: ValueRef<'_>) -> Result<i64, FromSqlError> {
        value.as_i64()
    }
}

impl Column<'_> for Option<i64> {
    fn of(value: ValueRef<'_>) -> Result<Option<i64>, FromSqlError> {
        value.as_i64_or_null()
    }
}

impl<'a> Column<'a> for &'a [u8] {
    fn of(value: ValueRef<'a>) -> Result<&'a [u8], FromSqlError> {
        value.as_blob()
    }
}

impl<'a> Column<'a> for Option<&'a [u8]> {
    fn of(value: ValueRef<'a>) -> Result<Option<&'a [u8]>, FromSqlError> {
        value.as_blob_or_null()
    }
}

impl<'a> Column<'a> for Option<&'a str> {
    fn of(value: ValueRef<'a>) -> Result<Option<&'a str>, FromSqlError> {
        value.as_str_or_null()
    }
}

impl Column<'_> for [u8; 32] {
    fn of(value: ValueRef<'_>) -> Result<[u8; 32], FromSqlError> {
        FromSql::column_result(value)
    }
}

impl Column<'_> for Option<[u8; 16]> {
    fn of(value: ValueRef<'_>) -> Result<Option<[u8; 16]>, FromSqlError> {
        FromSql::column_result(value)
    }
}

/// A body whose bytes are not what its hash says was changed behind our back.
pub(super) fn read_body(bytes: &[u8], hash: &Hash) -> Result<Body, Damaged> {
    Body::kept(bytes, hash).ok_or_else(|| Damaged::because("a body of it is not what its hash says"))
}

/// A body that stands outside its item's row.
pub(super) fn outside_body(
    connection: &Connection,
    item: ItemId,
    part: i64,
    hash: &Hash,
) -> Result<Option<Body>, Fault> {
    let mut statement = connection.prepare_cached("select body from bodies where item = ?1 and part = ?2")?;
    let mut rows = statement.query((id_bytes(item), part))?;
    let Some(row) = rows.next()? else { return Ok(None) };
    let body = read_body(column(row, 0)?, hash).map_err(|damaged| Fault::Item(item, damaged))?;
    Ok(Some(body))
}

/// The payload of an item, wherever it stands. None once erased, or unread.
pub(super) fn payload_of(connection: &Connection, found: &FoundItem) -> Result<Option<Body>, Fault> {
    match &found.payload {
        Payload::InRow(payload) => Ok(Some(payload.clone())),
        Payload::Elsewhere if !found.item.erased => {
            outside_body(connection, found.item.id, PAYLOAD, &found.item.payload)
        }
        Payload::Elsewhere | Payload::Unread => Ok(None),
    }
}

/// An execution that committed or ended.
pub(super) fn execution_of(
    connection: &Connection,
    id: ExecutionId,
    memo: &mut Memo,
) -> Result<Option<Execution>, Fault> {
    let sql = "select rest from executions where item = ?1 and seat in (0, ?2) and fence = ?2";
    let (item, fence) = (id_bytes(id.item), signed(id.fence.0));
    let mut statement = connection.prepare_cached(sql)?;
    let rest: Option<Vec<u8>> = statement.query_row((item, fence), |row| row.get(0)).optional()?;
    let read = |rest: Vec<u8>| execution::read(id.item, fence, &rest, memo);
    rest.map(read).transpose().map_err(|damaged| Fault::Item(id.item, damaged))
}

/// All executions of an item that committed or ended, oldest first.
pub(super) fn executions_of(
    connection: &Connection,
    item: ItemId,
    memo: &mut Memo,
) -> Result<Vec<Execution>, Fault> {
    let sql = "select fence, rest from executions where item = ?1 order by fence";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([id_bytes(item)])?;
    let mut executions = Vec::new();
    while let Some(row) = rows.next()? {
        let read = execution::read(item, column(row, 0)?, column(row, 1)?, memo);
        executions.push(read.map_err(|damaged| Fault::Item(item, damaged))?);
    }
    Ok(executions)
}
