//! The routes. Each file is one part of the surface; a route and its description are one thing.

mod bulk;
mod claims;
mod describe;
mod documents;
mod executions;
mod health;
mod inbox;
mod items;
mod jobs;
mod leases;
mod lifecycles;
mod limits;
mod log;
mod no_body;
mod outermost;
mod schedules;
mod sessions;
mod surface;
mod tickets;
mod todos;
mod tokens;
mod watching;
mod webhooks;

use axum::{Router, middleware};
use utoipa::OpenApi;
use utoipa::openapi::OpenApi as Document;

use crate::app::App;
use crate::door;
use crate::rpc;
use surface::{Surface, routes};
pub use watching::oldest_ready;

#[derive(OpenApi)]
#[openapi(
    info(
        title = "Tenure",
        description = "A durable work engine: every piece of work has one owner at a time, one committed effect ever, and a history."
    ),
    components(schemas(describe::ProblemDocument))
)]
struct Api;

fn surface() -> Surface {
    Surface::default()
        .routes(routes!(items::create, items::list))
        .routes(routes!(items::show))
        .routes(routes!(items::event))
        .routes(routes!(items::erase))
        .routes(routes!(items::executions))
        .routes(routes!(bulk::bulk))
        .routes(routes!(lifecycles::list, lifecycles::add))
        .routes(routes!(lifecycles::show))
        .routes(routes!(lifecycles::diagram))
        .routes(routes!(log::item))
        .routes(routes!(log::list))
        .routes(routes!(log::stream))
        .routes(routes!(jobs::create, jobs::list))
        .routes(routes!(jobs::show))
        .routes(routes!(jobs::executions))
        .routes(routes!(jobs::cancel))
        .routes(routes!(jobs::retry))
        .merge(claims::routes())
        .merge(documents::routes())
        .merge(sessions::routes())
        .merge(todos::routes())
        .merge(tickets::routes())
        .routes(routes!(inbox::list))
        .routes(routes!(inbox::approve))
        .routes(routes!(inbox::reject))
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
        .routes(routes!(schedules::create, schedules::list))
        .routes(routes!(schedules::remove))
        .routes(routes!(schedules::pause))
        .routes(routes!(schedules::resume))
        .routes(routes!(webhooks::create, webhooks::list))
        .routes(routes!(webhooks::remove))
        .routes(routes!(webhooks::pause))
        .routes(routes!(webhooks::resume))
        .routes(routes!(limits::set, limits::list))
        .routes(routes!(limits::reset))
        .routes(routes!(watching::workers))
        .routes(routes!(watching::stats))
        .routes(routes!(watching::receipt))
        .routes(routes!(watching::explain))
        .routes(routes!(watching::metrics))
        .routes(routes!(health::live))
        .routes(routes!(health::ready))
        .routes(routes!(health::openapi))
}

/// The OpenAPI document.
pub fn document() -> Document {
    let mut document = surface().described(Api::openapi());
    describe::complete(&mut document);
    document
}

/// The service, ready to be served.
pub fn router(app: App) -> Router {
    let router = surface().router();
    let rest = router.clone().fallback(outermost::nothing_here).with_state(app.clone());
    let router = with_fallbacks(router.merge(rpc::router(&app, rest)));
    finished(router.layer(middleware::from_fn(door::one_host)), app)
}

/// The same without RPC, for who asks it within the process.
pub fn within(app: App) -> Router {
    finished(with_fallbacks(surface().router()), app)
}

fn with_fallbacks(router: Router<App>) -> Router<App> {
    router.fallback(outermost::nothing_here).method_not_allowed_fallback(outermost::no_such_method)
}

fn finished(router: Router<App>, app: App) -> Router {
    router.layer(middleware::from_fn_with_state(app.clone(), outermost::outermost)).with_state(app)
}
