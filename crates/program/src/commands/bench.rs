//! `tenure bench …`: what this machine can do, and how much of it Tenure makes use of.
//!
//! No decision depends on what a stopwatch shows.

mod acquire;
mod create;
mod drain;
mod limits;
mod measure;
mod pinned;
mod report;
mod rounds;
mod store;
mod target;
mod work;

use crate::cli::Bench;
use crate::outcome::{Error, Outcome};
use crate::output::Output;

pub fn run(command: Bench, output: &mut Output) -> Result<Outcome, Error> {
    match command {
        Bench::Store(arguments) => store::run(&arguments, output),
    }
}
