//! The rest of a body that nobody has read. Whoever still sends when a connection closes is told of the close and not of the
//! answer, so what comes after the answer is read for a while and thrown away.

use std::pin::Pin;
use std::task::{Context, Poll};

use axum::BoxError;
use axum::body::{Body, Bytes, HttpBody};
use http_body_util::{BodyExt, Limited};
use hyper::body::{Frame, SizeHint};
use tokio::time::timeout;

use crate::limits::{REST_BYTES_MAX, REST_WAIT};

/// A request's body that is read to its end, by whoever asked for it or, when that one has let go of it, by nobody.
pub fn whole(body: Body) -> Body {
    if body.is_end_stream() { body } else { Body::new(Whole(Some(body))) }
}

struct Whole(Option<Body>);

impl HttpBody for Whole {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let Some(body) = &mut self.0 else { return Poll::Ready(None) };
        let frame = Pin::new(body).poll_frame(context);
        if let Poll::Ready(None | Some(Err(_))) = frame {
            self.0 = None;
        }
        frame.map_err(BoxError::from)
    }

    fn is_end_stream(&self) -> bool {
        self.0.as_ref().is_none_or(HttpBody::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.0.as_ref().map_or_else(|| SizeHint::with_exact(0), HttpBody::size_hint)
    }
}

impl Drop for Whole {
    fn drop(&mut self) {
        if let Some(body) = self.0.take().filter(|body| !body.is_end_stream()) {
            pass_over(body);
        }
    }
}

/// The answer does not wait for it, and it is over within its time.
fn pass_over(body: Body) {
    let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
    runtime.spawn(timeout(REST_WAIT, async {
        let mut rest = Limited::new(body, REST_BYTES_MAX);
        while let Some(Ok(_)) = rest.frame().await {}
    }));
}
