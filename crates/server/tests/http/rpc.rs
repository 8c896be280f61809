//! RPC: the same operations, called by the messages of the `.proto` files.

mod access;
mod caller;
mod compiled;
mod every;
mod life;
mod surface;
mod tickets;
mod todos;
mod wire;
