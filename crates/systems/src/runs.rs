//! Runs: a document is stored, and every pass over it is a run, step by step.

pub mod step;
