//! Runs: a document is stored, and every pass over it is a run, step by step.

pub mod builtin;
pub mod command;
pub mod extract;
pub mod interpret;
pub mod remote;
pub mod sniff;
pub mod step;
