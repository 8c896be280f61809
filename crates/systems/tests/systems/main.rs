//! The systems as programs use them, on every database.

mod child;
mod claims;
mod decompose;
mod documents;
mod extract;
mod followers;
mod inbox;
mod interpret;
mod kit;
mod llm;
mod policy;
mod posting;
mod process;
mod runs;
mod sniff;
mod steps;
mod tickets;
mod todos;
mod workspaces;

#[path = "../../../databases/tests/crash/program.rs"]
#[allow(dead_code, reason = "the databases' tests need all of it")]
mod program;
#[path = "../../../databases/tests/crash/shim.rs"]
#[allow(dead_code, reason = "the databases' tests need all of it")]
mod shim;
#[path = "../../../databases/tests/crash/voice.rs"]
mod voice;
