//! Connections: accepted while there is room, dropped when they are too slow, and let finish when the service ends.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use axum::http::Response;
use axum::{Extension, Router};
use hyper::body::Incoming;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tower::ServiceExt;

use crate::budget::{Budget, Share};
use crate::limits::{
    ANSWER_BYTES_MAX, BODY_BYTES_MAX, BODY_WAIT, CONNECTION_BODY_BYTES_MAX, CONNECTIONS_MAX, HEAD_WAIT,
    HTTP2_SEND_BYTES_MAX, HTTP2_STREAMS_MAX, UNREAD_WAIT,
};
use crate::slow::Connection;
use crate::unread::Answers;

/// After an accept that failed (no more file descriptors) it is tried again so soon.
const ACCEPT_AGAIN: Duration = Duration::from_millis(50);
/// A peer that is silent for so long on a connection of many streams is gone.
const SILENT: Duration = Duration::from_secs(30);

/// For how long the service waits for others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Patience {
    /// Those who are being answered when it ends.
    pub grace: Duration,
    /// The head of a request, and the first bytes of a connection.
    pub head: Duration,
    /// The body of a request.
    pub body: Duration,
    /// A peer that takes nothing of its answer.
    pub unread: Duration,
}

impl From<Duration> for Patience {
    fn from(grace: Duration) -> Patience {
        Patience { grace, head: HEAD_WAIT, body: BODY_WAIT, unread: UNREAD_WAIT }
    }
}

/// What requests know of the service that they came in by.
#[derive(Clone, Debug)]
pub(crate) struct Serving {
    ended: watch::Receiver<bool>,
    room: Arc<Semaphore>,
    pub patience: Patience,
}

impl Serving {
    /// Done when the service ends: for what would otherwise go on.
    pub async fn ended(&mut self) {
        // A service that is gone without a word has ended too.
        let _ = self.ended.wait_for(|ended| *ended).await;
    }

    /// Whether the service ends.
    pub fn is_ended(&self) -> bool {
        *self.ended.borrow()
    }

    /// How many connections there are. Room is taken for the next one before it comes.
    pub fn connections(&self) -> usize {
        CONNECTIONS_MAX.saturating_sub(self.room.available_permits() + 1)
    }
}

/// The bodies of requests that are on their way, of a connection and of all.
#[derive(Clone, Debug)]
pub(crate) struct Bodies {
    of_connection: Arc<Budget>,
    of_process: Arc<Budget>,
}

impl Bodies {
    fn new(of_process: Arc<Budget>) -> Bodies {
        Bodies { of_connection: Budget::new(CONNECTION_BODY_BYTES_MAX), of_process }
    }

    /// Room for more of a body. None: others fill it.
    pub fn take(&self, bytes: usize) -> Option<(Share, Share)> {
        self.of_connection.take(bytes).zip(self.of_process.take(bytes))
    }
}

/// When the service ends. Without one, as within a command, never.
pub(crate) async fn ended(serving: Option<Extension<Serving>>) {
    match serving {
        Some(Extension(mut serving)) => serving.ended().await,
        None => std::future::pending().await,
    }
}

/// Serves until `stop` is done; then takes no more connections and gives those that are there the grace to be answered.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    stop: impl Future<Output = ()> + Send,
    patience: impl Into<Patience>,
) -> io::Result<()> {
    let patience = patience.into();
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(patience.head);
    let mut http2 = builder.http2();
    http2.timer(TokioTimer::new()).keep_alive_interval(SILENT).keep_alive_timeout(SILENT);
    http2.max_concurrent_streams(HTTP2_STREAMS_MAX).max_send_buf_size(HTTP2_SEND_BYTES_MAX);
    let graceful = GracefulShutdown::new();
    let room = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    let (end, ended) = watch::channel(false);
    let router = router.layer(Extension(Serving { ended, room: room.clone(), patience }));
    let (unread, coming) = (Budget::new(ANSWER_BYTES_MAX), Budget::new(BODY_BYTES_MAX));
    let mut connections = JoinSet::new();
    let mut stop = std::pin::pin!(stop);
    loop {
        let (stream, room) = tokio::select! {
            () = &mut stop => break,
            accepted = accept(&listener, &room) => accepted,
            Some(_) = connections.join_next() => continue,
        };
        let (answers, bodies) = (Answers::new(unread.clone()), Bodies::new(coming.clone()));
        let service = answering(router.clone(), answers.clone(), bodies);
        let stream = TokioIo::new(Connection::new(stream, patience));
        let connection = builder.serve_connection(stream, service).into_owned();
        let connection = graceful.watch(connection);
        connections.spawn(async move {
            tokio::select! {
                // An error of a connection concerns its peer alone: it disconnected, or it speaks no HTTP.
                _ = connection => {}
                () = answers.stalled(patience.unread) => {}
            }
            drop(room);
        });
    }
    drop(listener);
    end.send_replace(true);
    // Who waits for work or for a result hears of the end and is answered now.
    let _ = timeout(patience.grace, graceful.shutdown()).await;
    connections.shutdown().await;
    Ok(())
}

/// The router for one connection, with what is buffered for it counted.
fn answering(
    router: Router,
    answers: Arc<Answers>,
    bodies: Bodies,
) -> impl Service<Request<Incoming>, Response = Response<Body>, Error = Infallible, Future: Send> + Clone {
    service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(bodies.clone());
        let (method, answers) = (request.method().clone(), answers.clone());
        let answered = router.clone().oneshot(request);
        async move { Ok(answers.count(&method, answered.await?)) }
    })
}

async fn accept(
    listener: &TcpListener,
    room: &Arc<Semaphore>,
) -> (TcpStream, tokio::sync::OwnedSemaphorePermit) {
    let room = room.clone().acquire_owned().await.expect("it is never closed");
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                // An answer is one small packet: it must not wait for a second.
                let _ = stream.set_nodelay(true);
                return (stream, room);
            }
            Err(_) => wait().await,
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "nothing tells when there are file descriptors again")]
async fn wait() {
    tokio::time::sleep(ACCEPT_AGAIN).await;
}
