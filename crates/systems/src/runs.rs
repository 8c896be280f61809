//! Runs: a document is stored, and every pass over it is a run, step by step.
//!
//! ```text
//!   upload ─▶ files (the bytes) ─▶ document (the entry) ─▶ run, QUEUED
//!                                                           │ service: a worker a store, oldest first, one of a document at a time
//!                                                           ▼
//!                                       RUNNING: step ─▶ step ─▶ … ─▶ COMPLETED, with what each step made
//! ```
//!
//! | file | what it is |
//! |---|---|
//! | [`files`] | the bytes, by their SHA-256; written before the entry that names them |
//! | [`library`] | files, and who is told of new runs: what a server and its workers share |
//! | [`documents`] | the operations: upload, status, reprocess, runs, artifacts, content |
//! | `erase` | what is kept of a document or a run goes for good, its file with it |
//! | [`history`] | a run and its steps, read off what is kept; pure |
//! | [`pipeline`], [`step`] | the steps in their order |
//! | [`builtin`], [`command`], [`remote`] | the steps that ship, and steps of one's own |
//! | [`sniff`] | what a document is, by its bytes |
//! | `worker` | one run: its steps, their attempts, its window |
//! | [`service`] | the workers of this process, and what a dead one has left |
//! | `tidying` | uploads and erasures that were cut off |

mod alive;
pub mod builtin;
pub mod command;
pub mod documents;
mod erase;
pub mod extract;
pub mod files;
pub mod history;
pub mod interpret;
pub mod library;
pub mod pipeline;
pub mod remote;
pub mod service;
pub mod sniff;
pub mod step;
mod tidying;
mod worker;

pub use documents::Documents;
pub use library::Library;
pub use pipeline::Pipeline;
pub use service::{Places, Running, Settings, start};

/// The kinds, as their lifecycles name them.
pub const DOCUMENT: &str = "document";
pub const RUN: &str = "run";
