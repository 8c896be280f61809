//! `tenure demo`: what Tenure promises, shown in half a minute on a scratch database, with real processes that are killed.

mod claims;
mod repository;
mod runs;
mod tickets;
mod todos;

use std::time::Duration;

use tenure::core::actor::{Actor, Role};
use tenure::core::answer::Answer;
use tenure::core::id::ItemId;
use tenure::core::request::{Command, Commit, Effects};
use tenure::{New, Tenure};
use tenure_systems::tickets::known;

use super::verify;
use crate::child::{Child, Said};
use crate::cli::{Db, Demo, Form, Verify};
use crate::outcome::{Error, Outcome};
use crate::output::{FAINT, GOOD, Output, STRONG, seconds, styled};
use crate::scratch::Scratch;
use crate::time::Stopwatch;
use repository::Repository;
use tenure_databases::url::SecretUrl;

/// The shortest that there is: nobody wants to wait for a dead clerk in a demonstration.
const LEASE: Duration = Duration::from_secs(1);
/// One who takes so long is killed or stopped before the end.
const FOR_EVER: Duration = Duration::from_secs(60);
/// One who has taken over is still at it when the one before comes back.
const SLOW: Duration = Duration::from_millis(1_500);
const QUICK: Duration = Duration::from_millis(150);
/// What does not come within this long is told as an error.
const PATIENCE: Duration = Duration::from_secs(25);
const LETTERS: usize = 5;

pub fn run(arguments: &Demo, output: &mut Output) -> Result<Outcome, Error> {
    let folder = std::env::temp_dir();
    let mut scratch = Scratch::open(&format!("sqlite:{}", folder.display()).into(), "demo")?;
    let url = scratch.place();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let shown = runtime.block_on(async {
        tokio::select! {
            shown = show(&url, output) => shown,
            _ = tokio::signal::ctrl_c() => Err(Error::Interrupted),
        }
    });
    let verified = shown.and_then(|()| verified(&url, output));
    match arguments.keep {
        true => scratch.keep(),
        false => runtime.block_on(scratch.remove())?,
    }
    let outcome = verified?;
    if arguments.keep {
        output.line(format_args!("\nThe database stays: {url}"))?;
    }
    output.line(NEXT)?;
    Ok(outcome)
}

const NEXT: &str = "
Next
  tenure serve                     the same over HTTP; it says what to try
  tenure todo add 'Say hello'      a list of tasks, at once, in any git repository
  tenure chaos --seconds 20        many more processes, killed at random, and a scoreboard
  tenure lifecycle show job        the table that all of this obeyed";

