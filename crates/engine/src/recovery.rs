//! Whose process is gone: what it held is ended by the recovery row of its table, without waiting for the lease.
//!
//! Only who knows that a process is dead may say so. A lock that the system takes back with the process is such knowledge; a
//! heartbeat that is late is not.

use tenure_core::actor::{Actor, Role};
use tenure_core::id::ItemId;
use tenure_core::item::Item;
use tenure_core::lifecycle::Phase;
use tenure_core::request::{Command, Due, Effects, Request, Sweep};
use tenure_core::word::{Kind, Who};
use tenure_databases::{PAGE_MAX, Query};

use crate::error::Error;
use crate::tenure::Tenure;

impl Tenure {
    /// Names this process, and no other before or after it: the owner of what its workers hold.
    pub fn incarnation(&self) -> &Who {
        &self.inner.incarnation
    }

    /// Ends what dead processes hold of a kind, in every store: `orphan`, or `expire` where the table has only that. What was heard of
    /// since it was looked at is left alone. Answers how many were ended.
    pub async fn recover(&self, kind: &Kind, is_dead: impl Fn(&Who) -> bool) -> Result<usize, Error> {
        let mut after: Option<ItemId> = None;
        let mut ended = 0;
        loop {
            let (kept, kind) = (self.inner.kept.clone(), Some(kind.clone()));
            let query =
                Query { kind, phase: Some(Phase::Active), after, limit: PAGE_MAX, ..Query::default() };
            let page = self.beside(async move { kept.list(&query).await }).await?;
            let orphaned: Vec<Request> =
                page.iter().filter_map(|item| self.orphaned(item, &is_dead)).collect();
            for reply in self.ask_all(orphaned).await {
                ended += usize::from(reply?.fresh);
            }
            match page.last() {
                Some(last) if page.len() == PAGE_MAX => after = Some(last.id),
                _ => return Ok(ended),
            }
        }
    }

    fn orphaned(&self, item: &Item, is_dead: impl Fn(&Who) -> bool) -> Option<Request> {
        let lease = item.lease.as_ref()?;
        lease.owner.incarnation.as_ref().filter(|incarnation| is_dead(incarnation))?;
        let due = Due::Orphan { heartbeat: lease.heartbeat };
        let sweep = Sweep { item: item.id, fence: item.fence, due, offers: Effects::default() };
        let actor = Actor::new(Role::System, self.inner.incarnation.clone());
        Some(Request { store: item.store.clone(), actor, command: Command::Sweep(sweep) })
    }
}
