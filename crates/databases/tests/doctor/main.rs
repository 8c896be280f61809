//! The doctor on real databases: all is well where everything was done by Tenure, and what somebody broke with SQL is named.

mod broken;
mod lookers;
#[path = "../conformance/requests.rs"]
#[expect(dead_code, reason = "requests are shared with the conformance suite, which makes more of them")]
mod requests;
#[path = "../conformance/schema.rs"]
mod schema;
mod settings;
mod ward;
mod well;
