//! Tenure over HTTP.
//!
//! A request is read (`extract`), its caller is known (`caller`, `token`), it becomes a command of the kernel (`routes`), and its
//! answer is shown (`shape`) or told as a problem document (`problem`). Nothing is decided here and nothing is kept here: two
//! servers on one database are one service.
//!
//! Methods of RPC (`rpc`) are calls of the same routes.
//!
//! The same router serves a socket and, without one, a command that has opened the database itself.

mod access;
mod app;
mod budget;
mod caller;
mod door;
mod extract;
mod fault;
mod hidden;
mod limits;
mod metrics;
mod once;
mod own;
mod page;
mod problem;
mod rest;
mod routes;
mod rpc;
mod serve;
mod shape;
mod signed;
mod slow;
mod streams;
mod token;
mod unread;

pub use access::{Access, Form};
pub use app::{App, Open};
pub use limits::*;
pub use problem::Problem;
pub use routes::{document, router, within};
pub use rpc::{Method, methods};
pub use serve::{Patience, serve};
