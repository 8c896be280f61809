//! Answers that a peer has not read. Over HTTP/2 a peer can request a hundred answers and open no window for any of them.
//!
//! A long answer is counted against the budgets of its connection and of the process until it is sent. Without room the answer is
//! dropped: a safe request gets 503, and any other request loses its stream, as if the connection had broken. A connection that takes
//! no piece of any waiting answer for [`UNREAD_WAIT`](crate::limits::UNREAD_WAIT) is closed.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::BoxError;
use axum::body::{Body, Bytes, HttpBody};
use axum::http::{Method, Response};
use hyper::body::{Frame, SizeHint};

use crate::budget::{Budget, Share};
use crate::limits::{CONNECTION_ANSWER_BYTES_MAX, PIECE_BYTES};
use crate::problem::Problem;

/// The answers of a connection.
#[derive(Debug)]
pub struct Answers {
    of_connection: Arc<Budget>,
    of_process: Arc<Budget>,
    /// Answers that are not sent completely.
    waiting: AtomicUsize,
    /// Pieces that were taken since the connection began.
    taken: AtomicU64,
}

impl Answers {
    pub fn new(of_process: Arc<Budget>) -> Arc<Answers> {
        let of_connection = Budget::new(CONNECTION_ANSWER_BYTES_MAX);
        Arc::new(Answers {
            of_connection,
            of_process,
            waiting: AtomicUsize::new(0),
            taken: AtomicU64::new(0),
        })
    }

    /// Counts an answer until it is sent. An answer of unknown length is produced while it is sent, so it buffers nothing.
    pub fn count(self: &Arc<Answers>, method: &Method, response: Response<Body>) -> Response<Body> {
        let bytes = usize::try_from(response.body().size_hint().lower()).unwrap_or(usize::MAX);
        let shares = match bytes {
            0 => return response,
            1..=PIECE_BYTES => None,
            _ => match (self.of_connection.take_one(bytes), self.of_process.take(bytes)) {
                (Some(connection), Some(process)) => Some((connection, process)),
                _ if method.is_safe() => return no_room(),
                _ => return response.map(|_| Body::new(Broken)),
            },
        };
        self.waiting.fetch_add(1, Ordering::AcqRel);
        let answers = self.clone();
        response.map(|body| Body::new(Counted { body, piece: Bytes::new(), answers, _shares: shares }))
    }

    /// Completes when an answer has waited for this long and the peer took no piece of any answer meanwhile.
    #[expect(clippy::disallowed_methods, reason = "a peer that does not read gives no signal to wait on")]
    pub async fn stalled(&self, patience: Duration) {
        let seen = || (self.waiting.load(Ordering::Acquire) > 0, self.taken.load(Ordering::Acquire));
        loop {
            let before = seen();
            tokio::time::sleep(patience).await;
            if before.0 && seen() == before {
                return;
            }
        }
    }
}

fn no_room() -> Response<Body> {
    let detail = "answers that are not read yet fill the limit of this connection, or of the server; read them, then ask again";
    Problem::unavailable(detail).response("")
}

/// A body that is sent in pieces. A piece of a long body is a copy, because a slice would keep the whole body in memory.
struct Counted {
    body: Body,
    /// Bytes that were read from `body` and not sent yet.
    piece: Bytes,
    answers: Arc<Answers>,
    _shares: Option<(Share, Share)>,
}

impl HttpBody for Counted {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        self.answers.taken.fetch_add(1, Ordering::AcqRel);
        if self.piece.is_empty() {
            match ready!(Pin::new(&mut self.body).poll_frame(context)) {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => self.piece = data,
                    Err(trailers) => return Poll::Ready(Some(Ok(trailers))),
                },
                Some(Err(error)) => return Poll::Ready(Some(Err(error.into()))),
                None => return Poll::Ready(None),
            }
        }
        let piece = match self.piece.len() {
            0..=PIECE_BYTES => std::mem::take(&mut self.piece),
            _ => Bytes::copy_from_slice(&self.piece.split_to(PIECE_BYTES)),
        };
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.piece.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let (mut hint, here) = (self.body.size_hint(), self.piece.len() as u64);
        if let Some(upper) = hint.upper() {
            hint.set_upper(upper + here);
        }
        hint.set_lower(hint.lower() + here);
        hint
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.answers.waiting.fetch_sub(1, Ordering::AcqRel);
    }
}

/// A body that fails at once.
struct Broken;

impl HttpBody for Broken {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        Poll::Ready(Some(Err("there is no room for the answer".into())))
    }
}
