//! The shipped lifecycles say what their requirements say. Changing a row of one of these tables is changing a promise,
//! so each promise stands here a second time, in the words of the table.

use tenure_core::lifecycle::shipped::{SHIPPED, tables};
use tenure_core::lifecycle::{Phase, SharedTable};

fn table(kind: &str) -> SharedTable {
    tables().current(&kind.parse().unwrap()).unwrap_or_else(|| panic!("no kind {kind} is shipped")).clone()
}

fn rows(kind: &str) -> Vec<String> {
    let table = table(kind);
    table.rows.iter().map(|row| table.describe(row)).collect()
}

/// The states that nothing leaves.
fn finals(kind: &str) -> Vec<String> {
    let table = table(kind);
    table.state_ids().filter(|id| table.is_final(*id)).map(|id| table.name(id).to_string()).collect()
}

#[test]
fn the_five_systems_ship_fifteen_kinds_the_engine_four_and_the_server_one() {
    let mut systems: Vec<&str> = SHIPPED.iter().map(|shipped| shipped.system).collect();
    systems.dedup();
    assert_eq!(systems, ["claims", "jobs", "runs", "todos", "tickets", "engine", "server"]);
    assert_eq!(tables().iter().count(), 20);
}

#[test]
fn every_file_explains_itself() {
    let tables = tables();
    for table in tables.iter() {
        assert!(table.summary.len() > 80, "{} has next to no summary", table.kind);
        assert!(
            table.states.iter().all(|state| !state.meaning.is_empty()),
            "{} has a state without a meaning",
            table.kind
        );
    }
    assert!(SHIPPED.iter().all(|shipped| shipped.source.contains("\n## Notes\n")));
}

// covers: C-02
#[test]
fn a_claim_moves_by_these_rows_and_no_others() {
    assert_eq!(
        rows("claim"),
        [
            "— create as CreateClaim → pending [api; ] {}",
            "pending enqueue as EnqueueDecomposition → queued [orchestrator; ] {}",
            "queued enqueue as EnqueueDecomposition → queued [orchestrator; ] {}",
            "in_progress enqueue as EnqueueDecomposition → in_progress [orchestrator; ] {}",
            "failed enqueue as RetryEnqueue → queued [orchestrator; ] {}",
            "decomposed enqueue as EnqueueDecomposition → ! ALREADY_DECOMPOSED [orchestrator; ] {}",
            "queued lease as WorkerLeaseAcquired → in_progress [worker; ] {}",
            "queued expire as LeaseTimeout → queued [system; ] {}",
            "in_progress commit as DecompositionSucceeded → decomposed [worker; decomposition] {record truthbit}",
            "in_progress fail as DecompositionFailed → failed [worker; reason] {}",
            "in_progress release → queued [worker; ] {}",
            "in_progress expire as LeaseTimeout → queued [system; attempts left] {}",
            "in_progress expire as LeaseTimeout → failed [system; ] {}",
        ]
    );
}

// covers: C-03
#[test]
fn decomposed_is_final_and_failed_is_left_by_enqueue_alone() {
    assert_eq!(finals("claim"), ["decomposed"]);
    let claim = table("claim");
    let failed = claim.state_named("failed");
    let exits: Vec<&str> =
        claim.rows.iter().filter(|row| row.from == failed).map(|row| row.event.as_str()).collect();
    assert_eq!(exits, ["enqueue"]);
}

// covers: M-11
#[test]
fn a_ticket_moves_by_these_rows_and_no_others() {
    assert_eq!(
        rows("ticket"),
        [
            "— create → NEW [api/human; ] {}",
            "NEW approve → TODO [human; ] {create ticket_ready}",
            "TODO schedule → IN_PROGRESS [system; ] {}",
            "TODO block → BLOCKED [human/system; ] {create blocker; record pause_state}",
            "IN_PROGRESS pass → DONE [system; ] {}",
            "IN_PROGRESS retry → TODO [system; ] {create ticket_ready}",
            "IN_PROGRESS block → BLOCKED [system; ] {}",
            "BLOCKED resolve → TODO [human; blockers closed, blockers named] {move blocker close; create ticket_ready}",
        ]
    );
}

