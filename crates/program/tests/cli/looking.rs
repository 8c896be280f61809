//! Looking at work from outside: the log, histories, attempts, receipts and explanations, on a file, over its server and on PostgreSQL.

use crate::kit::{Place, Process};
use crate::run::tenure;
use crate::serving::Server;

#[test]
fn the_log_and_what_is_known_of_an_item_are_the_same_everywhere() {
    for place in Place::all("looking") {
        let id = place.submit("{}");
        let mut worker = place.work(&[], "echo why >&2; exit 3");
        worker.until("attempt 2 failed");
        let failed = place.at_rest(&id);
        assert_eq!(failed["state"], "FAILED");

        let log = place.run(&["log"]).code(0);
        assert!(log.stdout.lines().next().is_some_and(|line| line.starts_with("#")), "{log:?}");
        let entries = place.run(&["log", "--json"]).code(0).objects();
        let of_item = place.run(&["item", "log", &id, "--json"]).code(0).objects();
        let actions: Vec<_> = of_item.iter().map(|entry| entry["action"].as_str().unwrap()).collect();
        assert_eq!((actions.first(), actions.last()), (Some(&"create"), Some(&"fail")));
        assert!(of_item.iter().all(|entry| entries.iter().any(|other| other["hash"] == entry["hash"])));
        let later =
            place.run(&["log", "--item", &id, "--after", "1", "--limit", "2", "--json"]).code(0).objects();
        assert_eq!((later.len(), &later[0]["version"]), (2, &2.into()));
        let nothing = place.run(&["log", "--store", "other"]).code(0);
        assert_eq!(nothing.stdout, "no entries\n");

        for of in ["item", "job"] {
            let attempts = place.run(&[of, "executions", &id]).code(0);
            assert_eq!(attempts.stdout.matches("exit code 3: why").count(), 2, "{attempts:?}");
            let attempts = place.json(&[of, "executions", &id, "--json"]);
            assert_eq!(attempts["items"].as_array().map(Vec::len), Some(2));
        }
        let told = place.run(&["explain", &id]).code(0);
        assert!(told.stdout.contains("is FAILED") && told.stdout.contains("exit code 3: why"), "{told:?}");
    }
}

#[test]
fn a_receipt_is_checked_without_a_server() {
    for place in Place::both("looking_receipt") {
        let id = place.submit("{}");
        place.run(&["item", "cancel", &id, "--reason", "enough"]).code(0);
        let file = place.folder.file("receipt.jsonl");
        let written = place.run(&["item", "receipt", &id, &file]).code(0);
        assert!(written.stdout.contains(&format!("`tenure verify {file}` checks it")), "{written:?}");
        let sound = tenure(["verify", &file]).code(0);
        assert!(sound.stdout.contains(": sound · 2 entries, 1 item, 1 lifecycle"), "{sound:?}");
        let shown = place.run(&["item", "receipt", &id]).code(0);
        assert_eq!(shown.stdout, crate::run::read(&file));
        place.folder.write("changed.jsonl", shown.stdout.replace("enough", "plenty"));
        tenure(["verify", &place.folder.file("changed.jsonl")]).code(1);
    }
}

#[test]
fn a_log_is_followed_through_the_death_of_its_server() {
    let mut place = Place::served("looking_followed");
    let address = place.server.as_ref().unwrap().address.clone();
    let url = format!("http://{address}");
    let mut by_file = place.follow();
    let mut by_url = Process::start(&["log", "--follow", "--all", "--json", "--url", &url], None);
    let first = place.submit("1");
    by_file.until(&first);
    by_url.until(&first);
    place.kill_server();
    // The file is written meanwhile, by whoever opens it.
    let second = place.submit("2");
    place.server = Some(Server::start_at(&place.db, &address));
    let third = place.submit("3");
    for follower in [&mut by_file, &mut by_url] {
        // Each once: the next line with the word after the second is the third, and the first does not come again.
        let lines = follower.lines_until(&third);
        assert!(lines.iter().all(|line| !line.contains(&first)), "{lines:?}");
        assert_eq!(lines.iter().filter(|line| line.contains(&second)).count(), 1, "{lines:?}");
    }
}

