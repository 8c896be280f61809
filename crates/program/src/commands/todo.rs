//! `tenure todo`: tasks that are done when they are proved done, in any git repository without a server, or on one.

mod change;
pub mod desk;
mod done;
mod gates;
mod import;
pub mod list;
mod receipt;
mod share;
mod shown;

use crate::cli::Todo;
use crate::outcome::{Error, Outcome};
use crate::output::Output;

pub fn run(command: Todo, output: &mut Output) -> Result<Outcome, Error> {
    let done = match command {
        Todo::Add(arguments) => change::add(&arguments, output),
        Todo::List(arguments) => list::run(&arguments, output),
        Todo::Show(arguments) => list::show(&arguments, output),
        Todo::Next(arguments) => change::next(&arguments, output),
        Todo::Claim(arguments) => change::claim(&arguments, output),
        Todo::Release(arguments) => change::said("release", &arguments, output),
        Todo::Done(arguments) => done::run(&arguments, output),
        Todo::Abandon(arguments) => change::said("abandon", &arguments, output),
        Todo::Depend(arguments) => change::depend(&arguments, output),
        Todo::Attest(arguments) => change::attest(&arguments, output),
        Todo::Plan(arguments) => change::plan(&arguments, output),
        Todo::Receipt(arguments) => receipt::run(&arguments, output),
        Todo::Import(arguments) => import::run(&arguments, output),
        Todo::Export(arguments) => share::export(&arguments, output),
        Todo::Join(arguments) => share::join(&arguments, output),
    };
    done.map_err(Error::of_tasks)
}

pub use receipt::checked as checked_receipt;
