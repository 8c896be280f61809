//! A server at an address: connections to it are kept and used again.

use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::{Request, Response};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use tenure_databases::url::SecretUrl;
use url::Url;

use crate::outcome::Error;

/// A machine that is there answers a connection much sooner.
const CONNECT: Duration = Duration::from_secs(5);

#[derive(Clone, Debug)]
pub struct Socket {
    base: Url,
    http: Http,
}

#[derive(Clone, Debug)]
enum Http {
    Plain(Client<HttpConnector, Full<Bytes>>),
    Safe(Client<HttpsConnector<HttpConnector>, Full<Bytes>>),
}

impl Socket {
    pub fn new(address: &SecretUrl) -> Result<Socket, Error> {
        let wrong = |why: String| Error::NotAServer { url: address.clone(), why };
        let base = Url::parse(address.reveal()).map_err(|why| wrong(why.to_string()))?;
        let mut connector = HttpConnector::new();
        connector.set_connect_timeout(Some(CONNECT));
        connector.set_nodelay(true);
        let builder = Client::builder(TokioExecutor::new());
        let http = match base.scheme() {
            "http" => Http::Plain(builder.build(connector)),
            "https" => {
                connector.enforce_http(false);
                let provider = rustls::crypto::ring::default_provider();
                let safe = HttpsConnectorBuilder::new().with_provider_and_native_roots(provider);
                let safe = safe.map_err(|why| wrong(format!("no safe connections: {why}")))?;
                Http::Safe(builder.build(safe.https_only().enable_http1().wrap_connector(connector)))
            }
            other => return Err(wrong(format!("`{other}:` is neither http: nor https:"))),
        };
        match base.host() {
            Some(_) => Ok(Socket { base, http }),
            None => Err(wrong("it names no host".to_string())),
        }
    }

    /// Where it is, without what may be secret in it.
    pub fn shown(&self) -> String {
        self.base[..url::Position::BeforeUsername].to_string()
            + &self.base[url::Position::BeforeHost..url::Position::AfterPort]
    }

    pub fn uri(&self, target: &str) -> String {
        format!("{}{}{target}", self.shown(), self.base.path().trim_end_matches('/'))
    }

    pub async fn send(&self, request: Request<Full<Bytes>>) -> Result<Response<Incoming>, String> {
        let sent = match &self.http {
            Http::Plain(http) => http.request(request).await,
            Http::Safe(http) => http.request(request).await,
        };
        sent.map_err(|error| innermost(&error))
    }
}

/// Of a chain of errors the last says what happened: "Connection refused".
fn innermost(error: &dyn std::error::Error) -> String {
    let mut error = error;
    while let Some(source) = error.source() {
        error = source;
    }
    error.to_string()
}
