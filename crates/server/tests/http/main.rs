//! The service over real sockets.

mod kit;
#[path = "../../../databases/tests/conformance/schema.rs"]
mod schema;

mod items;
mod tokens;
mod working;
