//! `tenure job`: as `tenure item`, for jobs, with submitting once more and waiting.

use serde_json::json;

use super::item::shown::{Shown, whole};
use super::item::{Of, cancel, executions, list, new, show, told, wait};
use crate::cli::{ItemOne, Job, JobList, JobSubmit, JobWait};
use crate::client::Client;
use crate::database::{Access, run as block_on};
use crate::outcome::{Error, Outcome};
use crate::output::Output;

pub fn run(command: Job, output: &mut Output) -> Result<Outcome, Error> {
    match command {
        Job::Submit(arguments) => submit(&arguments, output),
        Job::Show(arguments) => show(Of::Jobs, &arguments, output),
        Job::List(arguments) => list(&arguments, output),
        Job::Cancel(arguments) => cancel(Of::Jobs, &arguments, output),
        Job::Executions(arguments) => executions::run(Of::Jobs, &arguments, output),
        Job::Retry(arguments) => retry(&arguments, output),
        Job::Wait(arguments) => wait(&arguments, output),
    }
}

fn submit(arguments: &JobSubmit, output: &mut Output) -> Result<Outcome, Error> {
    let reply = new::create(Of::Jobs, None, &arguments.new, &arguments.at)?;
    told(&reply, arguments.form.json, output)
}

fn list(arguments: &JobList, output: &mut Output) -> Result<Outcome, Error> {
    let JobList { which, at, form } = arguments;
    list::run(&Of::Jobs.all(), None, which, at, form.json, output)
}

fn retry(arguments: &ItemOne, output: &mut Output) -> Result<Outcome, Error> {
    let ItemOne { id, at, form } = arguments;
    let reply = block_on(async {
        let client = Client::at(at, Access::Existing).await?;
        client.post(Of::Jobs.event(id, "retry"), &json!({})).await
    })?;
    told(&reply, form.json, output)
}

fn wait(arguments: &JobWait, output: &mut Output) -> Result<Outcome, Error> {
    let JobWait { id, timeout, at, form } = arguments;
    let reply = block_on(async {
        let client = Client::at(at, Access::Existing).await?;
        wait::at_rest(&client, Of::Jobs, id, *timeout).await
    })?;
    let job: Shown = reply.read()?;
    if form.json {
        output.line(&reply.text)?;
    }
    match (job.is_succeeded(), job.is_ended()) {
        (true, _) if form.json => Ok(Outcome::Done),
        (true, _) => whole(&job, output).map(|()| Outcome::Done),
        (false, true) => {
            let reason = job.reason().map(str::to_string);
            Err(Error::NotSucceeded { item: job.id, state: job.state, reason })
        }
        (false, false) => Err(Error::StillOpen { item: job.id, state: job.state }),
    }
}
