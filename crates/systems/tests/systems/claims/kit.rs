//! Decomposers that do as they are told, and what the tests of claims share.

use std::sync::Arc;
use std::time::Duration;

use tenure::Tenure;
use tenure::core::actor::Actor;
use tenure::core::id::ItemId;
use tenure_systems::claims::decompose::{Decomposer, Decomposing, NotDecomposed, Part, Statement};
use tenure_systems::claims::policy::{Outcome, Share};
use tenure_systems::claims::{Claims, Guarded, Judged, NewClaim, Retries, Running, Settings, start};

use crate::kit::{PATIENCE, at_home_elsewhere};

/// Takes a text apart at its semicolons. Some texts make it do something else.
pub struct Semicolons;

impl Decomposer for Semicolons {
    fn decompose<'a>(&'a self, statement: &'a Statement) -> Decomposing<'a> {
        Box::pin(async move {
            match statement.text.as_str() {
                "refuse" => Err(NotDecomposed("this is no statement".to_string())),
                "nothing" => Ok(Vec::new()),
                "twice" => Ok(vec![part("a", "one"), part("b", "two"), part("a", "three")]),
                "no key" => Ok(vec![part("a", "one"), part("a\u{0}b", "two")]),
                "panic" => panic!("a decomposer without manners"),
                "hang" => std::future::pending().await,
                "spin" => loop {
                    std::hint::spin_loop();
                },
                text => Ok(parts(text)),
            }
        })
    }
}

fn part(key: &str, statement: &str) -> Part {
    Part { key: key.to_string(), statement: statement.to_string(), expected_type: "statement".to_string() }
}

pub fn parts(text: &str) -> Vec<Part> {
    let each = text.split(';').map(str::trim).enumerate();
    each.map(|(number, text)| part(&format!("statement/{}", number + 1), text)).collect()
}

/// A decomposer that never stops is waited for this long.
pub const LIMIT: Duration = Duration::from_millis(300);

pub fn guarded() -> Guarded {
    Guarded::one(Semicolons).limit(LIMIT)
}

/// Settings under which nothing that failed is tried again.
pub fn settings() -> Settings {
    Settings { retries: Retries::NONE, ..Settings::new(guarded()) }
}

/// An engine, and claims as somebody.
pub struct Office {
    pub tenure: Tenure,
}

impl Office {
    pub async fn open(url: String) -> Office {
        Office { tenure: Tenure::open(url).await.unwrap() }
    }

    pub fn acting(&self, actor: &str) -> Tenure {
        let actor: Actor = actor.parse().unwrap();
        self.tenure.acting(self.tenure.store().clone(), actor)
    }

    pub fn claims(&self, actor: &str) -> Claims {
        Claims::of(&self.acting(actor))
    }

    pub fn start(&self, settings: Settings) -> Running {
        start(&at_home_elsewhere(&self.tenure), settings).unwrap()
    }

    pub async fn claim(&self, text: &str) -> ItemId {
        self.claims("api:a").create(new(text, text)).await.unwrap().0.claim_id
    }

    /// A claim that has its TruthBits, and these.
    pub async fn decomposed(&self, text: &str) -> (ItemId, Vec<tenure::core::id::RecordId>) {
        let claim = self.claim(text).await;
        self.at_rest(claim, "decomposed").await;
        let truthbits = self.claims("api:a").truthbits(claim).await.unwrap();
        (claim, truthbits.into_iter().map(|truthbit| truthbit.id).collect())
    }

    /// Waits until a claim has come to rest, in this state.
    pub async fn at_rest(&self, claim: ItemId, state: &str) {
        let whole = self.tenure.wait(claim, PATIENCE).await.unwrap();
        assert_eq!(whole.item.state_name().as_str(), state, "{:?}", whole.item.reason);
    }
}

pub fn new(key: &str, text: &str) -> NewClaim {
    NewClaim {
        idempotency_key: key.to_string(),
        domain: "test".to_string(),
        text: text.to_string(),
        created_by: None,
        trace: None,
    }
}

pub fn judged(outcome: Outcome, confidence: u32, evidence_ids: Vec<ItemId>) -> Judged {
    let confidence = Some(Share::percent(confidence));
    Judged { outcome: Some(outcome), confidence, evidence_ids, ..Judged::default() }
}

/// Looks again and again until it is so.
pub async fn until<T, F: Future<Output = Option<T>>>(mut look: impl FnMut() -> F) -> T {
    let looked = async {
        let mut looks = tokio::time::interval(Duration::from_millis(10));
        loop {
            looks.tick().await;
            if let Some(found) = look().await {
                return found;
            }
        }
    };
    tokio::time::timeout(PATIENCE, looked).await.expect("it becomes so")
}

/// A decomposer that was made for one test.
pub struct Made<F>(pub F);

impl<F> Decomposer for Made<F>
where
    F: Fn(&Statement) -> Result<Vec<Part>, NotDecomposed> + Send + Sync + 'static,
{
    fn decompose<'a>(&'a self, statement: &'a Statement) -> Decomposing<'a> {
        Box::pin(async move { (self.0)(statement) })
    }
}

pub fn made<F>(decompose: F) -> Guarded
where
    F: Fn(&Statement) -> Result<Vec<Part>, NotDecomposed> + Send + Sync + 'static,
{
    let decomposer: Arc<dyn Decomposer> = Arc::new(Made(decompose));
    Guarded::new(move |_| decomposer.clone())
}
