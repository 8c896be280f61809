//! RPC: the same operations, called by the messages of the `.proto` files.

mod compiled;
