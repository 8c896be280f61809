//! The program `tenure`.
fn main() {}