async fn show(url: &SecretUrl, output: &mut Output) -> Result<(), Error> {
    let watch = Stopwatch::start();
    let tenure = known(Tenure::builder(url)).name("office").open().await?;
    output.line(styled(STRONG, "Jobs: letters, each to be sent once"))?;
    let created = Stopwatch::start();
    let letters = tenure.create_all((1..=LETTERS).map(|number| New::job(&format!("letter {number}")))).await;
    let letters: Vec<ItemId> = letters
        .into_iter()
        .map(|letter| letter.map(|item| item.id))
        .collect::<Result<_, _>>()
        .map_err(failed)?;
    let took = seconds(created.elapsed());
    told(
        output,
        watch,
        &format!("{LETTERS} letters are created; the answer came after {took}, and they are on the disk"),
    )?;

    let (ada, mut says) = clerk(url, "ada", "job", FOR_EVER)?;
    let first = heard(&mut says, "began").await?;
    told(output, watch, "ada, a process of her own, begins the first letter … and is killed with kill -9")?;
    ada.kill().await;
    let (bob, mut says) = clerk(url, "bob", "job", QUICK)?;
    told(output, watch, "bob sends the others, and waits: the first is ada's until her lease ends")?;
    loop {
        if heard(&mut says, "began").await? == first {
            break;
        }
    }
    told(output, watch, "her lease has ended: the first letter is bob's, as its second attempt")?;
    for letter in &letters {
        tenure.wait(*letter, PATIENCE).await.map_err(failed)?;
    }
    bob.end().await;
    told(output, watch, "all are sent, each committed once")?;

    let last = tenure.create(New::job(&"letter 6")).await.map_err(failed)?.id;
    let (cem, mut cem_says) = clerk(url, "cem", "job", FOR_EVER)?;
    heard(&mut cem_says, "began").await?;
    let held = tenure.item(last).await.map_err(failed)?;
    let owner = held.lease.as_ref().map(|lease| lease.owner.clone());
    let owner = owner.ok_or_else(|| Error::Part("the letter is held by nobody".to_string()))?;
    cem.stop();
    told(output, watch, "cem begins another and stands still, like a laptop that was closed")?;
    let (dora, mut dora_says) = clerk(url, "dora", "job", SLOW)?;
    heard(&mut dora_says, "began").await?;
    told(output, watch, "dora has it now, in the same state; a commit in cem's name is tried …")?;
    let late = Actor { role: Role::Worker, id: owner.id, incarnation: owner.incarnation };
    let commit = Commit {
        execution: held.execution_id(),
        output: None,
        effects: Effects::default(),
        finish: true,
        session: None,
        attests: Vec::new(),
    };
    let answer =
        tenure.acting(held.store.clone(), late).ask(Command::Commit(commit)).await.map_err(failed)?.answer;
    match &answer {
        Answer::LeaseLost(why) => told(output, watch, &format!("{} {why}", styled(GOOD, "LEASE_LOST:")))?,
        other => return Err(Error::Part(format!("a late commit was answered with {other:?}"))),
    }
    cem.go_on();
    heard(&mut cem_says, "lost").await?;
    told(output, watch, "cem wakes up, sees by itself that its time is over, and writes nothing")?;
    tenure.wait(last, PATIENCE).await.map_err(failed)?;
    told(output, watch, "dora has sent it")?;
    dora.end().await;
    cem.end().await;
    history(&tenure, first, "What happened to the first letter, as the log has it", output).await?;
    claims::show(&tenure, url, output).await?;
    runs::show(&tenure, url, output).await?;
    match Repository::make(url).await? {
        Some(repository) => {
            todos::show(&tenure, &repository, output).await?;
            tickets::show(&tenure, &repository, output).await
        }
        None => output.line("Todos and tickets are shown in a git repository, and there is no git here.\n"),
    }
}

fn failed(why: impl std::fmt::Display) -> Error {
    Error::Part(why.to_string())
}

/// A line of the story, with the time since its beginning.
fn told(output: &mut Output, watch: Stopwatch, line: &str) -> Result<(), Error> {
    output
        .line(format_args!("  {} {line}", styled(FAINT, format!("{:>5.1} s", watch.elapsed().as_secs_f64()))))
}

fn clerk(url: &SecretUrl, name: &str, kind: &str, takes: Duration) -> Result<(Child, Said), Error> {
    let millis = |span: Duration| span.as_millis().to_string();
    let arguments = [
        ("name", name.to_string()),
        ("kind", kind.to_string()),
        ("lease-ms", millis(LEASE)),
        ("takes-ms", millis(takes)),
    ];
    Child::start("clerk", url, &arguments)
}

/// Waits until a clerk says this about a letter.
async fn heard(says: &mut Said, word: &str) -> Result<ItemId, Error> {
    let listened = async {
        while let Some(line) = says.next_line().await? {
            if let Some(letter) = line.strip_prefix(word) {
                return letter.trim().parse().map_err(|_| Error::Part(format!("a clerk said {line:?}")));
            }
        }
        Err(Error::Part("a clerk has gone".to_string()))
    };
    let late = |_| Error::Part(format!("no clerk said `{word}` in {}", seconds(PATIENCE)));
    tokio::time::timeout(PATIENCE, listened).await.map_err(late)?
}

async fn history(tenure: &Tenure, item: ItemId, title: &str, output: &mut Output) -> Result<(), Error> {
    let entries = tenure.history(item).await.map_err(failed)?;
    output.line("")?;
    output.line(styled(STRONG, title))?;
    let first = entries.first().map(|entry| entry.at);
    let rows = entries.iter().map(|entry| {
        let since = first.map_or(Duration::ZERO, |first| entry.at.since(first));
        [
            format!("  +{:.3} s", since.as_secs_f64()),
            entry.shown().to_string(),
            entry.state.to_string(),
            entry.actor.to_string(),
        ]
    });
    output.table(["  after", "event", "state", "by"], rows.collect::<Vec<_>>())?;
    output.line("")
}

fn verified(url: &SecretUrl, output: &mut Output) -> Result<Outcome, Error> {
    output.line(styled(STRONG, "And is the log what was written?"))?;
    let arguments =
        Verify { what: Some(url.clone()), head: None, db: Db::of(url), form: Form { json: false } };
    verify::run(&arguments, output)
}
