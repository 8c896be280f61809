//! Claims, as a program uses them: on every database, with decomposers of the tests' own.

mod decomposing;
mod flow;
mod kit;
