//! `tenure lifecycle draw KIND`: a lifecycle as a diagram, in the format asked for.
//!
//! The diagram itself is core's; this prints it, for a file or a pipe as much as for a person.

use tenure_core::lifecycle::diagram;

use super::Found;
use crate::cli::Draw;
use crate::outcome::{Error, Outcome};
use crate::output::Output;

pub fn run(arguments: &Draw, output: &mut Output) -> Result<Outcome, Error> {
    let found = Found::at(&arguments.there, &arguments.kind)?;
    output.text(&diagram::draw(&found.table, arguments.format))?;
    Ok(Outcome::Done)
}
