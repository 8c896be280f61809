//! The systems as programs use them, on every database.

mod decompose;
mod kit;
mod llm;
mod policy;
mod posting;
