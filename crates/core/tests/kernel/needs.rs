//! What a request says it needs: decided over that part of a world alone, it is decided just the same.

use tenure_core::decide::decide;
use tenure_core::id::{ExecutionId, ItemId};
use tenure_core::item::{Item, Link};
use tenure_core::request::*;
use tenure_core::world::{LaneKey, Named, World};

use crate::kit::*;

/// The part of the world that a database would lock and load: what the request names, and what hangs on that.
fn loaded(world: &World, request: &Request) -> World {
    let mut need = Need::default();
    request.needs(&world.tables, &mut need);
    let mut part = World { now: world.now, tables: world.tables.clone(), ..World::default() };
    part.offers = world.offers.clone();
    need.items.extend(&world.offers);
    for key in need.names {
        let Some(named) = world.names.get(&key) else { continue };
        match named {
            Named::Created { item, .. } | Named::Folded { item, .. } => drop(need.items.insert(*item)),
            Named::Leased(leases) => need.items.extend(leases.iter().map(|lease| lease.item)),
        }
        part.names.insert(key, named.clone());
    }
    let lane_of = |item: &Item| {
        let key = item.key.clone()?;
        Some(LaneKey { store: item.store.clone(), kind: item.table.kind.clone(), key })
    };
    need.lanes.extend(need.items.iter().filter_map(|id| lane_of(world.items.get(id)?)));
    for key in need.lanes {
        let Some(lane) = world.lanes.get(&key) else { continue };
        need.items.extend(lane.items());
        part.lanes.insert(key, lane.clone());
    }
    let linked = |id: &ItemId| world.items.get(id).map(|item| item.links.iter().map(|link| link.to));
    let linked: Vec<ItemId> = need.items.iter().filter_map(linked).flatten().collect();
    need.items.extend(linked);
    for id in need.items {
        let Some(item) = world.items.get(&id) else { continue };
        need.executions.extend(item.committed.map(|fence| ExecutionId { item: id, fence }));
        part.payloads.extend(world.payloads.get(&id).map(|body| (id, body.clone())));
        part.items.insert(id, item.clone());
    }
    part.executions
        .extend(need.executions.iter().filter_map(|id| Some((*id, world.executions.get(id)?.clone()))));
    part.records.extend(need.records.iter().filter_map(|id| Some((*id, world.records.get(id)?.clone()))));
    part
}

/// Asks, and compares with what would have been decided over the part.
fn ask(bench: &mut Bench, actor: &str, command: Command) {
    let request = bench.request(actor, command);
    let part = loaded(&bench.world, &request);
    let over_part = decide(&part, &request, &mut bench.draw.clone());
    let over_all = decide(&bench.world, &request, &mut bench.draw);
    assert_eq!(over_part, over_all, "{request:?}");
    bench.world.apply(over_all.changes);
}

/// Asks twice: the repeat needs things too.
fn ask_twice(bench: &mut Bench, actor: &str, command: Command) {
    ask(bench, actor, command.clone());
    ask(bench, actor, command);
}

fn last(bench: &Bench, kind: &str) -> ItemId {
    bench
        .world
        .items
        .values()
        .filter(|item| &*item.table.kind == kind)
        .map(|item| item.id)
        .next_back()
        .unwrap()
}

// covers: K-02
#[test]
fn a_job_is_decided_over_what_its_requests_need() {
    let mut bench = Bench::new();
    let mut jobs = Vec::new();
    for name in ["a", "b", "c"] {
        ask_twice(&mut bench, "api:t", Command::Create(named("job", "{}", name)));
        jobs.push(bench.item(last(&bench, "job")).id);
        bench.wait(seconds(1));
    }
    for job in &jobs[..2] {
        ask_twice(&mut bench, "worker:a/1", take_under(*job, "r"));
    }
    bench.world.offers = vec![jobs[2]];
    let terms = Terms { request: Some("r".parse().unwrap()), ..Terms::default() };
    ask_twice(
        &mut bench,
        "worker:a/1",
        Command::Acquire(Acquire { kinds: vec!["job".parse().unwrap()], max: 1, terms }),
    );
    bench.world.offers.clear();
    let first = bench.item(jobs[0]).execution_id();
    ask_twice(&mut bench, "worker:a/1", start(first));
    ask_twice(&mut bench, "worker:a/1", renew(first));
    ask_twice(&mut bench, "worker:a/1", progress(first, record("step", "1", "{}"), &[], &[]));
    ask_twice(&mut bench, "worker:a/1", progress(first, record("step", "1", "[]"), &[], &[]));
    ask_twice(&mut bench, "worker:a/1", commit_with(first, creating(named("job", "{}", "d"))));
    ask(&mut bench, "worker:b/1", commit(first));
    ask_twice(&mut bench, "worker:a/1", finish(first));
    ask(&mut bench, "worker:b/1", take(jobs[0]));
    let second = bench.item(jobs[1]).execution_id();
    ask_twice(&mut bench, "api:t", cancel(jobs[1]));
    ask_twice(&mut bench, "worker:a/1", release(second));
    ask_twice(&mut bench, "api:t", note(jobs[1], record("remark", "1", "{}")));
    ask_twice(&mut bench, "api:t", Command::Erase(Erase { item: jobs[1], reason: None }));
}

