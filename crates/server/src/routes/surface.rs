//! Routes, and what is said about them. A description is made only for who reads it: a command that asks the router within its
//! own process would spend more on descriptions than on its question.

use axum::Router;
use axum::routing::MethodRouter;
use utoipa::openapi::OpenApi as Document;
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
    ($first:ident $(:: $rest:ident)? $(, $other:ident $(:: $others:ident)?)* $(,)?) => {{
        use utoipa_axum::PathItemExt as _;
        use $crate::routes::surface::said_of;
        let handlers = axum::routing::MethodRouter::new();
        let handlers = <said_of!($first $(:: $rest)?) as utoipa::Path>::methods()
            .iter()
            .fold(handlers, |handlers, method| handlers.on(method.to_method_filter(), $first $(:: $rest)?));
        $(
            let handlers = <said_of!($other $(:: $others)?) as utoipa::Path>::methods()
                .iter()
                .fold(handlers, |handlers, method| handlers.on(method.to_method_filter(), $other $(:: $others)?));
        )*
        $crate::routes::surface::Route {
            path: <said_of!($first $(:: $rest)?) as utoipa::Path>::path(),
            handlers,
            described: || utoipa_axum::routes!($first $(:: $rest)? $(, $other $(:: $others)?)*),
        }
    }};
}

pub(crate) use {routes, said_of};
