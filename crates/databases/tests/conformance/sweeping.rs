//! Sweeping: what time has made due is found, in pages, and judged again when it is swept.

use std::time::Duration;

use tenure_core::answer::Answer;
use tenure_core::id::ItemId;
use tenure_core::lifecycle::guard::Guard;
use tenure_core::request::{Command, Due, Effects, Progress, Request, Sweep, Take, Terms};
use tenure_databases::{Database, Found, Overdue};

use crate::harness::{Bench, Harness};
use crate::requests::*;

fn swept(found: &Found) -> Request {
    let Found { store, item, fence, due } = found.clone();
    let sweep = Sweep { item, fence, due, offers: Effects::default() };
    Request { store, ..request("system:engine", Command::Sweep(sweep)) }
}

async fn page<H: Harness>(
    bench: &Bench<H>,
    what: Overdue,
    after: Option<ItemId>,
    limit: usize,
) -> Vec<Found> {
    bench.database().due(what, after, limit).await.unwrap()
}

/// In the order of ids, which is the order in which what is due is found.
fn sorted(items: &[ItemId]) -> Vec<ItemId> {
    let mut items = items.to_vec();
    items.sort();
    items
}

pub async fn what_time_ended_is_found_and_ended<H: Harness>(bench: &Bench<H>) {
    let (expired, renewed, committed) = (bench.job().await, bench.job().await, bench.job().await);
    let windowed = bench.pass("d1").await;
    let (waiting, ended) = (bench.job().await, bench.job().await);
    bench.run("worker:a/1", expired).await;
    let renewing = bench.run("worker:b/1", renewed).await;
    let committing = bench.run("worker:c/1", committed).await;
    let running = bench.run("worker:d/1", windowed).await;
    let done = bench.run("worker:e/1", ended).await;
    assert!(bench.ask("worker:c/1", commit_only(committing)).await.is_yes());
    assert!(bench.ask("worker:e/1", commit(done)).await.is_yes());
    for _ in 0..4 {
        assert_eq!(bench.due(Overdue::Time).await, []);
        bench.wait(Duration::from_secs(29));
        bench.batch(&[request("worker:b/1", renew(renewing)), request("worker:d/1", renew(running))]).await;
        if bench.clock.now() > START.after(Duration::from_secs(30)) {
            break;
        }
    }
    bench.wait(Duration::from_secs(2));
    assert_eq!(bench.due(Overdue::Time).await, sorted(&[expired, committed]));
    bench.wait(Duration::from_secs(28));
    bench.batch(&[request("worker:b/1", renew(renewing)), request("worker:d/1", renew(running))]).await;
    bench.wait(Duration::from_secs(32));
    assert_eq!(bench.due(Overdue::Time).await, sorted(&[expired, committed, windowed]), "the window passed");
    let found = page(bench, Overdue::Time, None, 100).await;
    let sweeps: Vec<Request> = found.iter().chain(&found).map(swept).collect();
    let replies = bench.batch(&sweeps).await;
    assert_eq!(replies.iter().filter(|reply| reply.fresh).count(), 3, "each once");
    let mut states = Vec::new();
    for item in [expired, committed, windowed, renewed, waiting, ended] {
        states.push(bench.state(item).await);
    }
    assert_eq!(states, ["PENDING", "SUCCEEDED", "TIMED_OUT", "RUNNING", "PENDING", "SUCCEEDED"]);
    assert_eq!(bench.due(Overdue::Time).await, []);
}

