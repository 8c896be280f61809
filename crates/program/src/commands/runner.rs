//! `tenure runner`: work orders are carried out with a command, each in a git worktree of its own.
//!
//! ```text
//! lease ─▶ order: worktree ─ command (within its budget) ─ patch ─ checks ─▶ output bundle
//!            └─ meanwhile the lease is renewed; without it everything is dropped, and the command is dead
//! ```

mod order;

use std::sync::Arc;
use std::time::Duration;

use tenure::Lines;
use tenure_systems::process;
use tenure_systems::tickets::Worktree;

use super::work::desk::{Asked, Desk};
use super::work::hold::Hold;
use super::work::keeper::Keeper;
use super::work::told::Told;
use super::work::{Signals, is_there};
use crate::cli::Runner;
use crate::client::{Client, Loops};
use crate::database::{self, Access};
use crate::outcome::{Error, Outcome};
use crate::output::Output;
use order::Orders;

/// Who works without a token.
const ACTOR: &str = "worker:runner";
const KIND: &str = "work_order";

/// Whoever works on a kind with any command can not end what the workers of tickets end: a work order would only lose its attempts, and
/// an event or a gate its time.
pub fn is_not_for_a_runner(kind: &str) -> Result<(), Error> {
    let (what, then) = match kind {
        KIND => (
            "a work order ends with an output bundle, and no other command makes one",
            "carry it out with `tenure runner -- COMMAND`, in a git repository",
        ),
        "ticket_ready" => (
            "a ticket's event ends with what becomes of the ticket, and no command says that",
            "`tenure serve` schedules tickets by itself; with `--without readiness,gate` it does nothing else for them",
        ),
        "gate" => (
            "a gate ends with a run record, and no command writes one",
            "`tenure serve` judges outputs by itself; a command that must hold is a gate of its ticket: `tenure ticket create TITLE --gate cmd:COMMAND`",
        ),
        _ => return Ok(()),
    };
    Err(Error::NotPossible { what: what.to_string(), then: then.to_string() })
}

pub fn run(arguments: &Runner, output: &mut Output) -> Result<Outcome, Error> {
    is_there(&arguments.command[0])?;
    database::run(async {
        let repository = std::fs::canonicalize(&arguments.repository)
            .map_err(|_| not_there(format!("there is no folder {}", arguments.repository.display())))?;
        Worktree::is_possible(&repository, &arguments.base).await.map_err(not_there)?;
        let at = &arguments.at;
        let client = Client::open(&at.reach, at.store.clone(), Access::MayCreate, Loops::Run).await?;
        let desk = Desk::new(client.acting(ACTOR), KIND, Duration::from_secs(arguments.lease));
        let keeper = Arc::new(Keeper::start(desk.worker())?);
        // The commands of gates and git, too.
        process::kept_by(&keeper);
        let (command, base) = (arguments.command.clone(), arguments.base.clone());
        let orders = Orders { desk, keeper, command, repository, base };
        // Heard from here on: whoever reads the line may send one.
        let mut signals = Signals::new()?;
        output.line(format!(
            "carrying out work orders in {}; SIGTERM lets what runs finish",
            orders.repository.display()
        ))?;
        let mut left = arguments.count.unwrap_or(u64::MAX);
        while left > 0 {
            let mut asking = std::pin::pin!(orders.desk.acquire(1));
            let asked = tokio::select! {
                asked = &mut asking => asked?,
                () = signals.next() => {
                    // What was asked for is waited for: it may bring a lease, to be given back.
                    give_back(&orders.desk, asking.await?).await;
                    break;
                }
            };
            let Some(lease) = asked.leases.first() else { continue };
            left -= 1;
            let (line, stops) = orders.carry_out(lease, asked.at, &mut signals).await;
            output.line(line)?;
            if stops {
                break;
            }
        }
        Ok(Outcome::Done)
    })
}

fn not_there(what: String) -> Error {
    let then = "run it in a git repository with a commit, or name one with --repository DIR; --base names the commit to begin at";
    Error::NotPossible { what, then: then.to_string() }
}

async fn give_back(desk: &Desk, asked: Asked) {
    for lease in &asked.leases {
        let hold = Hold::new(asked.at, lease, desk.lease);
        // What can not be given back now is taken back when its lease ends.
        let _ = desk.tell(lease, &hold, &Lines::default(), Told::given_back()).await;
    }
}
