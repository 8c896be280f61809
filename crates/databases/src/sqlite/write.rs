//! Writing the rows that a decision made, each counted.
//!
//! An update goes to the row that was found and to the version that was decided on; anything else writes nothing, and the
//! caller sees that in the count.

use rusqlite::{CachedStatement, Connection, params};
use tenure_core::body::Body;
use tenure_core::execution::Execution;
use tenure_core::id::{ExecutionId, ItemId};
use tenure_core::item::{Item, SharedItem};
use tenure_core::time::Time;
use tenure_core::word::{Kind, Store};
use tenure_core::world::{Change, Message, NameKey, Named, Record};

use super::fault::Fault;
use super::held::Touched;
use super::insert::insert_all;
use super::lanes::{write_control, write_lane};
use super::load::known;
use super::remove;
use super::rows::{OUTPUT, id_bytes};
use super::tx::{Known, Parts};
use crate::row::execution::{self, ExecutionRow};
use crate::row::item::ItemRow;
use crate::row::{name, signed, slot_number, status_number};

/// Writes a wave and answers how many rows found their place.
pub(super) fn write(parts: &mut Parts<'_>, wave: &[Change]) -> Result<usize, Fault> {
    let mut statements = Statements::new(parts.context.connection);
    let mut written = insert_all(parts, &mut statements, wave)?;
    for change in wave {
        written += match change {
            Change::Update { was, item, output } => {
                update(parts, &mut statements, *was, item, output.as_ref())?
            }
            Change::Execution(execution) => write_execution(&mut statements, execution)?,
            Change::Renew { execution, heartbeat, expires } => {
                renew(parts, *execution, *heartbeat, *expires)?
            }
            Change::Name(key, named) => write_name(&mut statements, key, named)?,
            Change::Unname(key) => remove::unname(parts.context.connection, key)?,
            Change::Lane(key, lane) => write_lane(parts, key, lane)?,
            Change::Control(key, control) => write_control(parts, key, control)?,
            Change::Linked { to, from } => remove::link(parts.context.connection, *to, *from)?,
            Change::Remove { was, item } => remove::remove(parts, *was, item)?,
            Change::Record(record) => write_record(parts.context.connection, record)?,
            Change::Message(message) => write_message(parts.context.connection, message)?,
            Change::Erase(item) => {
                parts.scratch.touched.push(Touched::Otherwise(*item));
                erase(parts.context.connection, *item)?
            }
            // New items are there by now; entries are appended, not written.
            Change::Insert { .. } | Change::Entry(_) => 0,
        };
    }
    Ok(written)
}

/// The statements of a wave that are used row after row: looked up once.
pub(super) struct Statements<'a> {
    pub connection: &'a Connection,
    update: Option<CachedStatement<'a>>,
    update_exclusive: Option<CachedStatement<'a>>,
    execution: Option<CachedStatement<'a>>,
    body: Option<CachedStatement<'a>>,
    name: Option<CachedStatement<'a>>,
    /// The queue of the last item: mostly the next one's too.
    queue: Option<(Store, Kind, i64)>,
}

