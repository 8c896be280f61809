//! What operators type: schedules, limits, and a way back in when the last token is lost.

use crate::kit::{Life, Place, Process};
use crate::run::tenure;

#[test]
fn a_schedule_is_created_listed_paused_resumed_and_removed() {
    for place in Place::all("operators_schedule") {
        let create = [
            "schedule",
            "create",
            "nightly",
            "0 3 * * *",
            "job",
            r#"{"n": 1.50}"#,
            "--zone",
            "Europe/Berlin",
        ];
        let made = place.run(&create).code(0);
        assert!(made.stdout.starts_with("nightly ACTIVE: the next job comes at "), "{made:?}");
        place.run(&create).code(0);
        let other = place.run(&["schedule", "create", "nightly", "0 4 * * *", "job"]).code(1);
        assert!(
            other.stderr.starts_with("error: IDEMPOTENCY_CONFLICT: ") || other.stderr.starts_with("error: "),
            "{other:?}"
        );
        let list = place.run(&["schedule", "list"]).code(0);
        assert!(
            list.stdout.contains("nightly") && list.stdout.contains("0 3 * * * (Europe/Berlin)"),
            "{list:?}"
        );
        let paused = place.json(&["schedule", "pause", "nightly", "--json"]);
        assert_eq!((&paused["state"], paused["next_at"].is_null()), (&"PAUSED".into(), true));
        place.run(&["schedule", "resume", "nightly"]).code(0);
        place.run(&["schedule", "remove", "nightly"]).code(0);
        assert_eq!(place.run(&["schedule", "list"]).code(0).stdout, "none\n");
        place.run(&["schedule", "create", "x", "every now and then", "job"]).code(1);
        place.run(&["schedule", "pause", "nightly"]).code(1);
    }
}

#[test]
fn limits_are_set_listed_and_given_back() {
    for place in Place::all("operators_limit") {
        place.submit("1");
        let set = place
            .run(&["limit", "set", "job", "--concurrency", "3", "--rate", "100/1m", "--reason", "slow bank"])
            .code(0);
        assert!(set.stdout.contains("100 in 60.0 s") && set.stdout.contains("slow bank"), "{set:?}");
        place.run(&["pause", "job", "--reason", "broken bank"]).code(0);
        let list = place.run(&["limits", "list"]).code(0);
        assert!(list.stdout.contains("paused by ") && list.stdout.contains("broken bank"), "{list:?}");
        let shown = place.json(&["limit", "list", "--json"]);
        assert_eq!(shown["items"][0]["concurrency"], 3);
        place.run(&["limit", "reset", "job"]).code(0);
        let shown = place.json(&["limit", "list", "--json"]);
        assert!(shown["items"][0]["limited"].is_null() && shown["items"][0]["paused"].is_object(), "{shown}");
        place.run(&["limit", "set", "job"]).code(64);
        place.run(&["limit", "set", "job", "--rate", "fast"]).code(64);
        place.run(&["limit", "set", "jib", "--concurrency", "1"]).code(1);
    }
}

#[test]
fn who_has_lost_the_last_token_comes_in_by_the_database() {
    let place = Place::served("operators_locked_out");
    let lost = place.json(&["token", "create", "lost", "--role", "admin", "--json"]);
    let locked = place.run(&["token", "create", "boss", "--role", "admin"]).code(1);
    assert!(
        locked.stderr.contains("UNAUTHENTICATED") && locked.stderr.contains("--without-server"),
        "{locked:?}"
    );
    let made =
        place.run(&["token", "create", "boss", "--role", "admin", "--without-server", "--json"]).code(0);
    let boss = made.objects()[0]["token"].as_str().unwrap().to_string();
    let id = lost["id"].as_str().unwrap();
    place.run(&["token", "revoke", id]).env("TENURE_TOKEN", &boss).code(0);
    let list = place.run(&["token", "list"]).env("TENURE_TOKEN", &boss).code(0);
    assert!(list.stdout.contains("boss") && list.stdout.contains("revoked"), "{list:?}");
    let lost = lost["token"].as_str().unwrap();
    place.run(&["token", "list"]).env("TENURE_TOKEN", lost).code(1);
    let far = tenure([
        "token",
        "create",
        "x",
        "--role",
        "admin",
        "--without-server",
        "--url",
        "http://127.0.0.1:1",
    ])
    .code(64);
    assert!(far.stderr.contains("this works on a database itself"), "{far:?}");
}

