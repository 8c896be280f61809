//! The rules of this repository, executable.
//!
//! Two commands share the same reading of the tree:
//!
//! ```text
//!   repository ──► source ──► tests_found ──┐
//!        │            │                     ├──► coverage      tidy requirements
//!        │            │       requirements ─┤
//!        │            │       faults ───────┘
//!        └────────────┴─────► house                            tidy house
//! ```
//!
//! Everything but [`repository`] is a function of text, so a test needs no files. Nothing here judges whether a test is
//! a good one: that breaking a rule fails the test is for people to see to.

pub mod coverage;
pub mod faults;
pub mod house;
pub mod id;
pub mod repository;
pub mod requirements;
pub mod source;
pub mod tests_found;
