//! `tenure chaos` itself, for two minutes on PostgreSQL and a few seconds on SQLite: three nodes and twelve workers, killed, stopped and cut off. In full with
//! `TENURE_ROUNDS=full`.
//!
//! How soon a takeover comes is not judged here: the machine that runs the tests runs other tests beside them.

use serde_json::Value;

use crate::run::{Run, folder, tenure};

/// How long the faults go on.
fn seconds(usually: &str) -> String {
    let full = std::env::var("TENURE_ROUNDS").is_ok_and(|size| size == "full");
    if full { "300" } else { usually }.to_string()
}

/// What every run must have come to. A failing one has printed its seed.
fn check(run: &Run, store: &str) -> Value {
    let [board] = &run.objects()[..] else { panic!("one object: {run:?}") };
    eprintln!("{board}");
    assert_eq!(board["store"], store);
    for zero in ["lost", "double_committed", "stuck", "overlapping_leases"] {
        assert_eq!(board[zero], 0, "{board}");
    }
    assert_eq!((&board["verified"], &board["violations"]), (&true.into(), &Value::Array(Vec::new())));
    for some in
        ["acknowledged", "commits", "kills_of_workers", "pauses_of_workers", "expiries", "swept", "takeovers"]
    {
        assert!(board[some].as_u64() > Some(0), "{some}: {board}");
    }
    board.clone()
}

// L1, L2: after the faults everything comes to its end, whoever was struck.
// covers: K-50, K-51
#[test]
fn nothing_is_lost_doubled_or_stuck_on_sqlite() {
    let folder = folder("chaos");
    let url = format!("sqlite:{}", folder.path());
    let run = tenure(["chaos", "--json", "--grace", "60", "--seconds", &seconds("12"), "--db", &url]).code(0);
    check(&run, "sqlite");
    assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 0, "the scratch is gone");
}

// covers: K-50, K-51, K-53
#[test]
fn nothing_is_lost_doubled_or_stuck_on_postgres() {
    let server = std::env::var("TENURE_TEST_POSTGRES").expect("run the tests with ./check");
    let run =
        tenure(["chaos", "--json", "--grace", "60", "--seconds", &seconds("120"), "--db", &server]).code(0);
    let board = check(&run, "postgres");
    assert!(board["kills_of_nodes"].as_u64() > Some(0) || board["faults"].as_u64() > Some(10), "{board}");
}

#[test]
fn a_board_names_its_seed_and_how_to_see_it_again() {
    let folder = folder("chaos-board");
    let url = format!("sqlite:{}", folder.path());
    let few = ["--seconds", "1", "--seed", "7", "--nodes", "1", "--workers", "6", "--grace", "60"];
    let run = tenure(["chaos", "--db", &url].iter().chain(&few)).code(0);
    assert!(run.stdout.starts_with("chaos, seed 7 on sqlite · 1 node, 6 workers, 3 loaders"), "{run:?}");
    assert!(run.stdout.contains("✓ committed twice                    0"), "{run:?}");
    let again = "tenure chaos --db URL --seconds 1 --seed 7 --nodes 1 --workers 6";
    assert!(run.stdout.contains(again), "{run:?}");
}

#[test]
fn a_database_of_somebodys_own_is_no_place_for_it() {
    let run = tenure(["chaos", "--db", "memory:"]).code(2);
    assert!(run.stderr.contains("`memory:` is neither sqlite: nor postgres://"), "{run:?}");
}