// covers: K-02, K-37
#[test]
fn a_ticket_is_decided_over_what_its_requests_need() {
    let mut bench = Bench::new();
    ask(&mut bench, "human:e", Command::Create(new("ticket", r#"{"title":"t"}"#)));
    let ticket = last(&bench, "ticket");
    let ready = || creating(named("ticket_ready", &format!(r#"{{"ticket_id":"{ticket}"}}"#), "n"));
    ask_twice(&mut bench, "human:e", step_with(ticket, "approve", ready()));
    ask_twice(&mut bench, "worker:r", Command::Create(ready().creates.remove(0)));
    ask(
        &mut bench,
        "worker:r",
        Command::Create(new("ticket_ready", &format!(r#"{{"ticket_id":"{ticket}"}}"#))),
    );
    ask(&mut bench, "human:e", Command::Create(new("blocker", r#"{"ticket_id":"t","reason":"r"}"#)));
    let blocker = last(&bench, "blocker");
    let add = vec![Link { label: "blocker".parse().unwrap(), to: blocker }];
    ask_twice(&mut bench, "human:e", Command::Link(Relink { item: ticket, add, remove: vec![] }));
    ask_twice(&mut bench, "human:e", step_for(ticket, "block", "r"));
    ask(&mut bench, "human:e", step(ticket, "resolve"));
    ask_twice(&mut bench, "human:e", step_with(ticket, "resolve", moving(blocker, "close")));
    let event = last(&bench, "ticket_ready");
    ask(&mut bench, "worker:a/1", take(event));
    let execution = bench.item(event).execution_id();
    ask(&mut bench, "worker:a/1", start(execution));
    let order = named("work_order", r#"{"event_id":"e","ticket_id":"t"}"#, "e");
    let effects = Effects { moves: moving(ticket, "schedule").moves, ..creating(order) };
    ask_twice(&mut bench, "worker:a/1", commit_with(execution, effects));
    let order = last(&bench, "work_order");
    ask(&mut bench, "worker:a/1", take(order));
    let failing = Fail {
        execution: bench.item(order).execution_id(),
        reason: "r".to_string(),
        permanent: true,
        retry_after: None,
        offers: Effects { records: vec![record("pause_state", "1", "{}")], ..moving(ticket, "block") },
    };
    ask_twice(&mut bench, "worker:a/1", Command::Fail(failing));
}

// covers: K-02, K-31
#[test]
fn lanes_and_sessions_are_decided_over_what_their_requests_need() {
    let mut bench = Bench::new();
    for _ in 0..2 {
        ask(&mut bench, "api:t", Command::Create(new("run", r#"{"document_id":"d"}"#)));
    }
    let runs: Vec<ItemId> = bench.world.items.keys().copied().collect();
    ask(&mut bench, "worker:a/1", take(runs[0]));
    ask(&mut bench, "worker:a/1", take(runs[1]));
    bench.wait(seconds(61));
    let fence = bench.item(runs[0]).fence;
    let sweep = Sweep { item: runs[0], fence, due: Due::Time, offers: Effects::default() };
    ask_twice(&mut bench, "system:engine", Command::Sweep(sweep));
    ask(&mut bench, "worker:a/1", take(runs[1]));
    let payload = r#"{"claim_id":"c","truthbit_id":"b","validator_key":"k"}"#;
    for _ in 0..2 {
        ask(&mut bench, "human:v", Command::Create(new("validation", payload)));
        let validation = last(&bench, "validation");
        ask_twice(
            &mut bench,
            "human:v",
            submit_with(validation, creating(new("verdict", r#"{"claim_id":"c"}"#))),
        );
        bench.wait(seconds(1));
    }
    let terms = Terms { request: Some("s".parse().unwrap()), ..Terms::default() };
    let session = Create { take: Some(terms), ..named("session", "{}", "s") };
    ask_twice(&mut bench, "worker:a/1", Command::Create(session));
    let session = last(&bench, "session");
    ask(&mut bench, "human:e", Command::Create(new("todo", r#"{"title":"t"}"#)));
    let todo = last(&bench, "todo");
    ask_twice(&mut bench, "worker:a/1", Command::Take(Take { item: todo, terms: in_session(session) }));
    let (claimed, held) = (bench.item(todo).execution_id(), bench.item(session).execution_id());
    ask_twice(&mut bench, "worker:a/1", done(claimed, session, "proof"));
    ask(&mut bench, "worker:b/1", done(claimed, session, "proof"));
    ask_twice(&mut bench, "worker:a/1", release(held));
}
