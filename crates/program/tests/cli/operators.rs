//! What operators type: schedules, limits, and a way back in when the last token is lost.

use crate::kit::Place;
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
