//! The program `tenure`: reads the command line, runs one command, and ends with its exit code.
//!
//! | exit code | meaning |
//! |---|---|
//! | 0 | done |
//! | 1 | refused: what was asked for is not so, or not allowed |
//! | 2 | could not: a file, a disk or a network did not play along |
//! | 64 | usage: the command line itself was wrong |
//!
//! They are decided in `outcome.rs` and in `cli.rs`, and nowhere else.

mod child;
mod cli;
mod client;
mod commands;
mod config;
mod database;
mod outcome;
mod output;
mod places;
mod progress;
mod scratch;
mod source;
mod time;

use std::process::ExitCode;

use outcome::Outcome;
use output::Output;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let command = match cli::read() {
        Ok(command) => command,
        Err(exit_code) => return exit_code,
    };
    let mut output = Output::standard();
    let outcome = commands::run(command, &mut output).unwrap_or_else(|error| {
        cli::complain(&mut output, &error);
        Outcome::from(&error)
    });
    outcome.exit_code()
}