#[test]
fn a_log_shows_its_end_unless_another_part_is_asked_for() {
    for place in Place::all("looking_last") {
        let jobs: Vec<String> = (0..60).map(|number| place.submit(&number.to_string())).collect();
        place.run(&["job", "cancel", &jobs[0], "--reason", "one\ntwo"]).code(0);
        let seen = |arguments: &[&str]| -> Vec<u64> {
            let run = place.run(&[&["log", "--json"], arguments].concat()).code(0);
            run.objects().iter().map(|entry| entry["position"].as_u64().expect("a number")).collect()
        };
        assert_eq!(seen(&[]), (12..=61).collect::<Vec<_>>());
        assert_eq!(seen(&["--last", "2"]), [60, 61]);
        assert_eq!(seen(&["--limit", "2"]), [60, 61]);
        assert_eq!(seen(&["--after", "3", "--limit", "2"]), [4, 5]);
        assert_eq!(seen(&["--after", "58"]), [59, 60, 61]);
        assert_eq!(seen(&["--all"]).len(), 61);
        assert_eq!(seen(&["--follow", "--last", "3", "--limit", "3"]), [59, 60, 61]);
        assert_eq!(seen(&["--follow", "--after", "0", "--limit", "2"]), [1, 2]);
        // Its kind stands in an entry that is not shown, and what was said in two lines is in one.
        let last = place.run(&["log", "--last", "1"]).code(0);
        assert!(last.stdout.contains("  job ") && last.stdout.ends_with("  one / two\n"), "{last:?}");
        let history = place.run(&["log", "--item", &jobs[0]]).code(0);
        assert!(history.stdout.starts_with("version  time "), "{history:?}");
        assert!(history.stdout.contains("\n2        "), "{history:?}");
    }
}

#[test]
fn a_log_is_followed_from_now_on_where_nothing_else_is_said() {
    for place in Place::both("looking_now") {
        let first = place.submit("1");
        let follow = ["log", "--follow", "--limit", "1", "--json", "--db", &place.db];
        let mut follower = Process::start(&follow, None);
        // It ends with the first that comes after it began to listen, whenever that was.
        let mut later = Vec::new();
        while !follower.is_ended() {
            later.push(place.submit("2"));
        }
        let line = follower.until("position");
        assert!(!line.contains(&first) && later.iter().any(|id| line.contains(id)), "{line}");
    }
}

#[test]
fn a_server_that_was_never_there_is_not_waited_for() {
    let run = tenure(["log", "--follow", "--url", "http://127.0.0.1:1"]).code(2);
    assert!(run.stderr.starts_with("error: no server at http://127.0.0.1:1: "), "{run:?}");
}

#[test]
fn what_works_on_a_database_itself_says_so_of_a_server() {
    let url = "http://127.0.0.1:7878";
    let wants = "error: this works on a database itself, and http://127.0.0.1:7878 is a server\n  run it where the database can be reached";
    for command in [&["export"][..], &["backup", "x"], &["migrate"], &["doctor"], &["verify"]] {
        let run = tenure(command.iter().chain(&["--url", url])).code(64);
        assert!(run.stderr.starts_with(wants), "{run:?}");
        let run = tenure(command).env("TENURE_URL", url).code(64);
        assert!(run.stderr.starts_with(wants), "a variable is as good: {run:?}");
    }
    let run = tenure(["verify", url]).code(64);
    assert!(run.stderr.starts_with(wants), "{run:?}");
    for command in [&["replay", "x", "--into", "memory:"][..], &["bench"], &["chaos"], &["demo"]] {
        let run = tenure(command.iter().chain(&["--url", url])).code(64);
        assert!(run.stderr.starts_with("error: this command asks no server"), "{run:?}");
    }
    let both = tenure(["export", "--db", "memory:", "--url", url]).code(64);
    assert!(both.stderr.contains("--db and --url name two places"), "{both:?}");
    // A file needs neither, and a database that is named is nearer than a server that is not.
    let log = crate::run::fixture("../log.in/expenses.jsonl");
    tenure(["verify", &log]).env("TENURE_URL", url).code(0);
    tenure(["export", "--db", "memory:"]).env("TENURE_URL", url).code(0);
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let place = Place::file("looking_closed");
    (0..3).for_each(|_| drop(place.submit("1")));
    for command in [
        &["job", "list"][..],
        &["job", "list", "--json"],
        &["log"],
        &["log", "--follow", "--all"],
        &["lifecycle", "list"],
    ] {
        let run = place.run(command).closed_pipe().code(0);
        assert!(run.stderr.is_empty(), "{run:?}");
    }
}
