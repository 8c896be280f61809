//! A process that decomposes a claim is killed between any two of its writes.
//!
//! ```text
//! leased ─▶ start ─▶ decomposing ─▶ commit ─▶ committed
//! ```

use std::sync::Arc;
use std::time::Duration;

use tenure::Tenure;
use tenure::core::answer::Answer;
use tenure::core::id::ItemId;
use tenure::core::request::{Command, Take, Terms};
use tenure_systems::claims::decompose::{Decomposer, Decomposing, Statement};
use tenure_systems::claims::{Claims, Guarded};

use super::kit::{Office, parts, settings};
use crate::kit::on_kept;
use crate::program::Program;
use crate::voice::Voice;

/// The shortest that there is: nobody renews it once its process is dead.
const LEASE: Duration = Duration::from_secs(1);
const TEXT: &str = "it rained; it was cold; nobody came";

/// Says that it is at it, and waits.
struct Waiting(Arc<Voice>);

impl Decomposer for Waiting {
    fn decompose<'a>(&'a self, statement: &'a Statement) -> Decomposing<'a> {
        Box::pin(async move {
            self.0.say("decomposing");
            self.0.go_on().await;
            Ok(parts(&statement.text))
        })
    }
}

/// What the child does.
pub async fn decompose(url: &str, claim: ItemId, voice: Voice) {
    let voice = Arc::new(voice);
    let tenure = Tenure::builder(url).without_loops().open().await.expect("it opens");
    let actor = format!("worker:child/{}", std::process::id());
    let worker = tenure.acting(tenure.store().clone(), actor.parse().expect("an actor"));
    let terms = Terms { lease: Some(LEASE), ..Terms::default() };
    let take = Command::Take(Take { item: claim, terms });
    let Answer::Leased(granted) = worker.ask(take).await.expect("the database works").answer else {
        panic!("a queued claim is leased")
    };
    voice.say("leased");
    voice.go_on().await;
    let guarded = Guarded::one(Waiting(voice.clone()));
    let done = Claims::of(&worker).decompose(granted[0].execution, &guarded, "1").await.expect("it is held");
    voice.say(&format!("committed {}", done.outcome.expect("it is decomposed").len()));
    voice.go_on().await;
}

// covers: C-06, K-50
#[test]
fn a_process_killed_between_any_two_writes_leaves_every_truthbit_once() {
    on_kept(async |url| {
        let office = Office::open(url.clone()).await;
        let mut claims = Vec::new();
        for number in 0..4 {
            let new = super::kit::new(&number.to_string(), TEXT);
            let claim = office.claims("api:a").create(new).await.unwrap().0.claim_id;
            office.claims("orchestrator:o").enqueue(claim, None).await.unwrap();
            claims.push(claim);
        }
        let mut children: Vec<Program> =
            claims.iter().map(|claim| Program::start(&format!("claim {url} {claim}"))).collect();
        for (step, child) in children.iter_mut().enumerate() {
            assert_eq!(child.until("leased").last().unwrap(), "leased");
            if step > 0 {
                child.go_on();
                assert_eq!(child.line().as_deref(), Some("decomposing"));
            }
            if step > 1 {
                child.go_on();
            }
            // The third is killed at whatever it is doing just then.
            if step > 2 {
                assert_eq!(child.line().as_deref(), Some("committed 3"));
            }
        }
        children.into_iter().for_each(|child| drop(child.kill()));
        let running = office.start(settings());
        for (step, claim) in claims.iter().enumerate() {
            office.at_rest(*claim, "decomposed").await;
            let whole = office.tenure.whole(*claim).await.unwrap();
            let bits = office.claims("api:a").truthbits(*claim).await.unwrap();
            let said: Vec<&str> = bits.iter().map(|bit| bit.statement.as_str()).collect();
            assert_eq!(said, ["it rained", "it was cold", "nobody came"], "killed at {step}");
            assert_eq!(whole.records.len(), 3, "killed at {step}");
            let committed = whole.executions.iter().filter(|one| one.committed.is_some()).count();
            assert_eq!(committed, 1, "killed at {step}");
            if step == 3 {
                assert_eq!(whole.executions.len(), 1, "what has committed is not done again");
            }
        }
        running.drain().await;
    });
}
