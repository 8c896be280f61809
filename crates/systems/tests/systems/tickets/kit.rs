//! A store with tickets, and people.

use std::time::Duration;

use serde_json::{Value, json};
use tenure::Tenure;
use tenure::core::actor::Actor;
use tenure::core::id::ItemId;
use tenure::databases::{PAGE_MAX, Query, Whole};
use tenure_systems::tickets::{
    Errand, Executor, Made, NewTicket, NotExecuted, Running, Settings, Tickets, known, runner, start,
};

use crate::kit::{PATIENCE, at_home_elsewhere};

pub struct Scene {
    pub tenure: Tenure,
    /// Eva, a person.
    pub eva: Tickets,
}

impl Scene {
    pub async fn open(url: &str) -> Scene {
        Scene::on(known(Tenure::builder(url)).open().await.unwrap())
    }

    pub fn on(tenure: Tenure) -> Scene {
        let eva = Scene::acting(&tenure, "human:eva");
        Scene { eva, tenure }
    }

    pub fn acting(tenure: &Tenure, actor: &str) -> Tickets {
        let actor: Actor = actor.parse().unwrap();
        Tickets::of(&tenure.acting(tenure.store().clone(), actor))
    }

    pub fn start(&self) -> Running {
        let tenure = at_home_elsewhere(&self.tenure);
        start(&tenure, Settings { lease: Some(Duration::from_secs(2)), ..Settings::default() })
    }

    pub fn run(&self, executor: impl Executor) -> tenure::Worker {
        runner(&self.tenure, "runner", executor).start().unwrap()
    }

    pub async fn ticket(&self, new: &NewTicket) -> ItemId {
        self.eva.create(new, None).await.unwrap().ticket_id
    }

    /// A ticket that a person has approved.
    pub async fn approved(&self, new: &NewTicket) -> ItemId {
        let id = self.ticket(new).await;
        self.eva.approve(id, Some("go ahead".to_string())).await.unwrap();
        id
    }

    /// Waits until an item is in this state: looks whenever something was written.
    pub async fn until(&self, id: ItemId, state: &str) {
        self.until_so(&format!("{id} is {state}"), async || {
            self.tenure.item(id).await.unwrap().state_name().as_str() == state
        })
        .await;
    }

    pub async fn until_so(&self, what: &str, so: impl AsyncFn() -> bool) {
        let wait = async {
            let mut after = 0;
            while !so().await {
                let page = self.tenure.log_or_wait(after, 1_000, Duration::from_millis(200)).await.unwrap();
                after = page.last().map_or(after, |(position, _)| *position);
            }
        };
        if tokio::time::timeout(PATIENCE, wait).await.is_err() {
            panic!("{what}: not within {PATIENCE:?}");
        }
    }

    pub async fn all(&self, kind: &str) -> Vec<Whole> {
        let kind = Some(kind.parse().unwrap());
        let query = Query { kind, limit: PAGE_MAX, ..Query::default() };
        let mut all = Vec::new();
        for item in self.tenure.list(query).await.unwrap() {
            all.push(self.tenure.whole(item.id).await.unwrap());
        }
        all
    }

    pub async fn pause(&self, id: ItemId) -> Value {
        self.eva.pause_state(id).await.unwrap().expect("it has paused").body
    }
}

pub fn titled(title: &str) -> NewTicket {
    NewTicket { title: title.to_string(), ..NewTicket::default() }
}

/// Does at once what it is asked for.
pub async fn willing(errand: Errand) -> Result<Made, NotExecuted> {
    Ok(Made::output(json!({ "did": errand.context_snapshot.title })))
}

pub async fn unable(_: Errand) -> Result<Made, NotExecuted> {
    Ok(Made::failed("it is too hard"))
}

/// The records of a label.
pub fn records(whole: &Whole, label: &str) -> Vec<Value> {
    let of = whole.records.iter().filter(|record| &*record.label == label);
    of.map(|record| serde_json::from_slice(record.body.as_ref().unwrap().bytes()).unwrap()).collect()
}

pub fn payload(whole: &Whole) -> Value {
    serde_json::from_slice(whole.payload.as_ref().unwrap().bytes()).unwrap()
}
