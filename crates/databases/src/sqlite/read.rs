//! Reading beside the writer: a few connections that can not write, each read in one snapshot.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension};
use tenure_core::body::Body;
use tenure_core::control::{Control, QueueKey};
use tenure_core::id::ItemId;
use tenure_core::item::Item;
use tenure_core::request::Due;
use tenure_core::time::Time;
use tenure_core::word::{Kind, Store};
use tenure_core::world::{Message, Record};
use tokio::sync::Semaphore;

use super::catalog::{Lifecycles, Queues};
use super::claim::PUT_OFF;
use super::fault::{Fault, error_of};
use super::load::read_record;
use super::rows::{
    Context, OUTPUT, Read, executions_of, id_bytes, id_from, outside_body, payload_of, read_item,
};
use super::{Shared, lanes, open};
use crate::look::Outline;
use crate::row::bytes::word;
use crate::row::{Damaged, Memo, unsigned};
use crate::{Error, Found, Order, Overdue, PAGE_MAX, Query, Shelf, Whole};

/// As many reads at once as there is any use for: a read is a few pages from memory.
const READERS_MAX: usize = 4;

pub(super) struct Readers {
    shared: Arc<Shared>,
    free: Mutex<Vec<Reader>>,
    permits: Semaphore,
}

struct Reader {
    connection: Connection,
    queues: Queues,
    memo: Memo,
}

impl Readers {
    pub fn new(shared: Arc<Shared>) -> Readers {
        Readers { shared, free: Mutex::default(), permits: Semaphore::new(READERS_MAX) }
    }

