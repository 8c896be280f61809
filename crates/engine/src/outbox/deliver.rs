//! Making deliveries: every message of the log and every webhook that wants it become an item, named by both. Then the mark.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use tenure_core::actor::{Actor, Role};
use tenure_core::body::Body;
use tenure_core::follower::Follower;
use tenure_core::id::ItemId;
use tenure_core::item::Link;
use tenure_core::request::{Command, Create, Request};
use tenure_core::time::Time;
use tenure_core::word::{Key, Label, Store};
use tenure_databases::Error;
use tenure_databases::follow::MessageId;
use tokio::sync::Mutex;

use super::follow::{Kept, Page, Sent, page, skip};
use super::webhook::Subscribed;
use crate::loops::Parts;

/// Webhooks of a store. Each message is held against all of them, and each that wants it makes an item of it.
pub(super) const WEBHOOKS_MAX: usize = 1_000;

/// The link from a delivery to the item whose message it is.
const MESSAGE: &str = "message";

/// A delivery's payload: which message, and where to.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Delivery {
    pub webhook: ItemId,
    pub item: ItemId,
    pub version: u64,
    pub ordinal: u32,
    /// When it was committed.
    pub at: Time,
}

impl Delivery {
    pub fn message(&self) -> MessageId {
        MessageId { item: self.item, version: self.version, ordinal: self.ordinal }
    }
}

/// The stable key of a message.
pub(super) fn key_of(message: &MessageId) -> String {
    format!("{}-{}-{}", message.item, message.version, message.ordinal)
}

#[derive(Debug, Default)]
pub(super) struct Deliverer {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// What a webhook wants never changes, so it is read once.
    webhooks: HashMap<ItemId, Wants>,
    position: Option<u64>,
    kept: Option<Kept>,
}

#[derive(Clone, Debug)]
struct Wants {
    labels: Vec<Label>,
    since: Time,
}

impl Wants {
    /// Messages that were committed before the webhook was created are not sent to it.
    fn want(&self, sent: &Sent) -> bool {
        sent.at >= self.since && (self.labels.is_empty() || self.labels.contains(&sent.label))
    }
}

impl Deliverer {
    /// True: there is more.
    pub async fn turn(&self, parts: &Parts) -> Result<bool, Error> {
        let mut state = self.state.lock().await;
        state.look(parts).await?;
        let Some(since) = state.webhooks.values().map(|wants| wants.since).min() else { return Ok(false) };
        let mark = mark_of(&parts.store);
        let from = match state.position {
            Some(position) => position,
            None => {
                let kept = parts.kept.mark(&mark).await?.unwrap_or_default();
                state.kept = Some(Kept::at(kept));
                skip(&parts.kept, kept, since).await?
            }
        };
        let page = state.read(parts, from).await?;
        let made = state.deliver(parts, &page.messages).await?;
        if made || state.kept.is_none_or(|kept| kept.is_worth_it(page.end)) {
            parts.kept.set_mark(&mark, page.end).await?;
            state.kept = Some(Kept::at(page.end));
        }
        state.position = Some(page.end);
        Ok(page.more)
    }
}

impl State {
    /// The next page, and who there is to be told of it. A webhook that was created while it was read is older than some of its messages,
    /// and would never hear of them once the mark is past.
    async fn read(&mut self, parts: &Parts, from: u64) -> Result<Page, Error> {
        let page = page(&parts.kept, &parts.store, from).await?;
        if !page.messages.is_empty() {
            self.look(parts).await?;
        }
        Ok(page)
    }

    /// Which webhooks there are now.
    async fn look(&mut self, parts: &Parts) -> Result<(), Error> {
        let standing = parts.kept.standing(&parts.store, &super::kind(), None, WEBHOOKS_MAX).await?;
        if let Some((last, _)) = standing.get(WEBHOOKS_MAX - 1)
            && let [(name, _), ..] =
                &parts.kept.standing(&parts.store, &super::kind(), Some(last), 1).await?[..]
        {
            let why = format!("webhook {name} is one of more than {WEBHOOKS_MAX}, and is told of nothing");
            parts.counters.failed_turn(&why);
        }
        if standing.is_empty() {
            // While nobody listens the log goes by unread; whoever comes next begins where they were created.
            self.position = None;
        }
        self.webhooks.retain(|id, _| standing.iter().any(|(_, standing)| standing == id));
        for (name, id) in standing {
            if self.webhooks.contains_key(&id) {
                continue;
            }
            let Some(whole) = parts.kept.whole(&parts.store, id).await? else { continue };
            let since = whole.item.created;
            match whole.payload.as_ref().map(Subscribed::read) {
                Some(Ok(subscribed)) => {
                    self.webhooks.insert(id, Wants { labels: subscribed.labels, since });
                }
                Some(Err(why)) => {
                    parts.counters.failed_turn(&format!("webhook {name} can not be told: {why}"))
                }
                None => {}
            }
        }
        Ok(())
    }

