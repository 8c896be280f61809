//! What is PostgreSQL's own: the second wall, races between processes, lost connections, plans.

mod connections;
mod faults;
mod kit;
mod lifecycles;
#[path = "../../../core/tests/kernel/limited.rs"]
mod limited;
mod limits;
mod migrations;
mod plans;
mod private;
mod races;
#[path = "../conformance/schema.rs"]
mod schema;
#[path = "../conformance/sized.rs"]
mod sized;
mod tls;
mod wall;
