//! docs/lifecycles.md as its reader follows it: the example is checked, put in force and worked on.

use crate::kit::Place;
use crate::run::{read, tenure};

/// The example, as it stands in the document.
fn example() -> String {
    let page = read(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/lifecycles.md"));
    let (_, rest) = page.split_once("````markdown\n").expect("an example");
    rest.split_once("````").expect("its end").0.to_string()
}

/// Every row of the tables under this heading, by its first cell.
fn first_cells(heading: &str) -> Vec<String> {
    let page = read(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/lifecycles.md"));
    let (_, rest) = page.split_once(heading).expect(heading);
    let section = rest.split("\n#").next().expect("a section");
    let rows = section.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").next());
    rows.flat_map(|cell| cell.split(" · ")).map(str::to_string).collect()
}

#[test]
fn the_example_of_the_document_does_what_it_says() {
    for place in Place::all("lifecycle_example") {
        place.folder.write("expense.md", example());
        let file = place.folder.file("expense.md");
        let sound = tenure(["check", &file]).code(0);
        assert!(sound.stdout.contains(": sound · 6 states, 14 rows"), "{sound:?}");
        let added = place.run(&["lifecycle", "add", &file]).code(0);
        assert!(
            added.stdout.starts_with("expense is in force as ") && !added.stdout.contains("warning"),
            "{added:?}"
        );

        let create = |payload: &str| {
            let made = place.json(&["item", "create", "expense", payload, "--json"]);
            (made["id"].as_str().unwrap().to_string(), made["state"].clone())
        };
        let (small, state) = create(r#"{"employee": "ann", "amount": 30}"#);
        assert_eq!(state, "APPROVED");
        let (large, state) = create(r#"{"employee": "bob", "amount": 900}"#);
        assert_eq!(state, "SUBMITTED");
        let misfit = place.run(&["item", "create", "expense", r#"{"amount": 1}"#]).code(1);
        assert!(misfit.stderr.starts_with("error: SCHEMA_VIOLATION: "), "{misfit:?}");

        let mut worker = place.work_on("expense", &[], "cat > /dev/null; echo paid");
        assert_eq!(place.at_rest(&small)["state"], "PAID");
        let told = place.run(&["explain", &large]).code(0);
        assert!(told.stdout.contains("is SUBMITTED") && told.stdout.contains("approve"), "{told:?}");
        assert_eq!(place.json(&["item", "move", &large, "approve", "--json"])["state"], "APPROVED");
        worker.until(&format!("{large} attempt 1 committed"));
        assert_eq!(place.at_rest(&large)["output"], "paid");

        let (refused, _) = create(r#"{"employee": "cy", "amount": 1000}"#);
        place.run(&["item", "move", &refused, "reject"]).code(1);
        place.run(&["item", "move", &refused, "reject", "--reason", "no receipt"]).code(0);
        let late = place.run(&["item", "move", &refused, "approve"]).code(1);
        assert!(late.stderr.starts_with("error: TOO_LATE: "), "{late:?}");
    }
}

#[test]
fn items_keep_the_version_they_were_created_under() {
    let place = Place::served("lifecycle_versions");
    let add = |text: String| {
        place.folder.write("expense.md", text);
        place.json(&["lifecycle", "add", &place.folder.file("expense.md"), "--json"])
    };
    let first = add(example());
    let old = place.json(&["item", "create", "expense", r#"{"employee": "ann", "amount": 900}"#, "--json"]);
    let second = add(example().replace("| approve | APPROVED  | human  ", "| allow | APPROVED  | human  "));
    assert_ne!(first["hash"], second["hash"]);
    let prose = add(example()
        .replace("An expense that", "Money that")
        .replace("| approve | APPROVED  | human  ", "| allow | APPROVED  | human  "));
    assert_eq!(prose["hash"], second["hash"], "prose is no part of a version");
    let new = place.json(&["item", "create", "expense", r#"{"employee": "ann", "amount": 901}"#, "--json"]);
    for (item, event, no) in [(old, "approve", "allow"), (new, "allow", "approve")] {
        let id = item["id"].as_str().unwrap();
        let run = place.run(&["item", "move", id, no]).code(1);
        assert!(run.stderr.starts_with("error: TRANSITION_REFUSED: "), "{run:?}");
        assert_eq!(place.json(&["item", "move", id, event, "--json"])["state"], "APPROVED");
    }
}

#[test]
fn what_is_in_force_is_asked_of_whoever_is_named() {
    let place = Place::served("lifecycle_there");
    place.folder.write("expense.md", example());
    place.run(&["lifecycle", "add", &place.folder.file("expense.md")]).code(0);
    let url = format!("http://{}", place.server.as_ref().unwrap().address);
    let list = tenure(["lifecycle", "list", "--url", &url]).code(0);
    assert!(list.stdout.contains("expense  ") && list.stdout.contains("job  "), "{list:?}");
    assert_eq!(tenure(["lifecycle", "show", "expense", "--url", &url]).code(0).stdout, example());
    let drawn = tenure(["lifecycle", "draw", "expense", "--url", &url]).code(0);
    assert!(drawn.stdout.contains("APPROVED --> PAYING: lease"), "{drawn:?}");
    let shown = tenure(["lifecycle", "show", "expense", "--url", &url, "--json"]).code(0).objects().remove(0);
    assert_eq!((&shown["kind"], shown["system"].is_null()), (&"expense".into(), true));
    let none = tenure(["lifecycle", "show", "expence", "--url", &url]).code(1);
    assert!(none.stderr.starts_with("error: NOT_FOUND: "), "{none:?}");
    tenure(["lifecycle", "show", "expense"]).code(1);
}

#[test]
fn a_table_that_is_not_sound_is_told_with_its_answer() {
    let place = Place::served("lifecycle_warned");
    let stuck: String = example()
        .lines()
        .filter(|line| !line.contains("| expire "))
        .map(|line| format!("{line}\n"))
        .collect();
    place.folder.write("expense.md", stuck);
    let file = place.folder.file("expense.md");
    let run = place.run(&["lifecycle", "add", &file]).code(0);
    assert!(
        run.stdout.contains("has no `expire` or `orphan` row") && run.stdout.contains("warning"),
        "{run:?}"
    );
    place.folder.write("expense.md", "# expense\n");
    let run = place.run(&["lifecycle", "add", &file]).code(1);
    assert!(run.stderr.contains("the file has no `## States` section"), "{run:?}");
}

#[test]
fn every_setting_guard_and_event_is_in_the_document() {
    use tenure_core::lifecycle::event::Event;
    use tenure_core::lifecycle::guard::Guard;
    use tenure_core::lifecycle::settings::Settings;
    let settings = first_cells("\n### Settings\n");
    Settings::names()
        .for_each(|name| assert!(settings.iter().any(|cell| cell == name), "{name}: {settings:?}"));
    let guards = first_cells("\n#### Guards\n");
    Guard::words().for_each(|name| assert!(guards.iter().any(|cell| cell == name), "{name}: {guards:?}"));
    let events = first_cells("\n### Transitions\n").join(", ");
    for event in Event::WITH_ROWS {
        assert!(events.contains(event.as_str()), "{event}: {events}");
    }
}
