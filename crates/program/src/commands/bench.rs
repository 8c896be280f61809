//! `tenure bench …`: what this machine can do, and how much of it Tenure makes use of.
//!
//! No decision depends on what a stopwatch shows.

mod acquire;
mod claims;
mod create;
mod drain;
mod end_to_end;
mod http;
mod limits;
mod measure;
mod pinned;
mod report;
mod rounds;
mod runs;
mod store;
mod target;
mod todos;
mod work;

pub use measure::{processor_micros, resident_kb};
pub use work::payload;

use crate::cli::{Bench, BenchOf};
use crate::outcome::{Error, Outcome};
use crate::output::Output;

pub fn run(arguments: &Bench, output: &mut Output) -> Result<Outcome, Error> {
    match &arguments.of {
        Some(BenchOf::Store(arguments)) => store::run(arguments, output),
        Some(BenchOf::Claims(arguments)) => claims::run(arguments, output),
        Some(BenchOf::Runs(arguments)) => runs::run(arguments, output),
        Some(BenchOf::Todos(arguments)) => todos::run(arguments, output),
        None => end_to_end::run(arguments, output),
    }
}
