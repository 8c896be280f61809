//! Claims, as a program uses them: on every database, with decomposers of the tests' own.

pub mod crash;
mod decomposing;
mod enqueueing;
mod flow;
pub mod kit;
mod validating;
mod verdicts;
