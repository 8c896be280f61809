//! Asking somebody else over a socket.

use std::time::Duration;

use tenure_systems::post::{NotAnswered, Poster};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::kit::PATIENCE;

/// Somebody who reads one request and says this, or nothing. Gone when dropped.
struct Somebody {
    asked_by: Poster,
    _tasks: JoinSet<()>,
}

async fn somebody(says: Option<String>, patience: Duration) -> Somebody {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        let (mut socket, _) = listener.accept().await.unwrap();
        let mut seen = vec![0; 4096];
        let count = socket.read(&mut seen).await.unwrap();
        assert!(String::from_utf8_lossy(&seen[..count]).contains("Bearer s3cret"));
        match says {
            Some(says) => socket.write_all(says.as_bytes()).await.unwrap(),
            None => std::future::pending().await,
        }
    });
    let asked_by = Poster::new(&format!("http://{address}/v1"), Some("s3cret"), patience, 100).unwrap();
    Somebody { asked_by, _tasks: tasks }
}

#[tokio::test]
async fn an_answer_comes_with_its_status_and_when_to_come_back() {
    let says = "HTTP/1.1 429 Too Many\r\nretry-after: 7\r\ncontent-length: 2\r\n\r\nno";
    let somebody = somebody(Some(says.to_string()), PATIENCE).await;
    let answered = somebody.asked_by.post(b"{}".to_vec(), &[("x-run", "1")]).await.unwrap();
    assert_eq!((answered.status.as_u16(), answered.retry_after), (429, Some(Duration::from_secs(7))));
    assert_eq!(&answered.body[..], b"no");
    assert!(!format!("{:?}", somebody.asked_by).contains("s3cret"));
}

#[tokio::test]
async fn who_says_nothing_or_too_much_is_not_listened_to() {
    let short = Duration::from_millis(50);
    let silent = somebody(None, short).await;
    assert_eq!(silent.asked_by.post(Vec::new(), &[]).await, Err(NotAnswered::Late(short)));
    let says = format!("HTTP/1.1 200 OK\r\ncontent-length: 101\r\n\r\n{}", "x".repeat(101));
    let long = somebody(Some(says), PATIENCE).await;
    assert_eq!(long.asked_by.post(Vec::new(), &[]).await, Err(NotAnswered::TooLong(100)));
    for wrong in ["ftp://a/", "nothing", "/v1"] {
        assert!(Poster::new(wrong, None, Duration::from_secs(1), 1).is_err(), "{wrong}");
    }
}
