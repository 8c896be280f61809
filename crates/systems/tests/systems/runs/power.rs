//! D15: the power is cut between any two calls of a process that stores documents. Before an entry is written, the disk has the content
//! that it names, the name in its folder, and every folder above it.
//!
//! The journal has all calls in their order. A database may keep what it wrote without a sync, so that an entry counts from its first
//! write; a file counts from the sync of its content and of its name.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;
use tenure::core::hash::Hash;

use super::leftovers::contents;
use super::{Desk, does};
use crate::kit::on_sqlite;
use crate::program::Program;
use crate::shim::{Errno, Failing, How, Shim};
use crate::voice::Voice;

/// The child stores documents, and a step makes an output that is too large for a record.
pub async fn store(url: &str, voice: Voice) {
    let desk = Desk::open(url).await;
    let mut runs = Vec::new();
    for text in ["short", &"long ".repeat(100_000), "short", "another"] {
        runs.push(desk.upload(text).await.run_id);
    }
    let made = Arc::new(AtomicUsize::new(0));
    let large = does("make", move |_| {
        let number = made.fetch_add(1, Ordering::SeqCst);
        // No two are the same: a file is found by the hash of its content.
        async move { Ok(Value::from(format!("made {number} ").repeat(1 << 17))) }
    });
    let running = desk.start(vec![large]).await;
    for run in runs {
        assert_eq!(desk.ended(run).await.state, "COMPLETED");
    }
    running.drain().await;
    voice.say("stored");
    std::future::pending().await
}

/// A call of the journal.
enum Call {
    /// These bytes went to the database or its log.
    Database(Vec<u8>),
    Written(PathBuf),
    Synced(PathBuf),
    Folder(PathBuf),
    Named(PathBuf, PathBuf),
}

fn calls(journal: &Path) -> Vec<Call> {
    let bytes = std::fs::read(journal).expect("the child left a journal");
    let (mut rest, mut calls) = (&bytes[..], Vec::new());
    while let Some((head, tail)) = rest.split_at_checked(18) {
        let length = u64::from_le_bytes(head[10..18].try_into().unwrap()) as usize;
        let has_bytes = matches!(head[0], b'W' | b'w' | b's' | b'm' | b'n');
        let Some((bytes, tail)) = tail.split_at_checked(if has_bytes { length } else { 0 }) else { break };
        rest = tail;
        let path = || PathBuf::from(String::from_utf8(bytes.to_vec()).expect("a path in UTF-8"));
        match head[0] {
            b'W' => calls.push(Call::Database(bytes.to_vec())),
            b'w' => calls.push(Call::Written(path())),
            b's' => calls.push(Call::Synced(path())),
            b'm' => calls.push(Call::Folder(path())),
            b'n' => {
                let text = String::from_utf8(bytes.to_vec()).expect("paths in UTF-8");
                let (from, to) = text.split_once('\0').expect("two names");
                calls.push(Call::Named(from.into(), to.into()));
            }
            // Syncs and cuts of the database: an entry counts without them.
            b'S' | b'F' | b'T' => {}
            sort => panic!("a call of the sort {sort}"),
        }
    }
    calls
}

/// The files and names that a power cut would take.
#[derive(Default)]
struct Disk {
    unsynced: BTreeSet<PathBuf>,
    /// Names that the folder above may not have.
    unnamed: BTreeSet<PathBuf>,
}

impl Disk {
    fn after(&mut self, call: &Call) {
        match call {
            Call::Database(_) => {}
            Call::Written(path) => drop(self.unsynced.insert(path.clone())),
            Call::Folder(path) => drop(self.unnamed.insert(path.clone())),
            Call::Synced(path) => {
                self.unsynced.remove(path);
                self.unnamed.retain(|name| name.parent() != Some(path));
            }
            Call::Named(from, to) => {
                self.unnamed.remove(from);
                self.unnamed.insert(to.clone());
                if self.unsynced.remove(from) {
                    self.unsynced.insert(to.clone());
                }
            }
        }
    }

    /// Why the file is not there after a cut.
    fn loses(&self, file: &Path) -> Option<String> {
        if self.unsynced.contains(file) {
            return Some("its content is not synced".to_string());
        }
        let lost = file.ancestors().find(|path| self.unnamed.contains(*path))?;
        Some(format!("the folder of {} is not synced", lost.display()))
    }
}

fn has(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|part| part == text.as_bytes())
}

// fault: D15
//
#[test]
fn d15_what_an_entry_names_is_on_the_disk_before_the_entry() {
    on_sqlite(async |url| {
        let desk = Desk::open(&url).await;
        let folder = desk.library.files.folder().parent().unwrap().to_path_buf();
        let tools = tempfile::tempdir().unwrap();
        let shim = Shim::build(tools.path());
        let never = Failing {
            files: "tenure.db,tenure.db-wal",
            call: "any",
            at: 0,
            how: How::Once,
            errno: Errno::Io,
        };
        let variables = shim.variables_with_paths(never, &folder);
        let mut child = Program::start_with(&format!("store {url}"), &variables);
        assert_eq!(child.until("stored").last().map(String::as_str), Some("stored"));
        child.kill();
        let calls = calls(&shim.journal());
        let files = contents(&desk);
        assert_eq!(files.len(), 7, "three contents and what four runs made: {files:?}");
        for file in files {
            let sha256 = Hash::of(&std::fs::read(&file).unwrap()).to_string();
            let names = |call: &&Call| matches!(call, Call::Named(_, to) if *to == file);
            assert!(calls.iter().any(|call| names(&call)), "{} came by a new name", file.display());
            let mut disk = Disk::default();
            let mut is_entered = false;
            for call in &calls {
                disk.after(call);
                if !is_entered && matches!(call, Call::Database(bytes) if has(bytes, &sha256)) {
                    is_entered = true;
                    assert_eq!(disk.loses(&file), None, "{} when its entry is written", file.display());
                }
            }
            assert!(is_entered, "no entry names {}", file.display());
        }
    });
}
