//! Cancel.
