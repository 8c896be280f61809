//! Requests, in as few words as they can be said.

use tenure_core::actor::Actor;
use tenure_core::answer::{Answer, Granted};
use tenure_core::body::Body;
use tenure_core::id::{ExecutionId, ItemId};
use tenure_core::lifecycle::guard::Guard;
use tenure_core::lifecycle::shipped::SHIPPED;
use tenure_core::request::*;
use tenure_core::time::Time;
use tenure_core::word::Store;

pub const START: Time = Time::from_micros(1_794_774_300_000_000);

pub fn store() -> Store {
    "default".parse().unwrap()
}

pub fn request(actor: &str, command: Command) -> Request {
    Request { store: store(), actor: self::actor(actor), command }
}

/// The same in another store.
pub fn in_store(store: &str, request: Request) -> Request {
    Request { store: store.parse().unwrap(), ..request }
}

pub fn actor(text: &str) -> Actor {
    text.parse().expect("role:id or role:id/incarnation")
}

pub fn body(text: &str) -> Body {
    Body::json(text.as_bytes().to_vec()).expect("JSON")
}

/// An item of a kind whose payload has a schema.
pub fn document() -> Create {
    let payload =
        format!(r#"{{"name":"a","media_type":"text/plain","size":1,"sha256":"{}"}}"#, "0".repeat(64));
    new("document", &payload)
}

pub fn new(kind: &str, payload: &str) -> Create {
    Create::new(kind.parse().unwrap(), body(payload))
}

pub fn named(name: &str, create: Create) -> Create {
    Create { name: Some(name.parse().unwrap()), ..create }
}

/// A run of a document: one running a document.
pub fn pass(document: &str) -> Create {
    new("run", &format!(r#"{{"document_id":"{document}"}}"#))
}

/// A recomputation of a claim's verdict: coalesces while it is queued.
pub fn verdict(claim: &str) -> Create {
    new("verdict", &format!(r#"{{"claim_id":"{claim}"}}"#))
}

pub fn create(create: Create) -> Request {
    request("api:test", Command::Create(create))
}

pub fn take(item: ItemId) -> Command {
    Command::Take(Take { item, terms: Terms::default() })
}

pub fn acquire(kinds: &[&str], max: usize) -> Command {
    acquire_with(kinds, max, Terms::default())
}

pub fn acquire_with(kinds: &[&str], max: usize, terms: Terms) -> Command {
    let kinds = kinds.iter().map(|kind| kind.parse().unwrap()).collect();
    Command::Acquire(Acquire { kinds, max, terms })
}

/// Names the acquire, so that its answer can be asked for again.
pub fn asked_as(request: &str) -> Terms {
    Terms { request: Some(request.parse().unwrap()), ..Terms::default() }
}

pub fn leases(answer: Answer) -> Vec<Granted> {
    match answer {
        Answer::Leased(leases) => leases,
        other => panic!("not leased: {other:?}"),
    }
}

pub fn ids(leases: &[Granted]) -> Vec<ItemId> {
    leases.iter().map(|lease| lease.execution.item).collect()
}

pub fn start(execution: ExecutionId) -> Command {
    Command::Start(Start { execution })
}

pub fn renew(execution: ExecutionId) -> Command {
    Command::Renew(Renew { execution, lease: None })
}

pub fn progress(execution: ExecutionId, record: NewRecord) -> Command {
    let records = vec![record];
    Command::Progress(Progress { execution, records, opens: Vec::new(), closes: Vec::new() })
}

/// Commits and finishes.
pub fn commit(execution: ExecutionId) -> Command {
    commit_with(execution, Effects::default())
}

pub fn commit_with(execution: ExecutionId, effects: Effects) -> Command {
    let (output, attests) = (Some(body("7")), Vec::new());
    Command::Commit(Commit { execution, output, effects, finish: true, session: None, attests })
}

/// Commits and leaves the finishing to somebody.
pub fn commit_only(execution: ExecutionId) -> Command {
    let (output, effects, attests) = (None, Effects::default(), Vec::new());
    Command::Commit(Commit { execution, output, effects, finish: false, session: None, attests })
}

pub fn finish(execution: ExecutionId) -> Command {
    Command::Finish(Finish { execution })
}

pub fn fail(execution: ExecutionId) -> Command {
    let (reason, offers) = ("it broke".to_string(), Effects::default());
    Command::Fail(Fail { execution, reason, permanent: false, retry_after: None, offers })
}

pub fn release(execution: ExecutionId) -> Command {
    Command::Release(Release { execution, reason: None, delay: None, attests: Vec::new() })
}

pub fn step(item: ItemId, event: &str) -> Command {
    Command::Move(Move::new(item, event.parse().unwrap()))
}

/// A validation is handed in, as its system does that.
pub fn submit(item: ItemId) -> Command {
    let attests = vec![Guard::Judgement];
    Command::Move(Move { attests, ..Move::new(item, "submit".parse().unwrap()) })
}

pub fn cancel(item: ItemId) -> Command {
    let reason = Some("not needed".to_string());
    Command::Cancel(Cancel { item, reason, expected_version: None, offers: Effects::default() })
}

pub fn note(item: ItemId, record: NewRecord) -> Command {
    Command::Note(Note { item, records: vec![record] })
}

pub fn erase(item: ItemId) -> Command {
    Command::Erase(Erase { item, reason: None })
}

pub fn prune(item: ItemId) -> Request {
    request("system:engine", Command::Prune(Prune { item }))
}

/// The shipped lifecycles whose items come to an end for good, with a retention of a minute.
pub fn kept_a_minute() -> Vec<String> {
    let with_retention = |source: &str| {
        let settings = source.find("## Settings")?;
        let first = settings + source[settings..].find("|--")?;
        let end = first + source[first..].find('\n')?;
        Some(format!("{}\n| retention | 1 min |{}", &source[..end], &source[end..]))
    };
    let lasting = SHIPPED.iter().filter(|shipped| !shipped.source.contains("retention"));
    lasting.filter_map(|shipped| with_retention(shipped.source)).collect()
}

/// The engine's sweep of what time made due under this fence.
pub fn sweep(execution: ExecutionId) -> Request {
    let ExecutionId { item, fence } = execution;
    let sweep = Sweep { item, fence, due: Due::Time, offers: Effects::default() };
    request("system:engine", Command::Sweep(sweep))
}

pub fn record(label: &str, name: &str, text: &str) -> NewRecord {
    NewRecord { label: label.parse().unwrap(), name: name.parse().unwrap(), body: body(text) }
}
