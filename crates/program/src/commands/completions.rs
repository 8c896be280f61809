//! `tenure completions`: what a shell needs to complete the command line.

use crate::cli::{self, Completions};
use crate::outcome::{Error, Outcome};
use crate::output::Output;

pub fn run(arguments: &Completions, output: &mut Output) -> Result<Outcome, Error> {
    cli::completions(arguments.shell, output);
    Ok(Outcome::Done)
}
