//! One POST: resolved, looked at, connected, sent and answered, all within one span of time. The status is the answer; what follows
//! it has a short time of its own and changes nothing.
//!
//! No redirect is followed, no proxy is asked, nothing is kept open: the address that was judged is the one that is spoken to.

use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1;
use hyper::header::{CONTENT_TYPE, HOST, HeaderMap, RETRY_AFTER, USER_AGENT};
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout, timeout_at};
use tokio_rustls::TlsConnector;

use super::address::{Refused, Target, check};
use crate::time::now;

/// What is read of an answer at most. Its status is what counts; the rest is for a person.
const ANSWER_BYTES_MAX: usize = 64 << 10;
/// What follows the status is waited for so long: it is there for a person, and where the status is in it is in the next segment.
const ANSWER_TIME: Duration = Duration::from_secs(1);
/// What of an answer is kept in a failure's reason.
const SHOWN_CHARS_MAX: usize = 200;

/// What is spoken over.
trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}

impl<S: AsyncRead + AsyncWrite + Unpin + Send> Stream for S {}

/// What is posted.
#[derive(Debug)]
pub(super) struct Post<'a> {
    pub target: &'a Target,
    pub allow_private: bool,
    pub headers: Vec<(&'static str, String)>,
    pub body: Vec<u8>,
    pub time_out: Duration,
}

#[derive(Debug)]
pub(super) struct Answered {
    pub status: u16,
    pub retry_after: Option<String>,
    /// The beginning of it, in one line.
    pub shown: String,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Unanswered {
    /// It is not sent there, however often it is tried.
    Refused(Refused),
    Failed(String),
}

impl Post<'_> {
    pub async fn send(self) -> Result<Answered, Unanswered> {
        let time_out = self.time_out;
        let deadline = Instant::from_std(now() + time_out);
        let stream = timeout_at(deadline, self.connected(deadline)).await;
        self.speak(stream.map_err(|_| late(time_out))??, deadline).await
    }

    /// A connection to an address that was looked at.
    async fn connected(&self, deadline: Instant) -> Result<Box<dyn Stream>, Unanswered> {
        let addresses = self.target.addresses().await.map_err(failed)?;
        if !self.allow_private {
            let all: Vec<IpAddr> = addresses.iter().map(SocketAddr::ip).collect();
            check(&all).map_err(Unanswered::Refused)?;
        }
        let stream = connect(&addresses, deadline).await?;
        if !self.target.is_tls {
            return Ok(Box::new(stream));
        }
        let name = self.target.host.to_string();
        let name = ServerName::try_from(name.trim_matches(['[', ']']).to_string())
            .map_err(|_| failed("its host can have no certificate"))?;
        let connector = TlsConnector::from(tls().map_err(failed)?);
        let stream = connector.connect(name, stream).await;
        Ok(Box::new(stream.map_err(|error| failed(format!("no safe connection: {error}")))?))
    }

    async fn speak(self, stream: Box<dyn Stream>, deadline: Instant) -> Result<Answered, Unanswered> {
        let time_out = self.time_out;
        let late = |_| late(time_out);
        let broken = |error: hyper::Error| failed(format!("the connection broke: {error}"));
        let shaken = timeout_at(deadline, http1::handshake(TokioIo::new(stream))).await;
        let (mut sender, connection) = shaken.map_err(late)?.map_err(broken)?;
        let request = self.request().map_err(failed)?;
        let mut exchange = std::pin::pin!(async {
            let response = timeout_at(deadline, sender.send_request(request)).await;
            Ok(answered(response.map_err(late)?.map_err(broken)?).await)
        });
        tokio::select! {
            answer = &mut exchange => return answer,
            // Closed or broken. What came before that is still to be read, and says how it ended.
            _ = connection => {}
        }
        exchange.await
    }

    fn request(self) -> Result<Request<Full<Bytes>>, String> {
        let url = &self.target.url;
        let path = &url[url::Position::BeforePath..url::Position::AfterQuery];
        let host = &url[url::Position::BeforeHost..url::Position::AfterPort];
        let mut request = Request::builder()
            .method(Method::POST)
            .uri(path)
            .header(HOST, host)
            .header(CONTENT_TYPE, "application/json")
            .header(USER_AGENT, concat!("tenure/", env!("CARGO_PKG_VERSION")));
        for (name, value) in self.headers {
            request = request.header(name, value);
        }
        request.body(Full::new(self.body.into())).map_err(|why| why.to_string())
    }
}

