//! A task as it is kept: an item of the kind `todo`, with its plan, its attestations and its receipts.

use serde::{Deserialize, Serialize};
use tenure::core::body::Body;
use tenure::core::code::Code;
use tenure::core::hash::Hash;
use tenure::core::id::ItemId;
use tenure::core::item::Item;
use tenure::core::time::Time;
use tenure::core::world::Record;
use tenure::databases::Whole;

use super::plan::Plan;
use super::receipt::{Proof, Receipt, Run};
use super::refusal::{Error, Refusal};
use super::{KIND, Todos};
use crate::gate::Gate;

/// The labels of what is kept beside a task.
pub(super) const RECEIPT: &str = "receipt";
pub(super) const RUN: &str = "proof_run";
pub(super) const PLAN: &str = "plan";
pub(super) const ATTESTATION: &str = "attestation";

#[derive(Clone, Debug)]
pub struct Task {
    pub item: Item,
    pub title: String,
    pub description: Option<String>,
    pub tags: Vec<String>,
    pub parent: Option<ItemId>,
    pub external_reference: Option<String>,
    /// The plan in force. None: what is kept is no plan, so nothing passes it.
    pub plan: Option<Plan>,
    pub attestations: Vec<Attestation>,
    /// As they were last proved, the newest at the end. A Verified task has at least one.
    pub receipts: Vec<KeptReceipt>,
    /// How the proof that made it Verified came about.
    run: Option<Run>,
    /// Of the others by the names of their records, in the order in which they were written.
    runs: Vec<(String, Run)>,
}

/// A person's word on a `human:` gate.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Attestation {
    /// False: they said no, and why. A yes is kept without saying so.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub approved: bool,
    pub by: String,
    pub gate: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    #[serde(skip)]
    pub at: Time,
}

fn yes() -> bool {
    true
}

fn is_yes(approved: &bool) -> bool {
    *approved
}

impl Attestation {
    pub fn in_words(&self) -> String {
        let (by, word) = (&self.by, if self.approved { "yes" } else { "no" });
        self.note.as_ref().map_or(format!("{by} said {word}"), |note| format!("{by} said {word}: {note}"))
    }
}

/// A proof, and when it was last shown. A receipt is written once; the same proof again, when it is not the current one any more, is one
/// more run of it: `HASH/2`, `HASH/3` and so on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KeptReceipt {
    pub sha256: Hash,
    /// None once erased, or when only the log was replayed.
    pub proof: Option<Proof>,
    /// When it was last proved: its age counts from then.
    pub at: Time,
    /// The entry of that.
    pub version: u64,
    /// How often it was proved.
    pub times: u32,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Payload {
    title: String,
    description: Option<String>,
    tags: Vec<String>,
    parent: Option<String>,
    external_reference: Option<String>,
    gates: Option<serde_json::Value>,
}

impl Task {
    pub(super) fn of(whole: Whole) -> Task {
        let read = |body: &Option<Body>| {
            body.as_ref()
                .and_then(|body| serde_json::from_slice::<Payload>(body.bytes()).ok())
                .unwrap_or_default()
        };
        let payload = read(&whole.payload);
        // Without its payload nobody knows what it must pass: nothing does.
        let gates = payload.gates.map_or(Ok(Vec::new()), serde_json::from_value::<Vec<Gate>>).ok();
        let gates = gates.filter(|_| whole.payload.is_some());
        let mut records = whole.records;
        records.sort_by_key(|record| record.version);
        let named = whole.item.key.as_ref().map_or("(erased)", |key| key.as_str());
        let title = if payload.title.is_empty() { named.to_string() } else { payload.title };
        let receipts = receipts(&records);
        let runs = of_label(&records, RUN);
        let runs = runs.filter_map(|record| Some((record.name.to_string(), parsed(record)?))).collect();
        let output = whole.output.as_ref().and_then(|body| serde_json::from_slice(body.bytes()).ok());
        Task {
            title,
            description: payload.description,
            tags: payload.tags,
            parent: payload.parent.and_then(|parent| parent.parse().ok()),
            external_reference: payload.external_reference,
            plan: plan(gates, &records),
            attestations: of_label(&records, ATTESTATION).filter_map(attestation).collect(),
            receipts,
            run: output,
            runs,
            item: whole.item,
        }
    }

    pub fn id(&self) -> ItemId {
        self.item.id
    }

    pub fn state(&self) -> &str {
        self.item.state_name()
    }

    pub fn depends(&self) -> Vec<ItemId> {
        self.item.linked("depends").collect()
    }

    /// The proof that was shown last.
    pub fn proved(&self) -> Option<&KeptReceipt> {
        self.receipts.last()
    }

    /// The gates that wait for a person, of the plan in force.
    pub fn unattested(&self) -> impl Iterator<Item = &Gate> {
        let gates = self.plan.iter().flat_map(|plan| &plan.gates);
        gates.filter(|gate| gate.is_human() && !self.is_attested(gate))
    }

    /// Whether the newest word on it is a yes.
    pub fn is_attested(&self, gate: &Gate) -> bool {
        self.last_word(&gate.to_string()).is_some_and(|last| last.approved)
    }

    /// What was last said to a gate.
    pub fn last_word(&self, gate: &str) -> Option<&Attestation> {
        self.attestations.iter().rev().find(|one| one.gate == gate)
    }

