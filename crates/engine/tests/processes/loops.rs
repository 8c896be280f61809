//! Faults of SQLite's file that an engine meets while it runs: it goes on by itself.

use std::time::Duration;

use rusqlite::Connection;
use tenure::databases::url::Url;
use tenure::{Done, Job, New, Tenure};

use crate::place::{PATIENCE, is_sound, jobs, on_sqlite, until, until_so};
use crate::program::Program;
use crate::raw;
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

// Somebody's own trigger keeps one item from ever ending: its worker goes on with others, and leaves it to the end of its lease.
// covers: K-51
#[test]
fn an_end_that_can_not_be_written_keeps_no_place() {
    on_sqlite(async |url| {
        let tenure = Tenure::open(url.clone()).await.unwrap();
        let refuse = "create trigger stuck before update on items \
            when old.key = 'bad' and old.slot = 3 and new.slot <> 3 begin select raise(abort, 'not this one'); end;";
        raw::run(&url, refuse).await;
        let bad = tenure.create(New::job(&1).key("bad")).await.unwrap();
        // No renewal finds out: it is far away.
        let worker = tenure.worker("w").concurrency(1).lease(Duration::from_secs(3_600));
        let worker = worker.handle("job", async |_: Job| Ok(Done::default())).start().unwrap();
        until(&tenure, bad.id, |item| item.lease.is_some()).await;
        let good = tenure.create(New::job(&2)).await.unwrap();
        let whole = tenure.wait(good.id, PATIENCE).await.unwrap();
        assert_eq!(&**whole.item.state_name(), "SUCCEEDED");
        let told = tenure.counters().last_failure().unwrap();
        assert!(told.contains("can not be written") && told.contains("not this one"), "{told}");
        assert!(tenure.item(bad.id).await.unwrap().lease.is_some());
        worker.drain().await;
        drop(tenure);
        is_sound(&url).await;
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
