//! What became of one of many.

use axum::http::StatusCode;
use serde::Serialize;
use utoipa::ToSchema;

use super::item::ItemView;
use crate::problem::Problem;

/// One of many: the item, or why there is none.
#[derive(Debug, Serialize, ToSchema)]
pub struct Outcome {
    pub status: u16,
    /// The item that was named or found, where that is not the one shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// A dry run: the event that it would take.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item: Option<ItemView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub problem: Option<serde_json::Value>,
}

impl Outcome {
    pub fn of(status: StatusCode) -> Outcome {
        Outcome { status: status.as_u16(), id: None, event: None, item: None, problem: None }
    }

    pub fn no(problem: Problem) -> Outcome {
        let document = problem.document(None);
        let status = document["status"].as_u64().and_then(|status| u16::try_from(status).ok()).unwrap_or(500);
        Outcome { status, problem: Some(document), ..Outcome::of(StatusCode::OK) }
    }
}