pub async fn leases_lapse_with_their_session<H: Harness>(bench: &Bench<H>) {
    let session = bench.create(new("session", "{}")).await;
    let held = bench.take("worker:a/1", session).await;
    let mut todos = Vec::new();
    for title in ["one", "two"] {
        let todo = bench.create(new("todo", &format!(r#"{{"title":"{title}"}}"#))).await;
        let terms = Terms { session: Some(session), attests: vec![Guard::Workspace], ..Terms::default() };
        assert!(bench.ask("worker:a/1", Command::Take(Take { item: todo, terms })).await.is_yes());
        todos.push(todo);
    }
    let unbound = bench.job().await;
    bench.take("worker:a/1", unbound).await;
    assert_eq!(bench.due(Overdue::Lapsed).await, []);
    assert!(bench.ask("worker:a/1", release(held)).await.is_yes());
    assert_eq!(bench.due(Overdue::Lapsed).await, sorted(&todos));
    let found = page(bench, Overdue::Lapsed, None, 100).await;
    assert!(found.iter().all(|found| found.due == Due::Lapsed { session }));
    let sweeps: Vec<Request> = found.iter().map(swept).collect();
    assert!(bench.batch(&sweeps).await.iter().all(|reply| reply.fresh));
    for todo in todos {
        assert_eq!(bench.state(todo).await, "Draft");
    }
    assert_eq!(bench.due(Overdue::Lapsed).await, []);
}

/// A page is never longer than asked for, and going on from its end reaches everything, swept or not.
pub async fn pages_of_what_is_due_reach_everything<H: Harness>(bench: &Bench<H>) {
    let creates: Vec<_> = (0..25).map(|_| create(new("job", "{}"))).collect();
    bench.batch(&creates).await;
    let leased = bench.acquire("worker:a/1", &["job"], 25).await;
    bench.wait(Duration::from_secs(60));
    let mut pages: Vec<Vec<ItemId>> = Vec::new();
    loop {
        let after = pages.last().and_then(|page| page.last()).copied();
        let found = page(bench, Overdue::Time, after, 10).await;
        if found.is_empty() {
            break;
        }
        pages.push(found.into_iter().map(|found| found.item).collect());
    }
    assert_eq!(pages.iter().map(Vec::len).collect::<Vec<_>>(), [10, 10, 5]);
    let mut expected = ids(&leased);
    expected.sort();
    assert_eq!(pages.concat(), expected);
}

pub async fn a_list_that_was_read_before_a_renewal_has_no_effect<H: Harness>(bench: &Bench<H>) {
    let (kept, taken, gone) = (bench.job().await, bench.job().await, bench.job().await);
    let first = bench.run("worker:a/1", kept).await;
    let second = bench.run("worker:a/1", taken).await;
    let third = bench.run("worker:a/1", gone).await;
    bench.wait(Duration::from_secs(60));
    let found = page(bench, Overdue::Time, None, 10).await;
    assert_eq!(found.len(), 3);
    // The clock was read wrong, or the list is from long ago: by now one is renewed, one is another's, one is swept.
    bench.clock.set(START.after(Duration::from_secs(59)));
    assert!(bench.ask("worker:a/1", renew(first)).await.is_yes());
    assert!(bench.ask("worker:a/1", release(second)).await.is_yes());
    bench.run("worker:b/1", taken).await;
    assert!(bench.ask("worker:a/1", release(third)).await.is_yes());
    bench.clock.set(START.after(Duration::from_secs(61)));
    let before = bench.log().await;
    let sweeps: Vec<Request> = found.iter().map(swept).collect();
    for reply in bench.batch(&sweeps).await {
        assert!(matches!(reply.answer, Answer::Same(_)) && !reply.fresh, "{reply:?}");
    }
    assert_eq!(bench.log().await, before);
}

/// What can not be swept (its row must write something that nobody brought) stays due and stops nobody else.
pub async fn one_that_can_not_be_swept_stops_no_other<H: Harness>(bench: &Bench<H>) {
    let mut order = new("work_order", r#"{"event_id":"e","ticket_id":"t"}"#);
    order.attempts = Some(1);
    let order = bench.create(order).await;
    let jobs = [bench.job().await, bench.job().await];
    for item in [order, jobs[0], jobs[1]] {
        bench.run("worker:a/1", item).await;
    }
    bench.wait(Duration::from_secs(60));
    let found = page(bench, Overdue::Time, None, 10).await;
    let sweeps: Vec<Request> = found.iter().map(swept).collect();
    let replies = bench.batch(&sweeps).await;
    assert_eq!(replies.iter().filter(|reply| reply.fresh).count(), 2, "{replies:#?}");
    assert_eq!(bench.due(Overdue::Time).await, [order]);
    assert_eq!(bench.state(jobs[1]).await, "PENDING");
}

/// A worker opens a step twice, or writes what the closing of the step would write: its run ends all the same.
pub async fn no_open_step_keeps_a_run_from_ending<H: Harness>(bench: &Bench<H>) {
    for (document, name) in [("d1", "began"), ("d2", "x/1/closed")] {
        let run = bench.pass(document).await;
        let execution = bench.run("worker:a/1", run).await;
        for text in ["1", "2"] {
            let (records, opens) =
                (vec![record("step", &format!("{name}{text}"), text)], vec!["x".parse().unwrap()]);
            let progress = Progress { execution, records, opens, closes: Vec::new() };
            assert!(bench.ask("worker:a/1", Command::Progress(progress)).await.is_yes());
        }
        bench.ask("worker:a/1", progress(execution, record("step", name, "1"))).await;
        bench.wait(Duration::from_secs(121));
        let reply = bench.reply(sweep(execution)).await;
        assert!(reply.fresh, "{document}: {reply:?}");
        assert_eq!(bench.state(run).await, "TIMED_OUT");
        let closed =
            bench.whole(run).await.records.into_iter().filter(|record| &*record.name == "x/1/closed");
        assert_eq!(closed.count(), 1, "{document}");
    }
}
