//! `tenure work` with real processes: on a file that it opens itself, and against a server.

use std::fs;

use rustix::process::Signal;

use crate::kit::{Life, Place};

#[test]
fn the_exit_code_is_the_outcome() {
    for place in Place::all("work_exit_codes") {
        let [good, text, later, bad] = ["0", "1", "75", "3"].map(|code| place.submit(code));
        let script = r#"read code; case $code in 0) echo '{"b":1, "a":2}';; 1) echo hello; exit 0;; *) echo "oh $code" >&2; exit $code;; esac"#;
        let _worker = place.work(&["--concurrency", "4", "--later", "3600"], script);
        let [good, text, bad] = [good, text, bad].map(|id| place.at_rest(&id));
        assert_eq!((&good["state"], &good["output"]["b"]), (&"SUCCEEDED".into(), &1.into()));
        assert_eq!(text["output"], "hello");
        assert_eq!((&bad["state"], &bad["failures"]), (&"FAILED".into(), &2.into()));
        assert_eq!(bad["failure"]["reason"], "exit code 3: oh 3");
        let later = place.item(&later);
        assert_eq!(
            (&later["state"], &later["failures"], &later["attempt"]),
            (&"PENDING".into(), &0.into(), &1.into())
        );
        assert!(later["run_at"].as_str() > later["updated_at"].as_str(), "{later}");
    }
}

#[test]
fn a_worker_of_a_thousand_commands_at_a_time_asks_for_no_more_than_it_is_given() {
    let place = Place::served("work_thousand");
    let mut worker = place.work(&["--concurrency", "1000"], "true");
    // Once it knows how short they are it would lease some ahead.
    for _ in 0..2 {
        let id = place.submit("1");
        worker.until("attempt 1 committed");
        assert_eq!(place.item(&id)["state"], "SUCCEEDED");
    }
    worker.signal(Signal::TERM);
    assert_eq!(worker.ended(), Some(0));
}

#[test]
fn the_last_lines_of_an_attempt_are_kept_with_it() {
    let place = Place::served("work_lines");
    let id = place.submit("{}");
    let _worker = place.work(&[], "echo one >&2; echo two >&2");
    place.at_rest(&id);
    let server = place.server.as_ref().unwrap();
    let (_, executions) = server.ask("GET", &format!("/v1/items/{id}/executions"), "");
    assert_eq!(executions["items"][0]["lines"], serde_json::json!(["one", "two"]));
}