fn late(time_out: Duration) -> Unanswered {
    failed(format!("no answer within {} s", time_out.as_secs_f64()))
}

fn failed(why: impl Into<String>) -> Unanswered {
    Unanswered::Failed(why.into())
}

/// The first that answers, of those that were looked at. Each has its share of the time: one that is silent keeps nobody from trying
/// the next.
async fn connect(addresses: &[SocketAddr], deadline: Instant) -> Result<TcpStream, Unanswered> {
    let mut last = "it has no address".to_string();
    for (address, left) in addresses.iter().zip((1..=addresses.len()).rev()) {
        let share =
            deadline.saturating_duration_since(now().into()) / u32::try_from(left).unwrap_or(u32::MAX);
        match timeout(share, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => return Ok(stream),
            Ok(Err(error)) => last = format!("{address} can not be reached: {error}"),
            Err(_) => last = format!("{address} can not be reached: it is silent"),
        }
    }
    Err(failed(last))
}

async fn answered(response: Response<Incoming>) -> Answered {
    let status = response.status().as_u16();
    let retry_after = header(response.headers());
    let mut body = response.into_body();
    let mut read: Vec<u8> = Vec::new();
    // The status has come: an answer that breaks off, comes slowly or goes on for ever is an answer.
    let reading = async {
        while read.len() < ANSWER_BYTES_MAX
            && let Some(Ok(frame)) = body.frame().await
        {
            if let Ok(data) = frame.into_data() {
                let room = ANSWER_BYTES_MAX - read.len();
                read.extend_from_slice(&data[..data.len().min(room)]);
            }
        }
    };
    let _ = timeout(ANSWER_TIME, reading).await;
    Answered { status, retry_after, shown: shown(&read) }
}

fn header(headers: &HeaderMap) -> Option<String> {
    headers.get(RETRY_AFTER)?.to_str().ok().map(ToString::to_string)
}

/// The beginning, without line ends and the like: it goes into a log.
fn shown(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let line = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    line.take(SHOWN_CHARS_MAX).collect::<String>().trim().to_string()
}

/// What the machine trusts, read once.
fn tls() -> Result<Arc<ClientConfig>, String> {
    static CONFIG: OnceLock<Result<Arc<ClientConfig>, String>> = OnceLock::new();
    CONFIG.get_or_init(trust).clone()
}

