//! The lifecycles that ship with Tenure.
