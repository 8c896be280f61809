//! A web server of a few lines: it keeps what it was posted and answers by a script.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

#[derive(Clone, Debug)]
pub struct Posted {
    pub headers: BTreeMap<String, String>,
    pub body: String,
}

/// What is answered to the n-th request, from 0.
pub enum Reply {
    /// A status, and headers with their line ends.
    Status(u16, &'static str),
    /// Nothing, ever.
    Hold,
}

pub struct Server {
    pub url: String,
    posted: Arc<Mutex<Vec<Posted>>>,
    _serving: JoinSet<()>,
}

impl Server {
    pub async fn start(script: fn(usize) -> Reply) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/hook", listener.local_addr().unwrap());
        let posted: Arc<Mutex<Vec<Posted>>> = Arc::default();
        let kept = posted.clone();
        let mut serving = JoinSet::new();
        serving.spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                connections.spawn(serve(stream, kept.clone(), script));
            }
        });
        Server { url, posted, _serving: serving }
    }

    pub fn posted(&self) -> Vec<Posted> {
        self.posted.lock().unwrap().clone()
    }
}

async fn serve(mut stream: TcpStream, kept: Arc<Mutex<Vec<Posted>>>, script: fn(usize) -> Reply) {
    let Some(posted) = read(&mut stream).await else { return };
    let number = {
        let mut kept = kept.lock().unwrap();
        kept.push(posted);
        kept.len() - 1
    };
    match script(number) {
        Reply::Status(status, headers) => {
            let answer = format!("HTTP/1.1 {status} Status\r\n{headers}content-length: 4\r\n\r\nsaid");
            let _ = stream.write_all(answer.as_bytes()).await;
        }
        Reply::Hold => std::future::pending().await,
    }
}

async fn read(stream: &mut TcpStream) -> Option<Posted> {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).to_string();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let lines = head.lines().skip(1).filter_map(|line| line.split_once(": "));
            let headers: BTreeMap<String, String> =
                lines.map(|(name, value)| (name.to_lowercase(), value.to_string())).collect();
            if body.len() >= headers["content-length"].parse().unwrap() {
                return Some(Posted { headers, body: body.to_string() });
            }
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
}
