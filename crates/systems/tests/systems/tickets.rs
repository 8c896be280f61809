//! Tickets: what the four workers make of them, on every database.

mod artifacts;
mod careless;
mod flow;
mod human;
mod kills;
pub mod kit;
mod lost;
mod reasons;
mod repository;
mod states;
mod worktrees;
