//! Work orders: read, their output stored, and given up.

use serde_json::Value;
use tenure::Error;
use tenure::core::answer::Answer;
use tenure::core::code::Code;
use tenure::core::execution::SharedExecution;
use tenure::core::id::{ExecutionId, ItemId, RecordId};
use tenure::core::item::Item;
use tenure::core::lifecycle::guard::Guard;
use tenure::core::request::{Command, Commit, EffectMove, Effects};
use tenure::core::time::Time;
use tenure::core::world::Record;
use tenure::databases::{Query, Whole};

use super::artifact::record;
use super::judge;
use super::kept::{
    BUNDLE, Bundle, ONLY, ORDER, PAUSE, PauseState, Snapshot, TICKET, WorkOrder, blocker, gate, latest, read,
};
use super::operations::refused;
use super::{Tickets, no};

/// An artifact that is a record.
#[derive(Clone, PartialEq, Debug)]
pub struct Stored {
    pub id: RecordId,
    /// The item that it is a record of.
    pub item: ItemId,
    pub at: Time,
    pub body: Value,
}

impl Stored {
    /// None once erased.
    pub(super) fn of(record: &Record) -> Option<Stored> {
        let body = read(record.body.as_ref())?;
        Some(Stored { id: record.id, item: record.item, at: record.at, body })
    }
}

/// A work order as it is shown.
#[derive(Clone, PartialEq, Debug)]
pub struct Order {
    pub item: Item,
    /// None once erased.
    pub order: Option<WorkOrder>,
    /// Left out in lists.
    pub snapshot: Option<Snapshot>,
}

impl Tickets {
    pub async fn orders(&self, query: Query) -> Result<Vec<Order>, Error> {
        let query = Query { kind: Some(ORDER.parse()?), ..query };
        let mut orders = Vec::new();
        for item in self.tenure.list(query).await? {
            let whole = self.tenure.whole(item.id).await?;
            orders.push(Order { item, order: read(whole.payload.as_ref()), snapshot: None });
        }
        Ok(orders)
    }

    /// A work order with the context that it was planned in.
    pub async fn order(&self, id: ItemId) -> Result<Order, Error> {
        let whole = self.of_kind(ORDER, id).await?;
        let order: Option<WorkOrder> = read(whole.payload.as_ref());
        let snapshot = match &order {
            Some(order) => self.tenure.record(order.context_snapshot_id).await?,
            None => None,
        };
        let snapshot = snapshot.and_then(|record| read(record.body.as_ref()));
        Ok(Order { item: whole.item, order, snapshot })
    }

    /// What its runner stored. None: nobody has carried it out yet.
    pub async fn output(&self, id: ItemId) -> Result<Option<Stored>, Error> {
        let whole = self.of_kind(ORDER, id).await?;
        Ok(latest(&whole.records, BUNDLE).and_then(Stored::of))
    }

    /// Stores what a runner made, as the holder of its lease: the bundle, the gate that will judge it, and the end of the order
    /// are one commit. Said again it is the same.
    pub async fn deliver(&self, execution: ExecutionId, bundle: &Value) -> Result<SharedExecution, Error> {
        let whole = self.of_kind(ORDER, execution.item).await?;
        let record = record(BUNDLE, ONLY, bundle).map_err(refused)?;
        let made: Bundle = serde_json::from_value(bundle.clone())
            .map_err(|why| no(Code::SchemaViolation, format!("the {BUNDLE} does not fit: {why}")))?;
        if made.work_order_id != execution.item {
            return Err(no(Code::InvalidRequest, "work_order_id: the bundle is of another work order"));
        }
        let order = planned(&whole)?;
        let creates =
            vec![gate(execution.item, order.ticket_id, judge::awaits(&order, &made)).into_create()?];
        let effects = Effects { records: vec![record], creates, ..Effects::default() };
        let (output, attests) = (None, vec![Guard::OutputBundle]);
        let commit = Commit { execution, output, effects, finish: true, session: None, attests };
        match self.tenure.ask(Command::Commit(commit)).await?.answer {
            Answer::Ran(execution) => Ok(execution),
            no => Err(Error::Refused(Box::new(no))),
        }
    }
}

fn planned(whole: &Whole) -> Result<WorkOrder, Error> {
    read(whole.payload.as_ref()).ok_or_else(|| no(Code::InvalidRequest, "the work order was erased"))
}

/// What a work order that nobody can carry out does to its ticket. Made from its links, so that whoever sweeps it needs no look at
/// anything else.
pub(super) fn given_up(item: &Item, reason: &str) -> Effects {
    let Some(ticket) = item.linked(TICKET).next() else { return Effects::default() };
    let why = format!("work order {} could not be carried out: {reason}", item.id);
    let pause = record(PAUSE, ONLY, &PauseState::blocked(ticket, Some(item.id), &why));
    let moves = "block".parse().map(|event| EffectMove { item: ticket, event, reason: Some(why.clone()) });
    Effects {
        records: pause.into_iter().collect(),
        creates: blocker(ticket, &why).into_create().into_iter().collect(),
        moves: moves.into_iter().collect(),
        ..Effects::default()
    }
}
