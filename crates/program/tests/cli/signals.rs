//! Told to stop, at any moment, a worker and a server end well; and commands that end badly are failures in words.

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::kit::{Life, Place};

/// What a reason has at most.
const REASON_BYTES_MAX: usize = 8 << 10;

fn list(place: &Place, path: &str) -> Vec<Value> {
    let (status, page) = place.server.as_ref().unwrap().ask("GET", path, "");
    assert_eq!(status, 200, "{page}");
    page["items"].as_array().unwrap().clone()
}

// covers: K-54
// fault: X2
#[test]
fn a_worker_and_a_server_that_are_stopped_at_any_moment_end_well() {
    // After so many commits the worker is stopped, with whatever it has in hand then.
    const MOMENTS: [usize; 6] = [0, 3, 1, 4, 1, 5];
    const JOBS: usize = 40;
    let mut place = Place::served("signals");
    let jobs: Vec<Value> = (0..JOBS).map(|number| json!({ "kind": "job", "payload": number })).collect();
    place.server.as_ref().unwrap().ask("POST", "/v1/items", &json!(jobs).to_string());
    for commits in MOMENTS {
        let mut worker = place.work(&["--concurrency", "3", "--grace", "60"], "cat");
        (0..commits).for_each(|_| drop(worker.until("committed")));
        worker.signal(Signal::TERM);
        assert_eq!(worker.ended(), Some(0), "after {commits}");
        assert_eq!(list(&place, "/v1/leases"), Vec::<Value>::new(), "nothing is left in anybody's hands");
        let (code, last) = place.stop_server();
        assert_eq!((code, last.as_str()), (Some(0), "stopped; everything that was answered is kept\n"));
    }
    let done = list(&place, "/v1/items?phase=succeeded&limit=1000");
    assert!(done.len() >= MOMENTS.iter().sum(), "{} are done", done.len());
    let ready = list(&place, "/v1/items?phase=ready&limit=1000");
    assert_eq!(done.len() + ready.len(), JOBS);
    // Whoever was stopped has nothing against an item.
    assert!(ready.iter().chain(&done).all(|item| item["failures"] == 0), "{ready:?}");
    for item in done {
        let executions = list(&place, &format!("/v1/items/{}/executions", item["id"].as_str().unwrap()));
        assert_eq!(executions.iter().filter(|one| one["status"] == "DONE").count(), 1, "{executions:?}");
    }
}

// covers: K-54
// fault: X2
#[test]
fn who_waits_for_work_at_a_server_that_is_stopped_is_answered_and_the_server_ends() {
    let mut place = Place::served("signals_waits");
    // Longer than the server is patient with requests: who is not answered by itself is cut off.
    let lease = json!({ "kinds": ["job"], "worker": "w", "wait_ms": 30_000 }).to_string();
    let waiting = place.server.as_ref().unwrap().asking("POST", "/v1/leases", &lease);
    let acquires = || {
        let (_, stats) = place.server.as_ref().unwrap().ask("GET", "/v1/stats", "");
        stats["counters"]["acquires"].as_u64().expect("a number")
    };
    while acquires() == 0 {}
    let (code, last) = place.stop_server();
    assert_eq!((code, last.as_str()), (Some(0), "stopped; everything that was answered is kept\n"));
    assert_eq!(waiting.answer(), (200, json!({ "leases": [] })));
}

// covers: K-54
// fault: X2
#[test]
fn a_server_that_is_stopped_while_a_command_runs_is_told_of_its_end_when_it_is_back() {
    let mut place = Place::served("signals_back");
    let id = place.submit("{}");
    let (life, go) = (Life::new(&place.folder, "life"), Life::new(&place.folder, "go"));
    let mut worker = place.work(&["--lease", "600"], &life.script(&format!("cat {}", go.path())));
    let _living = life.begun();
    assert_eq!(place.stop_server().0, Some(0));
    std::fs::write(go.path(), "done").unwrap();
    worker.until("attempt 1 committed");
    let job = place.item(&id);
    assert_eq!((&job["output"], &job["attempt"]), (&"done".into(), &1.into()), "{job}");
    worker.signal(Signal::TERM);
    assert_eq!(worker.ended(), Some(0));
}

// covers: J-03
// fault: X3
#[test]
fn a_command_that_ends_badly_is_a_failure_and_of_what_it_said_the_end_is_kept() {
    let place = Place::served("signals_bad");
    let jobs = ["kill", "137", "much", "wide"].map(|how| place.submit(&format!("\"{how}\"")));
    let script = r#"
        read how
        case $how in
            '"kill"') kill -KILL $$ ;;
            '"137"') exit 137 ;;
            '"much"') head -c 1048576 /dev/zero | tr '\0' x >&2; echo >&2; echo the end >&2; exit 1 ;;
            # Every letter of these is four bytes, and there is no end of the line.
            '"wide"') head -c 262144 /dev/zero | sed 's/\x00/𝕏/g' >&2; exit 1 ;;
        esac"#;
    let _worker = place.work(&["--concurrency", "4"], script);
    let reasons = jobs.each_ref().map(|id| {
        let job = place.at_rest(id);
        assert_eq!((&job["state"], &job["failures"]), (&"FAILED".into(), &2.into()), "{job}");
        let executions = list(&place, &format!("/v1/items/{id}/executions"));
        let kept: usize = executions[0]["lines"]
            .as_array()
            .map_or(0, |lines| lines.iter().map(|line| line.as_str().unwrap().len()).sum());
        assert!(kept <= 16 << 10, "{kept} bytes of lines");
        job["failure"]["reason"].as_str().expect("a reason").to_string()
    });
    assert_eq!((reasons[0].as_str(), reasons[1].as_str()), ("killed by signal 9", "exit code 137"));
    assert!(
        reasons[2].starts_with("exit code 1: xxx") && reasons[2].ends_with("xxx\nthe end"),
        "{}",
        reasons[2]
    );
    assert!(reasons[3].starts_with("exit code 1: "), "{}", reasons[3]);
    for reason in reasons {
        assert!(reason.len() <= REASON_BYTES_MAX, "{}", reason.len());
    }
}
