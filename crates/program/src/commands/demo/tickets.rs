//! Tickets, in the demonstration: a runner is killed at its work, the next one carries the order out, and the patch is on its branch.

use std::time::Duration;

use tenure::Tenure;
use tenure::core::actor::{Actor, Role};
use tenure::core::id::ItemId;
use tenure_core::lifecycle::Phase;
use tenure_databases::Query;
use tenure_systems::tickets::{NewTicket, Settings, Tickets, start};
use tokio::process::Child;

use super::repository::Repository;
use super::{PATIENCE, failed, history, told};
use crate::outcome::Error;
use crate::output::{FAINT, GOOD, Output, STRONG, seconds, styled};
use crate::time::{Stopwatch, pause};

const GATE: &str = "test:grep -q goodbye goodbye.txt";
/// Of the runner that is killed, in seconds: the shortest that one may ask for, since its end is waited for.
const LEASE_OF_THE_KILLED: &str = "1";
/// Of the other: long enough for a machine that is busy with anything else.
const LEASE: &str = "20";

pub async fn show(tenure: &Tenure, repository: &Repository, output: &mut Output) -> Result<(), Error> {
    let watch = Stopwatch::start();
    output.line(styled(STRONG, "Tickets: what a person approves and machines carry out"))?;
    let ann = Actor::new(Role::Human, "ann".parse().map_err(failed)?);
    let tickets = Tickets::of(&tenure.acting(tenure.store().clone(), ann));
    let new = NewTicket {
        title: "Say goodbye too".to_string(),
        budget_ms: Some(10_000),
        gates: vec![GATE.to_string()],
        ..NewTicket::default()
    };
    let id = tickets.create(&new, None).await.map_err(failed)?.ticket_id;
    tickets.approve(id, Some("go ahead".to_string())).await.map_err(failed)?;
    let running =
        start(tenure, Settings { repository: Some(repository.root.clone()), ..Settings::default() });
    told(output, watch, "ann approves a ticket; with that a work order is planned, and nothing sooner")?;
    let mut ivy = runner(repository, LEASE_OF_THE_KILLED, "sleep 60")?;
    let order = held(tenure, &mut ivy).await?;
    ivy.kill().await?;
    told(output, watch, "ivy, a runner, is at it in a worktree of her own … and is killed with kill -9")?;
    let mut jon = runner(repository, LEASE, "echo goodbye > goodbye.txt")?;
    tenure.wait(id, PATIENCE).await.map_err(failed)?;
    let ended = tokio::time::timeout(PATIENCE, jon.wait()).await;
    ended.map_err(|_| Error::Part(format!("a runner did not end in {}", seconds(PATIENCE))))??;
    told(output, watch, "her lease has ended: jon carries the same order out, and its gate has run")?;
    let branch = format!("tenure/{order}");
    let files = repository.git(&["diff", "--stat", "--no-color", "work", &branch]).await?;
    let ticket = tickets.show(id).await.map_err(failed)?;
    let runs = tickets.run_records(id).await.map_err(failed)?.len();
    if ticket.state != "DONE" || runs != 1 || !files.contains("goodbye.txt") {
        return Err(Error::Part(format!("the ticket is {}, with {runs} run records: {files}", ticket.state)));
    }
    let words =
        format!("the ticket is {}, with one run record; the patch is on its branch", styled(GOOD, "DONE"));
    told(output, watch, &words)?;
    output.line(format_args!("          {}", styled(FAINT, branch)))?;
    running.drain().await;
    history(tenure, order, "What happened to the work order, as the log has it", output).await
}

/// One that carries out one order with this command.
fn runner(repository: &Repository, lease: &str, script: &str) -> Result<Child, Error> {
    let arguments = ["runner", "--count", "1", "--lease", lease, "--base", "work", "--", "sh", "-c", script];
    let mut command = repository.command(None, &arguments)?;
    // Nobody reads what it says: a pipe would fill, or break.
    command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
    Ok(command.spawn()?)
}

/// Waits until somebody has the work order.
async fn held(tenure: &Tenure, runner: &mut Child) -> Result<ItemId, Error> {
    let watch = Stopwatch::start();
    let query = Query {
        kind: Some("work_order".parse().map_err(failed)?),
        phase: Some(Phase::Active),
        limit: 1,
        ..Query::default()
    };
    while watch.elapsed() < PATIENCE {
        if let Some(order) = tenure.list(query.clone()).await.map_err(failed)?.first() {
            return Ok(order.id);
        }
        if let Some(status) = runner.try_wait()? {
            return Err(Error::Part(format!("a runner ended before it had an order: {status}")));
        }
        pause(Duration::from_millis(10)).await;
    }
    Err(Error::Part(format!("no runner took the order in {}", seconds(PATIENCE))))
}
