//! A connection on which nobody is waited for without end.
//!
//! Before its first bytes say which version of HTTP they are, nothing else counts the time of a peer that says nothing. And an
//! answer that is not read stays here, with all that it holds: a stream of the log holds its place among the streams.
//! Between the two, hyper counts the time of a request's head, and `extract` that of its body.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::Sleep;

use crate::serve::Patience;

/// How a connection of HTTP/2 begins. Whatever begins otherwise is HTTP/1, and its head is timed from its first byte on.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

#[derive(Debug)]
pub struct Connection {
    stream: TcpStream,
    /// None: its version is known.
    opening: Option<Opening>,
    unread: Duration,
    /// Since the peer takes nothing any more.
    blocked: Option<Pin<Box<Sleep>>>,
}

#[derive(Debug)]
struct Opening {
    deadline: Pin<Box<Sleep>>,
    /// So much of the preface has come.
    seen: usize,
}

impl Opening {
    /// Whether more must come before it is known what is spoken.
    fn goes_on(&mut self, bytes: &[u8]) -> bool {
        let expected = &PREFACE[self.seen..];
        self.seen += bytes.len();
        !bytes.is_empty() && self.seen < PREFACE.len() && expected.starts_with(bytes)
    }
}

impl Connection {
    pub fn new(stream: TcpStream, patience: Patience) -> Connection {
        let opening = Opening { deadline: timer(patience.head), seen: 0 };
        Connection { stream, opening: Some(opening), unread: patience.unread, blocked: None }
    }

    /// What the stream said about a write, unless it has said "not now" for too long.
    fn taken(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        if written.is_ready() {
            self.blocked = None;
            return written;
        }
        let unread = self.unread;
        ready!(self.blocked.get_or_insert_with(|| timer(unread)).as_mut().poll(context));
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the peer does not read its answer")))
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        let Some(opening) = &mut self.opening else { return read };
        if read.is_pending() {
            ready!(opening.deadline.as_mut().poll(context));
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the peer says nothing")));
        }
        if !opening.goes_on(&buffer.filled()[before..]) {
            self.opening = None;
        }
        read
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.taken(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, parts);
        self.taken(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[expect(clippy::disallowed_methods, reason = "a peer that is silent gives no signal to wait on")]
fn timer(span: Duration) -> Pin<Box<Sleep>> {
    Box::pin(tokio::time::sleep(span))
}
