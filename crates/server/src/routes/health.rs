//! Whether the service lives and works, and what it offers.

use axum::Json;
use axum::extract::State;
use serde::Serialize;
use utoipa::ToSchema;

use crate::app::App;
use crate::extract::Anybody;
use crate::problem::Problem;

#[derive(Debug, Serialize, ToSchema)]
pub struct Health {
    pub status: String,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct Readiness {
    pub status: String,
    /// What an answer has survived: `full`, it is on the disk; `relaxed`, a power cut may take the last ones back; `none`, it is gone
    /// with the process.
    pub durability: String,
    /// By how many milliseconds the database's clock is behind the latest entry of the log: it is behind now, or was ahead when that
    /// was written. Left out below 2 seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock_behind_ms: Option<u64>,
}

/// The process answers
#[utoipa::path(get, path = "/health/live", tag = "service", extensions(("x-access" = json!("open"))),
    responses((status = 200, body = Health)))]
pub async fn live(_: Anybody) -> Json<Health> {
    Json(Health { status: "ok".to_string() })
}

/// The database answers too
#[utoipa::path(get, path = "/health/ready", tag = "service", extensions(("x-access" = json!("open"))),
    responses((status = 200, body = Readiness), (status = 503)))]
pub async fn ready(_: Anybody, State(app): State<App>) -> Result<Json<Readiness>, Problem> {
    app.tenure.head().await?;
    let durability = app.tenure.durability().to_string();
    let behind = app.tenure.clock_behind().await?;
    let clock_behind_ms = behind.map(|behind| u64::try_from(behind.as_millis()).unwrap_or(u64::MAX));
    Ok(Json(Readiness { status: "ok".to_string(), durability, clock_behind_ms }))
}

/// This document
#[utoipa::path(get, path = "/openapi.json", tag = "service", extensions(("x-access" = json!("open"))),
    responses((status = 200)))]
pub async fn openapi(_: Anybody) -> Json<utoipa::openapi::OpenApi> {
    Json(super::document())
}
