//! The systems as programs use them, on every database.

mod claims;
mod kit;
mod posting;
