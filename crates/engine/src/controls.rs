//! What an operator says about kinds: pause, resume, drain, other limits; and what is seen of what holds them back.

use std::time::Duration;

use tenure_core::answer::Answer;
use tenure_core::control::{Control, QueueKey, Rules};
use tenure_core::lifecycle::settings::Rate;
use tenure_core::request::{Command, Order, Request, What};
use tenure_core::word::Kind;

use crate::error::Error;
use crate::tenure::Tenure;
use crate::time::pause;

/// How soon a drain looks again, and how late at most.
const LOOK_MIN: Duration = Duration::from_millis(20);
const LOOK_MAX: Duration = Duration::from_secs(1);

/// A kind that something holds back, or could.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Standing {
    pub kind: Kind,
    /// The limits in force: the lifecycle's, or an operator's.
    pub rules: Rules,
    /// How many run now.
    pub active: u32,
    /// Whether it is paused and by whom, its paces, whether its breaker is open and how often it was.
    pub control: Control,
}

impl Tenure {
    /// No new leases of this kind, on any node, from the moment this answers. Work is still created, and what is held goes on.
    pub async fn pause(&self, kind: &str, reason: impl Into<String>) -> Result<Control, Error> {
        self.order(kind, What::Pause, reason.into()).await
    }

    pub async fn resume(&self, kind: &str, reason: impl Into<String>) -> Result<Control, Error> {
        self.order(kind, What::Resume, reason.into()).await
    }

    /// Other limits than the lifecycle's; None is the lifecycle's own. What runs above a lower limit goes on.
    pub async fn limit(
        &self,
        kind: &str,
        concurrency: Option<u32>,
        rate: Option<Rate>,
        reason: impl Into<String>,
    ) -> Result<Control, Error> {
        self.order(kind, What::Limit { concurrency, rate }, reason.into()).await
    }

    /// Pauses a kind and waits until none of it is held. The kind stays paused, also when the patience was too short.
    pub async fn drain(
        &self,
        kind: &str,
        reason: impl Into<String>,
        patience: Duration,
    ) -> Result<(), Error> {
        self.pause(kind, reason).await?;
        let key = self.queue(kind)?;
        let emptied = async {
            let mut look = LOOK_MIN;
            loop {
                if self.control_of(&key).await?.1 == 0 {
                    return Ok(());
                }
                pause(look).await;
                look = (look * 2).min(LOOK_MAX);
            }
        };
        match tokio::time::timeout(patience, emptied).await {
            Ok(emptied) => emptied,
            Err(_) => Err(Error::StillRunning(self.control_of(&key).await?.1)),
        }
    }

    /// Every kind that has a limit or that somebody said something about, sorted by kind.
    pub async fn controls(&self) -> Result<Vec<Standing>, Error> {
        let mut found = Vec::new();
        for table in self.lifecycles().iter() {
            let key = QueueKey { store: self.store.clone(), kind: table.kind.clone() };
            let (control, active) = self.control_of(&key).await?;
            if control != Control::default() || table.is_governed() {
                let rules = Rules::of(table, &control);
                found.push(Standing { kind: table.kind.clone(), rules, active, control });
            }
        }
        Ok(found)
    }

    /// What holds one kind back, if anything does.
    pub async fn standing_of(&self, kind: &str) -> Result<Standing, Error> {
        let key = self.queue(kind)?;
        let lifecycles = self.lifecycles();
        let table = lifecycles.current(&key.kind);
        let table =
            table.ok_or_else(|| Error::NoSuchName { kind: key.kind.clone(), name: kind.to_string() })?;
        let (control, active) = self.control_of(&key).await?;
        Ok(Standing { kind: key.kind, rules: Rules::of(table, &control), active, control })
    }

    async fn control_of(&self, key: &QueueKey) -> Result<(Control, u32), Error> {
        let (kept, key) = (self.inner.kept.clone(), key.clone());
        self.beside(async move { kept.control(&key).await }).await
    }

    fn queue(&self, kind: &str) -> Result<QueueKey, Error> {
        Ok(QueueKey { store: self.store.clone(), kind: kind.parse()? })
    }

    /// Whoever holds the database's handle answers for it: the program's own name, as its administrator.
    async fn order(&self, kind: &str, what: What, reason: String) -> Result<Control, Error> {
        let command = Command::Control(Order { kind: kind.parse()?, what, reason });
        let actor = self.operator.clone();
        let request = Request { store: self.store.clone(), actor, command };
        let reply = self.inner.gather.ask(request.clone()).await?;
        self.inner.bells.heard(&request, &reply);
        match reply.answer {
            Answer::Controlled(control) => Ok(*control),
            no => Err(Error::Refused(Box::new(no))),
        }
    }
}
