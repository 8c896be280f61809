//! Create.
