//! Why items are where they are: situations on every database, every state of every shipped lifecycle, and the engine itself.

mod damaged;
mod engine;
mod situations;
mod states;
mod told;

#[path = "../../../databases/tests/conformance/harness.rs"]
#[allow(dead_code, reason = "the conformance suite needs all of it")]
mod harness;
#[path = "../../../core/tests/kernel/limited.rs"]
mod limited;
#[path = "../../../databases/tests/conformance/requests.rs"]
#[allow(dead_code, reason = "the conformance suite needs all of them")]
mod requests;
#[path = "../../../databases/tests/conformance/schema.rs"]
#[allow(dead_code, reason = "the conformance suite needs all of it")]
mod schema;
