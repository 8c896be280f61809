//! A disk that is really full: a small one is mounted, filled, and made larger, while one engine goes on.

use std::path::Path;
use std::process::Command;

use tenure::core::id::ItemId;
use tenure::{Done, Job, New, Tenure};

use crate::place::{PATIENCE, is_sound, until_so};

/// A disk in memory, of this size. It goes when it is dropped.
struct Disk(tempfile::TempDir);

impl Disk {
    /// Err: this process may not mount anything, and why.
    fn mount(size: &str) -> Result<Disk, String> {
        let folder = tempfile::tempdir().unwrap();
        mount(&["-t", "tmpfs", "-o", &format!("size={size}"), "tenure"], folder.path())?;
        Ok(Disk(folder))
    }

    fn enlarge(&self, size: &str) {
        mount(&["-o", &format!("remount,size={size}")], self.0.path()).unwrap();
    }
}

fn mount(arguments: &[&str], folder: &Path) -> Result<(), String> {
    let output = Command::new("mount").args(arguments).arg(folder).output().map_err(|why| why.to_string())?;
    match output.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&output.stderr).trim().to_string()),
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // Whatever is open on it is closed first, so this fails only where the test has failed.
        let _ = Command::new("umount").arg("--lazy").arg(self.0.path()).status();
    }
}

// The real thing; that an error at any single write is told and mended is shown by `a_full_disk_is_told_and_ends_with_the_room`.
// fault: D6
// covers: K-53
#[test]
fn d6_a_disk_that_is_really_full_is_told_and_the_same_process_goes_on_with_the_room() {
    let disk = match Disk::mount("3m") {
        Ok(disk) => disk,
        Err(why) => {
            eprintln!(
                "NO DISK COULD BE MOUNTED HERE ({why}): a disk that fails at its writes stands in for a full one"
            );
            return crate::loops::a_full_disk_is_told_and_ends_with_the_room();
        }
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let url = format!("sqlite:{}", disk.0.path().join("tenure.db").display());
        let tenure = Tenure::open(url.clone()).await.unwrap();
        let payload = "x".repeat(20_000);
        let mut created: Vec<ItemId> = Vec::new();
        let told = loop {
            match tenure.create(New::job(&payload)).await {
                Ok(job) => created.push(job.id),
                Err(error) => break error,
            }
            assert!(created.len() < 1_000, "three megabytes are full some time");
        };
        assert!(told.is_retryable() && told.to_string().contains("no space is left"), "{told}");
        assert!(!created.is_empty());
        // Who asks again while it is full is told again, and the loops go on.
        let turns = || tenure.counters().turns().get("sweep").copied().unwrap_or_default();
        let before = turns();
        until_so(|| turns() >= before + 2).await;
        assert!(tenure.create(New::job(&payload)).await.is_err_and(|error| error.is_retryable()));
        for id in &created {
            assert!(tenure.item(*id).await.is_ok(), "what was answered is there");
        }
        disk.enlarge("64m");
        created.push(tenure.create(New::job(&payload)).await.unwrap().id);
        let worker = tenure.worker("w").handle("job", async |_: Job| Ok(Done::default())).start().unwrap();
        for id in &created {
            let whole = tenure.wait(*id, PATIENCE).await.unwrap();
            assert_eq!(&**whole.item.state_name(), "SUCCEEDED");
        }
        worker.drain().await;
        let all = tenure.list(tenure::databases::Query { limit: 1_000, ..Default::default() }).await.unwrap();
        assert_eq!(all.len(), created.len(), "nothing that was refused is there");
        drop(tenure);
        is_sound(&url).await;
    });
}
