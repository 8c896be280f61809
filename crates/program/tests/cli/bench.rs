//! `tenure bench`: what it prints and what it leaves behind. How fast anything is, is nobody's test.

use serde_json::Value;

use crate::run::{Run, folder, tenure};

const MEMBERS: [&str; 12] = [
    "batch",
    "callers",
    "limit",
    "limit_name",
    "n",
    "name",
    "p50_ms",
    "p99_ms",
    "rate",
    "ratio",
    "rss_mb",
    "store",
];

fn check(run: &Run, store: &str, names: &[&str]) {
    for row in rows(run, store, names) {
        let is_limit = row["limit_name"] == Value::Null;
        assert_eq!(row["p50_ms"].is_null(), is_limit, "{row}");
    }
}

fn rows(run: &Run, store: &str, names: &[&str]) -> Vec<Value> {
    let rows = run.objects();
    let shown: Vec<&str> = rows.iter().filter_map(|row| row["name"].as_str()).collect();
    assert_eq!(shown, names, "{run:?}");
    for row in &rows {
        let members: Vec<&str> = row.as_object().expect("an object").keys().map(String::as_str).collect();
        assert_eq!(members, MEMBERS, "{row}");
        assert_eq!(row["store"], store);
        assert!(row["n"].as_u64() > Some(0) && row["rate"].as_f64() > Some(0.0), "{row}");
        let is_limit = row["limit_name"] == Value::Null;
        assert_eq!(row["ratio"].is_null(), is_limit, "what has a limit has a ratio: {row}");
    }
    rows
}

#[test]
fn what_sqlite_does_is_an_object_a_line_and_nothing_is_left() {
    let folder = folder("bench");
    let url = format!("sqlite:{}", folder.path());
    let run = tenure(["bench", "store", "--quick", "--json", "--db", &url]).code(0);
    let limits = ["commit_1", "commit_100", "fdatasync"];
    let measured = ["create_one", "create_64", "create_bulk", "drain", "acquire_deep", "drain_1m"];
    check(&run, "sqlite", &[&limits[..], &measured].concat());
    assert!(run.stderr.contains("\ncreate_64…\n"), "{run:?}");
    assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 0, "the scratch is gone");
}

#[test]
fn what_postgres_does_is_an_object_a_line() {
    let server = std::env::var("TENURE_TEST_POSTGRES").expect(
        "TENURE_TEST_POSTGRES names no PostgreSQL server; run the tests with ./check or .ci/postgres COMMAND",
    );
    let only = ["create_64", "pinned"];
    let run = tenure(["bench", "store", "--quick", "--json", "--db", &server, "--only"].iter().chain(&only));
    check(&run.code(0), "postgres", &["insert_1", "insert_32", "create_64", "pinned"]);
}

#[test]
fn what_an_engine_does_on_sqlite_is_an_object_a_line_and_nothing_is_left() {
    let folder = folder("bench-engine");
    let url = format!("sqlite:{}", folder.path());
    let run = tenure(["bench", "--quick", "--json", "--db", &url]).code(0);
    let names = ["commit_1", "commit_100", "fdatasync", "drain", "drain_1m", "create_8", "latency", "idle"];
    let rows = rows(&run, "sqlite", &names);
    let [.., latency, idle] = &rows[..] else { panic!("{run:?}") };
    assert!(latency["p99_ms"].as_f64() > Some(0.0), "{latency}");
    assert!(idle["rss_mb"].as_f64() > Some(1.0) && idle["ratio"].as_f64() < Some(1.0), "{idle}");
    assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 0, "the scratch is gone");
}

#[test]
fn what_two_processes_do_on_postgres_is_an_object_a_line() {
    let server = std::env::var("TENURE_TEST_POSTGRES").expect("run the tests with ./check");
    let run = tenure(["bench", "--quick", "--json", "--db", &server, "--only", "create_and_run", "idle"]);
    let rows = rows(&run.code(0), "postgres", &["insert_1", "insert_32", "create_and_run", "idle"]);
    assert_eq!(rows[2]["callers"], 64);
}

