//! The commands, one file each. An arm is a single call: what a command does is in its file, how it ends in its answer.

mod asker;
mod backup;
mod bench;
mod chaos;
mod check;
mod claim;
mod completions;
mod demo;
mod doc;
mod doctor;
mod explain;
mod export;
mod inbox;
mod item;
mod job;
mod lifecycle;
mod limit;
mod log;
mod migrate;
mod part;
mod pause;
mod replay;
mod runner;
mod schedule;
mod serve;
mod session;
mod ticket;
pub mod todo;
mod token;
mod validate;
mod verify;
mod webhook;
mod work;

use crate::cli::Command;
use crate::outcome::{Error, Outcome};
use crate::output::Output;

pub fn run(command: Command, output: &mut Output) -> Result<Outcome, Error> {
    match command {
        Command::Backup(arguments) => backup::run(&arguments, output),
        Command::Bench(arguments) => bench::run(&arguments, output),
        Command::Chaos(arguments) => chaos::run(&arguments, output),
        Command::Check(arguments) => check::run(&arguments, output),
        Command::Claim(command) => claim::run(command, output),
        Command::Completions(arguments) => completions::run(&arguments, output),
        Command::Inbox(arguments) => inbox::run(&arguments, output),
        Command::Item(command) => item::run(command, output),
        Command::Job(command) => job::run(command, output),
        Command::Doc(command) => doc::run(command, output),
        Command::Doctor(arguments) => doctor::run(&arguments, output),
        Command::Explain(arguments) => explain::run(&arguments, output),
        Command::Lifecycle(command) => lifecycle::run(command, output),
        Command::Limit(command) => limit::run(command, output),
        Command::Demo(arguments) => demo::run(&arguments, output),
        Command::Log(arguments) => log::run(&arguments, output),
        Command::Export(arguments) => export::run(&arguments, output),
        Command::Webhook(command) => webhook::run(command, output),
        Command::Verify(arguments) => verify::run(&arguments, output),
        Command::Migrate(arguments) => migrate::run(&arguments, output),
        Command::Part(part) => part::run(&part),
        Command::Runner(arguments) => runner::run(&arguments, output),
        Command::Schedule(command) => schedule::run(command, output),
        Command::Replay(arguments) => replay::run(&arguments, output),
        Command::Serve(arguments) => serve::run(&arguments, output),
        Command::Pause(arguments) => pause::run(&arguments, output),
        Command::Resume(arguments) => pause::resume(&arguments, output),
        Command::Session(command) => session::run(command, output),
        Command::Todo(command) => todo::run(command, output),
        Command::Validate(arguments) => validate::run(&arguments, output),
        Command::Ticket(command) => ticket::run(command, output),
        Command::Token(command) => token::run(command, output),
        Command::Work(arguments) => work::run(&arguments, output),
    }
}
