//! The commands, one file each. An arm is a single call: what a command does is in its file, how it ends in its answer.

mod bench;
mod check;
mod lifecycle;

use crate::cli::Command;
use crate::outcome::{Error, Outcome};
use crate::output::Output;

pub fn run(command: Command, output: &mut Output) -> Result<Outcome, Error> {
    match command {
        Command::Bench(command) => bench::run(command, output),
        Command::Check(arguments) => check::run(&arguments, output),
        Command::Lifecycle(command) => lifecycle::run(command, output),
    }
}
