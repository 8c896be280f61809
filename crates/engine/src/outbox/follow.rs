//! Reading the log for messages, a page at a time.

use std::time::{Duration, Instant};

use tenure_core::entry::{Facts, MessageMark};
use tenure_core::time::Time;
use tenure_core::word::{Label, Store};
use tenure_databases::Error;
use tenure_databases::follow::MessageId;

use crate::kept;
use crate::time::now;

/// Entries that are read at once.
pub(super) const PAGE: usize = 500;
/// A mark is kept at least this often, where nothing else makes it worth a write.
const KEEP_EVERY: u64 = 10_000;
/// And this long after it was kept, if anything was read since: what is finished is not removed before its messages were passed.
const KEEP_AFTER: Duration = Duration::from_secs(30);
/// Clocks of writers differ a little, and the log is in the order of commits: what is looked for by time is looked for from
/// a little earlier.
const SLACK: Duration = Duration::from_secs(600);

/// How far a mark has been kept, and when.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kept {
    position: u64,
    since: Instant,
}

impl Kept {
    pub fn at(position: u64) -> Kept {
        Kept { position, since: now() }
    }

    pub fn is_behind(&self, position: u64) -> bool {
        self.position < position
    }

    /// Whether it should be kept again where nothing was heard since.
    pub fn is_worth_it(&self, position: u64) -> bool {
        let is_late = self.since + KEEP_AFTER <= now();
        position >= self.position.saturating_add(KEEP_EVERY) || (is_late && self.is_behind(position))
    }
}

/// A message, as the log names it.
#[derive(Clone, Debug)]
pub(super) struct Sent {
    pub id: MessageId,
    pub label: Label,
    pub at: Time,
    /// Its entry's place in the log.
    pub position: u64,
}

/// A stretch of the log.
#[derive(Debug)]
pub(super) struct Page {
    pub messages: Vec<Sent>,
    /// Where it ends.
    pub end: u64,
    pub more: bool,
}

/// The messages of a store in the entries after a position.
pub(super) async fn page(kept: &kept::Kept, store: &Store, after: u64) -> Result<Page, Error> {
    let entries = kept.log(after, PAGE).await?;
    let mut page = Page { messages: Vec::new(), end: after, more: entries.len() >= PAGE };
    for (position, entry) in entries {
        page.end = position;
        if entry.store != *store {
            continue;
        }
        for (ordinal, mark) in (0..).zip(sent(&entry.facts)) {
            let id = MessageId { item: entry.item, version: entry.version, ordinal };
            page.messages.push(Sent { id, label: mark.label.clone(), at: entry.at, position });
        }
    }
    Ok(page)
}

fn sent(facts: &Facts) -> &[MessageMark] {
    match facts {
        Facts::Commit(commit) => &commit.written.messages,
        Facts::End(ended) => &ended.written.messages,
        Facts::Cancel(cancelled) => &cancelled.written.messages,
        Facts::Move(moved) => &moved.written.messages,
        Facts::Create(_) | Facts::Lease(_) | Facts::Progress(_) | Facts::Note(_) => &[],
        Facts::Link(_) | Facts::Bare(_) => &[],
    }
}

/// A position at or after `from`, before which nothing is younger than `moment`. Found by halving: a log of a billion entries
/// takes thirty looks.
pub(super) async fn skip(kept: &kept::Kept, from: u64, moment: Time) -> Result<u64, Error> {
    let moment = moment.before(SLACK);
    let is_older = async |position: u64| -> Result<bool, Error> {
        Ok(kept.log(position, 1).await?.first().is_some_and(|(_, entry)| entry.at < moment))
    };
    if !is_older(from).await? {
        return Ok(from);
    }
    let (mut older, mut end) = (from, kept.head().await?.position.max(from));
    while older + 1 < end {
        let middle = older + (end - older) / 2;
        if is_older(middle).await? {
            older = middle;
        } else {
            end = middle;
        }
    }
    Ok(older)
}
