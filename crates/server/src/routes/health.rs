//! Whether the service lives and works, and what it offers.

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use crate::app::App;
use crate::problem::Problem;

#[derive(Debug, Serialize, ToSchema)]
pub struct Health {
    pub status: String,
}

/// The process answers
#[utoipa::path(get, path = "/health/live", tag = "service", extensions(("x-access" = json!("open"))),
    responses((status = 200, body = Health)))]
pub async fn live() -> Json<Health> {
    Json(Health { status: "ok".to_string() })
}

/// The database answers too
#[utoipa::path(get, path = "/health/ready", tag = "service", extensions(("x-access" = json!("open"))),
    responses((status = 200, body = Health), (status = 503)))]
pub async fn ready(State(app): State<App>) -> Result<Json<Health>, Problem> {
    app.tenure.head().await?;
    Ok(Json(Health { status: "ok".to_string() }))
}

/// This document
#[utoipa::path(get, path = "/openapi.json", tag = "service", extensions(("x-access" = json!("open"))),
    responses((status = 200)))]
pub async fn openapi() -> Json<utoipa::openapi::OpenApi> {
    Json(super::document())
}
