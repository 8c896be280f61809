//! A connection that stays, with one request on it at a time.

use std::net::SocketAddr;

use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::{CONTENT_TYPE, HOST};
use hyper::{Method, Request};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::outcome::Error;

pub struct Wire {
    sender: SendRequest<Full<Bytes>>,
    host: String,
    /// Moves the bytes as long as this lives.
    _moving: JoinSet<()>,
}

impl Wire {
    pub async fn open(address: SocketAddr) -> Result<Wire, Error> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let (sender, connection) = handshake(TokioIo::new(stream)).await.map_err(failed)?;
        let mut moving = JoinSet::new();
        moving.spawn(async { drop(connection.await) });
        Ok(Wire { sender, host: address.to_string(), _moving: moving })
    }

    pub async fn get(&mut self, path: &str) -> Result<Bytes, Error> {
        self.send(Method::GET, path, Bytes::new()).await
    }

    pub async fn post(&mut self, path: &str, body: String) -> Result<Bytes, Error> {
        self.send(Method::POST, path, body.into()).await
    }

    async fn send(&mut self, method: Method, path: &str, body: Bytes) -> Result<Bytes, Error> {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(HOST, &self.host)
            .header(CONTENT_TYPE, "application/json")
            .body(Full::new(body))
            .map_err(|why| Error::Bench(why.to_string()))?;
        self.sender.ready().await.map_err(failed)?;
        let response = self.sender.send_request(request).await.map_err(failed)?;
        let status = response.status();
        let body = response.into_body().collect().await.map_err(failed)?.to_bytes();
        match status.is_success() {
            true => Ok(body),
            false => Err(Error::Bench(format!("{path}: {status}: {}", String::from_utf8_lossy(&body)))),
        }
    }
}

fn failed(error: hyper::Error) -> Error {
    Error::Bench(error.to_string())
}