impl<'a> Statements<'a> {
    fn new(connection: &'a Connection) -> Statements<'a> {
        Statements {
            connection,
            update: None,
            update_exclusive: None,
            execution: None,
            body: None,
            name: None,
            queue: None,
        }
    }
}

fn ready<'s, 'a>(
    statement: &'s mut Option<CachedStatement<'a>>,
    connection: &'a Connection,
    sql: &str,
) -> Result<&'s mut CachedStatement<'a>, rusqlite::Error> {
    match statement {
        Some(statement) => Ok(statement),
        None => Ok(statement.insert(connection.prepare_cached(sql)?)),
    }
}

// `or rollback`, as in the triggers: SQLite then needs no copy of the pages that a row's change touches. A row that is
// refused ends the transaction, which is what happens to it anyway.
macro_rules! update {
    ($also:literal) => {
        concat!(
            "update or rollback items set state = ?1, slot = ?2, rank = ?3, version = ?4, fence = ?5, run_at = ?6, \
             updated = ?7, owner = ?8, heartbeat = ?9, expires = ?10, window_ends = ?11, session = ?12, committed = ?13, \
             segment = ?14, head = ?15, rest = ?16, wait = ?17",
            $also,
            " where rowid = ?18 and version = ?19"
        )
    };
}
const UPDATE: &str = update!("");
/// Of a kind that runs one of a key at a time. For others the index of that is not even looked at.
const UPDATE_EXCLUSIVE: &str = update!(", exclusive = ?20");

fn update(
    parts: &mut Parts<'_>,
    statements: &mut Statements<'_>,
    was: u64,
    item: &SharedItem,
    output: Option<&Body>,
) -> Result<usize, Fault> {
    let Some(known) = known(parts, item.id)? else { return Ok(0) };
    let row = ItemRow::of(item, parts.scratch.now);
    let segment = parts.scratch.last.next();
    let statement = match item.table.is_exclusive() {
        true => ready(&mut statements.update_exclusive, statements.connection, UPDATE_EXCLUSIVE)?,
        false => ready(&mut statements.update, statements.connection, UPDATE)?,
    };
    bind!(statement, 0;
        row.state, slot_number(row.slot), row.rank, row.version, row.fence, row.run_at, row.updated,
        row.owner.as_deref(), row.heartbeat, row.expires, row.window_ends, row.session.map(id_bytes), row.committed,
        segment, row.head.0, &*row.rest, row.wait, known.rowid, signed(was),
    );
    if item.table.is_exclusive() {
        statement.raw_bind_parameter(20, row.exclusive.as_deref())?;
    }
    if statement.raw_execute()? == 0 {
        return Ok(0);
    }
    let known = Known { rowid: known.rowid, version: item.version, segment };
    parts.scratch.touched.push(Touched::Written(item.clone(), known));
    if let Some(output) = output {
        write_body(statements, item.id, OUTPUT, output)?;
    }
    if item.lane_key().is_some() {
        let queue = queue_of_item(parts, statements, item)?;
        note_lane(parts, queue, item);
    }
    Ok(1)
}

pub(super) fn note_lane(parts: &mut Parts<'_>, queue: i64, item: &Item) {
    if let Some(key) = item.lane_key() {
        parts.scratch.stale_lanes.insert((queue, key.to_string()));
    }
}

fn renew(
    parts: &mut Parts<'_>,
    execution: ExecutionId,
    heartbeat: Time,
    expires: Time,
) -> Result<usize, Fault> {
    let Some(known) = known(parts, execution.item)? else { return Ok(0) };
    let sql =
        "update items set heartbeat = ?1, expires = ?2 where rowid = ?3 and fence = ?4 and owner is not null";
    let mut statement = parts.context.connection.prepare_cached(sql)?;
    parts.scratch.touched.push(Touched::Otherwise(execution.item));
    Ok(statement.execute((heartbeat.micros(), expires.micros(), known.rowid, signed(execution.fence.0)))?)
}

fn write_execution(statements: &mut Statements<'_>, execution: &Execution) -> Result<usize, Fault> {
    let row = ExecutionRow::of(execution);
    let connection = statements.connection;
    // One that is finished after its commit has its row from then.
    if execution::is_there(execution) {
        let sql = "update or rollback executions set status = ?1, rest = ?2 where item = ?3 and seat = ?4 and fence = ?5";
        let mut statement = connection.prepare_cached(sql)?;
        let (status, item) = (status_number(row.status), id_bytes(row.item));
        if statement.execute((status, &*row.rest, item, row.seat, row.fence))? == 1 {
            return Ok(1);
        }
    }
    let sql =
        "insert or rollback into executions (item, seat, fence, status, rest) values (?1, ?2, ?3, ?4, ?5)";
    let statement = ready(&mut statements.execution, connection, sql)?;
    bind!(statement, 0; id_bytes(row.item), row.seat, row.fence, status_number(row.status), &*row.rest);
    Ok(statement.raw_execute()?)
}

pub(super) fn write_body(
    statements: &mut Statements<'_>,
    item: ItemId,
    part: i64,
    body: &Body,
) -> Result<(), Fault> {
    let sql = "insert into bodies (item, part, body) values (?1, ?2, ?3) \
        on conflict (item, part) do update set body = excluded.body";
    let statement = ready(&mut statements.body, statements.connection, sql)?;
    bind!(statement, 0; id_bytes(item), part, body.bytes());
    statement.raw_execute()?;
    Ok(())
}

fn write_name(statements: &mut Statements<'_>, key: &NameKey, named: &Named) -> Result<usize, Fault> {
    let sql = "insert into names (store, scope, name, value) values (?1, ?2, ?3, ?4) \
        on conflict (store, scope, name) do update set value = excluded.value";
    let statement = ready(&mut statements.name, statements.connection, sql)?;
    bind!(statement, 0; key.store.as_str(), name::scope(key), key.name.as_str(), name::write(named));
    Ok(statement.raw_execute()?)
}

fn write_record(connection: &Connection, record: &Record) -> Result<usize, Fault> {
    let sql = "insert into records (id, item, fence, label, name, hash, version, at, body) \
        values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) on conflict (id) do nothing";
    let mut statement = connection.prepare_cached(sql)?;
    Ok(statement.execute(params![
        record.id.0.to_be_bytes(),
        id_bytes(record.item),
        record.fence.map(|fence| signed(fence.0)),
        record.label.as_str(),
        record.name.as_str(),
        record.hash.0,
        signed(record.version),
        record.at.micros(),
        record.body.as_ref().map(Body::bytes),
    ])?)
}

fn write_message(connection: &Connection, message: &Message) -> Result<usize, Fault> {
    let sql = "insert into outbox (item, version, ordinal, label, body) values (?1, ?2, ?3, ?4, ?5)";
    let mut statement = connection.prepare_cached(sql)?;
    let (item, version) = (id_bytes(message.item), signed(message.version));
    let label = message.label.as_str();
    Ok(statement.execute((item, version, message.ordinal, label, message.body.bytes()))?)
}

fn erase(connection: &Connection, item: ItemId) -> Result<usize, Fault> {
    let id = id_bytes(item);
    connection.prepare_cached("delete from bodies where item = ?1")?.execute([id])?;
    connection.prepare_cached("update records set body = null where item = ?1")?.execute([id])?;
    Ok(connection.prepare_cached("update items set payload = null where id = ?1")?.execute([id])?)
}

pub(super) fn queue_of_item(
    parts: &mut Parts<'_>,
    statements: &mut Statements<'_>,
    item: &Item,
) -> Result<i64, Fault> {
    match &statements.queue {
        Some((store, kind, queue)) if *store == item.store && *kind == item.table.kind => Ok(*queue),
        _ => {
            let queue = queue_for(parts, &item.store, &item.table.kind)?;
            statements.queue = Some((item.store.clone(), item.table.kind.clone(), queue));
            Ok(queue)
        }
    }
}

/// The number of a queue, a new one if it has none.
pub(super) fn queue_for(parts: &mut Parts<'_>, store: &Store, kind: &Kind) -> Result<i64, Fault> {
    let context = &mut parts.context;
    if let Some(number) = context.queues.number(context.connection, store, kind)? {
        return Ok(number);
    }
    let sql = "insert into queues (store, kind) values (?1, ?2)";
    context.connection.prepare_cached(sql)?.execute([store.as_str(), kind.as_str()])?;
    let number = context.connection.last_insert_rowid();
    let place = (store.clone(), kind.clone());
    parts.scratch.queues.push(place.clone());
    context.queues.remember(place, number);
    Ok(number)
}
