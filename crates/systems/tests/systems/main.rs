//! The systems as programs use them, on every database.

mod documents;
mod extract;
mod interpret;
mod kit;
mod posting;
mod runs;
mod sniff;
mod steps;
