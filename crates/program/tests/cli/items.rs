//! Items, jobs and tokens on the command line: on a file, and over a server, with the same answers.

use crate::kit::Place;
use crate::run::{folder, tenure};

#[test]
fn a_file_and_its_server_answer_alike() {
    for place in Place::both("items_alike") {
        let expense =
            ["item", "create", "job", r#"{"n": 1.50}"#, "--key", "k", "--idempotency-key", "once", "--json"];
        let first = place.json(&expense);
        assert_eq!(place.json(&expense)["id"], first["id"], "repeated it is the same");
        let run = place.run(&expense).code(0);
        assert!(run.stdout.contains(r#""payload":{"n": 1.50}"#), "the payload is what was sent: {run:?}");
        let run = place.run(&["item", "create", "job", "{}", "--idempotency-key", "once"]).code(1);
        assert!(run.stderr.starts_with("error: IDEMPOTENCY_CONFLICT: "), "{run:?}");
        let id = first["id"].as_str().unwrap();
        place.submit("2");
        assert_eq!(place.json(&["item", "list", "--key", "k", "--json"])["items"][0]["id"], id);
        let newest = place.json(&["job", "list", "--newest", "--limit", "1", "--json"]);
        assert_ne!(newest["items"][0]["id"], id);
        assert!(newest["next_cursor"].is_string());
        assert_eq!(
            place.json(&["item", "list", "--all", "--json"])["items"].as_array().map(Vec::len),
            Some(2)
        );
        let run = place.run(&["item", "move", id, "cancel", "--expected-version", "7"]).code(1);
        assert!(run.stderr.starts_with("error: TRANSITION_REFUSED: "), "{run:?}");
        assert_eq!(place.json(&["job", "cancel", id, "--reason", "r", "--json"])["state"], "CANCELLED");
        let run = place.run(&["job", "wait", id]).code(1);
        assert!(run.stderr.starts_with(&format!("error: item {id} is CANCELLED")), "{run:?}");
        assert_eq!(place.json(&["item", "erase", id, "--json"])["erased"], true);
        let run = place.run(&["item", "show", id, "--store", "other"]).code(1);
        assert!(run.stderr.starts_with("error: NOT_FOUND: "), "{run:?}");
    }
}

#[test]
fn many_are_listed_page_after_page() {
    let place = Place::file("items_pages");
    let ids: Vec<String> = (0..3).map(|_| place.submit("1")).collect();
    let run = place.run(&["job", "list", "--limit", "2"]).code(0);
    assert!(run.stdout.contains(&ids[1]) && !run.stdout.contains(&ids[2]), "{run:?}");
    assert!(run.stdout.ends_with("there are more; --limit NUMBER or --all shows them\n"), "{run:?}");
}

#[test]
fn waiting_ends_and_the_job_goes_on() {
    let place = Place::file("items_wait");
    let id = place.submit("1");
    let run = place.run(&["job", "wait", &id, "--timeout", "0"]).code(2);
    assert!(run.stderr.starts_with(&format!("error: item {id} is still PENDING")), "{run:?}");
}

#[test]
fn payloads_come_from_the_command_line_a_file_or_standard_input() {
    let place = Place::file("items_payload");
    place.folder.write("p.json", r#"{"from": "file"}"#);
    let file = format!("@{}", place.folder.file("p.json"));
    assert_eq!(place.json(&["job", "submit", &file, "--json"])["payload"]["from"], "file");
    let run = place.run(&["job", "submit", "-", "--json"]).input(r#"{"from": "input"}"#).code(0);
    assert_eq!(run.objects()[0]["payload"]["from"], "input");
    assert_eq!(place.json(&["job", "submit", "-7", "--json"])["payload"], -7);
    place.run(&["job", "submit", "{"]).code(64);
    place.run(&["job", "submit", "@no-such-file"]).code(2);
}

#[test]
fn a_server_with_tokens_knows_who_asks() {
    let place = Place::served("items_tokens");
    let admin = place.json(&["token", "create", "boss", "--role", "admin", "--json"]);
    let admin = admin["token"].as_str().unwrap();
    let run = place.run(&["item", "list"]).code(1);
    assert!(
        run.stderr.starts_with("error: UNAUTHENTICATED: ") && run.stderr.contains("TENURE_TOKEN"),
        "{run:?}"
    );
    let make = [
        "token",
        "create",
        "w",
        "--role",
        "worker",
        "--kind",
        "job",
        "--store",
        "default",
        "--expires",
        "1d",
        "--json",
    ];
    let run = place.run(&make).env("TENURE_TOKEN", admin).code(0);
    let made = &run.objects()[0];
    let (id, worker) = (made["id"].as_str().unwrap(), made["token"].as_str().unwrap());
    assert!(made["expires_at"].is_string(), "{made}");
    place.run(&["item", "list"]).env("TENURE_TOKEN", worker).code(0);
    place.folder.write("token", format!("{worker}\n"));
    place.run(&["item", "list", "--token-file", &place.folder.file("token")]).code(0);
    let run = place.run(&["token", "list"]).env("TENURE_TOKEN", worker).code(1);
    assert!(run.stderr.starts_with("error: FORBIDDEN: "), "{run:?}");
    let run = place.run(&["token", "list"]).env("TENURE_TOKEN", admin).code(0);
    assert!(run.stdout.contains(id) && !run.stdout.contains(worker), "{run:?}");
    place.run(&["token", "revoke", id]).env("TENURE_TOKEN", admin).code(0);
    let run = place.run(&["item", "list"]).env("TENURE_TOKEN", worker).code(1);
    assert!(run.stderr.starts_with("error: UNAUTHENTICATED: "), "{run:?}");
}

#[test]
fn a_server_that_was_killed_is_not_waited_for() {
    let mut place = Place::served("items_killed");
    let id = place.submit("1");
    place.kill_server();
    assert_eq!(place.item(&id)["state"], "PENDING", "the file itself is asked");
}

#[test]
fn what_is_nearer_wins() {
    let folder = folder("config");
    let submit = ["job", "submit", "1", "--json"];
    let store = |run: crate::run::Run| run.within(folder.path()).code(0).objects()[0]["store"].clone();
    folder.write("tenure.toml", "db = \"sqlite:a.db\"\nstore = \"file\"\n");
    assert_eq!(store(tenure(submit)), "file");
    assert_eq!(store(tenure(submit).env("TENURE_STORE", "environment")), "environment");
    let named = ["job", "submit", "1", "--json", "--store", "flag"];
    assert_eq!(store(tenure(named).env("TENURE_STORE", "environment")), "flag");
    assert!(std::path::Path::new(&folder.file("a.db")).exists());
    // A database on the command line is nearer than a server in the environment.
    let local = tenure(["item", "list", "--db", "sqlite:a.db"]).env("TENURE_URL", "http://127.0.0.1:1");
    local.within(folder.path()).code(0);
    let far = tenure(["item", "list"]).env("TENURE_URL", "http://127.0.0.1:1").within(folder.path()).code(2);
    assert!(far.stderr.starts_with("error: no server at http://127.0.0.1:1: "), "{far:?}");
    folder.write("other.toml", "# mine\nstor = \"x\"\n");
    let run = tenure(["item", "list", "--config", "other.toml"]).within(folder.path()).code(64);
    assert!(run.stderr.starts_with("error: other.toml:2: unknown field `stor`"), "{run:?}");
}

#[test]
fn completions_know_the_commands() {
    let run = tenure(["completions", "bash"]).code(0);
    assert!(run.stdout.contains("tenure__subcmd__work") || run.stdout.contains("tenure__work"), "{run:?}");
}

#[test]
fn a_log_is_followed_as_it_grows() {
    for place in Place::both("log_followed") {
        let first = place.submit("1");
        let mut follower = place.follow();
        follower.until(&first);
        let second = place.submit("2");
        assert!(follower.until(&second).contains("PENDING"));
    }
}
