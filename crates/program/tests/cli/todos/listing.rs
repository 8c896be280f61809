//! The list as people read it: in the order that counts, in straight columns, with how many there are.

use std::process::Command;

use serde_json::Value;

use super::repository::Repository;

fn ids(list: &Value) -> Vec<&str> {
    list["items"].as_array().expect("items").iter().map(|todo| todo["todo_id"].as_str().unwrap()).collect()
}

// covers: T-13
#[test]
fn what_is_more_important_is_taken_first_and_listed_first() {
    let repository = Repository::branched("todos_priority");
    let low = repository.added(&["Low", "--priority", "-1"]);
    let plain = repository.added(&["Plain"]);
    let high = repository.added(&["High", "--priority", "1"]);
    repository.run(&["todo", "add", "Too much", "--priority", "101"]).code(64);
    // The others have been lying there for most of a day: a step of priority is a whole one.
    let file = rusqlite::Connection::open(repository.path(".tenure/todo.db")).unwrap();
    for id in [&low, &plain] {
        let item = id.parse::<tenure_core::id::ItemId>().unwrap().0.to_be_bytes();
        let earlier = "update items set run_at = run_at - ?1, rank = rank - ?1 where id = ?2";
        let hours = 20 * 3_600_000_000_i64;
        assert_eq!(file.execute(earlier, rusqlite::params![hours, &item[..]]).unwrap(), 1);
    }
    let list = repository.run(&["todo", "list", "--json"]).code(0).objects().remove(0);
    assert_eq!(ids(&list), [&high, &plain, &low]);
    let ann = repository.session("ann");
    for expected in [&high, &plain, &low] {
        let next = ann.run(&["todo", "next", "--json"]).code(0).objects().remove(0);
        assert_eq!(next["todo"]["todo_id"], expected.as_str());
        ann.run(&["todo", "done", expected]).code(0);
    }
}

// covers: T-13
#[test]
fn a_list_says_how_many_there_are_and_shows_what_is_asked_for() {
    let repository = Repository::branched("todos_filters");
    let first = repository.added(&["First", "--tag", "docs"]);
    let after = repository.added(&["After", "--tag", "docs", "--depends", &first]);
    let mine = repository.added(&["Mine"]);
    let theirs = repository.added(&["Theirs"]);
    let (ann, bob) = (repository.session("ann"), repository.session("bob"));
    ann.run(&["todo", "claim", &mine]).code(0);
    bob.run(&["todo", "claim", &theirs]).code(0);
    let listed = |arguments: &[&str]| {
        let all: Vec<&str> = ["todo", "list", "--json"].iter().chain(arguments).copied().collect();
        ann.run(&all).code(0).objects().remove(0)
    };
    let cases: [(&[&str], &[&String]); 5] = [
        (&[], &[&mine, &theirs, &first, &after]),
        (&["--mine"], &[&mine]),
        (&["--ready"], &[&first]),
        (&["--tag", "docs"], &[&first, &after]),
        (&["--tag", "docs", "--ready"], &[&first]),
    ];
    for (arguments, expected) in cases {
        let list = listed(arguments);
        assert_eq!(ids(&list), expected, "{arguments:?}");
        assert_eq!(list["total"], expected.len(), "{arguments:?}");
    }
    let two = ann.run(&["todo", "list", "--limit", "2"]).code(0);
    assert!(two.stdout.contains("2 of 4; --limit NUMBER shows more"), "{two:?}");
    let all = ann.run(&["todo", "list", "--all"]).code(0);
    assert!(!all.stdout.contains(" of "), "{all:?}");
}

// covers: T-13
#[test]
fn what_was_given_up_is_listed_where_it_would_be_taken() {
    let repository = Repository::branched("todos_given_up");
    let low = repository.added(&["Low", "--priority", "-1"]);
    let plain = repository.added(&["Plain"]);
    let high = repository.added(&["High", "--priority", "1"]);
    let waits = repository.added(&["Waits"]);
    for id in [&low, &plain, &high] {
        repository.run(&["todo", "abandon", id, "--reason", "no"]).code(0);
    }
    let listed =
        |arguments: &[&str]| repository.run(&[&["todo", "list", "--json"], arguments].concat()).code(0);
    let given_up = listed(&["--state", "Abandoned"]).objects().remove(0);
    assert_eq!((ids(&given_up), &given_up["total"]), (vec![&*high, &plain, &low], &3.into()));
    let all = listed(&["--all", "--limit", "2"]).objects().remove(0);
    assert_eq!((ids(&all), &all["total"]), (vec![&*low, &plain], &4.into()), "by age");
    let ready = listed(&["--ready"]).objects().remove(0);
    assert_eq!(ids(&ready), [&waits]);
}

#[test]
fn columns_are_straight_whatever_stands_in_them() {
    let repository = Repository::branched("todos_straight");
    let done = repository.added(&["Is proved", "--priority", "3"]);
    let gone = repository.added(&["Is given up"]);
    repository.added(&["Is to be done"]);
    let ann = repository.session("ann");
    ann.run(&["todo", "claim", &done]).code(0);
    ann.run(&["todo", "done", &done]).code(0);
    repository.run(&["todo", "abandon", &gone, "--reason", "no"]).code(0);
    let piped = repository.run(&["todo", "list", "--all"]).code(0).stdout;
    // A terminal of 200 columns; its escapes are of no width.
    let command = format!(
        "stty columns 200; env -u NO_COLOR TERM=xterm {} todo list --all",
        env!("CARGO_BIN_EXE_tenure")
    );
    let mut script = Command::new("script");
    script.args(["-qec", &command, "/dev/null"]).current_dir(repository.path(""));
    for name in ["DB", "URL", "STORE", "SESSION", "AGENT", "CONFIG"] {
        script.env_remove(format!("TENURE_{name}"));
    }
    let shown = script.output().expect("script runs");
    let shown = String::from_utf8(shown.stdout).expect("text").replace('\r', "");
    assert!(shown.contains("\x1b["), "it is coloured: {shown:?}");
    let bare = anstream::adapter::strip_str(&shown).to_string();
    for (place, text) in [("piped", &piped), ("on a terminal", &bare)] {
        let lines: Vec<&str> = text.lines().collect();
        let titles = ["title", "Is proved", "Is given up", "Is to be done"];
        let at: Vec<usize> = titles
            .iter()
            .map(|title| lines.iter().find_map(|line| line.find(title)).unwrap_or_else(|| panic!("{text}")))
            .collect();
        assert!(at.iter().all(|column| *column == at[0]), "{place}: {at:?}\n{text}");
    }
}
