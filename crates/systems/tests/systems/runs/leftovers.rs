//! What is left by uploads that were cut off between their writes.

use std::path::PathBuf;
use std::time::Duration;

use tenure::New;
use tenure::core::id::ItemId;
use tenure_systems::runs::files::Swept;
use tenure_systems::runs::history::{DocumentFacts, Status};

use super::{Desk, reading};
use crate::kit::on_kept;

/// The files that hold content.
pub fn contents(desk: &Desk) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![desk.library.files.folder().join("stores")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() { folders.push(path) } else { found.push(path) }
        }
    }
    found
}

impl Desk {
    /// As many documents as are looked at without a note, newer than all others.
    pub async fn upload_newer_ones(&self) {
        let facts = |number: usize| DocumentFacts {
            name: "newer.txt".to_string(),
            media_type: "text/plain".to_string(),
            size: 1,
            sha256: format!("{number:064x}").parse().unwrap(),
        };
        let newer =
            (0..100).map(facts).map(|facts| New::of("document", &facts).key(facts.sha256.to_string()));
        assert!(self.tenure.create_all(newer).await.iter().all(Result::is_ok));
    }

    /// The first run of a document that has none yet.
    async fn first_run(&self, document: ItemId) -> ItemId {
        loop {
            let (runs, _) = self.documents.runs(document, None, 10).await.unwrap();
            match runs.first() {
                Some(run) => return run.run_id.parse().unwrap(),
                None => tokio::task::yield_now().await,
            }
        }
    }
}

//
#[test]
fn a_file_without_its_entry_is_removed_and_one_with_it_is_not() {
    on_kept(async |url| {
        let desk = Desk::open(&url).await;
        let sweep = async |age| desk.library.files.sweep(&desk.tenure, age).await.unwrap();
        let kept = desk.upload("kept").await;
        // Cut off before its entry, and once more with content that an entry refers to.
        let mut cut_off = Vec::new();
        for text in ["lost", "kept"] {
            let mut incoming = desk.documents.receive().await.unwrap();
            incoming.write(text.as_bytes()).await.unwrap();
            cut_off.push(incoming.finish().await.unwrap());
        }
        assert_eq!(sweep(Duration::ZERO).await, Swept::default(), "nobody sweeps what is being uploaded");
        drop(cut_off);
        // And before it was whole.
        let mut half = desk.documents.receive().await.unwrap();
        half.write(b"half").await.unwrap();
        drop(half);
        assert_eq!(std::fs::read_dir(desk.library.files.folder().join("incoming")).unwrap().count(), 0);
        assert_eq!(contents(&desk).len(), 2);
        assert_eq!(sweep(Duration::from_secs(3_600)).await, Swept::default(), "it may be on its way");
        assert_eq!(sweep(Duration::ZERO).await, Swept { removed: 1, kept: 1 });
        assert_eq!(sweep(Duration::ZERO).await, Swept::default());
        assert_eq!(contents(&desk).len(), 1);
        let (facts, _) = desk.documents.content(kept.document_id).await.unwrap();
        assert!(contents(&desk)[0].ends_with(facts.sha256.to_string()));
    });
}

//
#[test]
fn a_document_whose_upload_died_before_its_run_gets_it_when_the_service_starts() {
    on_kept(async |url| {
        let desk = Desk::open(&url).await;
        // What an upload has written when it dies after its second write.
        let whole = desk.upload("two words").await;
        let facts = desk.documents.document(whole.document_id).await.unwrap().facts.unwrap();
        let new = New::of("document", &facts).key(facts.sha256.to_string());
        let document = desk.tenure.create(new).await.unwrap().id;
        let shown = desk.documents.document(document).await.unwrap();
        assert_eq!((shown.status, shown.latest_run_id), (Status::Uploaded, None));
        let settings = tenure_systems::runs::Settings { mend_after: Duration::ZERO, ..desk.settings.clone() };
        let running = desk.start_with(reading(), settings.clone()).await;
        let run = desk.first_run(document).await;
        assert_eq!(desk.ended(run).await.state, "COMPLETED");
        running.drain().await;
        let running = desk.start_with(reading(), settings).await;
        assert_eq!(desk.ended(desk.upload("more").await.run_id).await.state, "COMPLETED");
        assert_eq!(desk.documents.runs(document, None, 10).await.unwrap().0.len(), 1, "one, however often");
        let counted = desk.library.counted();
        assert!(counted.iter().any(|(name, count)| *name == "documents_mended" && *count > 0), "{counted:?}");
        running.drain().await;
    });
}

//
#[test]
fn an_upload_that_died_before_its_run_is_found_by_its_note_however_many_came_after() {
    on_kept(async |url| {
        let desk = Desk::open(&url).await;
        // What an upload has written when it dies after its second write: the file with its note, and the document.
        let mut incoming = desk.documents.receive().await.unwrap();
        incoming.write(b"two words").await.unwrap();
        let arrived = incoming.finish().await.unwrap();
        let (name, media_type) = ("letter.txt".to_string(), "text/plain".to_string());
        let facts = DocumentFacts { name, media_type, size: arrived.size, sha256: arrived.sha256 };
        let new = New::of("document", &facts).key(facts.sha256.to_string());
        let created = desk.tenure.create(new).await.unwrap().id;
        drop(arrived);
        desk.upload_newer_ones().await;
        let settings = tenure_systems::runs::Settings { mend_after: Duration::ZERO, ..desk.settings.clone() };
        let running = desk.start_with(reading(), settings).await;
        let run = desk.first_run(created).await;
        assert_eq!(desk.ended(run).await.state, "COMPLETED");
        running.drain().await;
        // An upload that comes to its end leaves no note.
        let pending = || std::fs::read_dir(desk.library.files.folder().join("pending")).unwrap().count();
        let before = pending();
        desk.upload("another").await;
        assert_eq!(pending(), before);
    });
}
