//! `tenure doctor`: what it prints, and how it ends.

use serde_json::Value;

use crate::run::{Folder, Run, fixture, folder, tenure};

/// A database with two expenses.
fn database(folder: &Folder) -> (String, rusqlite::Connection) {
    let path = format!("{}/tenure.db", folder.path());
    let url = format!("sqlite:{path}");
    tenure(["replay", &fixture("../log.in/expenses.jsonl"), "--into", &url]).code(0);
    (url, rusqlite::Connection::open(path).expect("it opens"))
}

// covers: K-55
#[test]
fn a_sound_database_is_well_and_a_broken_one_is_told_with_what_to_do() {
    let folder = folder("doctor");
    let (url, stranger) = database(&folder);
    let run = tenure(["doctor", "--db", &url]).code(0);
    assert!(
        run.stdout.lines().last().is_some_and(|line| line.starts_with(&format!("{url}: all is well · "))),
        "{run:?}"
    );
    assert!(run.stdout.lines().filter(|line| line.starts_with("✓ ")).count() > 30, "{run:?}");
    assert!(!run.stdout.contains('\x1b') && run.stderr.is_empty(), "{run:?}");

    stranger
        .execute_batch(
            "insert into quarantine select id, 'its rest is cut off', 1 from items order by id limit 1",
        )
        .unwrap();
    let item: String =
        stranger.query_row("select id from tenure_items order by id limit 1", [], |row| row.get(0)).unwrap();
    let run = tenure(["doctor", "--db", &url]).code(1);
    let told = format!(
        "✗ every row can be read                               K-51              1 looked at\n    {item}: its rest is cut off\n    → "
    );
    assert!(run.stdout.contains(&told), "{told}{run:?}");
    assert!(run.stdout.contains(&format!("{url}: 1 wrong · ")), "{run:?}");
    let coloured = Run::new(["doctor", "--db", &url]).env("CLICOLOR_FORCE", "1").code(1);
    assert!(coloured.stdout.contains("\x1b["), "{coloured:?}");

    let objects = tenure(["doctor", "--json", "--db", &url]).code(1).objects();
    let wrong: Vec<&Value> = objects.iter().filter(|one| one["ok"] == false).collect();
    let [wrong] = wrong[..] else { panic!("one is wrong: {wrong:?}") };
    let fields: Vec<&str> = wrong.as_object().expect("an object").keys().map(String::as_str).collect();
    assert_eq!(
        fields,
        ["advice", "check", "error", "found", "looked_at", "more", "ok", "only", "requirement", "verdict"]
    );
    assert_eq!(
        (&wrong["requirement"], &wrong["looked_at"], &wrong["verdict"]),
        (&"K-51".into(), &1.into(), &"wrong".into())
    );
    assert_eq!(wrong["found"], serde_json::json!([{"id": item, "what": "its rest is cut off"}]));
}

#[test]
fn what_can_not_be_looked_at_ends_with_2() {
    let folder = folder("doctor-away");
    for (url, why) in [
        ("memory:".to_string(), "there is no database memory:"),
        (format!("sqlite:{}/gone.db", folder.path()), "there is no database sqlite:"),
        ("postgres://nobody@127.0.0.1:1/none".to_string(), "the database is unavailable"),
    ] {
        let run = tenure(["doctor", "--db", &url]).code(2);
        assert!(run.stdout.is_empty() && run.stderr.contains(why), "{run:?}");
    }
    let (url, stranger) = database(&folder);
    stranger.execute_batch("drop index items_active").unwrap();
    let run = tenure(["doctor", "--db", &url]).code(1);
    assert!(run.stdout.contains("    could not look: "), "one that fails costs no other: {run:?}");
    assert!(run.stdout.contains("    index items_active: is gone\n"), "{run:?}");
}

/// What it tells people to type is something that can be typed.
// covers: K-55
#[test]
fn every_command_in_its_advice_is_a_command() {
    let folder = folder("doctor-advice");
    let (url, _) = database(&folder);
    let objects = tenure(["doctor", "--json", "--db", &url]).code(0).objects();
    let mut found = 0;
    for advice in objects.iter().map(|one| one["advice"].as_str().expect("a text")) {
        // Every second part is between backticks.
        for typed in advice.split('`').skip(1).step_by(2).filter_map(|typed| typed.strip_prefix("tenure ")) {
            let words: Vec<&str> = typed.split(' ').take_while(|word| !word.starts_with('-')).collect();
            let help = tenure(words.iter().chain(&["--help"])).code(0);
            for flag in typed.split(' ').filter(|word| word.starts_with("--")) {
                assert!(help.stdout.contains(flag), "{typed}: {help:?}");
            }
            found += 1;
        }
        assert!(!advice.contains("`redrive`"), "{advice}");
    }
    assert!(found > 5, "{found} commands");
}
