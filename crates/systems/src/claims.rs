//! Claims: a statement is stored at once, taken apart into TruthBits by a worker, validated with evidence, and gets a verdict.

pub mod decompose;
pub mod policy;
