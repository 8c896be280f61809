//! Steps as a pipeline runs them: the shipped ones, commands, and somebody behind an address.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::sync::Arc;

use serde_json::{Value, json};
use tenure_systems::runs::builtin::{StepSettings, builtin};
use tenure_systems::runs::command::{CommandSettings, CommandStep};
use tenure_systems::runs::remote::{RemoteSettings, RemoteStep, Send};
use tenure_systems::runs::step::{Input, Step, StepFailed};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::{JoinSet, spawn_blocking};
use tokio::time::timeout;

use crate::documents::{document, made};
use crate::kit::PATIENCE;

fn input(stop: watch::Receiver<bool>) -> Input {
    let before = BTreeMap::from([("extract".to_string(), json!({ "text": "Hello" }))]);
    Input { document: Arc::new(made("a note.txt", "Hello, world")), made: Arc::new(before), stop }
}

async fn run(step: impl Step) -> Result<Value, StepFailed> {
    let (_keep, stop) = watch::channel(false);
    timeout(PATIENCE, step.run(input(stop))).await.unwrap()
}

fn shell(script: &str) -> CommandStep {
    CommandStep::new("own", CommandSettings::new(["sh", "-c", script])).unwrap()
}

// covers: R-11
#[tokio::test]
async fn a_command_gets_the_document_and_what_was_made_and_its_output_is_what_it_made() {
    let script = r#"printf '{"bytes": %d, "who": "%s %s %s", "made": %s}' "$(wc -c)" \
        "$TENURE_DOCUMENT_ID" "$TENURE_DOCUMENT_NAME" "$TENURE_MEDIA_TYPE" "$(cat "$TENURE_MADE")""#;
    let wanted =
        json!({ "bytes": 12, "who": "d1 a note.txt text/plain", "made": { "extract": { "text": "Hello" } } });
    assert_eq!(run(shell(script)).await.unwrap(), wanted);
    assert_eq!(run(shell("true")).await.unwrap(), Value::Null);
    assert_eq!(run(shell(r#"echo "\"$TENURE_STEP\"""#)).await.unwrap(), json!("own"));
}

#[tokio::test]
async fn how_a_command_ends_says_whether_it_is_tried_again() {
    let why = run(shell("echo first >&2; echo 'no such table' >&2; exit 3")).await.unwrap_err();
    assert_eq!((&why.code[..], why.permanent), ("COMMAND_FAILED", true));
    assert_eq!(why.details, "exit code 3\nfirst\nno such table");
    let why = run(shell("exit 75")).await.unwrap_err();
    assert_eq!((&why.code[..], why.permanent), ("TRY_AGAIN", false));
    let why = run(shell("kill -9 $$")).await.unwrap_err();
    assert_eq!((&why.code[..], why.permanent), ("COMMAND_KILLED", false));
    let why = run(shell("echo hello")).await.unwrap_err();
    assert_eq!((&why.code[..], why.permanent), ("NOT_JSON", true));
    let why = run(shell("yes")).await.unwrap_err();
    assert_eq!((&why.code[..], why.permanent), ("TOO_LARGE", true));
    // Of what it says the end is kept, however much it is.
    let why = run(shell("seq 100000 >&2; exit 1")).await.unwrap_err();
    assert!(why.details.ends_with("\n99999\n100000") && why.details.len() < 200, "{}", why.details);
    let missing = CommandStep::new("own", CommandSettings::new(["/no/such/program"])).unwrap();
    let why = run(missing).await.unwrap_err();
    assert_eq!((&why.code[..], why.permanent), ("NO_COMMAND", true));
}

/// A command that starts another, both of which hold a pipe open; and the end of that pipe.
struct Family {
    step: CommandStep,
    pipe: std::path::PathBuf,
    _folder: tempfile::TempDir,
}

fn family(limit_s: u64) -> Family {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let script = r#"exec 3>"$0"; sleep 1000 & echo started >&3; wait"#;
    let mut settings = CommandSettings::new(["sh", "-c", script, pipe.to_str().unwrap()]);
    settings.limit_s = limit_s;
    Family { step: CommandStep::new("own", settings).unwrap(), pipe, _folder: folder }
}

/// Both run. What is answered ends when both are dead.
async fn started(pipe: &std::path::Path) -> BufReader<std::fs::File> {
    let pipe = pipe.to_path_buf();
    let opened = spawn_blocking(move || {
        let mut pipe = BufReader::new(std::fs::File::open(pipe).unwrap());
        let mut line = String::new();
        pipe.read_line(&mut line).unwrap();
        assert_eq!(line, "started\n");
        pipe
    });
    timeout(PATIENCE, opened).await.unwrap().unwrap()
}

async fn all_dead(mut pipe: BufReader<std::fs::File>) {
    let read = spawn_blocking(move || pipe.read_to_end(&mut Vec::new()).unwrap());
    assert_eq!(timeout(PATIENCE, read).await.unwrap().unwrap(), 0);
}

#[tokio::test]
async fn what_a_command_started_is_dead_when_the_run_is_over() {
    let family = family(600);
    let (tell, stop) = watch::channel(false);
    let mut running = JoinSet::new();
    running.spawn(family.step.run(input(stop)));
    let pipe = started(&family.pipe).await;
    tell.send(true).unwrap();
    let why = timeout(PATIENCE, running.join_next()).await.unwrap().unwrap().unwrap().unwrap_err();
    assert_eq!(why.code, "STOPPED");
    all_dead(pipe).await;
}

#[tokio::test]
async fn what_a_command_started_is_dead_when_nobody_waits_for_the_step() {
    let family = family(600);
    let mut running = JoinSet::new();
    let (_keep, stop) = watch::channel(false);
    running.spawn(family.step.run(input(stop)));
    let pipe = started(&family.pipe).await;
    drop(running);
    all_dead(pipe).await;
}

#[tokio::test]
async fn what_a_command_started_is_dead_when_it_takes_too_long() {
    let family = family(1);
    let (_keep, stop) = watch::channel(false);
    let mut running = JoinSet::new();
    running.spawn(family.step.run(input(stop)));
    let pipe = started(&family.pipe).await;
    let why = timeout(PATIENCE, running.join_next()).await.unwrap().unwrap().unwrap().unwrap_err();
    assert_eq!((&why.code[..], why.permanent), ("TOO_SLOW", false));
    all_dead(pipe).await;
}

/// Somebody who reads one request, answers it so, and hands on what was asked.
async fn asked(says: Option<&str>, send: Send) -> (Result<Value, StepFailed>, Value) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut settings = RemoteSettings::new(&format!("http://{}/step", listener.local_addr().unwrap()));
    settings.send = send;
    let step = RemoteStep::new("own", &settings).unwrap();
    let (tell, stop) = watch::channel(false);
    let answering = async {
        let (mut socket, _) = listener.accept().await.unwrap();
        let mut seen = Vec::new();
        let body = loop {
            assert!(socket.read_buf(&mut seen).await.unwrap() > 0);
            let text = String::from_utf8_lossy(&seen).to_ascii_lowercase();
            let Some((head, _)) = text.split_once("\r\n\r\n") else { continue };
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
            let length: usize = length.parse().unwrap();
            if seen.len() == head.len() + 4 + length {
                break seen.split_off(head.len() + 4);
            }
        };
        match says {
            Some(says) => {
                let (status, said) = says.split_once(' ').unwrap();
                let length = said.len();
                let answer = format!("HTTP/1.1 {status} Status\r\ncontent-length: {length}\r\n\r\n{said}");
                socket.write_all(answer.as_bytes()).await.unwrap();
            }
            None => drop(tell.send(true)),
        }
        (serde_json::from_slice(&body).unwrap(), socket)
    };
    let both = async { tokio::join!(step.run(input(stop)), answering) };
    let (answered, (asked, _socket)) = timeout(PATIENCE, both).await.unwrap();
    (answered, asked)
}

// covers: R-11
#[tokio::test]
async fn somebody_behind_an_address_gets_the_document_and_what_was_made() {
    let (answered, asked_for) = asked(Some(r#"200 {"pages": 1}"#), Send::All).await;
    assert_eq!(answered.unwrap(), json!({ "pages": 1 }));
    let sent = json!({ "id": "d1", "name": "a note.txt", "media_type": "text/plain", "content": "SGVsbG8sIHdvcmxk" });
    assert_eq!(
        asked_for,
        json!({ "step": "own", "document": sent, "made": { "extract": { "text": "Hello" } } })
    );
    let (_, asked_for) = asked(Some("200 1"), Send::Made).await;
    assert_eq!(asked_for["document"].get("content"), None);
}

#[tokio::test]
async fn the_status_of_an_answer_says_whether_it_is_asked_again() {
    for (says, code, permanent) in [
        ("400 no", "REMOTE_REFUSED", true),
        ("302 elsewhere", "REMOTE_REFUSED", true),
        (r#"422 {"code": "BAD_SCAN", "details": "too dark"}"#, "BAD_SCAN", true),
        (r#"503 {"code": "MODEL_BUSY"}"#, "MODEL_BUSY", false),
        (r#"400 {"code": "not one of ours"}"#, "REMOTE_REFUSED", true),
        ("429 slow down", "REMOTE_FAILED", false),
        ("500 oh", "REMOTE_FAILED", false),
        ("200 <html>", "NOT_JSON", true),
    ] {
        let why = asked(Some(says), Send::All).await.0.unwrap_err();
        assert_eq!((&why.code[..], why.permanent), (code, permanent), "{says}");
    }
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let why = run(RemoteStep::new("own", &RemoteSettings::new(&format!("http://{closed}/"))).unwrap()).await;
    let why = why.unwrap_err();
    assert_eq!((&why.code[..], why.permanent), ("UNREACHABLE", false));
}

#[tokio::test]
async fn nobody_waits_for_an_answer_when_the_run_is_over() {
    assert_eq!(asked(None, Send::All).await.0.unwrap_err().code, "STOPPED");
}

// covers: R-11
#[tokio::test]
async fn the_shipped_steps_make_structure_of_a_file() {
    let (_keep, stop) = watch::channel(false);
    let mut given = Input { document: Arc::new(document("invoice.pdf")), made: Arc::default(), stop };
    let why = builtin("interpret").unwrap().run(given.clone()).await.unwrap_err();
    assert_eq!((&why.code[..], why.permanent), ("NOT_EXTRACTED", true));
    let extracted = builtin("extract").unwrap().run(given.clone()).await.unwrap();
    given.made = Arc::new(BTreeMap::from([("extract".to_string(), extracted)]));
    let interpreted = builtin("interpret").unwrap().run(given).await.unwrap();
    assert_eq!(interpreted["title"], "Invoice");
    assert_eq!(interpreted["amounts"][7]["value"], "944.28");
    assert!(builtin("translate").is_none());
}

#[tokio::test]
async fn the_shipped_steps_make_nothing_once_the_run_is_over() {
    let (_keep, stop) = watch::channel(true);
    let before = BTreeMap::from([(
        "extract".to_string(),
        json!({
            "media_type": "text/plain", "text": "Hello", "blocks": [{ "kind": "paragraph", "text": "Hello" }]
        }),
    )]);
    let given = Input { document: Arc::new(document("invoice.pdf")), made: Arc::new(before), stop };
    for name in ["extract", "interpret"] {
        assert_eq!(builtin(name).unwrap().run(given.clone()).await.unwrap_err().code, "STOPPED");
    }
}

#[test]
fn a_pipeline_is_read_from_settings_and_wrong_ones_are_refused() {
    let step = |settings: Value| {
        serde_json::from_value::<StepSettings>(settings).map_err(|why| why.to_string())?.step()
    };
    for (settings, name) in [
        (json!({ "builtin": "extract" }), "extract"),
        (json!({ "name": "ocr", "command": ["ocr", "--fast"], "limit_s": 20 }), "ocr"),
        (json!({ "name": "judge", "url": "https://example.org/judge", "send": "made" }), "judge"),
    ] {
        assert_eq!(step(settings).ok().unwrap().name(), name);
    }
    for (settings, words) in [
        (json!({ "name": "ocr", "comand": ["ocr"] }), "unknown field `comand`"),
        (json!({ "command": ["ocr"] }), "needs a name"),
        (json!({ "name": "o\nc\nr", "command": ["ocr"] }), "no name of a step"),
        (json!({ "name": "ocr", "command": [] }), "needs a command"),
        (json!({ "name": "ocr", "command": ["a"], "url": "http://a/" }), "needs one of"),
        (json!({ "name": "ocr" }), "needs one of"),
        (json!({ "builtin": "translate" }), "no step called \"translate\""),
        (json!({ "builtin": "extract", "limit_s": 3 }), "no settings"),
        (json!({ "name": "ocr", "command": ["a"], "send": "made" }), "is a command"),
        (json!({ "name": "a", "url": "ftp://a/" }), "no http: or https: address"),
        (
            json!({ "name": "a", "url": "http://a/", "token_variable": "NO_SUCH_VARIABLE" }),
            "NO_SUCH_VARIABLE",
        ),
    ] {
        let why = step(settings.clone()).err().unwrap();
        assert!(why.contains(words), "{settings}: {why}");
    }
}
