//! What the kernel costs: needs, decide and apply, in microseconds an item, over batches as the databases run them.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tenure_core::answer::Answer;
use tenure_core::body::Body;
use tenure_core::decide::decide;
use tenure_core::draw::Draw;
use tenure_core::id::{ExecutionId, ItemId};
use tenure_core::lifecycle::shipped;
use tenure_core::lifecycle::tables::Tables;
use tenure_core::request::*;
use tenure_core::time::Time;
use tenure_core::world::World;

const BATCH: u16 = 500;

fn main() {
    let rounds: u32 = std::env::args().nth(1).map_or(200, |text| text.parse().expect("a number of rounds"));
    let tables = Arc::new(shipped::tables());
    // The fastest round of all: the one that was least disturbed by others on this machine.
    let mut best = [Duration::MAX; 3];
    for round in 0..rounds {
        let took = life(&tables, u64::from(round));
        best = std::array::from_fn(|verb| best[verb].min(took[verb]));
    }
    for (verb, took) in ["create", "acquire with start", "commit with finish"].into_iter().zip(best) {
        println!("{verb:20} {:6.3} µs", took.as_secs_f64() * 1e6 / f64::from(BATCH));
    }
}

/// One batch of each verb, and how long each took.
fn life(tables: &Arc<Tables>, seed: u64) -> [Duration; 3] {
    let mut world = World::new(tables.clone());
    world.now = Time::from_micros(1_794_774_300_000_000);
    let creates: Vec<Request> = (0..BATCH).map(|number| request("api:shop", create(number))).collect();
    let (created, create_took) = batch(&mut world, &creates, seed);
    world.offers = created.iter().map(item).collect();
    let acquire = Acquire {
        kinds: vec!["job".parse().unwrap()],
        max: usize::from(BATCH),
        terms: Terms { start: true, ..Terms::default() },
    };
    let (leased, acquire_took) = batch(&mut world, &[request("worker:w/1", Command::Acquire(acquire))], seed);
    let Some(Answer::Leased(leases)) = leased.first() else { panic!("not leased: {leased:?}") };
    assert_eq!(leases.len(), usize::from(BATCH), "everything is leased at once");
    let commits: Vec<Request> =
        leases.iter().map(|lease| request("worker:w/1", commit(lease.execution))).collect();
    let (_, commit_took) = batch(&mut world, &commits, seed);
    [create_took, acquire_took, commit_took]
}

#[expect(clippy::disallowed_methods, reason = "this program is a stopwatch")]
fn batch(world: &mut World, requests: &[Request], seed: u64) -> (Vec<Answer>, Duration) {
    let began = Instant::now();
    let mut need = Need::default();
    for request in requests {
        request.needs(&world.tables, &mut need);
    }
    let mut answers = Vec::with_capacity(requests.len());
    for (ordinal, request) in (0..).zip(requests) {
        let decision = decide(world, request, &mut Draw::numbered(seed + u64::from(ordinal), ordinal));
        world.apply(decision.changes);
        answers.push(decision.answer);
    }
    (answers, began.elapsed())
}

fn request(actor: &str, command: Command) -> Request {
    Request { store: "default".parse().unwrap(), actor: actor.parse().unwrap(), command }
}

fn create(number: u16) -> Command {
    let payload = format!(
        r#"{{"to":"customer-{number}@example.org","template":"order-shipped","order":{number},"lines":[1,2,3],"express":true}}"#
    );
    Command::Create(Create::new("job".parse().unwrap(), Body::json(payload).unwrap()))
}

fn commit(execution: ExecutionId) -> Command {
    let output = Some(Body::json(r#"{"sent":true}"#).unwrap());
    let effects = Effects::default();
    Command::Commit(Commit { execution, output, effects, finish: true, session: None, attests: Vec::new() })
}

fn item(answer: &Answer) -> ItemId {
    match answer {
        Answer::Created(item) => item.id,
        other => panic!("not created: {other:?}"),
    }
}
