//! Workers and engines as processes that are killed, stopped and cut off, on SQLite and PostgreSQL.
//!
//! The numbers in the names are those of the list of faults. Nothing waits for a while: a test waits for a line of a child
//! or for a fact in the database. How long a takeover takes is judged by `tenure chaos`.

mod away;
mod boundaries;
mod child;
mod clocks;
mod foreign;
mod idle;
mod loops;
mod paused;
mod place;
mod queue;
mod raw;
mod room;
mod seen;
mod steps;

#[path = "../../../databases/tests/crash/program.rs"]
#[allow(dead_code, reason = "the databases' tests need all of it")]
mod program;
#[path = "../../../databases/tests/conformance/requests.rs"]
#[allow(dead_code, reason = "the conformance suite needs all of them")]
mod requests;
#[path = "../../../databases/tests/conformance/schema.rs"]
#[allow(dead_code, reason = "the conformance suite needs all of it")]
mod schema;
#[path = "../../../databases/tests/crash/shim.rs"]
#[allow(dead_code, reason = "the databases' tests need all of it")]
mod shim;
#[path = "../../../databases/tests/conformance/sized.rs"]
mod sized;
#[path = "../../../databases/tests/crash/voice.rs"]
mod voice;
