//! The systems as programs use them, on every database.

mod documents;
mod extract;
mod kit;
mod posting;
mod runs;
