//! Diagrams of a lifecycle.