    /// Whether there was anything to deliver. An error leaves the mark where it is: the same names are asked for again.
    async fn deliver(&self, parts: &Parts, messages: &[Sent]) -> Result<bool, Error> {
        let mut requests = Vec::new();
        for sent in messages {
            let wanting = self.webhooks.iter().filter(|(_, wants)| wants.want(sent));
            requests.extend(wanting.map(|(webhook, _)| create(parts, *webhook, sent)));
        }
        let replies = parts.gather.ask_all(requests.clone()).await;
        for (request, reply) in requests.iter().zip(replies) {
            let reply = reply?;
            parts.bells.heard(request, &reply);
            if let Some(code) = reply.answer.code() {
                parts.counters.failed_turn(&format!("a delivery was refused: {code}"));
            }
        }
        Ok(!requests.is_empty())
    }
}

pub(super) fn mark_of(store: &Store) -> Key {
    Follower::Webhooks.mark(store).expect("a store's name is short")
}

fn create(parts: &Parts, webhook: ItemId, sent: &Sent) -> Request {
    let MessageId { item, version, ordinal } = sent.id;
    let delivery = Delivery { webhook, item, version, ordinal, at: sent.at };
    let bytes = serde_json::to_vec(&delivery).expect("ids, numbers and a time are JSON");
    let payload = Body::json(bytes).expect("what serde writes is JSON");
    let mut create = Create::new(super::delivery_kind(), payload);
    // What is told is kept until it has been.
    create.links = vec![Link { label: MESSAGE.parse().expect("a valid label"), to: item }];
    create.name = Some(format!("{} to {webhook}", key_of(&sent.id)).parse().expect("ids are short"));
    let actor = Actor::new(Role::System, parts.node.clone());
    Request { store: parts.store.clone(), actor, command: Command::Create(create) }
}

#[cfg(test)]
mod tests {
    use tenure_databases::Query;

    use super::*;
    use crate::outbox::webhook::Webhook;
    use crate::tenure::{New, Tenure};
    use crate::worker::{Done, Job};

    async fn deliveries(tenure: &Tenure) -> usize {
        let kind = Some(crate::outbox::delivery_kind());
        tenure.list(Query { kind, limit: 1_000, ..Query::default() }).await.unwrap().len()
    }

