//! A webhook: who is told, of what, and how it is known that it was us.

use serde::{Deserialize, Serialize};
use tenure_core::answer::Answer;
use tenure_core::body::Body;
use tenure_core::id::ItemId;
use tenure_core::item::SharedItem;
use tenure_core::request::{Command, Create};
use tenure_core::word::{Key, Label};

use super::address::Target;
use super::deliver::WEBHOOKS_MAX;
use super::kind;
use super::sign::Reference;
use crate::error::Error;
use crate::tenure::Tenure;

/// Two: the old one and the new one of a rotation.
const SECRETS_MAX: usize = 2;
/// Who wants more labels wants all.
const LABELS_MAX: usize = 100;
/// Longer URLs are refused by many servers anyway.
const URL_BYTES_MAX: usize = 2_048;

/// A webhook before it is created.
#[derive(Clone, Debug)]
pub struct Webhook {
    name: String,
    url: String,
    labels: Vec<String>,
    secrets: Vec<String>,
    allow_private: bool,
}

impl Webhook {
    pub fn new(name: impl Into<String>, url: impl Into<String>) -> Webhook {
        let (labels, secrets) = (Vec::new(), Vec::new());
        Webhook { name: name.into(), url: url.into(), labels, secrets, allow_private: false }
    }

    /// Messages of this label are sent; without any label, all are.
    pub fn label(mut self, label: impl Into<String>) -> Webhook {
        self.labels.push(label.into());
        self
    }

    /// Where the secret is found that deliveries are signed with: `env:NAME`, `file:PATH`, or `given:NAME` for one that the
    /// engine was opened with. With two, every delivery is signed with both.
    pub fn secret(mut self, reference: impl Into<String>) -> Webhook {
        self.secrets.push(reference.into());
        self
    }

    /// It may be at an address that only this machine or this network can reach.
    pub fn allow_private(mut self) -> Webhook {
        self.allow_private = true;
        self
    }

    fn checked(self) -> Result<Subscribed, String> {
        let labels: Result<Vec<Label>, _> = self.labels.iter().map(|label| label.parse()).collect();
        let subscribed = Subscribed {
            name: self.name.parse().map_err(|why| format!("its name is {why}"))?,
            url: self.url,
            labels: labels.map_err(|why| format!("a label is {why}"))?,
            secrets: self.secrets,
            allow_private: self.allow_private,
        };
        subscribed.check()?;
        Ok(subscribed)
    }
}

/// A webhook's payload.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Subscribed {
    pub name: Key,
    pub url: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<Label>,
    pub secrets: Vec<String>,
    #[serde(default, skip_serializing_if = "is_false")]
    pub allow_private: bool,
}

fn is_false(flag: &bool) -> bool {
    !flag
}

impl Subscribed {
    pub fn read(payload: &Body) -> Result<Subscribed, String> {
        let read: Subscribed = serde_json::from_slice(payload.bytes())
            .map_err(|why| format!("its payload is no webhook: {why}"))?;
        read.check()?;
        Ok(read)
    }

    pub fn target(&self) -> Result<Target, String> {
        Target::parse(&self.url)
    }

    pub fn references(&self) -> Result<Vec<Reference>, String> {
        self.secrets.iter().map(|text| text.parse()).collect()
    }

    fn check(&self) -> Result<(), String> {
        if self.url.len() > URL_BYTES_MAX {
            return Err(format!("a URL has at most {URL_BYTES_MAX} bytes"));
        }
        let target = self.target()?;
        if !self.allow_private {
            target.check_literal().map_err(|refused| refused.to_string())?;
        }
        if !(1..=SECRETS_MAX).contains(&self.references()?.len()) {
            return Err("it names one secret to sign with, or two during a rotation".to_string());
        }
        if self.labels.len() > LABELS_MAX {
            return Err(format!(
                "it names at most {LABELS_MAX} labels; with none it is told of every message"
            ));
        }
        Ok(())
    }
}

/// A webhook as it is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hooked {
    pub id: ItemId,
    pub name: Key,
    /// `ACTIVE` or `PAUSED`.
    pub state: Label,
    pub url: String,
    pub labels: Vec<Label>,
}

impl Tenure {
    /// Messages of commits from now on are sent there. The same under the same name again is the same webhook; another under
    /// the name of one that stands is refused: remove that one first.
    pub async fn webhook(&self, webhook: Webhook) -> Result<SharedItem, Error> {
        let subscribed = webhook.checked().map_err(Error::Webhook)?;
        self.has_room_for(&subscribed.name).await?;
        let bytes = serde_json::to_vec(&subscribed).map_err(|why| Error::Json(why.to_string()))?;
        let payload = Body::json(bytes).map_err(|problem| Error::Json(problem.detail.to_string()))?;
        match self.ask(Command::Create(Create::new(kind(), payload.clone()))).await?.answer {
            Answer::Created(item) => Ok(item),
            Answer::Coalesced(item) if item.payload == payload.hash() => Ok(item),
            Answer::Coalesced(item) => {
                Err(Error::Taken { kind: kind(), name: subscribed.name, item: item.id })
            }
            no => Err(Error::Refused(Box::new(no))),
        }
    }

    /// One too many would be told of nothing.
    async fn has_room_for(&self, name: &Key) -> Result<(), Error> {
        let (kept, store) = (self.inner.kept.clone(), self.store().clone());
        let standing =
            self.beside(async move { kept.standing(&store, &kind(), None, WEBHOOKS_MAX).await }).await?;
        if standing.len() >= WEBHOOKS_MAX && standing.iter().all(|(one, _)| one != name) {
            return Err(Error::Webhook(format!(
                "there are {WEBHOOKS_MAX} webhooks already: remove one first"
            )));
        }
        Ok(())
    }

    /// The webhooks that stand, by name.
    pub async fn webhooks(&self) -> Result<Vec<Hooked>, Error> {
        let mut hooked = Vec::new();
        for (name, id) in self.standing(kind()).await? {
            let whole = self.whole(id).await?;
            let read = whole.payload.as_ref().and_then(|payload| Subscribed::read(payload).ok());
            let Some(Subscribed { url, labels, .. }) = read else { continue };
            hooked.push(Hooked { id, name, state: whole.item.state_name().clone(), url, labels });
        }
        Ok(hooked)
    }

    /// Deliveries are held back until it is resumed. None is lost.
    pub async fn pause_webhook(&self, name: &str) -> Result<SharedItem, Error> {
        self.move_named(kind(), name, "pause").await
    }

    pub async fn resume_webhook(&self, name: &str) -> Result<SharedItem, Error> {
        self.move_named(kind(), name, "resume").await
    }

    /// Nothing more is sent there. What was not delivered yet fails.
    pub async fn remove_webhook(&self, name: &str) -> Result<SharedItem, Error> {
        self.move_named(kind(), name, "remove").await
    }
}
