//! The kernel.
#![no_std]