fn trust() -> Result<Arc<ClientConfig>, String> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() {
        return Err(
            "this machine trusts no certificate: install ca-certificates or set SSL_CERT_FILE".to_string()
        );
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = config.map_err(|why| why.to_string())?;
    Ok(Arc::new(config.with_root_certificates(roots).with_no_client_auth()))
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpSocket};

    use super::*;

    /// What a server does that was connected to.
    enum Serves {
        Nothing,
        /// Answers this, and closes.
        Once(&'static str),
        /// Answers this, and then nothing more.
        Slowly(&'static str),
        /// Answers this, and then this for ever.
        Endlessly(&'static str, &'static str),
    }

    fn posted(
        host: &str,
        allow_private: bool,
        time_out: Duration,
        serves: Serves,
    ) -> Result<Answered, Unanswered> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let port = listener.local_addr().unwrap().port();
            let target = Target::parse(&format!("http://{host}:{port}/hook?a=b")).unwrap();
            let headers = vec![("webhook-id", "m".to_string())];
            let post = Post { target: &target, allow_private, headers, body: b"{}".to_vec(), time_out };
            let serving = async {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut asked = [0; 4096];
                let count = stream.read(&mut asked).await.unwrap();
                assert!(asked[..count].starts_with(b"POST /hook?a=b HTTP/1.1\r\n"));
                match serves {
                    Serves::Nothing => std::future::pending::<()>().await,
                    Serves::Once(answer) => {
                        stream.write_all(answer.as_bytes()).await.unwrap();
                        drop(stream);
                    }
                    Serves::Slowly(answer) => stream.write_all(answer.as_bytes()).await.unwrap(),
                    Serves::Endlessly(head, rest) => {
                        stream.write_all(head.as_bytes()).await.unwrap();
                        while stream.write_all(rest.as_bytes()).await.is_ok() {}
                    }
                }
                std::future::pending::<()>().await
            };
            tokio::select! {
                answer = post.send() => answer,
                () = serving => unreachable!("it goes on for ever"),
            }
        })
    }

    const LONG: Duration = Duration::from_secs(60);

    // covers: K-26
    #[test]
    fn a_server_is_heard_as_far_as_it_makes_sense() {
        let posted = |serves| posted("127.0.0.1", true, LONG, serves);
        let good = posted(Serves::Once("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")).unwrap();
        assert_eq!((good.status, good.shown.as_str()), (200, "ok"));
        let busy = "HTTP/1.1 503 Busy\r\nretry-after: 7\r\ncontent-length: 10\r\n\r\nno\nt\x1b[1mow";
        let busy = posted(Serves::Once(busy)).unwrap();
        assert_eq!(
            (busy.status, busy.retry_after.as_deref(), busy.shown.as_str()),
            (503, Some("7"), "no t [1mow")
        );
        let endless = posted(Serves::Endlessly("HTTP/1.1 500 No\r\n\r\n", "on and on ")).unwrap();
        assert_eq!((endless.status, endless.shown.len() <= SHOWN_CHARS_MAX), (500, true));
        let slow =
            posted(Serves::Slowly("HTTP/1.1 202 Accepted\r\ncontent-length: 9\r\n\r\nso far")).unwrap();
        assert_eq!((slow.status, slow.shown.as_str()), (202, "so far"), "what it has it has");
        let moved = "HTTP/1.1 302 Found\r\nlocation: http://169.254.169.254/\r\ncontent-length: 0\r\n\r\n";
        assert_eq!(posted(Serves::Once(moved)).unwrap().status, 302, "it is not followed");
        for nonsense in ["", "220 mail.example.com ESMTP\r\n"] {
            assert!(matches!(posted(Serves::Once(nonsense)), Err(Unanswered::Failed(_))), "{nonsense:?}");
        }
    }

    // covers: K-26
    #[test]
    fn an_address_that_is_silent_keeps_nobody_from_trying_the_next() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let soon = |millis| Instant::from_std(now() + Duration::from_millis(millis));
            // Nobody takes its connections: what is beyond its queue is never answered.
            let full = TcpSocket::new_v4().unwrap();
            full.bind("127.0.0.1:0".parse().unwrap()).unwrap();
            let full = full.listen(1).unwrap();
            let silent = full.local_addr().unwrap();
            let mut waiting = Vec::new();
            while let Ok(stream) = timeout(Duration::from_millis(200), TcpStream::connect(silent)).await {
                waiting.push(stream.unwrap());
            }
            let other = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = other.local_addr().unwrap();
            let stream = connect(&[silent, address], soon(1_000)).await.unwrap();
            assert_eq!(stream.peer_addr().unwrap(), address);
            let in_vain = connect(&[silent], soon(300)).await.unwrap_err();
            assert_eq!(in_vain, failed(format!("{silent} can not be reached: it is silent")));
        });
    }

    #[test]
    fn a_server_that_hangs_is_given_up() {
        let hung = posted("127.0.0.1", true, Duration::from_millis(300), Serves::Nothing).unwrap_err();
        assert_eq!(hung, Unanswered::Failed("no answer within 0.3 s".to_string()));
        let flood = Serves::Endlessly("HTTP/1.1 200 OK\r\nx: ", "y");
        let flood = posted("127.0.0.1", true, LONG, flood).unwrap_err();
        assert!(matches!(flood, Unanswered::Failed(_)), "a head without an end is no answer");
    }

    // covers: K-26
    #[test]
    fn what_is_connected_to_is_what_is_judged() {
        // By name too: what counts is where it leads.
        for host in ["127.0.0.1", "localhost", "2130706433"] {
            let refused = posted(host, false, LONG, Serves::Nothing).unwrap_err();
            assert!(matches!(refused, Unanswered::Refused(_)), "{host}: {refused:?}");
        }
    }
}
