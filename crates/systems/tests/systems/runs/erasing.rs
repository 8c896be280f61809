//! Documents that are erased, and their files.

use std::fs::File;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tenure::core::id::ItemId;
use tenure::core::request::{Command, Erase};
use tenure_systems::runs::Library;
use tenure_systems::runs::files::{Files, Swept};
use tokio::sync::Notify;

use super::leftovers::contents;
use super::{Desk, does, reading};
use crate::kit::on_kept;
use crate::program::Program;
use crate::voice::Voice;

impl Desk {
    async fn erase(&self, id: ItemId) {
        let item = self.tenure.item(id).await.unwrap();
        assert!(self.documents.erase(&item, Some("asked to".to_string())).await.unwrap().erased);
    }

    /// No note is left of anything.
    fn nothing_pending(&self) -> bool {
        std::fs::read_dir(self.library.files.folder().join("pending")).unwrap().next().is_none()
    }
}

//
#[test]
fn an_erased_document_takes_its_file_with_it_unless_another_has_the_same() {
    on_kept(async |url| {
        let desk = Desk::open(&url).await;
        let first = desk.upload_as("a letter", Some("k")).await.unwrap().document_id;
        let second = desk.upload("a letter").await.document_id;
        let other = desk.upload("another").await.document_id;
        desk.erase(first).await;
        assert_eq!(contents(&desk).len(), 2, "the second document has the same content");
        assert!(desk.documents.content(first).await.is_err());
        desk.documents.content(second).await.unwrap();
        desk.erase(second).await;
        assert_eq!(contents(&desk).len(), 1);
        desk.documents.content(other).await.unwrap();
        // Again, and the same upload again: it is the document that was erased.
        desk.erase(second).await;
        assert_eq!(desk.upload_as("a letter", Some("k")).await.unwrap().document_id, first);
        assert_eq!(contents(&desk).len(), 1, "what was erased does not come back");
        // As a new document it does.
        let anew = desk.upload("a letter").await.document_id;
        desk.documents.content(anew).await.unwrap();
        assert!(desk.nothing_pending());
    });
}

//
#[test]
fn an_erased_run_takes_what_its_steps_made_with_it_and_one_that_goes_on_is_not_erased() {
    on_kept(async |url| {
        let desk = Desk::open(&url).await;
        let uploaded = desk.upload("a letter").await;
        let queued = desk.tenure.item(uploaded.run_id).await.unwrap();
        assert!(desk.documents.erase(&queued, None).await.is_err(), "it is not over");
        let large = does("make", async |_| Ok(Value::from("x".repeat(1 << 20))));
        let running = desk.start(vec![large]).await;
        assert_eq!(desk.ended(uploaded.run_id).await.state, "COMPLETED");
        running.drain().await;
        assert_eq!(contents(&desk).len(), 2);
        desk.erase(uploaded.run_id).await;
        assert_eq!(contents(&desk).len(), 1, "the document stays");
        desk.documents.content(uploaded.document_id).await.unwrap();
        assert!(desk.nothing_pending());
    });
}

// covers: R-11, K-50
#[test]
fn an_erased_document_takes_what_its_runs_made_with_it_and_is_not_erased_while_one_goes_on() {
    on_kept(async |url| {
        let desk = Desk::open(&url).await;
        let uploaded = desk.upload("a secret letter").await;
        let running = desk.start(reading()).await;
        assert_eq!(desk.ended(uploaded.run_id).await.state, "COMPLETED");
        running.drain().await;
        let (begun, go_on) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let (began, goes_on) = (begun.clone(), go_on.clone());
        let slow = does("read", move |_| {
            let (began, goes_on) = (began.clone(), goes_on.clone());
            async move {
                began.notify_one();
                goes_on.notified().await;
                Ok(Value::from("a secret letter"))
            }
        });
        let second = desk.reprocess(uploaded.document_id).await;
        let running = desk.start(vec![slow]).await;
        begun.notified().await;
        let document = desk.tenure.item(uploaded.document_id).await.unwrap();
        let refused = desk.documents.erase(&document, None).await.unwrap_err();
        assert!(refused.to_string().contains(&second.to_string()), "{refused}");
        assert!(!desk.tenure.item(document.id).await.unwrap().erased);
        go_on.notify_one();
        desk.ended(second).await;
        running.drain().await;
        assert_eq!(desk.documents.artifacts(second).await.unwrap().len(), 1);

        desk.erase(document.id).await;
        for run in [uploaded.run_id, second] {
            assert_eq!(desk.documents.artifacts(run).await.unwrap(), [], "nothing of its text is left");
            let gone = desk.documents.artifact(run, "read").await.unwrap_err();
            assert_eq!(gone.code().unwrap().as_str(), "NOT_FOUND", "{gone}");
        }
        let gone = desk.documents.content(document.id).await.unwrap_err();
        assert_eq!(gone.code().unwrap().as_str(), "NOT_FOUND", "{gone}");
        assert!(gone.to_string().contains("was erased"), "{gone}");
        assert!(contents(&desk).is_empty() && desk.nothing_pending());
    });
}