#[test]
fn a_command_knows_its_item_and_no_secret() {
    for place in Place::both("work_environment") {
        let job = place.json(&["job", "submit", r#"{"to": "Ada"}"#, "--key", "k", "--json"]);
        let id = job["id"].as_str().unwrap();
        let script = r#"echo "$TENURE_ITEM $TENURE_EXECUTION $TENURE_ATTEMPT $TENURE_KIND $TENURE_KEY $TENURE_STORE $(env | grep -c 'not for commands') $(cat)""#;
        let _worker = place.work(&[], script);
        let output = place.at_rest(id)["output"].clone();
        assert_eq!(output, format!(r#"{id} {id}-1 1 job k default 0 {{"to": "Ada"}}"#));
    }
}

#[test]
fn a_command_goes_on_with_the_trace_of_its_item() {
    const TRACE: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    for place in Place::all("work_traced") {
        let submitted = place.run(&["job", "submit", "1", "--json"]).env("TRACEPARENT", TRACE).code(0);
        let traced = submitted.objects()[0]["id"].as_str().unwrap().to_string();
        let plain = place.submit("2");
        let script = r#"cat > /dev/null; echo "[$TRACEPARENT] [$TENURE_TRACEPARENT]""#;
        let _worker = place.work(&[], script);
        assert_eq!(place.at_rest(&traced)["output"], format!("[{TRACE}] [{TRACE}]"));
        assert_eq!(place.at_rest(&plain)["output"], "[] []");
    }
}

#[test]
fn too_much_output_is_a_failure_in_words() {
    let place = Place::file("work_too_much");
    let id = place.submit("{}");
    // It goes on for ever: the worker ends it.
    let _worker = place.work(&[], "exec yes");
    let job = place.at_rest(&id);
    let reason = job["failure"]["reason"].as_str().unwrap_or_default();
    assert!(reason.starts_with("it wrote more than 1048576 bytes"), "{job}");
}

// covers: K-13
#[test]
fn a_command_that_outlasts_its_lease_keeps_it() {
    for place in Place::both("work_renewed") {
        let id = place.submit("{}");
        let _worker = place.work(&["--lease", "3"], "sleep 8; echo long");
        let job = place.at_rest(&id);
        assert_eq!((&job["output"], &job["attempt"]), (&"long".into(), &1.into()), "{job}");
    }
}

// covers: K-35
#[test]
fn a_cancelled_command_is_ended_with_all_that_it_started() {
    for place in Place::all("work_cancelled") {
        let id = place.submit("{}");
        let life = Life::new(&place.folder, "life");
        // One that does not listen, in the background of one that does.
        let script = life.script(
            "(trap '' TERM; sleep 1000)& trap 'echo told >&3; exit 1' TERM; while :; do sleep 0.1; done",
        );
        let mut worker = place.work(&["--lease", "3", "--grace", "60"], &script);
        let living = life.begun();
        place.run(&["item", "cancel", &id, "--reason", "enough"]).code(0);
        assert_eq!(living.dead(), "told\n");
        worker.until("given back: cancelled");
        assert_eq!(place.item(&id)["state"], "CANCELLED");
    }
}

// covers: K-13
#[test]
fn a_worker_that_stood_still_finds_its_lease_lost_and_its_command_dead() {
    let place = Place::served("work_stopped");
    let id = place.submit("{}");
    let life = Life::new(&place.folder, "life");
    let mut first = place.work(&["--lease", "2"], &life.script("exec sleep 1000"));
    let living = life.begun();
    first.signal(Signal::STOP);
    let _second = place.work(&[], "echo second");
    let job = place.at_rest(&id);
    assert_eq!((&job["output"], &job["attempt"]), (&"second".into(), &2.into()), "{job}");
    first.signal(Signal::CONT);
    first.until("attempt 1 lost its lease");
    living.dead();
}

/// Says if another attempt holds the lock. The first one holds it for ever.
fn alone(place: &Place, first: &str) -> String {
    let lock = place.folder.file("lock");
    format!(
        "exec 9>{lock}; flock -n 9 || {{ echo parallel; exit; }}; \
         [ $TENURE_ATTEMPT -gt 1 ] && {{ echo alone; exit; }}; {first}"
    )
}

// covers: K-34
// fault: F13
#[test]
fn a_command_is_ended_with_its_window_and_before_the_next_attempt() {
    for place in Place::all("work_window") {
        place.add_parcel();
        let id = place.parcel();
        let life = Life::new(&place.folder, "life");
        let script = alone(&place, &life.script("trap '' TERM; sleep 1000 & sleep 1000"));
        let mut worker = place.work_on("parcel", &["--concurrency", "2"], &script);
        life.begun().dead();
        worker.until("attempt 1 lost its lease: its window has ended");
        let parcel = place.at_rest(&id);
        assert_eq!((&parcel["output"], &parcel["attempt"]), (&"alone".into(), &2.into()), "{parcel}");
        worker.until("attempt 2 committed");
    }
}

// covers: K-34
// fault: F14
#[test]
fn a_window_ends_a_command_also_in_the_grace_of_a_stop() {
    for place in Place::both("work_window_grace") {
        place.add_parcel();
        let id = place.parcel();
        let life = Life::new(&place.folder, "life");
        let script = life.script("trap '' TERM; while :; do sleep 0.1; done");
        let mut worker = place.work_on("parcel", &["--grace", "600"], &script);
        let living = life.begun();
        worker.signal(Signal::TERM);
        worker.until("stopping; 1 command may finish");
        worker.until("attempt 1 lost its lease: its window has ended");
        assert_eq!(worker.ended(), Some(0));
        living.dead();
        assert_eq!(place.item(&id)["attempt"], 1);
    }
}

// No renewal is answered: neither the end of the lease nor that of the window needs the server's word.
// covers: K-13, K-34
// fault: F16
#[test]
fn a_command_is_ended_in_time_by_a_worker_whose_server_is_silent() {
    for (kind, options) in [("job", &["--lease", "2"][..]), ("parcel", &[])] {
        let place = Place::served(&format!("work_silent_{kind}"));
        place.add_parcel();
        if kind == "job" {
            place.submit("{}")
        } else {
            place.parcel()
        };
        let life = Life::new(&place.folder, "life");
        let mut worker = place.work_on(kind, options, &life.script("exec sleep 1000"));
        let living = life.begun();
        let server = place.server.as_ref().expect("it is served");
        server.signal("-STOP");
        living.dead();
        worker.until("attempt 1 lost its lease");
        server.signal("-CONT");
    }
}

#[test]
fn a_worker_that_is_told_to_stop_lets_its_command_finish() {
    for place in Place::all("work_drained") {
        let id = place.submit("{}");
        let (life, go) = (Life::new(&place.folder, "life"), Life::new(&place.folder, "go"));
        let mut worker = place.work(&["--grace", "600"], &life.script(&format!("cat {}", go.path())));
        let _living = life.begun();
        let other = place.submit("{}");
        worker.signal(Signal::TERM);
        worker.until("stopping; 1 command may finish");
        fs::write(go.path(), "done").unwrap();
        worker.until("attempt 1 committed");
        assert_eq!(worker.ended(), Some(0));
        assert_eq!(place.item(&id)["output"], "done");
        assert_eq!(place.item(&other)["attempt"], 0, "nothing new was begun");
    }
}

#[test]
fn what_does_not_finish_in_the_grace_is_ended_and_given_back() {
    for place in Place::both("work_grace") {
        let id = place.submit("{}");
        let life = Life::new(&place.folder, "life");
        let script = life.script("trap '' TERM; while :; do sleep 0.1; done");
        let mut worker = place.work(&["--grace", "0"], &script);
        let living = life.begun();
        worker.signal(Signal::TERM);
        worker.until("given back: the worker was stopped");
        assert_eq!(worker.ended(), Some(0));
        living.dead();
        let job = place.item(&id);
        assert_eq!((&job["state"], &job["failures"]), (&"PENDING".into(), &0.into()), "{job}");
    }
}

#[test]
fn a_worker_that_is_killed_takes_its_command_along() {
    let place = Place::file("work_killed");
    place.submit("{}");
    let life = Life::new(&place.folder, "life");
    // Also what the command started itself.
    let worker = place.work(&[], &life.script("sleep 1000 & exec sleep 1000"));
    let living = life.begun();
    worker.signal(Signal::KILL);
    living.dead();
}

#[test]
fn a_command_that_is_not_there_costs_no_attempt() {
    let place = Place::file("work_no_command");
    let id = place.submit("{}");
    let run = place.run(&["work", "job", "--", "no-such-program"]).code(2);
    assert!(
        run.stderr.starts_with("error: can not run no-such-program: there is no such program"),
        "{run:?}"
    );
    assert_eq!(place.item(&id)["attempt"], 0);
    let run = place.run(&["work", "work_order", "--", "true"]).code(64);
    assert!(run.stderr.contains("tenure runner -- COMMAND"), "{run:?}");
    for kind in ["ticket_ready", "gate"] {
        let run = place.run(&["work", kind, "--", "true"]).code(64);
        assert!(run.stderr.contains("`tenure serve`"), "{run:?}");
    }
    let run = place.run(&["work", "jib", "--", "true"]).code(1);
    assert!(run.stderr.starts_with("error: NOT_FOUND: there is no lifecycle jib"), "{run:?}");
}
