//! Every number of `/metrics` has a test that makes it move, and its bounds are written as people write them.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::json;

use crate::kit::on_each;

const SERVED: (&str, &str) =
    ("server/tests/http/watching.rs", "the_metrics_that_are_served_are_those_that_are_documented");
const OUTCOMES: (&str, &str) =
    ("engine/tests/engine/working.rs", "failures_panics_and_permanent_errors_are_told_apart");
const INBOX: (&str, &str) =
    ("engine/tests/processes/seen.rs", "rows_of_the_inbox_are_counted_taken_and_refused");

/// Each series with the words by which a test reads it, and that test: its file below `crates`, and its name.
const MOVED: &[(&str, &str, (&str, &str))] = &[
    ("tenure_http_requests_total", "tenure_http_requests_total{", SERVED),
    ("tenure_http_request_seconds", "tenure_http_request_seconds_count{", SERVED),
    ("tenure_problems_total", "tenure_problems_total{", SERVED),
    ("tenure_batch_requests", "tenure_batch_requests_sum", SERVED),
    ("tenure_batch_seconds", "tenure_batch_seconds_count", SERVED),
    ("tenure_items", "tenure_items{", SERVED),
    ("tenure_oldest_ready_seconds", "tenure_oldest_ready_seconds{", SERVED),
    (
        "tenure_batch_failed_requests_total",
        "measures().failed()",
        (
            "systems/tests/systems/runs/away.rs",
            "a_run_whose_database_is_away_for_a_moment_goes_on_when_it_is_back",
        ),
    ),
    (
        "tenure_torn_writes_total",
        "measures().torn()",
        ("engine/tests/processes/seen.rs", "fm_002_an_update_that_would_be_torn_is_taken_back_and_counted"),
    ),
    (
        "tenure_foreign_lifecycles",
        "foreign_lifecycles()",
        ("engine/tests/processes/foreign.rs", "l5_a_lifecycle_that_can_not_be_read_stops_nothing_else"),
    ),
    (
        "tenure_queue_requests",
        "queue_len()",
        ("databases/tests/gathering.rs", "what_comes_while_a_batch_is_written_is_the_next_one"),
    ),
    (
        "tenure_log_streams",
        "tenure_log_streams",
        ("server/tests/http/slow.rs", "whoever_does_not_read_loses_the_answer_and_its_place"),
    ),
    (
        "tenure_connections",
        "tenure_connections",
        ("server/tests/http/slow.rs", "whoever_does_not_read_loses_the_answer_and_its_place"),
    ),
    (
        "tenure_clock_behind_seconds",
        "tenure_clock_behind_seconds",
        ("server/tests/http/watching.rs", "t9_readiness_and_metrics_say_that_the_clock_is_behind"),
    ),
    ("process_resident_memory_bytes", "process_resident_memory_bytes", SERVED),
    ("tenure_engine_total acquires", "acquires()", OUTCOMES),
    ("tenure_engine_total leased", "leased()", OUTCOMES),
    ("tenure_engine_total committed", "committed()", OUTCOMES),
    ("tenure_engine_total failed", ".failed()", OUTCOMES),
    ("tenure_engine_total failed_for_good", "failed_for_good()", OUTCOMES),
    ("tenure_engine_total panicked", "panicked()", OUTCOMES),
    ("tenure_engine_total released", "released()", OUTCOMES),
    (
        "tenure_engine_total lost",
        "counters().lost()",
        ("engine/src/worker.rs", "a_worker_that_has_lost_all_its_leases_takes_others"),
    ),
    (
        "tenure_engine_total stale_writes",
        "stale_writes()",
        ("engine/tests/processes/seen.rs", "fm_001_of_two_workers_one_takes_effect_and_the_other_is_counted"),
    ),
    (
        "tenure_engine_total swept",
        "swept()",
        ("engine/tests/engine/working.rs", "a_last_attempt_that_a_sweep_ends_counts_as_failed_for_good"),
    ),
    (
        "tenure_engine_total given_up",
        "given_up()",
        (
            "engine/tests/engine/operations.rs",
            "a_drain_ends_what_has_no_release_by_its_recovery_row_and_keeps_what_was_said",
        ),
    ),
    (
        "tenure_engine_total pruned",
        "pruned()",
        ("engine/tests/engine/retention.rs", "what_is_older_than_its_retention_is_removed_by_itself"),
    ),
    ("tenure_engine_total inbox_taken", "inbox_taken()", INBOX),
    ("tenure_engine_total inbox_refused", "inbox_refused()", INBOX),
    (
        "tenure_engine_total occurrences",
        "occurrences()",
        ("engine/tests/standing/schedules.rs", "what_is_due_is_created_and_run"),
    ),
    (
        "tenure_engine_total occurrences_dropped",
        "occurrences_dropped()",
        ("engine/tests/standing/schedules.rs", "after_three_hours_of_downtime_each_rule_makes_what_it_says"),
    ),
    (
        "tenure_engine_total failed_turns",
        "failed_turns()",
        ("engine/tests/processes/loops.rs", "a_lock_that_somebody_holds_ends_no_loop"),
    ),
    (
        "tenure_engine_total failed_acquires",
        "failed_acquires()",
        ("engine/tests/processes/loops.rs", "a_lock_that_somebody_holds_ends_no_loop"),
    ),
    (
        "tenure_engine_total held_back",
        "held_back()",
        ("engine/tests/engine/controls.rs", "a_paused_kind_waits_and_goes_on_when_it_is_resumed"),
    ),
    (
        "tenure_claims_total enqueued",
        "enqueued()",
        ("systems/tests/systems/claims/enqueueing.rs", "claims_of_every_store_and_from_before_are_enqueued"),
    ),
    (
        "tenure_claims_total retried",
        "retried()",
        ("systems/tests/systems/claims/enqueueing.rs", "after_its_last_retry_a_failed_claim_rests"),
    ),
    (
        "tenure_claims_total orchestrator_failed_turns",
        "failed_turns()",
        ("systems/tests/systems/claims/enqueueing.rs", "turns_that_failed_are_counted_and_taken_again"),
    ),
    (
        "tenure_claims_total stores_waited",
        "stores_waited()",
        ("systems/tests/systems/claims/enqueueing.rs", "stores_that_wait_for_a_place_are_counted"),
    ),
    (
        "tenure_runs_total SCHEDULER_RETRIED",
        "scheduler_retried()",
        (
            "systems/tests/systems/runs/scheduler.rs",
            "a_locked_database_is_told_of_and_the_next_look_finds_the_run",
        ),
    ),
    (
        "tenure_runs_total RUN_RECOVERED_AS_FAILED",
        "(\"RUN_RECOVERED_AS_FAILED\", 1)",
        (
            "systems/tests/systems/runs/processes.rs",
            "the_runs_of_a_killed_process_fail_when_the_next_one_starts",
        ),
    ),
    (
        "tenure_runs_total files_removed",
        "\"files_removed\"",
        (
            "systems/tests/systems/runs/erasing.rs",
            "a_file_whose_eraser_was_killed_after_the_entry_goes_when_the_next_process_starts",
        ),
    ),
    (
        "tenure_runs_total documents_mended",
        "\"documents_mended\"",
        (
            "systems/tests/systems/runs/leftovers.rs",
            "a_document_whose_upload_died_before_its_run_gets_it_when_the_service_starts",
        ),
    ),
    (
        "tenure_runs_total stores_waited",
        "\"stores_waited\"",
        (
            "systems/tests/systems/runs/many.rs",
            "more_stores_than_places_take_turns_and_no_run_is_ended_by_that",
        ),
    ),
];

