//! What is shown. The names of the fields are a promise.

pub mod attempt;
pub mod claims;
pub mod create;
pub mod effects;
pub mod filter;
pub mod item;
pub mod lease;
pub mod lifecycle;
pub mod outcome;
pub mod todo;
