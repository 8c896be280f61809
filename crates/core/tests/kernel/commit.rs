//! Commit.
