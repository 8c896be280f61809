//! Passwords in URLs: no command prints one, whether it succeeds or fails, in its help, in words or as JSON.

use std::collections::BTreeSet;

use crate::run::{Run, folder, tenure};
use crate::schema;

/// URLs of databases without a server. The password is where people put it.
const UNREACHABLE: [&str; 4] = [
    "postgres://ann:CANARYsecret7@127.0.0.1:1/work",
    "postgres://127.0.0.1:1/work?user=ann&password=CANARYsecret7",
    "postgres://ann:CANARY?CANARYsecret7@127.0.0.1:1/work",
    "postgers://ann:CANARYsecret7@127.0.0.1:1/work",
];
const SERVERS: [&str; 2] = ["http://ann:CANARYsecret7@127.0.0.1:1", "https://127.0.0.1:1/?key=CANARYsecret7"];

/// Every command, as the words that name it, read from the help itself.
fn commands() -> Vec<Vec<String>> {
    let (mut all, mut open) = (Vec::new(), vec![Vec::<String>::new()]);
    while let Some(path) = open.pop() {
        let help = help(&path);
        let listed = help.stdout.split("Commands:\n").nth(1).unwrap_or_default();
        let inner = listed.lines().take_while(|line| line.starts_with("  "));
        let names =
            inner.filter(|line| !line.starts_with("   ")).filter_map(|line| line.split_whitespace().next());
        for name in names.filter(|name| *name != "help") {
            open.push([path.clone(), vec![name.to_string()]].concat());
        }
        all.push(path);
    }
    all
}

fn help(path: &[String]) -> Run {
    let mut run = tenure(path.iter().map(String::as_str).chain(["--help"]));
    for name in ["DB", "URL", "TOKEN", "SESSION"] {
        run = run.env(&format!("TENURE_{name}"), UNREACHABLE[0]);
    }
    run.code(0)
}

#[track_caller]
fn has_no_secret(run: &Run) {
    assert!(!run.stdout.contains("CANARY") && !run.stderr.contains("CANARY"), "{run:?}");
}

// fault: A23
#[test]
fn no_help_shows_a_value_of_the_environment() {
    let commands = commands();
    assert!(commands.len() > 100, "{}", commands.len());
    for path in &commands {
        has_no_secret(&help(path));
    }
}

/// A command with arguments that it accepts, as far as its usage line tells which it needs.
fn called(path: &[String], usage: &str) -> Vec<String> {
    let needed = usage.split_whitespace().skip(1 + path.len());
    let mut words = path.to_vec();
    for word in needed.filter(|word| !word.starts_with('[')) {
        words.push(match word.trim_matches(['<', '>', '.']) {
            "ID" | "ITEM" => "01M7HWQRJ60000MEBB15B51XNF".to_string(),
            "FILE" => "/nonexistent".to_string(),
            option if option.starts_with("--") => option.to_string(),
            _ => "1".to_string(),
        });
    }
    words
}

// fault: A23
#[test]
fn no_command_prints_the_password_of_a_url_that_it_can_not_reach() {
    let here = folder("secrets_unreachable");
    let mut asked = BTreeSet::new();
    for path in commands() {
        let help = help(&path).stdout;
        let usage = help.lines().find_map(|line| line.strip_prefix("Usage: ")).unwrap_or_default();
        let words = called(&path, usage);
        let takes = |option: &str| help.lines().any(|line| line.trim_start().starts_with(option));
        for (option, urls) in
            [("--db", &UNREACHABLE[..]), ("--into", &UNREACHABLE[..]), ("--url", &SERVERS[..])]
        {
            // A measurement of seconds tells no more of its arguments than one that fails at once.
            for url in urls.iter().filter(|_| takes(option)) {
                let forms = if *url == urls[0] { &[&[][..], &["--json"][..]][..] } else { &[&[][..]] };
                for more in forms {
                    let given = [option, url];
                    let all = words.iter().map(String::as_str).chain(given).chain(more.iter().copied());
                    has_no_secret(&tenure(all).within(here.path()).ended().0);
                    asked.insert((path.clone(), option));
                }
            }
        }
    }
    assert!(asked.len() > 120, "{}", asked.len());
}

// fault: A23
#[test]
fn a_password_that_is_typed_in_the_wrong_place_is_not_repeated() {
    for arguments in [
        &["token", "list", UNREACHABLE[0]][..],
        &["verify", UNREACHABLE[0], "--json"],
        &["verify", "u:CANARYsecret7@host/db"],
        &["verify", SERVERS[0]],
        &["export", "--db", "ann:CANARYsecret7@127.0.0.1/work"],
        &["export", "--db", "sqlite:t.db?password=CANARYsecret7"],
        &["export", "--url", SERVERS[0]],
        &["item", "list", "--url", "ann:CANARYsecret7@127.0.0.1"],
        &["serve", "--db", "sqlite:/nonexistent/t.db", "--listen", UNREACHABLE[0]],
        &["bench", "--quick", "--db", "postgers://ann:CANARYsecret7@h/w"],
        &["item", "list", UNREACHABLE[1], "--json"],
    ] {
        let (run, _) = tenure(arguments).ended();
        has_no_secret(&run);
        assert!(!run.stderr.is_empty(), "{run:?}");
    }
}

// fault: A23
#[test]
fn no_command_prints_the_password_of_a_database_that_it_uses() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let (first, second) = (schema::fresh(), schema::fresh());
    let (db, into) = (schema::url(&first), schema::url(&second));
    let password =
        db.split('@').next().and_then(|start| start.rsplit(':').next()).expect("a password").to_string();
    assert!(password.len() > 8, "the server of the tests has a password");
    let here = folder("secrets_real");
    let file = here.file("log.jsonl");
    let id = "01M7HWQRJ60000MEBB15B51XNF";
    tenure(["job", "submit", "1", "--db", &db]).code(0);
    for arguments in [
        &["export", &file, "--db", &db][..],
        &["verify", &db],
        &["verify", &db, "--json"],
        &["verify", "--db", &db],
        &["replay", &file, "--into", &into],
        &["doctor", "--db", &db],
        &["doctor", "--db", &db, "--json"],
        &["migrate", "--db", &db],
        &["item", "list", "--db", &db],
        &["item", "show", id, "--db", &db],
        &["log", "--db", &db],
        &["token", "create", "n", "--role", "api", "--db", &db],
        &["serve", "--db", &db, "--listen", "0.0.0.0:0", "--without", "x"],
        &["todo", "list", "--db", &db],
        &["todo", "export", &here.file("todo.jsonl"), "--db", &db, "--json"],
        &["bench", "store", "--quick", "--only", "create_one", "--db", &db],
        &["chaos", "--seconds", "1", "--db", &db],
    ] {
        let (run, _) = tenure(arguments).within(here.path()).ended();
        assert!(!run.stdout.contains(&password) && !run.stderr.contains(&password), "{arguments:?}");
    }
    for schema in [first, second] {
        runtime.block_on(schema::drop(&schema));
    }
}