    // covers: K-26
    #[test]
    fn who_dies_before_the_mark_makes_nothing_twice_and_leaves_nothing_out() {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let tenure = Tenure::builder("memory:").without_loops().open().await.unwrap();
            let hook = |name: &str| Webhook::new(name, "https://example.com/").secret("env:NONE");
            tenure.webhook(hook("a")).await.unwrap();
            tenure.webhook(hook("b").label("other")).await.unwrap();
            let send = async |job: Job| Done::default().message("sent", &job.payload::<u32>()?);
            let worker = tenure.worker("w").handle("job", send).start().unwrap();
            for number in 0..3_u32 {
                let job = tenure.create(New::job(&number)).await.unwrap();
                tenure.wait(job.id, std::time::Duration::from_secs(60)).await.unwrap();
            }
            worker.drain().await;
            let parts = tenure.parts();
            let mark = mark_of(&parts.store);
            // The deliveries are made, and then it dies: first after one, then after all.
            for many in [1, 3] {
                let mut state = State::default();
                state.look(&parts).await.unwrap();
                let page = page(&parts.kept, &parts.store, 0).await.unwrap();
                assert!(state.deliver(&parts, &page.messages[..many]).await.unwrap());
                assert_eq!((deliveries(&tenure).await, parts.kept.mark(&mark).await.unwrap()), (many, None));
            }
            Deliverer::default().turn(&parts).await.unwrap();
            assert_eq!(deliveries(&tenure).await, 3);
            let end = parts.kept.mark(&mark).await.unwrap().unwrap();
            assert_eq!(end, tenure.head().await.unwrap().position, "as far as it has read");
            // The next one begins there.
            Deliverer::default().turn(&parts).await.unwrap();
            assert_eq!(deliveries(&tenure).await, 3);
        });
    }

    // covers: K-26
    // fault: W5
    #[test]
    fn messages_on_the_last_short_page_are_delivered() {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let tenure = Tenure::builder("memory:").without_loops().open().await.unwrap();
            tenure.webhook(Webhook::new("a", "https://example.com/").secret("env:NONE")).await.unwrap();
            let send = async |job: Job| Done::default().message("sent", &job.payload::<u32>()?);
            let worker = tenure.worker("w").handle("job", send).start().unwrap();
            // Three entries each: more than a page of the log, and the last one is short.
            for job in tenure.create_all((0..200_u32).map(|number| New::job(&number))).await {
                tenure.wait(job.unwrap().id, std::time::Duration::from_secs(60)).await.unwrap();
            }
            worker.drain().await;
            let deliverer = Deliverer::default();
            assert!(deliverer.turn(&tenure.parts()).await.unwrap(), "there is more than a page");
            while deliverer.turn(&tenure.parts()).await.unwrap() {}
            assert_eq!(deliveries(&tenure).await, 200);
        });
    }

    // covers: K-26
    #[test]
    fn a_webhook_that_is_created_while_the_log_is_read_is_told_of_what_came_after_it() {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let tenure = Tenure::builder("memory:").without_loops().open().await.unwrap();
            let hook = |name: &str| Webhook::new(name, "https://example.com/").secret("env:NONE");
            tenure.webhook(hook("a")).await.unwrap();
            let parts = tenure.parts();
            let mut state = State::default();
            state.look(&parts).await.unwrap();
            // It is looked who there is, then comes a webhook, then a message, and then the log is read.
            tenure.webhook(hook("b")).await.unwrap();
            let send = async |job: Job| Done::default().message("sent", &job.payload::<u32>()?);
            let worker = tenure.worker("w").handle("job", send).start().unwrap();
            let job = tenure.create(New::job(&1)).await.unwrap();
            tenure.wait(job.id, std::time::Duration::from_secs(60)).await.unwrap();
            worker.drain().await;
            let page = state.read(&parts, 0).await.unwrap();
            assert!(state.deliver(&parts, &page.messages).await.unwrap());
            assert_eq!(deliveries(&tenure).await, 2, "both are told");
        });
    }

    #[test]
    fn a_webhook_too_many_is_refused_and_not_forgotten() {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let tenure = Tenure::builder("memory:").without_loops().open().await.unwrap();
            let raw = |number: usize| {
                let payload = serde_json::json!({
                    "name": format!("n{number}"), "url": "https://example.com/", "secrets": ["env:NONE"],
                });
                New::of("webhook", &payload)
            };
            let hook = |name: &str| Webhook::new(name, "https://example.com/").secret("env:NONE");
            tenure.webhook(hook("n0")).await.unwrap();
            let made = tenure.create_all((1..WEBHOOKS_MAX).map(raw)).await;
            assert!(made.iter().all(Result::is_ok));
            let refused = tenure.webhook(hook("one more")).await.unwrap_err();
            assert!(refused.to_string().contains("1000 webhooks"), "{refused}");
            assert!(tenure.webhook(hook("n0")).await.is_ok(), "one that stands is the same again");
            // One that was created as an item is told of where failures are.
            let parts = tenure.parts();
            State::default().look(&parts).await.unwrap();
            assert_eq!(tenure.counters().failed_turns(), 0);
            tenure.create(raw(WEBHOOKS_MAX)).await.unwrap();
            State::default().look(&parts).await.unwrap();
            assert!(tenure.counters().last_failure().is_some_and(|why| why.contains("told of nothing")));
        });
    }

    #[test]
    fn a_long_log_is_skipped_up_to_the_first_webhook() {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let tenure = Tenure::builder("memory:").without_loops().open().await.unwrap();
            let jobs = tenure.create_all((0..100_u32).map(|number| New::job(&number))).await;
            let first = jobs[0].as_ref().unwrap().created;
            let parts = tenure.parts();
            let hours = |count: u64| std::time::Duration::from_secs(count * 3600);
            assert_eq!(skip(&parts.kept, 0, first.before(hours(1))).await.unwrap(), 0);
            assert_eq!(skip(&parts.kept, 0, first).await.unwrap(), 0, "clocks differ a little");
            assert_eq!(skip(&parts.kept, 0, first.after(hours(1))).await.unwrap(), 99);
            assert_eq!(skip(&parts.kept, 40, first.before(hours(1))).await.unwrap(), 40);
        });
    }
}
