//! Removing items, and loading what that is decided on: their entries, the names in these, what is linked to them, messages.

use std::collections::BTreeSet;

use tenure_core::follower::WEBHOOK;
use tenure_core::id::ItemId;
use tenure_core::item::Item;
use tenure_core::replay::names;
use tenure_core::request::Need;
use tenure_core::world::{Message, NameKey, World};

use super::load::{self, uuids};
use super::pool::Ask;
use super::tx::PostgresTx;
use super::value::{Uuid, ids, longs, owned_texts, text, texts};
use super::write::{Counts, Wave};
use crate::Error;
use crate::row::bytes::word;
use crate::row::{Damaged, name, signed, unsigned};
use crate::segment::Walk;

const LAST: &str = "select id, segment from @.items where id = any($1)";
const SEGMENTS: &str = "select segment, lines from @.segments where segment = any($1)";
const MESSAGES: &str = "select item, version, ordinal, label, body from @.outbox where item = any($1) \
    order by item, version, ordinal";
const LINKED: &str = "select target, item from @.linked where target = any($1)";

const MARKS: &str = "select name, value from @.marks";
const PLACES: &str = "select i.id, s.pos + s.entries - 1 from @.items i join @.segments s on s.segment = i.segment \
    where i.id = any($1) and s.pos is not null";
const WEBHOOKS: &str = "select l.open from @.lanes l join @.queues q on q.queue = l.queue \
    where q.store = any($1) and q.kind = $2 and l.open is not null";

const LINK: &str = "insert into @.linked (target, item) select * from unnest($1, $2) on conflict do nothing";
const UNNAME: &str = "delete from @.names n using unnest($1, $2, $3) as u (store, scope, name) \
    where n.store = u.store and n.scope = u.scope and n.name = u.name";
/// The schema lets nothing go that is not marked first.
const MARK: &str = "insert into @.leaving (item, version, segment) select * from unnest($1, $2, $3)";
const UNMARK: &str = "delete from @.leaving where item = any($1)";
const EXECUTIONS: &str = "delete from @.executions where item = any($1)";
const RECORDS: &str = "delete from @.records where item = any($1)";
const BODIES: &str = "delete from @.bodies where item = any($1)";
const OUTBOX: &str = "delete from @.outbox where item = any($1)";
const LINKS_TO: &str = "delete from @.linked where target = any($1)";
const LINKS_FROM: &str = "delete from @.linked l using unnest($1, $2) as u (target, item) \
    where l.target = u.target and l.item = u.item";
const ITEMS: &str =
    "delete from @.items i using unnest($1, $2) as u (id, was) where i.id = u.id and i.version = u.was";

