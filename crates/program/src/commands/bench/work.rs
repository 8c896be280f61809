//! What the callers of a bench ask for: jobs with about a hundred bytes of JSON, no two alike.

use tenure_core::actor::Actor;
use tenure_core::answer::{Answer, Granted};
use tenure_core::body::Body;
use tenure_core::draw::Draw;
use tenure_core::id::ExecutionId;
use tenure_core::request::{Acquire, Command, Commit, Create, Effects, Request, Terms};
use tenure_core::time::Time;
use tenure_core::word::{Kind, Store};
use tenure_databases::Error as DatabaseError;
use tenure_databases::batch::Reply;

use crate::outcome::Error;

/// As many leases as a worker that wants to be quick asks for at once: they and their commits fit into a batch.
pub const LEASES: usize = 500;

#[derive(Clone, Debug)]
pub struct Work {
    store: Store,
    kind: Kind,
    api: Actor,
    worker: Actor,
}

impl Work {
    pub fn new() -> Work {
        const KNOWN: &str = "the names of a bench are good ones";
        Work {
            store: "default".parse().expect(KNOWN),
            kind: "job".parse().expect(KNOWN),
            api: "api:bench".parse().expect(KNOWN),
            worker: "worker:bench/1".parse().expect(KNOWN),
        }
    }

    pub fn create(&self, number: usize) -> Request {
        self.request(&self.api, Command::Create(self.job(number)))
    }

    /// A job that is not due while anyone measures.
    pub fn create_later(&self, number: usize) -> Request {
        let far = Time::from_micros(i64::MAX);
        self.request(&self.api, Command::Create(Create { run_at: Some(far), ..self.job(number) }))
    }

    pub fn acquire(&self, max: usize) -> Request {
        let terms = Terms { start: true, ..Terms::default() };
        let acquire = Acquire { kinds: vec![self.kind.clone()], max, terms };
        self.request(&self.worker, Command::Acquire(acquire))
    }

    pub fn commit(&self, execution: ExecutionId) -> Request {
        let commit = Commit {
            execution,
            output: None,
            effects: Effects::default(),
            finish: true,
            session: None,
            attests: Vec::new(),
        };
        self.request(&self.worker, Command::Commit(commit))
    }

    fn job(&self, number: usize) -> Create {
        Create::new(self.kind.clone(), Body::json(payload(number)).expect("it is JSON"))
    }

    fn request(&self, actor: &Actor, command: Command) -> Request {
        Request { store: self.store.clone(), actor: actor.clone(), command }
    }
}

/// What a client would send; also what the limits write, so that both write the same.
pub fn payload(number: usize) -> String {
    let mut draw = Draw::new(number as u64);
    let (customer, cents) = (draw.number(), draw.number() % 100_000);
    format!(
        r#"{{"order":{number},"customer":"c-{customer:016x}","cents":{cents},"currency":"EUR","lines":[7,19,3]}}"#
    )
}

/// Holds a reply to what it should be. A bench of answers that are no is none.
pub fn created(reply: Result<Reply, DatabaseError>) -> Result<(), Error> {
    match reply? {
        Reply { answer: Answer::Created(_), fresh: true, .. } => Ok(()),
        other => Err(unexpected(&other)),
    }
}

pub fn leased(reply: Result<Reply, DatabaseError>) -> Result<Vec<Granted>, Error> {
    match reply? {
        Reply { answer: Answer::Leased(leases), .. } => Ok(leases),
        other => Err(unexpected(&other)),
    }
}

pub fn committed(reply: Result<Reply, DatabaseError>) -> Result<(), Error> {
    match reply? {
        Reply { answer: Answer::Ran(_), fresh: true, .. } => Ok(()),
        other => Err(unexpected(&other)),
    }
}

fn unexpected(reply: &Reply) -> Error {
    Error::Bench(format!("an answer was another than expected: {reply:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payloads_are_json_of_about_a_hundred_bytes_and_differ() {
        for number in [0, 1, 999_999] {
            let payload = payload(number);
            assert!((80..120).contains(&payload.len()), "{} {payload}", payload.len());
            assert!(Body::json(payload).is_ok());
        }
        assert_ne!(payload(1).replace("\"order\":1,", "\"order\":2,"), payload(2));
    }
}
