//! Tasks, in the demonstration: whoever says done without a proof is not believed, and a command that is killed in the middle of its
//! gates has changed nothing.

use tenure::Tenure;

use super::repository::{Repository, hears};
use super::{failed, history, told};
use crate::outcome::Error;
use crate::output::{FAINT, GOOD, Output, STRONG, styled};
use crate::time::Stopwatch;

const GATES: [&str; 2] = ["cmd:sleep 0.3; grep -q hello hello.txt", "human:is it friendly?"];

pub async fn show(tenure: &Tenure, repository: &Repository, output: &mut Output) -> Result<(), Error> {
    let watch = Stopwatch::start();
    output.line(styled(STRONG, "Todos: a task that is done when it is proved done"))?;
    let add = ["todo", "add", "Say hello", "--gate", GATES[0], "--gate", GATES[1], "--json"];
    let id = repository.field(None, &add, "todo_id").await?;
    told(output, watch, "a task in a git repository, with two gates: a command, and a person's yes")?;
    let gil = session(repository, "gil").await?;
    let hal = session(repository, "hal").await?;
    expect(repository.run(Some(&gil), &["todo", "claim", &id]).await?.yes, "a claim")?;
    let other = repository.run(Some(&hal), &["todo", "claim", &id]).await?;
    refused(&other.stderr, "CLAIM_CONFLICT")?;
    told(output, watch, &format!("gil, an agent, claims it; hal is told: {}", code("CLAIM_CONFLICT")))?;
    let done = ["todo", "done", id.as_str()];
    let said = repository.run(Some(&gil), &done).await?;
    refused(&said.stderr, "VERIFICATION_REQUIRED")?;
    told(
        output,
        watch,
        &format!("gil says done, and has done nothing: {}, with the gates", code("VERIFICATION_REQUIRED")),
    )?;
    expect(repository.run(Some(&gil), &["session", "release"]).await?.yes, "the end of a session")?;
    expect(repository.run(Some(&hal), &["todo", "claim", &id]).await?.yes, "a claim")?;
    told(output, watch, "gil's session ends: the task is on the list again, and hal's")?;
    repository.write("hello.txt", "hello\n")?;
    let mut command = repository.command(Some(&hal), &done)?.spawn()?;
    hears(&mut command, "running cmd:").await?;
    command.kill().await?;
    told(output, watch, "hal writes the page and says done; while the gates run it is killed with kill -9")?;
    let said = repository.run(None, &["inbox", "approve", &id, "--note", "very"]).await?;
    expect(said.yes, "a person's word")?;
    told(output, watch, "ann finds the other gate in `tenure inbox`, looks, and says yes")?;
    let proof = repository.field(Some(&hal), &["todo", "done", &id, "--json"], "proof_sha256").await?;
    told(
        output,
        watch,
        &format!("done again: {}, once, with a receipt anyone can check", styled(GOOD, "Verified")),
    )?;
    output.line(format_args!("          {}", styled(FAINT, proof)))?;
    repository.write("hello.txt", "hello, somebody\n")?;
    let shown = repository.run(None, &["todo", "show", &id]).await?;
    expect(shown.stdout.contains("stale"), "a stale proof")?;
    told(output, watch, "somebody changes the page: the task shows as stale, and says what drifted")?;
    history(tenure, id.parse().map_err(failed)?, "What happened to the task, as the log has it", output).await
}

async fn session(repository: &Repository, agent: &str) -> Result<String, Error> {
    repository.field(None, &["session", "acquire", "--agent", agent, "--json"], "session").await
}

fn code(code: &str) -> String {
    styled(GOOD, code)
}

fn refused(said: &str, code: &str) -> Result<(), Error> {
    match said.contains(code) {
        true => Ok(()),
        false => Err(Error::Part(format!("{code} was to be refused, and this was said: {said}"))),
    }
}

fn expect(so: bool, what: &str) -> Result<(), Error> {
    if so { Ok(()) } else { Err(Error::Part(format!("there was not {what}"))) }
}
