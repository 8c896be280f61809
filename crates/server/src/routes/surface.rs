//! Routes, and what is said about them. A description is made only for who reads it: a command that asks the router within its
//! own process would spend more on descriptions than on its question.

use axum::Router;
use axum::http::Method;
use axum::routing::MethodRouter;
use utoipa::openapi::{HttpMethod, OpenApi as Document};
use utoipa_axum::router::{OpenApiRouter, UtoipaMethodRouter};

use crate::app::App;

/// The handlers of one path.
pub struct Route {
    pub path: String,
    pub handlers: MethodRouter<App>,
    pub described: fn() -> UtoipaMethodRouter<App>,
}

/// A part of the service.
#[derive(Default)]
pub struct Surface {
    router: Router<App>,
    described: Vec<fn() -> UtoipaMethodRouter<App>>,
}

impl Surface {
    pub fn routes(mut self, route: Route) -> Surface {
        self.described.push(route.described);
        Surface { router: self.router.route(&route.path, route.handlers), ..self }
    }

    pub fn merge(mut self, part: Surface) -> Surface {
        self.described.extend(part.described);
        Surface { router: self.router.merge(part.router), ..self }
    }

    pub fn router(self) -> Router<App> {
        self.router
    }

    /// A document that begins so, with every route in it.
    pub fn described(self, document: Document) -> Document {
        let described = self.described.into_iter().map(|described| described());
        described.fold(OpenApiRouter::with_openapi(document), OpenApiRouter::routes).split_for_parts().1
    }
}

/// A method of a description, as requests have it.
pub fn method(described: &HttpMethod) -> Method {
    match described {
        HttpMethod::Get => Method::GET,
        HttpMethod::Post => Method::POST,
        HttpMethod::Put => Method::PUT,
        HttpMethod::Delete => Method::DELETE,
        HttpMethod::Options => Method::OPTIONS,
        HttpMethod::Head => Method::HEAD,
        HttpMethod::Patch => Method::PATCH,
        HttpMethod::Trace => Method::TRACE,
    }
}

/// The type that holds what `#[utoipa::path]` says of a handler.
macro_rules! said_of {
    ($handler:ident) => {
        utoipa_axum::paste! { [<__path_ $handler>] }
    };
    ($module:ident :: $handler:ident) => {
        utoipa_axum::paste! { $module::[<__path_ $handler>] }
    };
}

/// A [`Route`] of handlers that share their path.
macro_rules! routes {
    ($($handler:ident $(:: $rest:ident)?),+ $(,)?) => {{
        use utoipa::Path as _;
        use utoipa_axum::PathItemExt as _;
        use $crate::routes::surface::said_of;
        let handlers = axum::routing::MethodRouter::new();
        let [path, ..] = [$(<said_of!($handler $(:: $rest)?)>::path()),+];
        $(
            let handlers = <said_of!($handler $(:: $rest)?)>::methods()
                .iter()
                .fold(handlers, |handlers, method| handlers.on(method.to_method_filter(), $handler $(:: $rest)?));
        )+
        let with_body: $crate::routes::no_body::WithBody = || {
            let mut methods = Vec::new();
            $(
                if <said_of!($handler $(:: $rest)?)>::operation().request_body.is_some() {
                    let described = <said_of!($handler $(:: $rest)?)>::methods();
                    methods.extend(described.iter().map($crate::routes::surface::method));
                }
            )+
            methods
        };
        $crate::routes::surface::Route {
            path,
            handlers: $crate::routes::no_body::refuse(handlers, with_body),
            described: || utoipa_axum::routes!($($handler $(:: $rest)?),+),
        }
    }};
}

pub(crate) use {routes, said_of};
