//! A decomposer that leaves a text whole.

use super::decompose::{Decomposer, Decomposing, Part, Statement};

/// The whole text as one statement.
#[derive(Clone, Copy, Debug)]
pub struct Whole;

impl Decomposer for Whole {
    fn decompose<'a>(&'a self, statement: &'a Statement) -> Decomposing<'a> {
        Box::pin(async move {
            Ok(vec![Part {
                key: "statement/1".to_string(),
                statement: statement.text.trim().to_string(),
                expected_type: "statement".to_string(),
            }])
        })
    }
}
