//! The kernel.
#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod actor;
pub mod answer;
pub mod body;
pub mod check;
pub mod code;
pub mod decide;
pub mod derive;
pub mod draw;
pub mod entry;
pub mod execution;
pub mod hash;
pub mod id;
pub mod item;
pub mod lifecycle;
pub mod project;
pub mod replay;
pub mod request;
pub mod time;
pub mod word;
pub mod world;