// covers: K-35
#[test]
fn many_are_cancelled_and_redriven_by_a_filter_after_a_look_at_what_that_would_be() {
    for place in Place::all("operators_bulk") {
        let jobs: Vec<String> = (0..3).map(|number| place.submit(&number.to_string())).collect();
        let done = place.submit("\"done\"");
        place.run(&["job", "cancel", &done, "--reason", "before"]).code(0);
        let bulk = ["item", "bulk", "cancel", "--kind", "job", "--phase", "ready", "--reason", "too many"];
        let dry: Vec<&str> = bulk.iter().copied().chain(["--dry-run"]).collect();
        let looked = place.run(&dry).code(0);
        assert!(looked.stdout.ends_with("3 would cancel, 0 stay as they are\n"), "{looked:?}");
        assert_eq!(looked.stdout.matches("would cancel\n").count(), 3, "{looked:?}");
        assert!(jobs.iter().all(|job| place.item(job)["state"] == "PENDING"), "nothing happened");
        let some: Vec<&str> = bulk.iter().copied().chain(["--limit", "1"]).collect();
        let some = place.run(&some).code(0);
        assert!(some.stdout.contains("1 did cancel") && some.stdout.contains("there are more"), "{some:?}");
        let all = place.run(&bulk).code(0);
        assert!(all.stdout.ends_with("2 did cancel, 0 stay as they are\n"), "{all:?}");
        assert!(jobs.iter().all(|job| place.item(job)["state"] == "CANCELLED"));
        assert_eq!(place.run(&bulk).code(0).stdout, "none\n");
        let late =
            place.run(&["item", "bulk", "cancel", "--state", "CANCELLED", "--reason", "again"]).code(0);
        assert_eq!(late.stdout, "none\n", "what has ended is not asked");
        let again = place.json(&[
            "item",
            "bulk",
            "redrive",
            "--state",
            "CANCELLED",
            "--reason",
            "after all",
            "--json",
        ]);
        let again = again["items"].as_array().expect("a list");
        assert_eq!(again.len(), 4);
        assert!(
            again.iter().all(|one| one["status"] == 201 && one["item"]["state"] == "PENDING"),
            "{again:?}"
        );
        let everything = place.run(&["item", "bulk", "cancel", "--reason", "slip"]).code(64);
        assert!(everything.stderr.contains("--all"), "{everything:?}");
    }
}

#[test]
fn a_webhook_is_created_listed_paused_resumed_and_removed() {
    for place in Place::all("operators_webhook") {
        let create = [
            "webhook",
            "create",
            "books",
            "https://example.org/hook",
            "--secret",
            "env:BOOKS",
            "--label",
            "paid",
        ];
        let made = place.run(&create).code(0);
        assert_eq!(made.stdout, "books ACTIVE: paid to https://example.org/hook\n");
        place.run(&create).code(0);
        let list = place.run(&["webhook", "list"]).code(0);
        assert!(list.stdout.contains("books") && !list.stdout.contains("BOOKS"), "{list:?}");
        let paused = place.json(&["webhook", "pause", "books", "--json"]);
        assert_eq!(paused["state"], "PAUSED");
        place.run(&["webhook", "resume", "books"]).code(0);
        place.run(&["webhook", "remove", "books"]).code(0);
        assert_eq!(place.run(&["webhook", "list"]).code(0).stdout, "none\n");
        place.run(&["webhook", "pause", "books"]).code(1);
        let inside = ["webhook", "create", "x", "http://127.0.0.1:1/", "--secret", "env:X"];
        let refused = place.run(&inside).code(1);
        assert!(refused.stderr.contains("not a public address"), "{refused:?}");
        let allowed: Vec<&str> = inside.iter().copied().chain(["--allow-private"]).collect();
        place.run(&allowed).code(0);
        place.run(&["webhook", "create", "y", "https://example.org/"]).code(64);
    }
}

#[test]
fn a_kind_is_drained_when_the_last_that_was_held_is_done() {
    let place = Place::served("operators_drain");
    let life = Life::new(&place.folder, "life");
    let id = place.submit("1");
    let go = Life::new(&place.folder, "go");
    let _worker = place.work(&[], &life.script(&format!("read line < {}; echo 1", go.path())));
    let running = life.begun();
    let still = place.run(&["pause", "job", "--drain", "--timeout", "0"]).code(2);
    assert!(still.stderr.contains("1 of job are still held"), "{still:?}");
    let mut drain = Process::start(&["pause", "job", "--drain", "--db", &place.db], None);
    std::fs::write(go.path(), "go\n").expect("the command reads");
    running.dead();
    drain.until("job is paused and none is held");
    assert_eq!(place.item(&id)["state"], "SUCCEEDED");
    assert_eq!(place.json(&["limit", "list", "--json"])["items"][0]["active"], 0);
}
