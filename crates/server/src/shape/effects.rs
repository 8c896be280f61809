//! What a commit writes beside itself.

use serde::Deserialize;
use serde_json::value::RawValue;
use tenure::core::id::ItemId;
use tenure::core::lifecycle::shipped::system_of;
use tenure::core::request::{EffectMove, Effects, NewMessage, NewRecord};
use tenure::core::word::Kind;
use tenure_systems::tickets::fits;
use utoipa::ToSchema;

use super::create::CreateBody;
use crate::caller::Caller;
use crate::extract::body;
use crate::own::{maker_of, may_be_moved, not_moved_by_hand};
use crate::problem::Problem;

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RecordBody {
    pub label: String,
    /// Unique among the item's records of this label.
    pub name: String,
    #[schema(value_type = serde_json::Value)]
    pub body: Box<RawValue>,
}

/// All of it is written with the commit, or nothing is.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct EffectsBody {
    #[serde(default)]
    pub creates: Vec<CreateBody>,
    #[serde(default)]
    pub moves: Vec<MoveEffect>,
    #[serde(default)]
    pub messages: Vec<MessageBody>,
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct MoveEffect {
    pub item: String,
    pub event: String,
    pub reason: Option<String>,
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct MessageBody {
    pub label: String,
    #[schema(value_type = serde_json::Value)]
    pub body: Box<RawValue>,
}

pub fn records(records: &[RecordBody]) -> Result<Vec<NewRecord>, Problem> {
    let record = |record: &RecordBody| {
        let label = record.label.parse().map_err(|not| Problem::wrong("records.label", not))?;
        let name = record.name.parse().map_err(|not| Problem::wrong("records.name", not))?;
        // What has a schema fits it, or is not written.
        fits(&record.label, record.body.get().as_bytes())?;
        Ok(NewRecord { label, name, body: body(&record.body)? })
    };
    records.iter().map(record).collect()
}

impl EffectsBody {
    /// The effects of a commit of this item. What they make and move is the caller's to make and move, as it would be without a commit.
    pub async fn effects(
        &self,
        committed: ItemId,
        of: &[RecordBody],
        caller: &Caller,
    ) -> Result<Effects, Problem> {
        let mut effects = Effects { records: records(of)?, ..Effects::default() };
        for create in &self.creates {
            if create.store.as_deref().is_some_and(|store| store != caller.store.as_str()) {
                return Err(Problem::wrong(
                    "effects.creates.store",
                    "an effect stays in the store of its item",
                ));
            }
            let create = create.create(None)?;
            caller.may_create(&create.kind)?;
            of_its_system(caller, committed, &create.kind).await?;
            effects.creates.push(create);
        }
        for step in &self.moves {
            let none = |_| Problem::wrong("effects.moves.item", format!("there is no item {:?}", step.item));
            let event = step.event.parse().map_err(|not| Problem::wrong("effects.moves.event", not))?;
            let (item, reason) = (step.item.parse().map_err(none)?, step.reason.clone());
            let step = EffectMove { item, event, reason };
            // Read only where it matters: whoever is for all kinds pays nothing for it.
            if caller.is_limited_to_kinds() || may_be_moved(&caller.tenure.lifecycles(), &step) {
                not_moved_by_hand(&caller.item(item).await?.table.kind)?;
            }
            effects.moves.push(step);
        }
        for message in &self.messages {
            let label = message.label.parse();
            let label = label.map_err(|not| Problem::wrong("effects.messages.label", not))?;
            effects.messages.push(NewMessage { label, body: body(&message.body)? });
        }
        Ok(effects)
    }
}

/// What only the rows of a system make is made by the commit of an item of that system.
async fn of_its_system(caller: &Caller, committed: ItemId, kind: &Kind) -> Result<(), Problem> {
    let Some(system) = maker_of(&caller.tenure.lifecycles(), kind) else { return Ok(()) };
    let committed = caller.item(committed).await?;
    match system_of(&committed.table.kind) == Some(system) {
        true => Ok(()),
        false => {
            let by = &committed.table.kind;
            Err(Problem::forbidden(format!(
                "a {kind} is made by the system {system} alone, and by no commit of a {by}"
            )))
        }
    }
}
