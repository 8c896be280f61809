//! The routes. Each file is one part of the surface; a route and its description are one thing.

mod executions;
mod health;
mod items;
mod leases;
mod outermost;
mod tokens;

use axum::{Router, middleware};
use utoipa::OpenApi;
use utoipa::openapi::OpenApi as Document;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;

#[derive(OpenApi)]
#[openapi(info(
    title = "Tenure",
    description = "A durable work engine: every piece of work has one owner at a time, one committed effect ever, and a history."
))]
struct Api;

fn described() -> OpenApiRouter<App> {
    OpenApiRouter::with_openapi(Api::openapi())
        .routes(routes!(items::create, items::list))
        .routes(routes!(items::show))
        .routes(routes!(items::event))
        .routes(routes!(items::erase))
        .routes(routes!(items::executions))
        .routes(routes!(leases::lease, leases::list))
        .routes(routes!(leases::renew_many))
        .routes(routes!(executions::start))
        .routes(routes!(executions::renew))
        .routes(routes!(executions::progress))
        .routes(routes!(executions::commit))
        .routes(routes!(executions::commit_many))
        .routes(routes!(executions::finish))
        .routes(routes!(executions::fail))
        .routes(routes!(executions::release))
        .routes(routes!(tokens::create, tokens::list))
        .routes(routes!(tokens::revoke))
        .routes(routes!(health::live))
        .routes(routes!(health::ready))
        .routes(routes!(health::openapi))
}

/// The OpenAPI document.
pub fn document() -> Document {
    described().split_for_parts().1
}

/// The service, ready to be served.
pub fn router(app: App) -> Router {
    let (router, _) = described().split_for_parts();
    router
        .fallback(outermost::nothing_here)
        .method_not_allowed_fallback(outermost::no_such_method)
        .layer(middleware::from_fn_with_state(app.clone(), outermost::outermost))
        .with_state(app)
}
