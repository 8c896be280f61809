//! Decomposition.