    /// The newest proof as a file that anybody can check.
    pub fn receipt(&self, entry_sha256: Option<Hash>) -> Option<Receipt> {
        let kept = self.proved()?;
        let is_of_it = |name: &str| of_proof(name).is_some_and(|(hash, _)| hash == kept.sha256);
        let run = self.runs.iter().rev().find(|(name, _)| is_of_it(name)).map(|(_, run)| run);
        let run = run.or(self.run.as_ref());
        let committed = self.item.lease.as_ref().map(|lease| lease.owner.to_string());
        Some(Receipt {
            agent: committed.unwrap_or_default(),
            proof: kept.proof.clone()?,
            proved_at: kept.at,
            entry_sha256,
            run: run.cloned(),
            sha256: kept.sha256,
            store: self.item.store.to_string(),
            task_id: self.item.id.to_string(),
            title: self.title.clone(),
        })
    }
}

fn of_label<'a>(records: &'a [Record], label: &'a str) -> impl Iterator<Item = &'a Record> + 'a {
    records.iter().filter(move |record| &*record.label == label)
}

fn parsed<T: serde::de::DeserializeOwned>(record: &Record) -> Option<T> {
    serde_json::from_slice(record.body.as_ref()?.bytes()).ok()
}

/// The receipts as they were last proved: by the entry of the receipt, or of its newest run. The names tell, so that a log without
/// bodies is read in the same way.
fn receipts(records: &[Record]) -> Vec<KeptReceipt> {
    let kept = |record: &Record| KeptReceipt {
        sha256: record.hash,
        proof: parsed(record),
        at: record.at,
        version: record.version,
        times: 1,
    };
    let mut receipts: Vec<KeptReceipt> = of_label(records, RECEIPT).map(kept).collect();
    for run in of_label(records, RUN) {
        let Some((hash, Some(time))) = of_proof(run.name.as_str()) else { continue };
        if let Some(again) = receipts.iter_mut().find(|kept| kept.sha256 == hash) {
            (again.at, again.version, again.times) = (run.at, run.version, again.times.max(time));
        }
    }
    receipts.sort_by_key(|kept| kept.version);
    receipts
}

/// Which proof the name of a run is about, and the how manieth run of it that is, if it is not the first: `HASH` or `HASH/2`.
fn of_proof(name: &str) -> Option<(Hash, Option<u32>)> {
    match name.split_once('/') {
        None => Some((name.parse().ok()?, None)),
        Some((hash, time)) => Some((hash.parse().ok()?, Some(time.parse().ok()?))),
    }
}

/// What the next run of a proof is called that was proved so often.
pub(super) fn name_of_run(hash: &Hash, times: u32) -> String {
    match times {
        0 => hash.to_string(),
        times => format!("{hash}/{}", times.saturating_add(1)),
    }
}

fn attestation(record: &Record) -> Option<Attestation> {
    let attestation: Attestation = parsed(record)?;
    Some(Attestation { at: record.at, ..attestation })
}

/// The newest version. One that can not be read hides those before it: nothing passes what nobody understands.
fn plan(first: Option<Vec<Gate>>, records: &[Record]) -> Option<Plan> {
    let newest =
        of_label(records, PLAN).filter_map(|record| Some((record.name.parse::<u32>().ok()?, record)));
    match newest.max_by_key(|(version, _)| *version) {
        Some((version, record)) => parsed(record).map(|gates| Plan { version, gates }),
        None => first.map(Plan::first),
    }
}

impl Todos {
    /// A task of this store. An item of another kind is none.
    pub async fn task(&self, id: ItemId) -> Result<Task, Error> {
        let whole = self.tenure.whole(id).await?;
        match whole.item.table.kind.as_str() == KIND {
            true => Ok(Task::of(whole)),
            false => Err(Refusal::new(Code::NotFound, format!("there is no task {id} in this store")).into()),
        }
    }

    /// Whether this is a task of this store: what is named from one, and is not there, would cross its boundary.
    pub(super) async fn is_task(&self, id: ItemId) -> Result<(), Error> {
        let store = self.tenure.store();
        let found = match self.tenure.item(id).await {
            Err(tenure::Error::NotFound(_)) => None,
            found => Some(found?),
        };
        match found {
            None => {
                let detail = format!(
                    "{id} is not a task of store {store}; look for a slip, for nothing crosses stores"
                );
                Err(Refusal::new(Code::StoreBoundaryViolation, detail).into())
            }
            Some(item) if item.table.kind.as_str() == KIND => Ok(()),
            Some(item) => Err(Refusal::invalid(format!("{id} is a {}, not a task", item.table.kind)).into()),
        }
    }

    /// The proof of a task, with the log entry that it was stored with.
    pub async fn receipt(&self, id: ItemId) -> Result<Option<Receipt>, Error> {
        let task = self.task(id).await?;
        let Some(kept) = task.proved() else { return Ok(None) };
        let history = self.tenure.history(id).await?;
        let entry = history.iter().find(|entry| entry.version == kept.version);
        let receipt = task.receipt(entry.map(|entry| entry.hash()));
        let agent = entry.map(|entry| entry.actor.to_string());
        Ok(receipt.map(|receipt| Receipt { agent: agent.unwrap_or_default(), ..receipt }))
    }
}
