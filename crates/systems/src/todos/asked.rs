//! What is asked for: a new task, and a proof that one is done.

use serde::Serialize;
use tenure::core::answer::Answer;
use tenure::core::body::Body;
use tenure::core::code::Code;
use tenure::core::id::ItemId;
use tenure::core::item::Link;
use tenure::core::request::{Command, Create};
use tenure::core::word::Key;

use super::plan::GATES_MAX;
use super::receipt::{Proof, Run};
use super::refusal::{Error, Refusal};
use super::workspace::Facts;
use super::{Changed, KIND, Todos};
use crate::gate::Gate;

/// A title is a line of a list.
pub const TITLE_BYTES_MAX: usize = 500;
/// More than this sorts nothing any more.
pub const TAGS_MAX: usize = 32;

/// A task to be added.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct New {
    pub title: String,
    pub description: Option<String>,
    /// Higher is sooner: a head start of a day for each step.
    pub priority: Option<i8>,
    pub tags: Vec<String>,
    pub depends: Vec<ItemId>,
    pub parent: Option<ItemId>,
    /// Unique in the store: adding it again is the same task.
    pub external_reference: Option<String>,
    pub gates: Vec<Gate>,
    /// Repeated with the same key, it is the same task.
    pub idempotency_key: Option<String>,
}

/// A proof that a task is done, from whoever ran its gates.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Proved {
    pub proof: Proof,
    pub run: Run,
}

/// What is kept of a task for ever.
#[derive(Serialize)]
struct Payload<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    description: &'a Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    external_reference: &'a Option<String>,
    #[serde(skip_serializing_if = "<[Gate]>::is_empty")]
    gates: &'a [Gate],
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<String>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    tags: &'a [String],
    title: &'a str,
}

impl New {
    pub fn titled(title: impl Into<String>) -> New {
        New { title: title.into(), ..New::default() }
    }

    fn check(&self) -> Result<(), Refusal> {
        let wrong = |what: &str| Err(Refusal::invalid(what));
        let title = self.title.trim();
        if title.is_empty() {
            return wrong("title: it is empty; say in a line what is to be done");
        }
        if title.len() > TITLE_BYTES_MAX || title.contains(char::is_control) {
            let much =
                format!("title: one line of at most {TITLE_BYTES_MAX} bytes, and it has {}", title.len());
            return wrong(&format!("{much}; the description takes the rest"));
        }
        if self.gates.len() > GATES_MAX {
            return wrong("gates: at most 32; more belong into a script");
        }
        if self.tags.len() > TAGS_MAX || self.tags.iter().any(|tag| tag.trim().is_empty() || tag.len() > 63) {
            return wrong("tags: at most 32, each of 1 to 63 bytes");
        }
        if self.external_reference.is_some() && self.idempotency_key.is_some() {
            return wrong("external_reference: it is an idempotency key already; give one of the two");
        }
        Ok(())
    }

    fn create(&self) -> Result<Create, Error> {
        self.check()?;
        let payload = Payload {
            description: &self.description,
            external_reference: &self.external_reference,
            gates: &self.gates,
            parent: self.parent.map(|parent| parent.to_string()),
            tags: &self.tags,
            title: self.title.trim(),
        };
        let payload = serde_json::to_vec(&payload).expect("this is plain data");
        let payload = Body::json(payload).map_err(|problem| Refusal::new(problem.code, problem.detail))?;
        let mut create = Create::new(KIND.parse().map_err(tenure::Error::from)?, payload);
        let name = self.external_reference.as_ref().map(|reference| format!("ref/{reference}"));
        let name = name.or_else(|| self.idempotency_key.as_ref().map(|key| format!("key/{key}")));
        create.name = name.map(|name| name.parse()).transpose().map_err(tenure::Error::from)?;
        create.priority = self.priority;
        // Keys are in the log: whoever has only that still knows what a task is about.
        create.key = Some(key(self.title.trim()).parse().map_err(tenure::Error::from)?);
        for (label, to) in
            self.depends.iter().map(|to| ("depends", to)).chain(self.parent.iter().map(|to| ("parent", to)))
        {
            create.links.push(Link { label: label.parse().map_err(tenure::Error::from)?, to: *to });
        }
        Ok(create)
    }
}

/// As much of a title as a key has room for.
fn key(title: &str) -> &str {
    let end = (0..=title.len().min(Key::BYTES_MAX)).rev().find(|end| title.is_char_boundary(*end));
    &title[..end.unwrap_or(0)]
}

impl Todos {
    pub async fn add(&self, new: &New, workspace: Option<&Facts>) -> Result<Changed, Error> {
        if !self.settings.add_anywhere {
            self.workspace(workspace, "new")?;
        }
        for id in new.depends.iter().chain(&new.parent) {
            self.is_task(*id).await?;
        }
        let reply = self.tenure.ask(Command::Create(new.create()?)).await?;
        match reply.answer {
            Answer::Created(item) | Answer::Coalesced(item) => {
                let receipt = item.head;
                Ok(Changed { task: self.task(item.id).await?, receipt, fresh: reply.fresh })
            }
            Answer::Conflict { item, .. } if new.external_reference.is_some() => {
                let reference = new.external_reference.as_deref().unwrap_or_default();
                let has_it = self.task(item).await?;
                let detail = format!(
                    "the external reference {reference} is that of {item} ({}), which is another task",
                    has_it.title
                );
                let refusal = Refusal::new(Code::IdempotencyConflict, detail).with("item", item.to_string());
                Err(refusal.with("fix", format!("tenure todo show {item}")).into())
            }
            no => Err(no.into()),
        }
    }
}
