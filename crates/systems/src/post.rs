//! Asking somebody else over HTTP: a body is posted, an answer is read, both within bounds.

use std::time::Duration;

use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use hyper::{Method, Request, StatusCode, Uri};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;

use crate::time::within;

/// A machine that is there answers a connection much sooner.
const CONNECT: Duration = Duration::from_secs(5);

/// Posts JSON to one address. Redirects are not followed: whoever is named answers, or nobody.
#[derive(Clone, Debug)]
pub struct Poster {
    to: Uri,
    http: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    /// Never shown.
    bearer: Option<HeaderValue>,
    limit: Duration,
    answer_bytes_max: usize,
}

/// An answer, whatever its status.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Answered {
    pub status: StatusCode,
    /// How long whoever was asked wants to be left alone.
    pub retry_after: Option<Duration>,
    pub body: Bytes,
}

#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NotAnswered {
    #[error("no answer within {0:?}")]
    Late(Duration),
    #[error("the answer has more than {0} bytes")]
    TooLong(usize),
    #[error("{0}")]
    Failed(String),
}

impl Poster {
    /// `secret` is shown as a bearer's token, and nowhere else.
    pub fn new(
        to: &str,
        secret: Option<&str>,
        limit: Duration,
        answer_bytes_max: usize,
    ) -> Result<Poster, String> {
        let to: Uri = to.parse().map_err(|why| format!("{to:?} is no address: {why}"))?;
        if !matches!(to.scheme_str(), Some("http" | "https")) || to.host().is_none() {
            return Err(format!("{to} is no http: or https: address"));
        }
        let bearer = secret.map(|secret| {
            let mut value = HeaderValue::try_from(format!("Bearer {secret}"))
                .map_err(|_| "the key has characters that no header can carry".to_string())?;
            value.set_sensitive(true);
            Ok::<_, String>(value)
        });
        let mut connector = HttpConnector::new();
        connector.set_connect_timeout(Some(CONNECT));
        connector.enforce_http(false);
        let provider = rustls::crypto::ring::default_provider();
        let safe = HttpsConnectorBuilder::new().with_provider_and_native_roots(provider);
        let safe = safe.map_err(|why| format!("no safe connections: {why}"))?;
        let connector = safe.https_or_http().enable_http1().wrap_connector(connector);
        let http = Client::builder(TokioExecutor::new()).build(connector);
        Ok(Poster { to, http, bearer: bearer.transpose()?, limit, answer_bytes_max })
    }

    pub async fn post(&self, body: Vec<u8>, headers: &[(&str, &str)]) -> Result<Answered, NotAnswered> {
        let mut request = Request::builder().method(Method::POST).uri(&self.to);
        request = request.header(CONTENT_TYPE, "application/json");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        if let Some(bearer) = &self.bearer {
            request = request.header(AUTHORIZATION, bearer);
        }
        let failed = |why: &dyn std::error::Error| NotAnswered::Failed(innermost(why));
        let request = request.body(Full::new(Bytes::from(body))).map_err(|why| failed(&why))?;
        let asked = async {
            let answer = self.http.request(request).await.map_err(|why| failed(&why))?;
            let status = answer.status();
            let seconds =
                answer.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
            let body = Limited::new(answer.into_body(), self.answer_bytes_max).collect().await;
            let body = body.map_err(|why| match why.is::<http_body_util::LengthLimitError>() {
                true => NotAnswered::TooLong(self.answer_bytes_max),
                false => NotAnswered::Failed(why.to_string()),
            })?;
            Ok(Answered { status, retry_after: seconds.map(Duration::from_secs), body: body.to_bytes() })
        };
        within(self.limit, asked).await.unwrap_or(Err(NotAnswered::Late(self.limit)))
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
