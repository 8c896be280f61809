//! An entry as a row.

use std::collections::HashMap;

use serde::Deserialize;

use super::super::item::Of;
use super::super::item::shown::to_the_second;
use crate::client::Client;
use crate::outcome::Error;
use crate::output::joined;

/// The fields of an entry that a table has room for.
#[derive(Deserialize)]
pub struct Shown {
    /// Of the whole log; the history of one item has none.
    position: Option<u64>,
    occurred_at: String,
    item: String,
    version: u64,
    action: String,
    /// The domain's own name for the action.
    #[serde(rename = "as")]
    alias: Option<String>,
    state: String,
    actor: String,
    #[serde(default)]
    payload: Payload,
}

#[derive(Default, Deserialize)]
struct Payload {
    /// Said when an item is created.
    kind: Option<String>,
    reason: Option<String>,
}

pub const HEADINGS: [&str; 9] = ["#", "time", "item", "kind", "version", "event", "state", "actor", "reason"];
/// What all entries of one item have in common is left out.
pub const HISTORY: [&str; 6] = ["version", "time", "event", "state", "actor", "reason"];

impl Shown {
    pub fn read(text: &str) -> Result<Shown, Error> {
        serde_json::from_str(text).map_err(|why| Error::Strange(format!("an entry that does not fit: {why}")))
    }

    pub fn row(self, kinds: &Kinds) -> [String; 9] {
        let number = self.position.map_or(String::new(), |position| position.to_string());
        let (item, kind) = (self.item.clone(), kinds.of(&self.item));
        let [version, time, event, state, actor, reason] = self.of_one();
        [number, time, item, kind, version, event, state, actor, reason]
    }

    pub fn of_one(self) -> [String; 6] {
        [
            self.version.to_string(),
            to_the_second(&self.occurred_at),
            self.alias.unwrap_or(self.action),
            self.state,
            self.actor,
            self.payload.reason.as_deref().map(joined).unwrap_or_default(),
        ]
    }
}

/// The kinds of items: in the log only their first entry says it.
#[derive(Default)]
pub struct Kinds(HashMap<String, String>);

impl Kinds {
    /// What the entries do not say is asked for, an item each: no more than there are entries, and none where all begin there.
    pub async fn learn(&mut self, client: &Client, entries: &[Shown]) -> Result<(), Error> {
        #[derive(Deserialize)]
        struct Item {
            kind: String,
        }
        for entry in entries {
            if let Some(kind) = &entry.payload.kind {
                self.0.insert(entry.item.clone(), kind.clone());
            }
        }
        for entry in entries {
            if self.0.contains_key(&entry.item) {
                continue;
            }
            let kind = match client.get(Of::Items.one(&entry.item)).await {
                Ok(reply) => reply.read::<Item>()?.kind,
                // It was removed since, or is in another store.
                Err(Error::Refused(_)) => String::new(),
                Err(error) => return Err(error),
            };
            self.0.insert(entry.item.clone(), kind);
        }
        Ok(())
    }

    fn of(&self, item: &str) -> String {
        self.0.get(item).cloned().unwrap_or_default()
    }
}
