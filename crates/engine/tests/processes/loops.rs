//! Faults of SQLite's file that an engine meets while it runs: it goes on by itself.

use rusqlite::Connection;
use tenure::databases::url::Url;
use tenure::{Done, Job, Tenure};

use crate::place::{PATIENCE, is_sound, jobs, on_sqlite, until_so};
use crate::program::Program;
use crate::shim::{Errno, Failing, How, Shim};

// Another program holds the file's lock for longer than anybody waits.
// covers: K-51
#[test]
fn a_lock_that_somebody_holds_ends_no_loop() {
    on_sqlite(async |url| {
        let Ok(Url::Sqlite(path)) = url.parse() else { panic!("a file") };
        let tenure = Tenure::open(url).await.unwrap();
        let [item] = jobs(&tenure, 1).await[..] else { panic!("one job") };
        let other = Connection::open(path).unwrap();
        other.execute_batch("begin immediate").unwrap();
        until_so(|| tenure.counters().failed_turns() > 0).await;
        let worker = tenure.worker("w").handle("job", async |_: Job| Ok(Done::default())).start().unwrap();
        until_so(|| tenure.counters().failed_acquires() > 0).await;
        other.execute_batch("rollback").unwrap();
        let whole = tenure.wait(item, PATIENCE).await.unwrap();
        assert_eq!(&**whole.item.state_name(), "SUCCEEDED");
        worker.drain().await;
    });
}

// A full disk: callers are told, nothing is half there, and the same process goes on when there is room.
// covers: K-53
#[test]
pub fn a_full_disk_is_told_and_ends_with_the_room() {
    on_sqlite(async |url| {
        drop(Tenure::open(url.clone()).await.unwrap());
        let folder = tempfile::tempdir().unwrap();
        let shim = Shim::build(folder.path());
        // From the first write of a job on; the engine has opened the file by then.
        let failing =
            Failing { files: "-wal", call: "write", at: 40, how: How::Always, errno: Errno::NoSpace };
        let mut child = Program::start_with(&format!("persistent {url}"), &shim.variables(failing));
        assert_eq!(child.line().as_deref(), Some("open"));
        let (mut told, mut created) = (0, Vec::new());
        while told == 0 || created.len() < 3 {
            child.go_on();
            let line = child.line().expect("it lives");
            match line.split_once(' ') {
                Some(("created", id)) => created.push(id.parse().unwrap()),
                _ => {
                    assert!(line.contains("no space is left"), "{line}");
                    told += 1;
                    shim.mend();
                }
            }
        }
        let tenure = Tenure::builder(url.clone()).without_loops().open().await.unwrap();
        for id in created {
            let whole = tenure.wait(id, PATIENCE).await.unwrap();
            assert_eq!(&**whole.item.state_name(), "SUCCEEDED", "the same process goes on");
        }
        drop(tenure);
        child.kill();
        is_sound(&url).await;
    });
}
