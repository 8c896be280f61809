//! Who follows the messages of a store: its webhooks, told by the engine, and subscribers in programs.
//!
//! A follower keeps a mark in the database: how far in the log it has come. Under which name is written here alone, because two
//! sides need it: the follower, and whoever asks if a message may go.

use alloc::format;
use alloc::string::String;

use crate::item::Item;
use crate::lifecycle::Phase;
use crate::word::{Key, NotAWord, Store};

/// A message on its way to a webhook. It is linked to the item whose message it tells.
pub const DELIVERY: &str = "delivery";
pub const WEBHOOK: &str = "webhook";

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Follower {
    /// All webhooks of the store; they share a mark.
    Webhooks,
    Subscriber(String),
}

const WEBHOOKS: &str = "webhooks";
const SUBSCRIBER: &str = "subscriber ";

impl Follower {
    /// The name of its mark.
    pub fn mark(&self, store: &Store) -> Result<Key, NotAWord> {
        match self {
            Follower::Webhooks => format!("{WEBHOOKS} of {store}").parse(),
            Follower::Subscriber(name) => format!("{SUBSCRIBER}{name} of {store}").parse(),
        }
    }

    /// Whose mark it is, if it is one of a follower of this store. Others keep marks too.
    pub fn of(mark: &Key, store: &Store) -> Option<Follower> {
        let who = mark.strip_suffix(store.as_str())?.strip_suffix(" of ")?;
        match who.strip_prefix(SUBSCRIBER) {
            Some(name) => Some(Follower::Subscriber(name.into())),
            None => (who == WEBHOOKS).then_some(Follower::Webhooks),
        }
    }
}

/// Whether the deliveries of a message wait for this webhook.
pub fn is_standing_webhook(item: &Item, store: &Store) -> bool {
    &*item.table.kind == WEBHOOK && item.store == *store && !item.phase().is_ended()
}

/// Whether what an item is linked to may still be asked for by it. What is final never looks again. A delivery that failed
/// holds nothing: it can be tried again for as long as its message is kept, and no longer.
pub fn may_look_back(item: &Item) -> bool {
    let is_given_up = &*item.table.kind == DELIVERY && item.phase() == Phase::Failed;
    !item.table.is_final(item.state) && !is_given_up
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn a_mark_says_whose_it_is() {
        let store: Store = "default".parse().unwrap();
        for follower in [Follower::Webhooks, Follower::Subscriber("a of b of default".to_string())] {
            let mark = follower.mark(&store).unwrap();
            assert_eq!(Follower::of(&mark, &store), Some(follower));
            assert_eq!(Follower::of(&mark, &"other".parse().unwrap()), None, "{mark}");
        }
        for other in ["webhooks", "webhooks of other", "webhooks2 of default", "reader of default"] {
            assert_eq!(Follower::of(&other.parse().unwrap(), &store), None, "{other}");
        }
    }
}