#[test]
fn a_run_moves_by_these_rows_and_no_others() {
    assert_eq!(
        rows("run"),
        [
            "— create as RUN_CREATED → QUEUED [api/worker/human; ] {}",
            "QUEUED lease as RUN_STARTED → RUNNING [worker; no other running for key] {}",
            "RUNNING commit as RUN_COMPLETED → COMPLETED [worker; ] {record artifact}",
            "RUNNING fail as RUN_FAILED → FAILED [worker; reason] {close open steps}",
            "RUNNING time-out as RUN_TIMED_OUT → TIMED_OUT [system; ] {close open steps}",
            "RUNNING orphan as RUN_RECOVERED_AS_FAILED → FAILED [system; ] {close open steps}",
        ]
    );
    assert_eq!(table("run").settings.canonical(), "window 2 min\nattempts 1\nkey /document_id\n");
}

#[test]
fn a_todo_moves_by_these_rows_and_no_others() {
    assert_eq!(
        rows("todo"),
        [
            "— create → Draft [api/worker/human; ] {}",
            "Draft lease as claim → Claimed [worker/human; live session, workspace, dependencies done] {}",
            "Claimed lease as claim → Claimed [worker/human; owner, live session] {}",
            "Claimed commit as done → Verified [worker/human; owner, live session, workspace, gates pass] {record receipt}",
            "Verified commit as done → Verified [worker/human; same proof] {}",
            "Verified commit as done → ! VERIFICATION_REQUIRED [worker/human; ] {}",
            "Claimed release → Draft [worker/human; owner, workspace] {}",
            "Claimed expire → Draft [system; ] {}",
            "Draft abandon → Abandoned [human; workspace, reason] {}",
            "Draft abandon → Abandoned [admin; reason] {}",
            "Claimed abandon → Abandoned [worker/human; owner, workspace, reason] {}",
            "Claimed abandon → Abandoned [admin; reason] {}",
        ]
    );
}

#[test]
fn every_ended_state_is_final_but_three() {
    let tables = tables();
    let mut left: Vec<String> = Vec::new();
    for table in tables.iter() {
        let ended = table.state_ids().filter(|id| table.phase(*id).is_ended() && !table.is_final(*id));
        left.extend(ended.map(|id| format!("{} {}", table.kind, table.name(id))));
    }
    // A failed claim is enqueued again, a failed delivery redriven; a newer validation supersedes an older one.
    assert_eq!(left, ["claim failed", "delivery FAILED", "validation submitted"]);
}

#[test]
fn every_held_state_ends_when_its_holder_is_gone() {
    let tables = tables();
    for table in tables.iter() {
        for id in table.state_ids().filter(|id| table.phase(*id) == Phase::Active) {
            let ends = table.rows.iter().filter(|row| row.from == Some(id) && row.is_exit());
            let ends: Vec<&str> = ends.map(|row| row.event.as_str()).collect();
            assert!(
                ends.contains(&"expire") || ends.contains(&"orphan"),
                "{} {}",
                table.kind,
                table.name(id)
            );
        }
    }
}

#[test]
fn claim_records_of_tickets_have_their_own_names_and_short_leases() {
    for (kind, resource_type) in [("ticket_ready", "EVENT"), ("work_order", "WORKORDER"), ("gate", "GATE")] {
        let settings = &table(kind).settings;
        assert_eq!(settings.resource_type.as_deref(), Some(resource_type));
        assert_eq!((settings.lease.as_secs(), settings.lease_max.as_secs()), (60, 120));
    }
}

// covers: K-36
#[test]
fn a_tick_creates_its_successor_only_while_its_schedule_is_active() {
    assert_eq!(
        rows("tick"),
        [
            "— create → WAITING [api/system; ] {}",
            "WAITING lease → FIRING [api; ] {}",
            "FIRING commit → FIRED [api; ] {create any; move schedule fire/end}",
            "FIRING fail → WAITING [api; ] {}",
            "FIRING release → WAITING [api; ] {}",
            "FIRING expire → WAITING [system; ] {}",
        ]
    );
    let schedule = table("schedule");
    let fires: Vec<&str> = schedule
        .rows
        .iter()
        .filter(|row| row.event.as_str() == "fire")
        .map(|row| row.from.map_or("—", |from| schedule.name(from)))
        .collect();
    assert_eq!(fires, ["ACTIVE"]);
}