impl PostgresTx<'_> {
    /// The entries of items that may be removed, and the names in them. Read before anything is locked: names come first, and
    /// those of an item in a final state do not change any more.
    pub(super) async fn load_entries(
        &mut self,
        removals: &BTreeSet<ItemId>,
        world: &mut World,
    ) -> Result<BTreeSet<NameKey>, Error> {
        let damaged = |why: Damaged| Error::Statement(format!("the log: {why}"));
        let mut walk = Walk::default();
        for row in &self.one(Ask::rows(LAST, [ids(uuids(removals))])).await?.rows {
            walk.add(row.get::<_, Uuid>(0).into(), unsigned(row.get(1)).map_err(damaged)?);
        }
        loop {
            let wanted: Vec<i64> = walk.wanted().into_iter().map(signed).collect();
            if wanted.is_empty() {
                break;
            }
            let found = self.one(Ask::rows(SEGMENTS, [longs(wanted.clone())])).await?;
            if found.rows.len() != wanted.len() {
                return Err(damaged(Damaged::because("a segment is missing")));
            }
            for row in &found.rows {
                walk.take(unsigned(row.get(0)).map_err(damaged)?, row.get(1)).map_err(damaged)?;
            }
        }
        for entry in walk.into_entries() {
            world.entries.insert((entry.item, entry.version), entry);
        }
        Ok(removals.iter().flat_map(|item| names(world.history(*item))).collect())
    }

    /// What else speaks against removing them. Asked while they are locked: whoever links to one of them locks it too.
    pub(super) async fn load_needed(
        &mut self,
        removals: &BTreeSet<ItemId>,
        world: &mut World,
    ) -> Result<(), Error> {
        let of = || [ids(uuids(removals))];
        let answers = self.ask(vec![Ask::rows(LINKED, of()), Ask::rows(MESSAGES, of())]).await?;
        let [linked, messages] = &answers[..] else { return Ok(()) };
        for row in &linked.rows {
            world.linked.insert((row.get::<_, Uuid>(0).into(), row.get::<_, Uuid>(1).into()));
        }
        for row in &messages.rows {
            let item: ItemId = row.get::<_, Uuid>(0).into();
            let damaged = |why: Damaged| Error::Statement(format!("a message of item {item}: {why}"));
            world.messages.push(Message {
                item,
                version: unsigned(row.get(1)).map_err(damaged)?,
                ordinal: u32::try_from(row.get::<_, i32>(2)).unwrap_or_default(),
                label: word(row.get(3)).map_err(damaged)?,
                body: load::body(row.get(4)).map_err(damaged)?,
            });
        }
        Ok(())
    }

    /// Who follows the log, and where in it the items are. Answers the webhooks that stand.
    pub(super) async fn load_followers(
        &mut self,
        need: &Need,
        world: &mut World,
    ) -> Result<Vec<ItemId>, Error> {
        let stores = texts(need.followed.iter().map(|store| &**store).collect());
        let asks = vec![
            Ask::rows(MARKS, []),
            Ask::rows(PLACES, [ids(uuids(&need.removals))]),
            Ask::rows(WEBHOOKS, [stores, text(WEBHOOK)]),
        ];
        let answers = self.ask(asks).await?;
        let [marks, places, webhooks] = &answers[..] else { return Ok(Vec::new()) };
        let damaged = |why: Damaged| Error::Statement(format!("who follows the log: {why}"));
        for row in &marks.rows {
            let (name, value) = (word(row.get(0)).map_err(damaged)?, unsigned(row.get(1)).map_err(damaged)?);
            world.marks.insert(name, value);
        }
        for row in &places.rows {
            let place = unsigned(row.get(1)).map_err(damaged)?;
            world.places.insert(row.get::<_, Uuid>(0).into(), place);
        }
        Ok(webhooks.rows.iter().map(|row| row.get::<_, Uuid>(0).into()).collect())
    }

    /// What takes rows away, and the links that say where that must not happen.
    pub(super) fn removal_asks<'a>(
        &self,
        wave: &'a Wave<'a>,
        asks: &mut Vec<Ask<'a>>,
        counts: &mut Vec<Counts>,
    ) {
        let mut ask = |ask: Ask<'a>, what: Counts| {
            asks.push(ask);
            counts.push(what);
        };
        if !wave.linked.is_empty() {
            let (to, from) = wave.linked.iter().copied().unzip();
            ask(Ask::count(LINK, [ids(to), ids(from)]), Counts::Beside);
        }
        if !wave.unnamed.is_empty() {
            let columns = [
                texts(wave.unnamed.iter().map(|key| &*key.store).collect()),
                owned_texts(wave.unnamed.iter().map(|key| name::scope(key)).collect()),
                texts(wave.unnamed.iter().map(|key| &*key.name).collect()),
            ];
            ask(Ask::count(UNNAME, columns), Counts::Rows);
        }
        if wave.removed.is_empty() {
            return;
        }
        let of = || ids(wave.removed.iter().map(|(_, item)| item.id.into()).collect());
        let was = || longs(wave.removed.iter().map(|(was, _)| *was).collect());
        ask(Ask::count(MARK, [of(), was(), longs(vec![self.segment; wave.removed.len()])]), Counts::Beside);
        for rows in [EXECUTIONS, RECORDS, BODIES, OUTBOX, LINKS_TO] {
            ask(Ask::count(rows, [of()]), Counts::Beside);
        }
        let link = |item: &'a Item| item.links.iter().map(|link| (Uuid::from(link.to), Uuid::from(item.id)));
        let (to, from) = wave.removed.iter().flat_map(|(_, item)| link(item)).unzip();
        ask(Ask::count(LINKS_FROM, [ids(to), ids(from)]), Counts::Beside);
        ask(Ask::count(ITEMS, [of(), was()]), Counts::Rows);
        ask(Ask::count(UNMARK, [of()]), Counts::Beside);
    }
}
