//! The systems that ship on the engine. Each is a folder that reads like its requirements: what it keeps, what it does, who works
//! on it. Its lifecycles are files in `lifecycles/`; nothing here knows how a decision is made or how a row is kept.
//!
//! | folder | what it is |
//! |---|---|
//! | [`claims`] | statements that are taken apart, validated with evidence, and get a verdict |
//! | [`runs`] | documents that are processed step by step |
//! | [`todos`] | tasks that are done when they are proved done |
//! | [`tickets`] | requests that a person approves and four workers carry out |
//! | [`inbox`] | what of all of these waits for a person, and their word on it |
//!
//! The same name is its routes in the server and its command in the program.

pub mod claims;
mod desk;
pub mod gate;
pub mod inbox;
pub mod post;
pub mod process;
pub mod runs;
pub mod text;
pub mod tickets;
mod time;
pub mod todos;