/// The source of a test, up to the next one.
fn source_of((file, test): (&str, &str)) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(file);
    let source = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{file}: {error}"));
    let begin = source.find(&format!("fn {test}(")).unwrap_or_else(|| panic!("{file} has no test {test}"));
    source[begin..].split("\n    #[test]\n").next().unwrap().split("\n#[test]\n").next().unwrap().to_string()
}

// covers: K-55
#[test]
fn every_number_that_is_served_has_a_test_that_makes_it_move() {
    on_each(async |service| {
        let text = service.get("/metrics").await.text;
        let families = text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next());
        let mut served: BTreeSet<String> = families.map(str::to_string).collect();
        for line in text.lines() {
            if let Some((family, what)) = line.split_once("{what=\"") {
                served.remove(family);
                served.insert(format!("{family} {}", what.split('"').next().unwrap()));
            }
        }
        let moved: BTreeSet<String> = MOVED.iter().map(|(name, ..)| name.to_string()).collect();
        assert_eq!(moved, served, "a new number needs a test that makes it move, and a row here");
    });
    for (name, words, test) in MOVED {
        assert!(source_of(*test).contains(words), "{} does not look at {name} by {words}", test.1);
    }
}

// covers: K-55
#[test]
fn bounds_of_histograms_are_written_as_people_write_them() {
    on_each(async |service| {
        service.post("/v1/jobs", json!({ "payload": 1 })).await.yes(201);
        let text = service.get("/metrics").await.text;
        let bounds = |family: &str| -> Vec<String> {
            let begins = format!("{family}_bucket{{");
            let lines = text.lines().filter(|line| line.starts_with(&begins));
            let bounds = lines.filter_map(|line| line.split("le=\"").nth(1)?.split('"').next());
            bounds.take_while(|bound| *bound != "+Inf").map(str::to_string).collect()
        };
        let expected = ["0.001", "0.0025", "0.005", "0.01", "0.025", "0.05", "0.1", "0.25", "1", "10"];
        assert_eq!(bounds("tenure_http_request_seconds"), expected);
        for family in ["tenure_batch_seconds", "tenure_batch_requests"] {
            let bounds = bounds(family);
            assert!(
                !bounds.is_empty() && bounds.iter().all(|bound| bound.len() <= 6),
                "{family}: {bounds:?}"
            );
        }
    });
}
