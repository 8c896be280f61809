//! The operations on documents and runs, for one caller in one store.
//!
//! **What a crash leaves.** An upload writes three things, one after the other: the file, the document, its first run.
//!
//! | it dies after | what is there | who makes it whole |
//! |---|---|---|
//! | the file | a file with a note, and no answer | the sweep removes it |
//! | the document | an `UPLOADED` document with the note, and no answer | the same upload again (with its idempotency key), the service when it looks at the notes, or a reprocess |
//! | the run | everything | nobody has to |
//!
//! The first run has a name that follows from the document, so however many of these make it, it is one run.

use tenure::core::answer::Answer;
use tenure::core::body::Body;
use tenure::core::code::Code;
use tenure::core::hash::Hash;
use tenure::core::id::ItemId;
use tenure::core::item::{Item, Link};
use tenure::core::request::{Command, Create};
use tenure::core::time::Time;
use tenure::core::trace::Trace;
use tenure::core::world::Record;
use tenure::databases::outside::now;
use tenure::databases::{Order, Query, Whole};
use tenure::{Error, Tenure};

use std::fs::File;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use super::files::{Arrived, Incoming, NotRead, NotStored};
use super::history::{ARTIFACT, DocumentFacts, Happened, Run, RunFacts, Status, happened};
use super::library::Library;
use super::sniff::{safe_name, sniff};
use super::worker::Made;
use super::{DOCUMENT, RUN};

/// The label of a run's link to its document.
const ABOUT: &str = "document";
/// Items that may have links to a document without being runs of it, of which so many are looked past for the latest.
const LOOKED_PAST_MAX: usize = 1_000;
/// A page of them is read at once.
const LOOKED_AT: usize = 20;
/// Of a page of documents or runs: each is read by itself, with what it says of its steps.
pub const PAGE_MAX: usize = 100;

/// A caller's documents.
#[derive(Clone, Debug)]
pub struct Documents {
    pub(super) tenure: Tenure,
    pub(super) library: Library,
}

