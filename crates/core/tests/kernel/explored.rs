//! Explored.
