//! The kernel.
#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod actor;
pub mod code;
pub mod hash;
pub mod id;
pub mod lifecycle;
pub mod time;
pub mod word;