/// A no, or a failing world.
#[derive(Debug, thiserror::Error)]
pub enum NotDone {
    #[error(transparent)]
    Engine(#[from] Error),
    #[error(transparent)]
    Stored(#[from] NotStored),
    #[error(transparent)]
    Read(#[from] NotRead),
    #[error("there is no {0} {1} in this store")]
    NoSuch(&'static str, String),
    #[error("what is kept of {0} was erased")]
    Erased(ItemId),
    #[error("what is kept of {0} is not what a document has")]
    Strange(ItemId),
}

impl NotDone {
    /// The stable code of a no.
    pub fn code(&self) -> Option<Code> {
        match self {
            NotDone::Engine(error) => error.code(),
            NotDone::NoSuch(..) | NotDone::Erased(_) => Some(Code::NotFound),
            _ => None,
        }
    }
}

/// How an upload is asked for.
#[derive(Clone, Debug, Default)]
pub struct Upload {
    /// As it was said; it is made safe here.
    pub name: String,
    /// Repeated with the same key, it is the same document.
    pub idempotency_key: Option<String>,
    pub trace: Option<Arc<Trace>>,
}

/// Something was made, or had been made before by the same request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Uploaded {
    pub document_id: ItemId,
    pub run_id: ItemId,
    pub status: Status,
    pub is_new: bool,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Queued {
    pub run_id: ItemId,
    pub state: String,
    pub created_at: Time,
    pub is_new: bool,
}

/// A document, with what its latest run says of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Document {
    pub document_id: ItemId,
    pub status: Status,
    /// None once erased.
    pub facts: Option<DocumentFacts>,
    pub created_at: Time,
    pub latest_run_id: Option<ItemId>,
    pub failure_type: Option<String>,
}

/// What a step made. Its value is in the record, or in a file that the record names.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Artifact {
    pub name: String,
    pub size: u64,
    pub sha256: Hash,
    /// None where it is too large to be listed: it is asked for by its name.
    pub value: Option<serde_json::Value>,
    pub created_at: Time,
}

impl Documents {
    /// Begins an upload. What is written to it counts once it was handed to [`Documents::upload`].
    pub async fn receive(&self) -> Result<Incoming, NotStored> {
        self.library.files.receive(self.tenure.store()).await
    }

    /// Makes a document of what has arrived, with its first run. When this answers, the file and both entries are on the disk.
    pub async fn upload(&self, incoming: Incoming, upload: Upload) -> Result<Uploaded, NotDone> {
        let arrived = incoming.finish().await?;
        let name = safe_name(&upload.name);
        let facts = DocumentFacts {
            media_type: sniff(&arrived.head, &name).to_string(),
            name,
            size: arrived.size,
            sha256: arrived.sha256,
        };
        let mut create = Create::new(DOCUMENT.parse().map_err(Error::from)?, body(&facts)?);
        create.name = upload.idempotency_key.map(|key| key.parse()).transpose().map_err(Error::from)?;
        create.key = Some(facts.sha256.to_string().parse().map_err(Error::from)?);
        create.trace = upload.trace.clone();
        let (document, is_new) = self.created(create, &arrived).await?;
        let (run, _) = self.create_run(document, Some(first_run(document)), upload.trace).await?;
        match is_new {
            true => arrived.is_referred_to().await,
            // It may have been erased since it was made, and then nothing refers to what came now.
            false => self.library.files.settle_arrived(&self.tenure, arrived).await?,
        }
        let status = if is_new { Status::Processing } else { self.status(document).await?.0 };
        Ok(Uploaded { document_id: document, run_id: run.id, status, is_new })
    }

    /// The bytes stay where they are while this is asked: dropped, `arrived` would let a sweep have them.
    async fn created(&self, create: Create, _arrived: &Arrived) -> Result<(ItemId, bool), NotDone> {
        let reply = self.tenure.ask(Command::Create(create)).await?;
        match reply.answer {
            Answer::Created(item) => Ok((item.id, reply.fresh)),
            no => Err(Error::Refused(Box::new(no)).into()),
        }
    }

    async fn create_run(
        &self,
        document: ItemId,
        name: Option<String>,
        trace: Option<Arc<Trace>>,
    ) -> Result<(Arc<Item>, bool), NotDone> {
        let facts = RunFacts { document_id: document.to_string() };
        let mut create = Create::new(RUN.parse().map_err(Error::from)?, body(&facts)?);
        create.name = name.map(|name| name.parse()).transpose().map_err(Error::from)?;
        create.links.push(Link { label: ABOUT.parse().map_err(Error::from)?, to: document });
        create.trace = trace;
        let reply = self.tenure.ask(Command::Create(create)).await?;
        match reply.answer {
            Answer::Created(item) => {
                self.library.has_runs(self.tenure.store());
                Ok((item, reply.fresh))
            }
            no => Err(Error::Refused(Box::new(no)).into()),
        }
    }

    /// Another run of a document, whatever became of those before. It waits for its turn.
    pub async fn reprocess(
        &self,
        document: ItemId,
        idempotency_key: Option<String>,
        trace: Option<Arc<Trace>>,
    ) -> Result<Queued, NotDone> {
        self.item(DOCUMENT, document).await?;
        let (run, is_new) = self.create_run(document, idempotency_key, trace).await?;
        let state = run.state_name().to_string();
        Ok(Queued { run_id: run.id, state, created_at: run.created, is_new })
    }

    /// A document that has no run although it was uploaded gets its first; one that was erased keeps nothing that its runs made. Asked
    /// twice, it is done once.
    pub(super) async fn mend(&self, document: &Item) -> Result<bool, NotDone> {
        if document.erased {
            return Ok(self.erase_runs(document.id, None).await? > 0);
        }
        match self.latest(document.id).await? {
            Some(_) => Ok(false),
            None => Ok(self.create_run(document.id, Some(first_run(document.id)), None).await?.1),
        }
    }

    /// As [`Documents::mend`], of every document with this content that was created within so long. How many were mended.
    pub(super) async fn mend_alike(&self, sha256: &Hash, within: Duration) -> Result<usize, NotDone> {
        let (kind, key) =
            (DOCUMENT.parse().map_err(Error::from)?, sha256.to_string().parse().map_err(Error::from)?);
        let mut query = Query { kind: Some(kind), key: Some(key), limit: PAGE_MAX, ..Query::default() };
        query.order = Order::Newest;
        let mut mended = 0;
        loop {
            let page = self.tenure.list(query.clone()).await?;
            for document in &page {
                if now().since(document.created) > within {
                    return Ok(mended);
                }
                mended += usize::from(self.mend(document).await?);
            }
            match page.last() {
                Some(last) if page.len() == PAGE_MAX => query.after = Some(last.id),
                _ => return Ok(mended),
            }
        }
    }

    /// A document that is erased keeps nothing of its runs. False: it is not erased.
    pub(super) async fn has_erased_runs_of(&self, document: ItemId) -> Result<bool, NotDone> {
        match self.item(DOCUMENT, document).await {
            Ok(item) if item.erased => self.erase_runs(document, None).await.map(|_| true),
            Ok(_) => Ok(false),
            // Removed meanwhile, and its runs with it or as old as it.
            Err(NotDone::NoSuch(..)) => Ok(true),
            Err(error) => Err(error),
        }
    }

    pub async fn document(&self, id: ItemId) -> Result<Document, NotDone> {
        let item = self.item(DOCUMENT, id).await?;
        self.shown(&item).await
    }

    /// A page of documents.
    pub async fn documents(&self, query: Query) -> Result<Vec<Document>, NotDone> {
        let (kind, limit) = (Some(DOCUMENT.parse().map_err(Error::from)?), query.limit.min(PAGE_MAX));
        let mut shown = Vec::new();
        for item in self.tenure.list(Query { kind, limit, ..query }).await? {
            shown.push(self.shown(&item).await?);
        }
        Ok(shown)
    }

    async fn shown(&self, item: &Item) -> Result<Document, NotDone> {
        let facts = match self.facts(item.id).await {
            Ok(facts) => Some(facts),
            Err(NotDone::Erased(_) | NotDone::Strange(_)) => None,
            Err(error) => return Err(error),
        };
        let (status, latest) = self.status(item.id).await?;
        let failure_type = match (&latest, status) {
            (Some(latest), Status::Failed | Status::TimedOut) => self.run(latest.id).await?.failure_type,
            _ => None,
        };
        let latest_run_id = latest.map(|latest| latest.id);
        let (document_id, created_at) = (item.id, item.created);
        Ok(Document { document_id, status, facts, created_at, latest_run_id, failure_type })
    }

    async fn facts(&self, document: ItemId) -> Result<DocumentFacts, NotDone> {
        let whole = self.tenure.whole(document).await?;
        let payload = whole.payload.ok_or(NotDone::Erased(document))?;
        serde_json::from_slice(payload.bytes()).map_err(|_| NotDone::Strange(document))
    }

    async fn status(&self, document: ItemId) -> Result<(Status, Option<Item>), NotDone> {
        let latest = self.latest(document).await?;
        Ok((Status::of(latest.as_ref().map(|run| run.state_name().as_str())), latest))
    }

    /// The run that was created last.
    async fn latest(&self, document: ItemId) -> Result<Option<Item>, NotDone> {
        let mut before = None;
        for _ in 0..LOOKED_PAST_MAX / LOOKED_AT {
            let page = self.tenure.linked_in(Order::Newest, document, before, LOOKED_AT).await?;
            before = page.last().map(|last| last.id);
            let full = page.len() == LOOKED_AT;
            if let Some(run) = page.into_iter().find(is_run) {
                return Ok(Some(run));
            }
            if !full {
                break;
            }
        }
        Ok(None)
    }

    /// The runs of a document after one, oldest first, and where the next page begins.
    pub async fn runs(
        &self,
        document: ItemId,
        after: Option<ItemId>,
        limit: usize,
    ) -> Result<(Vec<Run>, Option<ItemId>), NotDone> {
        self.item(DOCUMENT, document).await?;
        let limit = limit.min(PAGE_MAX);
        let page = self.tenure.linked(document, after, limit).await?;
        let next = page.last().filter(|_| page.len() == limit).map(|last| last.id);
        let ids = page.iter().filter(|item| is_run(item)).map(|run| run.id).collect();
        let runs = self.tenure.wholes(ids).await?.iter().map(Run::of).collect();
        Ok((runs, next))
    }

    pub async fn run(&self, id: ItemId) -> Result<Run, NotDone> {
        Ok(Run::of(&self.whole_run(id).await?))
    }

    /// What happened to a run, oldest first: the events of its log by their own names.
    pub async fn events(&self, id: ItemId) -> Result<Vec<Happened>, NotDone> {
        self.item(RUN, id).await?;
        Ok(happened(&self.tenure.history(id).await?))
    }

    /// What the steps of a run have made, in the order of their names.
    pub async fn artifacts(&self, run: ItemId) -> Result<Vec<Artifact>, NotDone> {
        let whole = self.whole_run(run).await?;
        let records = whole.records.iter().filter(|record| &*record.label == ARTIFACT);
        let mut artifacts: Vec<Artifact> = records.filter_map(artifact).collect();
        artifacts.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(artifacts)
    }

    /// What a step has made, with its value.
    pub async fn artifact(&self, run: ItemId, name: &str) -> Result<Artifact, NotDone> {
        let whole = self.whole_run(run).await?;
        let no_such = || NotDone::NoSuch("artifact", name.to_string());
        let is_it = |record: &&Record| &*record.label == ARTIFACT && &*record.name == name;
        let record = whole.records.iter().find(is_it).ok_or_else(no_such)?;
        let artifact = artifact(record).ok_or(NotDone::Erased(run))?;
        if artifact.value.is_some() {
            return Ok(artifact);
        }
        let step = name.parse().map_err(|_| no_such())?;
        let (store, files) = (self.tenure.store(), &self.library.files);
        let bytes = files.artifact(store, run, &step, artifact.sha256, artifact.size).await?;
        let value = serde_json::from_slice(&bytes).map_err(|why| NotRead::Damaged(why.to_string()))?;
        Ok(Artifact { value: Some(value), ..artifact })
    }

    /// What was uploaded: what is known of it, and its file.
    pub async fn content(&self, document: ItemId) -> Result<(DocumentFacts, File), NotDone> {
        self.item(DOCUMENT, document).await?;
        let facts = self.facts(document).await?;
        let file = self.library.files.open(self.tenure.store(), facts.sha256, facts.size).await?;
        Ok((facts, file))
    }

    async fn whole_run(&self, id: ItemId) -> Result<Whole, NotDone> {
        self.item(RUN, id).await?;
        Ok(self.tenure.whole(id).await?)
    }

    /// An item of another kind is none of these.
    async fn item(&self, kind: &'static str, id: ItemId) -> Result<Item, NotDone> {
        let none = || NotDone::NoSuch(kind, id.to_string());
        match self.tenure.item(id).await {
            Ok(item) if item.table.kind.as_str() == kind => Ok(item),
            Ok(_) | Err(Error::NotFound(_)) => Err(none()),
            Err(error) => Err(error.into()),
        }
    }
}

pub(super) fn is_run(item: &Item) -> bool {
    item.table.kind.as_str() == RUN
}

/// Whoever makes it, it is the same run.
fn first_run(document: ItemId) -> String {
    format!("first run of {document}")
}

fn body(facts: &impl Serialize) -> Result<Body, Error> {
    let bytes = serde_json::to_vec(facts).map_err(|why| Error::Json(why.to_string()))?;
    Body::json(bytes).map_err(|problem| Error::Json(problem.detail.to_string()))
}

fn artifact(record: &Record) -> Option<Artifact> {
    let made: Made = serde_json::from_slice(record.body.as_ref()?.bytes()).ok()?;
    let value = made.value.and_then(|value| serde_json::from_str(value.get()).ok());
    let (name, created_at) = (record.name.to_string(), record.at);
    Some(Artifact { name, size: made.size, sha256: made.sha256, value, created_at })
}
