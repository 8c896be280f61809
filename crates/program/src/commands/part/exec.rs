//! A part that becomes the command of `tenure work`. That it dies with its parent was said before, and stays so.
//!
//! Only a process itself can say that it shall die with its parent: this is the moment between its start and its being another.

use std::os::unix::process::{CommandExt, parent_id};
use std::process::Command;

use crate::cli::PartExec;
use crate::outcome::{Error, Outcome};

pub fn run(arguments: &PartExec) -> Result<Outcome, Error> {
    let (program, rest) = arguments.command.split_first().expect("the command line demands one");
    let cannot = |why: String| Error::Command { program: program.clone(), why };
    // It may have died before it was said.
    if parent_id() != arguments.parent {
        return Err(cannot("its worker is gone".to_string()));
    }
    Err(cannot(Command::new(program).args(rest).exec().to_string()))
}
