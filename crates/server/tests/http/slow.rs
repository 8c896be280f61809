//! Peers that are slow, silent, gone, or do not read: each loses its connection, and nobody else notices.

use std::time::Duration;

use serde_json::{Value, json};
use tenure::Tenure;
use tenure_server::{App, Open, Patience};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

use crate::kit::{Service, served_by};

/// Of the service under test: nobody is asked to wait for its real ones.
const SHORT: Duration = Duration::from_millis(200);
const LONG: Duration = Duration::from_secs(600);

async fn with(patience: Patience, test: impl AsyncFn(&Service)) {
    let tenure = Tenure::open("memory:").await.unwrap();
    let app = App::new(tenure.clone(), Open::Always).await.unwrap();
    // A small window: an answer that is not read soon has no room.
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_send_buffer_size(4 << 10).unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    served_by(socket.listen(128).unwrap(), patience, app, tenure, async |service| test(&service).await).await;
}

/// What is patient for ever where it is not said.
fn patient() -> Patience {
    Patience { grace: SHORT, head: LONG, body: LONG, unread: LONG }
}

/// Everything that still comes, until the connection is over.
async fn rest(mut stream: TcpStream) -> String {
    let mut bytes = Vec::new();
    // A connection that is reset is as over.
    let _ = stream.read_to_end(&mut bytes).await;
    String::from_utf8(bytes).unwrap()
}

/// Others are answered meanwhile, each over a connection of its own, until this is done.
async fn beside<T>(service: &Service, slow: impl Future<Output = T>) -> T {
    let mut slow = std::pin::pin!(slow);
    let mut answered = 0;
    loop {
        tokio::select! {
            biased;
            _ = async { service.get("/v1/items").await.yes(200) } => answered += 1,
            done = &mut slow, if answered > 10 => return done,
        }
    }
}

// fault: N3
#[tokio::test]
async fn whoever_says_nothing_or_says_it_slowly_is_let_go() {
    with(Patience { head: SHORT, ..patient() }, async |service| {
        // Before a byte, within what might become HTTP/2, and within a head.
        for said in ["", "PRI * HT", "P", "GET /v1/items HTTP/1.1\r\nhost: "] {
            let mut stream = TcpStream::connect(service.address).await.unwrap();
            stream.write_all(said.as_bytes()).await.unwrap();
            assert!(!beside(service, rest(stream)).await.starts_with("HTTP/1.1 2"), "{said:?}");
        }
        // A byte now and then is no head either.
        let (mut reading, mut writing) = TcpStream::connect(service.address).await.unwrap().into_split();
        let dripping = async {
            let mut over = false;
            for byte in "GET /v1/items HTTP/1.1\r\nx: ".bytes().chain(std::iter::repeat(b'x')) {
                over = over || writing.write_all(&[byte]).await.is_err();
                service.get("/health/live").await.yes(200);
                if over {
                    return;
                }
            }
        };
        let mut answer = Vec::new();
        tokio::select! {
            () = dripping => {}
            _ = reading.read_to_end(&mut answer) => {}
        }
        assert!(!answer.starts_with(b"HTTP/1.1 2"), "{}", String::from_utf8_lossy(&answer));
        // One that was answered is let go when it has nothing more to say.
        let mut stream = TcpStream::connect(service.address).await.unwrap();
        stream.write_all(b"GET /health/live HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
        assert!(beside(service, rest(stream)).await.starts_with("HTTP/1.1 200"));
    })
    .await;
}

// fault: N3
#[tokio::test]
async fn a_body_that_does_not_come_is_told_so_and_one_that_is_cut_does_nothing() {
    with(Patience { body: SHORT, ..patient() }, async |service| {
        let half = "POST /v1/jobs HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n{\"payload\":";
        let mut stream = TcpStream::connect(service.address).await.unwrap();
        stream.write_all(half.as_bytes()).await.unwrap();
        let answer = beside(service, rest(stream)).await;
        assert!(
            answer.starts_with("HTTP/1.1 408") && answer.contains("application/problem+json"),
            "{answer}"
        );
        for _ in 0..20 {
            let mut stream = TcpStream::connect(service.address).await.unwrap();
            stream.write_all(half.as_bytes()).await.unwrap();
            stream.set_zero_linger().unwrap();
            drop(stream);
        }
        assert_eq!(service.get("/v1/jobs").await.yes(200)["items"], json!([]));
    })
    .await;
}

// fault: N3
#[tokio::test]
async fn whoever_does_not_read_loses_the_answer_and_its_place() {
    with(Patience { unread: SHORT, ..patient() }, async |service| {
        let many: Vec<Value> = (0..1_000).map(|n| json!({ "kind": "job", "payload": n })).collect();
        for _ in 0..2 {
            service.post("/v1/items", json!(many)).await.yes(200);
        }
        let gauge = async |name: &str| {
            let text = service.get("/metrics").await.text;
            let line = text.lines().find_map(|line| line.strip_prefix(name)).expect(name);
            line.trim().parse::<u64>().unwrap()
        };
        let asked = async |path: &str| {
            let socket = TcpSocket::new_v4().unwrap();
            socket.set_recv_buffer_size(4 << 10).unwrap();
            let mut stream = socket.connect(service.address).await.unwrap();
            stream.write_all(format!("GET {path} HTTP/1.1\r\nhost: x\r\n\r\n").as_bytes()).await.unwrap();
            stream
        };
        // Held open and never read. The place is free again, and the rest of the answer never comes.
        let stream = asked("/v1/log/stream").await;
        while gauge("tenure_log_streams ").await == 0 {}
        while gauge("tenure_log_streams ").await > 0 {}
        assert!(rest(stream).await.matches("\nid: ").count() < 2_000);
        let page = asked("/v1/items?limit=1000").await;
        // The caller of this gauge is one.
        while gauge("tenure_connections ").await > 1 {}
        assert!(!rest(page).await.ends_with('}'));
    })
    .await;
}