/// What the child does.
pub async fn erase(url: &str, folder: &str, document: ItemId, voice: Voice) {
    let mut desk = Desk::open(url).await;
    desk.library = Library::new(Files::at(folder));
    desk.documents = desk.library.documents(desk.tenure.clone());
    voice.say("erasing");
    desk.erase(document).await;
    std::future::pending().await
}

// covers: R-11, K-50
#[test]
fn a_file_whose_eraser_was_killed_after_the_entry_goes_when_the_next_process_starts() {
    on_kept(async |url| {
        let desk = Desk::open(&url).await;
        let document = desk.upload("a letter").await.document_id;
        let sha256 = desk.documents.document(document).await.unwrap().facts.unwrap().sha256.to_string();
        // Somebody is at this place: the entry is erased, and the file can not be removed yet.
        let folder = desk.library.files.folder().to_path_buf();
        let place = File::options().append(true).open(folder.join("places").join(&sha256[..2])).unwrap();
        place.lock_shared().unwrap();
        let mut child = Program::start(&format!("erase {url} {} {document}", folder.display()));
        assert_eq!(child.until("erasing").last().unwrap(), "erasing");
        while !desk.tenure.item(document).await.unwrap().erased {
            tokio::task::yield_now().await;
        }
        child.kill();
        assert_eq!(contents(&desk).len(), 1, "its entry is erased and its file is there");
        let sweep =
            async || desk.library.files.sweep(&desk.tenure, Duration::from_secs(3_600)).await.unwrap();
        assert_eq!(sweep().await, Swept::default(), "somebody is at it");
        drop(place);
        let running = desk.start(reading()).await;
        while !desk.nothing_pending() {
            tokio::task::yield_now().await;
        }
        assert!(contents(&desk).is_empty());
        running.drain().await;
        let removed =
            desk.library.counted().into_iter().find(|(name, _)| *name == "files_removed").unwrap().1;
        assert_eq!(removed, 1);
    });
}

// covers: R-11, K-50
#[test]
fn an_erasure_that_died_before_the_runs_is_found_by_its_note_however_many_came_after() {
    on_kept(async |url| {
        let desk = Desk::open(&url).await;
        let uploaded = desk.upload("a secret letter").await;
        let running = desk.start(reading()).await;
        assert_eq!(desk.ended(uploaded.run_id).await.state, "COMPLETED");
        running.drain().await;
        // What an erasure has written when it dies after its second write: its note, and that the document is erased.
        let note = format!("{}~erasure~{}~0", desk.tenure.store(), uploaded.document_id);
        let note = desk.library.files.folder().join("pending").join(note);
        File::create(&note).unwrap();
        let erase = Erase { item: uploaded.document_id, reason: None };
        desk.tenure.ask(Command::Erase(erase)).await.unwrap();
        assert!(!desk.documents.artifacts(uploaded.run_id).await.unwrap().is_empty());
        desk.upload_newer_ones().await;
        let settings = tenure_systems::runs::Settings { mend_after: Duration::ZERO, ..desk.settings.clone() };
        let running = desk.start_with(reading(), settings).await;
        while note.exists() {
            tokio::task::yield_now().await;
        }
        assert_eq!(
            desk.documents.artifacts(uploaded.run_id).await.unwrap(),
            [],
            "nothing of its text is left"
        );
        running.drain().await;
    });
}
