//! Lists: every one answers `{items, next_cursor}`, and the cursor is the last id of its page.

use serde::Serialize;
use tenure::core::id::ItemId;
use utoipa::ToSchema;

use crate::limits::{PAGE, PAGE_MAX};
use crate::problem::Problem;

#[derive(Debug, Serialize, ToSchema)]
pub struct Page<T> {
    pub items: Vec<T>,
    /// Goes into `cursor` for the next page. Null: that was all.
    pub next_cursor: Option<String>,
}

/// How many a page has.
pub fn limit(asked: Option<usize>) -> Result<usize, Problem> {
    match asked.unwrap_or(PAGE) {
        limit @ 1..=PAGE_MAX => Ok(limit),
        other => Err(Problem::wrong("limit", format!("{other} is not between 1 and {PAGE_MAX}"))),
    }
}

/// Where a page begins.
pub fn after(cursor: Option<&str>) -> Result<Option<ItemId>, Problem> {
    let parse = |cursor: &str| {
        cursor.parse().map_err(|_| Problem::wrong("cursor", "this is not one that a list gave"))
    };
    cursor.map(parse).transpose()
}
