//! Faults that are real: processes killed with SIGKILL, disks that fail, files that were touched, servers that go away.
//!
//! The numbers in the names are those of the list of faults. What is the same for all: whatever was answered is there
//! afterwards, nothing is there by half, and nothing is stuck ([`oracle`]).

mod backups;
mod child;
mod disk;
mod files;
mod flips;
mod hot;
mod inbox;
mod kills;
mod migrations;
mod oracle;
mod power;
#[allow(dead_code, reason = "other crates have tests with processes, too")]
mod program;
mod rounds;
mod script;
mod server;
#[allow(dead_code, reason = "other crates have tests with clocks, too")]
mod shim;
mod stress;
mod voice;
mod writer;

#[path = "../postgres/private.rs"]
mod private;
#[path = "../conformance/requests.rs"]
#[allow(dead_code, reason = "the conformance suite needs all of them")]
mod requests;
#[path = "../conformance/schema.rs"]
#[allow(dead_code, reason = "the conformance suite needs all of it")]
mod schema;
#[path = "../conformance/sized.rs"]
mod sized;

/// Runs it where a database has threads to go on in.
fn on_two_threads<T>(run: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.expect("a runtime").block_on(run)
}