#[test]
fn what_a_service_does_is_an_object_a_line_and_nothing_is_left() {
    let folder = folder("bench-http");
    let sqlite = format!("sqlite:{}", folder.path());
    let server = std::env::var("TENURE_TEST_POSTGRES").expect("run the tests with ./check");
    let measured = [
        "http_create_64",
        "http_create_100",
        "http_drain",
        "http_latency",
        "http_work",
        "http_idle",
        "http_polls",
    ];
    for (url, store, limits) in [
        (&sqlite, "sqlite", &["commit_1", "commit_100", "fdatasync"][..]),
        (&server, "postgres", &["insert_1", "insert_32"]),
    ] {
        let run = tenure(["bench", "--http", "--quick", "--json", "--db", url]).code(0);
        let names: Vec<&str> = limits.iter().copied().chain(measured).collect();
        let rows = rows(&run, store, &names);
        let row = |name: &str| rows.iter().find(|row| row["name"] == name).expect("it is there");
        assert_eq!(row("http_polls")["callers"], 50);
        assert_eq!((&row("http_drain")["n"], &row("http_drain")["batch"]), (&1_000.into(), &500.into()));
        assert_eq!(row("http_work")["limit_name"], "fork_exec");
        assert!(row("http_latency")["p99_ms"].as_f64() > Some(0.0), "{run:?}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 0, "the scratch is gone");
}

//
#[test]
fn what_claims_and_documents_do_is_an_object_a_line_and_nothing_is_left() {
    let folder = folder("bench-systems");
    let sqlite = format!("sqlite:{}", folder.path());
    let server = std::env::var("TENURE_TEST_POSTGRES").expect("run the tests with ./check");
    for (url, store, limits) in [
        (&sqlite, "sqlite", &["commit_1", "commit_100", "fdatasync"][..]),
        (&server, "postgres", &["insert_1", "insert_32"]),
    ] {
        let named = |measured: &[&'static str]| [limits, measured].concat();
        let run = tenure(["bench", "claims", "--quick", "--json", "--db", url]).code(0);
        let row = rows(&run, store, &named(&["claims", "claims_processor"])).pop().expect("a row");
        assert_eq!(row["limit_name"], "jobs with records");
        let run = tenure(["bench", "runs", "--quick", "--json", "--db", url]).code(0);
        let rows = rows(&run, store, &named(&["documents_queued", "documents_run"]));
        assert!(rows.iter().rev().take(2).all(|row| row["rss_mb"].as_f64() > Some(1.0)), "{run:?}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 0, "the scratch is gone");
}

#[test]
fn a_table_shows_limits_ratios_and_targets() {
    let folder = folder("bench-table");
    let url = format!("sqlite:{}", folder.path());
    let run = tenure(["bench", "store", "--quick", "--db", &url, "--only", "create_64"]).code(0);
    let line = run.stdout.lines().find(|line| line.starts_with("create_64 ")).expect("a line");
    assert!(line.contains(" commit_100 "), "{run:?}");
    assert!(line.contains("✓ ≥ ") || line.contains("✗ ≥ "), "{run:?}");
}

#[test]
fn memory_is_no_disk() {
    let run = tenure(["bench", "store", "--quick", "--db", "memory:"]).code(2);
    assert!(run.stderr.contains("`memory:` is neither sqlite: nor postgres://"), "{run:?}");
    let run = tenure(["bench", "store", "--quick", "--db", "sqlite:/dev/shm"]).code(2);
    assert!(run.stderr.contains("/dev/shm is in memory (tmpfs)"), "{run:?}");
}

#[test]
fn what_commands_about_tasks_take_is_an_object_a_line_and_nothing_is_left() {
    let folder = folder("bench_todos");
    let run = tenure(["bench", "todos", "--quick", "--json"]).within(folder.path()).code(0);
    let commands =
        ["add", "list", "list_all", "show", "claim", "release", "done", "session_show", "validate"];
    let names: Vec<String> = commands.iter().map(|name| format!("todo_{name}")).collect();
    check(&run, "sqlite", &names.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 0, "the scratch is gone");
}
