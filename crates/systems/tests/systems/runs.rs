//! Documents and their runs: a pipeline of a test's own, on databases that outlive their process.

pub mod away;
pub mod erasing;
mod leftovers;
mod many;
mod order;
pub mod power;
mod processes;
mod reading;
mod scheduler;
mod steps;
mod window;

use std::future::Future;
use std::sync::Arc;

use serde_json::Value;
use tenure::Tenure;
use tenure::core::id::ItemId;
use tenure::databases::url::Url;
use tenure_systems::runs::documents::{Upload, Uploaded};
use tenure_systems::runs::files::Files;
use tenure_systems::runs::history::{Run, Status};
use tenure_systems::runs::step::{Input, Step, StepFailed, Stepping};
use tenure_systems::runs::{Documents, Library, Pipeline, Running, Settings, start};

use crate::kit::{PATIENCE, at_home_elsewhere, on_kept};

/// A step that is a function.
struct Does<F>(&'static str, F);

impl<F, Fut> Step for Does<F>
where
    F: Fn(Input) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Value, StepFailed>> + Send + 'static,
{
    fn name(&self) -> &str {
        self.0
    }

    fn run(&self, input: Input) -> Stepping {
        Box::pin((self.1)(input))
    }
}

fn does<F, Fut>(name: &'static str, work: F) -> Arc<dyn Step>
where
    F: Fn(Input) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Value, StepFailed>> + Send + 'static,
{
    Arc::new(Does(name, work))
}

fn failed(code: &str, details: &str, permanent: bool) -> StepFailed {
    StepFailed { code: code.to_string(), details: details.to_string(), permanent }
}

/// Reads the text, then counts its words.
fn reading() -> Vec<Arc<dyn Step>> {
    let read = does("read", async |input: Input| {
        Ok(Value::from(String::from_utf8_lossy(&input.document.bytes).into_owned()))
    });
    let count = does("count", async |input: Input| {
        Ok(Value::from(input.made["read"].as_str().unwrap_or_default().split_whitespace().count()))
    });
    vec![read, count]
}

/// A database with the files that go with it, and whoever asks.
struct Desk {
    tenure: Tenure,
    library: Library,
    documents: Documents,
    settings: Settings,
    /// The files of a PostgreSQL database are a test's own, too.
    _folder: tempfile::TempDir,
}

impl Desk {
    async fn open(url: &str) -> Desk {
        Desk::with(url, Tenure::open(url).await.unwrap()).await
    }

    async fn with(url: &str, tenure: Tenure) -> Desk {
        let database: Url = url.parse().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let files = match &database {
            Url::Sqlite(_) => Files::of(&database, None).unwrap(),
            Url::Memory | Url::Postgres(_) => Files::at(folder.path().join("files")),
        };
        let library = Library::new(files);
        let documents = library.documents(tenure.clone());
        Desk { tenure, library, documents, settings: Settings::of(&database), _folder: folder }
    }

    async fn start(&self, steps: Vec<Arc<dyn Step>>) -> Running {
        self.start_with(steps, self.settings.clone()).await
    }

    async fn start_with(&self, steps: Vec<Arc<dyn Step>>, settings: Settings) -> Running {
        let pipeline = Pipeline::new(steps).unwrap();
        let tenure = at_home_elsewhere(&self.tenure);
        start(tenure, self.library.clone(), pipeline, settings).await.unwrap()
    }

    async fn upload(&self, text: &str) -> Uploaded {
        self.upload_as(text, None).await.unwrap()
    }

    async fn upload_as(
        &self,
        text: &str,
        key: Option<&str>,
    ) -> Result<Uploaded, tenure_systems::runs::documents::NotDone> {
        let mut incoming = self.documents.receive().await?;
        incoming.write(text.as_bytes()).await?;
        let idempotency_key = key.map(str::to_string);
        let upload = Upload { name: "letter.txt".to_string(), idempotency_key, trace: None };
        self.documents.upload(incoming, upload).await
    }

    async fn reprocess(&self, document: ItemId) -> ItemId {
        self.documents.reprocess(document, None, None).await.unwrap().run_id
    }

    /// The run, once it has ended.
    async fn ended(&self, run: ItemId) -> Run {
        self.tenure.wait(run, PATIENCE).await.unwrap();
        self.documents.run(run).await.unwrap()
    }

    async fn events(&self, run: ItemId) -> Vec<String> {
        let told = self.documents.events(run).await.unwrap();
        let words = told.into_iter().map(|told| match (told.step, told.attempt) {
            (Some(step), Some(attempt)) => format!("{} {step} {attempt}", told.event),
            (Some(step), None) => format!("{} {step}", told.event),
            (None, _) => told.event,
        });
        words.collect()
    }
}

/// What of its steps can be told without times.
fn steps_of(run: &Run) -> Vec<(&str, &str, u32, Option<&str>)> {
    run.steps
        .iter()
        .map(|step| (step.name.as_str(), step.status, step.attempt, step.error_code.as_deref()))
        .collect()
}

//
#[test]
fn a_document_is_stored_and_taken_through_its_steps() {
    on_kept(async |url| {
        let desk = Desk::open(&url).await;
        let uploaded = desk.upload("one two three").await;
        let queued = desk.documents.run(uploaded.run_id).await.unwrap();
        assert_eq!((queued.state.as_str(), queued.started_at, queued.completed_at), ("QUEUED", None, None));
        assert_eq!(queued.document_id, uploaded.document_id.to_string());
        let shown = desk.documents.document(uploaded.document_id).await.unwrap();
        assert_eq!((shown.status, shown.latest_run_id), (Status::Processing, Some(uploaded.run_id)));
        let facts = shown.facts.unwrap();
        assert_eq!((facts.name.as_str(), facts.size), ("letter.txt", 13));
        let (_, mut file) = desk.documents.content(uploaded.document_id).await.unwrap();
        let mut text = String::new();
        std::io::Read::read_to_string(&mut file, &mut text).unwrap();
        assert_eq!(text, "one two three");

        let running = desk.start(reading()).await;
        let run = desk.ended(uploaded.run_id).await;
        assert_eq!((run.state.as_str(), &run.failure_type), ("COMPLETED", &None));
        assert_eq!(steps_of(&run), [("read", "SUCCEEDED", 1, None), ("count", "SUCCEEDED", 1, None)]);
        assert!(run.created_at <= run.started_at.unwrap() && run.started_at <= run.completed_at);
        assert!(run.steps.iter().all(|step| step.ended_at.is_some_and(|ended| step.started_at <= ended)));
        let made = desk.documents.artifacts(uploaded.run_id).await.unwrap();
        let made: Vec<_> = made.into_iter().map(|made| (made.name, made.value.unwrap())).collect();
        assert_eq!(made, [("count".to_string(), 3.into()), ("read".to_string(), "one two three".into())]);
        assert_eq!(desk.documents.document(uploaded.document_id).await.unwrap().status, Status::Completed);
        assert_eq!(
            desk.events(uploaded.run_id).await,
            [
                "RUN_CREATED",
                "RUN_STARTED",
                "STEP_STARTED read 1",
                "STEP_SUCCEEDED read 1",
                "STEP_STARTED count 1",
                "STEP_SUCCEEDED count 1",
                "RUN_COMPLETED"
            ]
        );
        running.drain().await;
    });
}

//
#[test]
fn an_upload_that_is_repeated_is_one_document_with_one_run() {
    on_kept(async |url| {
        let desk = Desk::open(&url).await;
        let first = desk.upload_as("a letter", Some("k")).await.unwrap();
        let again = desk.upload_as("a letter", Some("k")).await.unwrap();
        assert!(first.is_new && !again.is_new);
        assert_eq!((first.document_id, first.run_id), (again.document_id, again.run_id));
        let other = desk.upload_as("another letter", Some("k")).await.unwrap_err();
        assert_eq!(other.code().unwrap().as_str(), "IDEMPOTENCY_CONFLICT");
        // The same content under another name is another document on the same file.
        let same = desk.upload("a letter").await;
        assert_ne!(same.document_id, first.document_id);
        assert_eq!(desk.documents.runs(first.document_id, None, 10).await.unwrap().0.len(), 1);
        assert!(desk.upload_as("", None).await.is_err(), "an empty document is none");
    });
}
