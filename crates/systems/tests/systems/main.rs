//! The systems as programs use them, on every database.

mod kit;
mod posting;
mod tickets;