    /// Runs a read in a snapshot of its own.
    pub async fn read<T>(
        &self,
        read: impl FnOnce(&mut Context<'_>) -> Result<T, Fault> + Send,
    ) -> Result<T, Error> {
        let _permit = self.permits.acquire().await.expect("nobody closes it");
        let mut reader = self.reader()?;
        let answer = self.in_snapshot(&mut reader, read)?;
        self.free.lock().expect("nobody panics while holding it").push(reader);
        Ok(answer)
    }

    /// Runs something on a connection that is in no transaction.
    pub async fn outside<T>(
        &self,
        run: impl FnOnce(&Connection) -> Result<T, Error> + Send,
    ) -> Result<T, Error> {
        let _permit = self.permits.acquire().await.expect("nobody closes it");
        let reader = self.reader()?;
        let answer = run(&reader.connection)?;
        self.free.lock().expect("nobody panics while holding it").push(reader);
        Ok(answer)
    }

    fn reader(&self) -> Result<Reader, Error> {
        if let Some(reader) = self.free.lock().expect("nobody panics while holding it").pop() {
            return Ok(reader);
        }
        let connection = open::reader(&self.shared.path).map_err(|error| error_of(&error))?;
        Ok(Reader { connection, queues: Queues::default(), memo: Memo::default() })
    }

    /// A reader that failed is not used again.
    fn in_snapshot<T>(
        &self,
        reader: &mut Reader,
        read: impl FnOnce(&mut Context<'_>) -> Result<T, Fault>,
    ) -> Result<T, Error> {
        let sql = |error| error_of(&error);
        let connection = &reader.connection;
        connection.prepare_cached("begin").and_then(|mut begin| begin.execute([])).map_err(sql)?;
        let known = self.shared.lifecycles();
        let lifecycles = Lifecycles::current(connection, &known)?;
        if !Arc::ptr_eq(&lifecycles, &known) {
            self.shared.set_lifecycles(lifecycles.clone());
        }
        let answer = read(&mut Context {
            connection,
            lifecycles: &lifecycles,
            queues: &mut reader.queues,
            memo: &mut reader.memo,
        });
        connection.prepare_cached("commit").and_then(|mut commit| commit.execute([])).map_err(sql)?;
        Ok(answer?)
    }
}

pub(super) fn item(context: &mut Context<'_>, store: &Store, id: ItemId) -> Result<Option<Item>, Fault> {
    Ok(find(context, store, id)?.map(|(item, _)| item))
}

fn find(context: &mut Context<'_>, store: &Store, id: ItemId) -> Result<Option<(Item, Option<Body>)>, Fault> {
    let mut statement = context.connection.prepare_cached(items_where!("i.id = ?1"))?;
    let mut rows = statement.query([id_bytes(id)])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    let found = read_item(row, context, Read::Payload)?;
    if found.item.store != *store {
        return Ok(None);
    }
    let payload = payload_of(context.connection, &found)?;
    Ok(Some((found.item, payload)))
}

pub(super) fn whole(context: &mut Context<'_>, store: &Store, id: ItemId) -> Result<Option<Whole>, Fault> {
    let Some((item, payload)) = find(context, store, id)? else { return Ok(None) };
    let connection = context.connection;
    let output = match &item.output {
        Some(hash) if !item.erased => outside_body(connection, id, OUTPUT, hash)?,
        Some(_) | None => None,
    };
    let executions = executions_of(connection, id, context.memo)?;
    let (records, messages) = (records(connection, id)?, messages(connection, id)?);
    Ok(Some(Whole { item, payload, output, executions, records, messages }))
}

fn records(connection: &Connection, item: ItemId) -> Result<Vec<Record>, Fault> {
    let sql = "select id, item, fence, label, name, hash, version, at, body from records where item = ?1";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([id_bytes(item)])?;
    let mut records = Vec::new();
    while let Some(row) = rows.next()? {
        records.push(read_record(row)?);
    }
    records.sort_by_key(|record| record.id);
    Ok(records)
}

pub(super) fn messages(connection: &Connection, item: ItemId) -> Result<Vec<Message>, Fault> {
    let sql = "select version, ordinal, label, body from outbox where item = ?1 order by version, ordinal";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([id_bytes(item)])?;
    let mut messages = Vec::new();
    while let Some(row) = rows.next()? {
        let body: Vec<u8> = row.get(3)?;
        messages.push(Message {
            item,
            version: unsigned(row.get(0)?)?,
            ordinal: row.get(1)?,
            label: word(&row.get::<_, String>(2)?)?,
            body: Body::json(body).map_err(|_| Damaged::because("a message is not JSON"))?,
        });
    }
    Ok(messages)
}

/// One page. A row that can not be read is left out: the rest of the list is still true.
pub(super) fn list(context: &mut Context<'_>, query: &Query) -> Result<Vec<Item>, Fault> {
    let Some(mut condition) = condition(context, query) else { return Ok(Vec::new()) };
    let queues = queues_of(context.connection, query)?;
    let limit = query.limit.min(PAGE_MAX);
    let shelf = query.shelf(&context.lifecycles.tables);
    let mut items = Vec::new();
    if let Shelf::EndedBadly { rank } = shelf {
        // In the index they stand by queue: a page of each, and of these the first.
        let _ = write!(condition, " and i.slot = 0 and i.rank < 0 and i.rank = {rank}");
        for queue in &queues {
            page(context, query, &format!("{condition} and i.queue = {queue}"), limit, &mut items)?;
        }
        items.sort_by(|one: &Item, other| match query.order {
            Order::Oldest => one.id.cmp(&other.id),
            Order::Newest => other.id.cmp(&one.id),
        });
        items.truncate(limit);
        return Ok(items);
    }
    if shelf == Shelf::Active {
        condition.push_str(" and i.slot = 3");
    }
    condition.push_str(&of_queues(query, &queues));
    page(context, query, &condition, limit, &mut items)?;
    Ok(items)
}

/// All items of a query in outline. The table is read as it lies, with no order: by id every row would have to be found.
pub(super) fn outlines(context: &mut Context<'_>, query: &Query) -> Result<Vec<Outline>, Fault> {
    let Some(condition) = condition(context, query) else { return Ok(Vec::new()) };
    let queues = queues_of(context.connection, query)?;
    // What is set aside is in no list.
    let slot = if query.shelf(&context.lifecycles.tables) == Shelf::Active { "= 3" } else { ">= 0" };
    let sql = format!(
        "select i.id, i.rank, i.id in (select item from linked) from items i where i.slot {slot} and {condition}{}",
        of_queues(query, &queues)
    );
    let mut statement = context.connection.prepare(&sql)?;
    let mut rows = statement.query((query.key.as_deref(), owner(query)))?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let rank = Some(row.get(1)?).filter(|rank| *rank >= 0).map(Time::from_micros);
        found.push(Outline { id: id_from(row.get(0)?), rank, is_linked: row.get(2)? });
    }
    Ok(found)
}

/// What a query asks of an item, beside its queue and its place. None: no item can be so.
fn condition(context: &Context<'_>, query: &Query) -> Option<String> {
    let mut condition = "(?1 is null or i.key = ?1) and (?2 is null or i.owner = ?2)".to_string();
    if query.state.is_some() || query.phase.is_some() {
        let states = context.lifecycles.states_of(|state| query.wants(state));
        if states.is_empty() {
            return None;
        }
        let pairs: Vec<String> =
            states.iter().map(|(lifecycle, state)| format!("({lifecycle}, {state})")).collect();
        let _ = write!(condition, " and (i.lifecycle, i.state) in (values {})", pairs.join(", "));
    }
    Some(condition)
}

fn of_queues(query: &Query, queues: &[i64]) -> String {
    let numbers = || queues.iter().map(i64::to_string).collect::<Vec<_>>().join(", ");
    let is_asked = query.store.is_some() || query.kind.is_some();
    if is_asked { format!(" and i.queue in ({})", numbers()) } else { String::new() }
}

fn owner(query: &Query) -> Option<String> {
    query.owner.as_ref().map(ToString::to_string)
}

fn page(
    context: &mut Context<'_>,
    query: &Query,
    condition: &str,
    limit: usize,
    items: &mut Vec<Item>,
) -> Result<(), Fault> {
    let order = if query.order == Order::Newest { " desc" } else { "" };
    let after = match (query.order, query.after) {
        (Order::Newest, Some(_)) => "<",
        (Order::Newest, None) | (Order::Oldest, _) => ">",
    };
    let sql = format!("{}i.id {after} ?3 and {condition} order by i.id{order}", items_where!(""));
    let after = query.after.map_or(Vec::new(), |after| id_bytes(after).to_vec());
    let mut statement = context.connection.prepare(&sql)?;
    let mut rows = statement.query((query.key.as_deref(), owner(query), after))?;
    let first = items.len();
    while items.len() - first < limit
        && let Some(row) = rows.next()?
    {
        match read_item(row, context, Read::PayloadForGuards) {
            Ok(found) => items.push(found.item),
            Err(Fault::Item(..)) => {}
            Err(fault) => return Err(fault),
        }
    }
    Ok(())
}

/// The queues that a query is about, as numbers.
fn queues_of(connection: &Connection, query: &Query) -> Result<Vec<i64>, Fault> {
    let sql = "select queue from queues where store = coalesce(?1, store) and kind = coalesce(?2, kind)";
    let mut statement = connection.prepare_cached(sql)?;
    let (store, kind) = (query.store.as_deref(), query.kind.as_deref());
    let mut rows = statement.query((store, kind))?;
    let mut queues = Vec::new();
    while let Some(row) = rows.next()? {
        queues.push(row.get(0)?);
    }
    Ok(queues)
}

/// How long until the first scheduled item of each kind is due.
pub(super) fn upcoming(
    context: &mut Context<'_>,
    now: Time,
    store: &Store,
    kinds: &[Kind],
) -> Result<Vec<(Kind, Duration)>, Fault> {
    let connection = context.connection;
    let sql = "select run_at from items indexed by items_scheduled where queue = ?1 and slot = 1 order by run_at limit 1";
    let mut scheduled = connection.prepare_cached(sql)?;
    let sql = "select more_at from lanes indexed by lanes_more \
        where queue = ?1 and more_at is not null and next_id is not null order by more_at limit 1";
    let mut rated = connection.prepare_cached(sql)?;
    let mut put_off = connection.prepare_cached(&format!("select 1 {PUT_OFF} limit 1"))?;
    let mut waits = Vec::new();
    for kind in kinds {
        let Some(queue) = context.queues.number(connection, store, kind)? else { continue };
        let due: Option<i64> = scheduled.query_row([queue], |row| row.get(0)).optional()?;
        let more: Option<i64> = rated.query_row([queue], |row| row.get(0)).optional()?;
        let at_once = put_off.exists((queue, now.micros()))?.then_some(now.micros());
        let first = due.into_iter().chain(more).chain(at_once).min();
        waits.extend(first.map(|first| (kind.clone(), Time::from_micros(first).since(now))));
    }
    Ok(waits)
}

/// What time may have something to do with. The held items are few, and are looked at one by one.
pub(super) fn due(
    context: &mut Context<'_>,
    now: Time,
    what: Overdue,
    after: Option<ItemId>,
    limit: usize,
) -> Result<Vec<Found>, Fault> {
    let sql = match what {
        Overdue::Time => items_from!(
            "items i indexed by items_active",
            "i.slot = 3 and i.id > ?1 and (i.expires <= ?2 or i.window_ends <= ?2 or (i.heartbeat > ?2
                and 2 * i.heartbeat - min(i.expires, coalesce(i.window_ends, i.expires)) > ?2)) order by i.id"
        ),
        Overdue::Lapsed => items_from!(
            "items i indexed by items_active left join items s on s.id = i.session",
            "i.slot = 3 and i.id > ?1 and ?2 is not null and i.session is not null and s.owner is null order by i.id"
        ),
    };
    let after = after.map_or(Vec::new(), |after| id_bytes(after).to_vec());
    let mut statement = context.connection.prepare_cached(sql)?;
    let mut rows = statement.query((after, now.micros()))?;
    let mut found = Vec::new();
    while found.len() < limit.min(PAGE_MAX)
        && let Some(row) = rows.next()?
    {
        let item = match read_item(row, context, Read::PayloadForGuards) {
            Ok(found) => found.item,
            // It can not be swept as it is, and must not keep the others from it.
            Err(Fault::Item(..)) => continue,
            Err(fault) => return Err(fault),
        };
        let due = match what {
            Overdue::Time => item.due(now).map(|_| Due::Time),
            Overdue::Lapsed => {
                let session = item.lease.as_ref().and_then(|lease| lease.session);
                session.map(|session| Due::Lapsed { session })
            }
        };
        found.extend(due.map(|due| Found { store: item.store, item: item.id, fence: item.fence, due }));
    }
    Ok(found)
}

/// What holds a kind back, and how many of its items are held.
pub(super) fn control(context: &mut Context<'_>, key: &QueueKey) -> Result<(Control, u32), Fault> {
    let connection = context.connection;
    let Some(queue) = context.queues.number(connection, &key.store, &key.kind)? else {
        return Ok((Control::default(), 0));
    };
    let control = lanes::read_control(connection, queue)?.unwrap_or_default();
    Ok((control, lanes::count_active(connection, queue)?))
}
