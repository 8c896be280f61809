//! Where everything was done by Tenure all is well, and what is worth knowing is told as a note.

use tenure_core::request::*;
use tenure_databases::doctor::{Verdict, Weight};

use crate::requests::*;
use crate::ward::*;

async fn all_is_well<W: Ward>(ward: &W) {
    let nothing = examine(ward).await;
    assert!(unwell(&nothing).is_empty(), "an empty database: {:#?}", unwell(&nothing));
    filled(ward.database()).await;
    let all = examine(ward).await;
    assert!(unwell(&all).is_empty(), "one with work in every state: {:#?}", unwell(&all));
    let idle: Vec<&str> = all
        .iter()
        .filter(|one| one.looked_at == 0 && one.check.weight == Weight::Wrong)
        .map(|one| one.check.name)
        .collect();
    // Nothing is set aside or waits; whether somebody else has a transaction open is theirs.
    let may_be = [
        "every row can be read",
        "the inbox is read",
        "the log is given its order",
        "nobody keeps dead rows",
    ];
    assert!(idle.iter().all(|name| may_be.contains(name)), "every check had something to look at: {idle:?}");
    let longest = all.iter().map(|one| one.check.name.chars().count()).max();
    assert!(longest <= Some(50), "names stand in a column");
}

// covers: K-50
#[test]
fn a_file_with_work_in_every_state_is_well() {
    with(all_is_well::<File>);
}

// covers: K-50
#[test]
fn a_server_with_work_in_every_state_is_well() {
    with(all_is_well::<Server>);
}

async fn notes_are_no_faults<W: Ward>(ward: &W) {
    let database = ward.database();
    let pause = Order { kind: "job".parse().unwrap(), what: What::Pause, reason: "a leak".to_string() };
    assert!(ask(database, "human:ops", Command::Control(pause)).await.is_yes());
    let item = "01M7GE4XB00006645Z0KC20ZT6";
    let payload =
        format!(r#"{{"webhook":"{item}","item":"{item}","version":1,"ordinal":0,"at":"2026-11-16"}}"#);
    let delivery = new("delivery", &payload);
    let delivery = created(database, "system:engine", delivery).await;
    let execution = held(database, delivery).await;
    let fail = Fail {
        execution,
        reason: "410".into(),
        permanent: true,
        retry_after: None,
        offers: Effects::default(),
    };
    assert!(ask(database, "worker:a/1", Command::Fail(fail)).await.is_yes());
    while tenure_databases::Database::sequence(database, 100).await.unwrap() > 0 {}
    let all = examine(ward).await;
    let told: Vec<(&str, &Verdict, String)> = unwell(&all)
        .iter()
        .map(|one| (one.check.name, &one.verdict, format!("{} {}", one.found[0].id, one.found[0].what)))
        .collect();
    assert_eq!(told.len(), 2, "{told:?}");
    assert_eq!(told[0].0, "deliveries that failed");
    assert_eq!(
        (told[0].1, &told[0].2),
        (&Verdict::Noted, &format!("{delivery} was not delivered, store default"))
    );
    assert_eq!((told[1].0, told[1].1), ("kinds that are held back", &Verdict::Noted));
    assert!(told[1].2.starts_with("job (store default) paused by human:ops at "), "{}", told[1].2);
    assert!(told[1].2.ends_with(": a leak"), "{}", told[1].2);
}

// covers: K-26, K-38
#[test]
fn a_paused_kind_and_failed_deliveries_of_a_file_are_notes() {
    with(notes_are_no_faults::<File>);
}

// covers: K-26, K-38
#[test]
fn a_paused_kind_and_failed_deliveries_of_a_server_are_notes() {
    with(notes_are_no_faults::<Server>);
}
