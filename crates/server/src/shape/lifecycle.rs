//! A lifecycle: its table as JSON, beside the Markdown that it was read from.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::value::RawValue;
use tenure::core::check::Finding;
use tenure::core::lifecycle::{Row, Table, To};
use utoipa::ToSchema;

#[derive(Debug, Serialize, ToSchema)]
pub struct LifecycleBrief {
    pub kind: String,
    /// Names the version: what the table does, and not its prose.
    pub hash: String,
    pub summary: String,
}

impl LifecycleBrief {
    pub fn of(table: &Table) -> LifecycleBrief {
        LifecycleBrief {
            kind: table.kind.to_string(),
            hash: table.hash().to_string(),
            summary: table.summary.clone(),
        }
    }
}

#[derive(Debug, Serialize, ToSchema)]
pub struct LifecycleView {
    #[serde(flatten)]
    pub brief: LifecycleBrief,
    /// Markdown: the table as its author wrote it.
    pub source: String,
    pub states: Vec<StateView>,
    pub transitions: Vec<TransitionView>,
    /// Every setting in force, as a lifecycle file writes it.
    pub settings: BTreeMap<String, String>,
    /// What a payload must be.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub schema: Option<Box<RawValue>>,
}

/// A lifecycle that was put in force, and what was found when it was explored.
#[derive(Debug, Serialize, ToSchema)]
pub struct AddedView {
    #[serde(flatten)]
    pub lifecycle: LifecycleView,
    /// Where it does not keep what the engine promises. None: it is sound.
    pub warnings: Vec<WarningView>,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct WarningView {
    /// Of the source.
    pub line: u32,
    pub what: String,
    /// How it comes about, step by step; empty where the table shows it.
    pub trace: Vec<String>,
}

impl From<Finding> for WarningView {
    fn from(finding: Finding) -> WarningView {
        WarningView { line: finding.line, what: finding.what, trace: finding.trace }
    }
}

#[derive(Debug, Serialize, ToSchema)]
pub struct StateView {
    pub name: String,
    /// waiting, ready, active, succeeded, failed or stopped.
    pub phase: String,
    pub meaning: String,
    /// Nothing ever moves an item out of it.
    #[serde(rename = "final")]
    pub is_final: bool,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct TransitionView {
    /// Null: it creates.
    pub from: Option<String>,
    pub event: String,
    /// The domain's own name for the event.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alias: Option<String>,
    /// Null: the event is refused here.
    pub to: Option<String>,
    /// The code that it is refused with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refuses: Option<String>,
    /// The roles that may take it; an administrator may take every one that is not the engine's alone.
    pub actors: Vec<String>,
    pub guards: Vec<String>,
    pub effects: Vec<String>,
    /// Where it stands in the source.
    pub line: u32,
}

impl LifecycleView {
    pub fn of(table: &Table) -> LifecycleView {
        let state = |id| {
            let state = table.state(id);
            StateView {
                name: state.name.to_string(),
                phase: state.phase.to_string(),
                meaning: state.meaning.clone(),
                is_final: table.is_final(id),
            }
        };
        let schema = table.schema.as_ref().map(|schema| schema.source().to_string());
        LifecycleView {
            brief: LifecycleBrief::of(table),
            source: table.source.to_string(),
            states: table.state_ids().map(state).collect(),
            transitions: table.rows.iter().map(|row| TransitionView::of(table, row)).collect(),
            settings: table.settings.shown().map(|(name, value)| (name.to_string(), value)).collect(),
            schema: schema.and_then(|text| RawValue::from_string(text).ok()),
        }
    }
}

impl TransitionView {
    fn of(table: &Table, row: &Row) -> TransitionView {
        fn texts<T: ToString>(many: impl IntoIterator<Item = T>) -> Vec<String> {
            many.into_iter().map(|one| one.to_string()).collect()
        }
        let (to, refuses) = match &row.to {
            To::State(to) => (Some(table.name(*to).to_string()), None),
            To::Refuse(code) => (None, Some(code.to_string())),
        };
        TransitionView {
            from: row.from.map(|from| table.name(from).to_string()),
            event: row.event.to_string(),
            alias: row.alias.as_ref().map(ToString::to_string),
            to,
            refuses,
            actors: texts(row.actors.iter()),
            guards: texts(&row.guards),
            effects: texts(&row.effects),
            line: row.line,
        }
    }
}
