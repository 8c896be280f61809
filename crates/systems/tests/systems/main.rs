//! The systems as programs use them, on every database.

mod decompose;
mod documents;
mod extract;
mod interpret;
mod kit;
mod llm;
mod policy;
mod posting;
mod sniff;
mod steps;
