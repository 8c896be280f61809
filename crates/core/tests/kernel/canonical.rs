//! Random entries, compared with an RFC 8785 canonicalizer by other hands.

use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;
use serde::Serialize;
use tenure_core::actor::Actor;
use tenure_core::entry::*;
use tenure_core::hash::Hash;
use tenure_core::id::{Fence, ItemId};
use tenure_core::item::Link;
use tenure_core::lifecycle::event::Event;
use tenure_core::time::Time;
use tenure_core::word::{Key, Label, Store};

fn hash() -> impl Strategy<Value = Hash> {
    any::<[u8; 32]>().prop_map(Hash)
}

fn item() -> impl Strategy<Value = ItemId> {
    any::<u128>().prop_map(ItemId)
}

fn time() -> impl Strategy<Value = Time> {
    any::<i64>().prop_map(Time::from_micros)
}

fn label() -> impl Strategy<Value = Label> {
    "[a-zA-Z][a-zA-Z0-9_-]{0,9}".prop_map(|text| text.parse().unwrap())
}

fn key() -> impl Strategy<Value = Key> {
    r#"[ -~é-ü“”\u{1F600}-\u{1F640}\u{fffd}"\\/]{1,20}"#.prop_map(|text| text.parse().unwrap())
}

fn event() -> impl Strategy<Value = Event> {
    "[a-z][a-z-]{0,9}".prop_map(|text| text.parse().unwrap())
}

fn actor() -> impl Strategy<Value = Actor> {
    "(api|worker|human|system|admin):[!-.0-~]{1,9}(/[!-.0-~]{1,9})?".prop_map(|text| text.parse().unwrap())
}

fn mark() -> impl Strategy<Value = RecordMark> {
    (label(), key(), hash()).prop_map(|(label, name, sha256)| RecordMark { label, name, sha256 })
}

fn link() -> impl Strategy<Value = Link> {
    (label(), item()).prop_map(|(label, to)| Link { label, to })
}

fn written() -> impl Strategy<Value = Written> {
    let message = (label(), hash()).prop_map(|(label, sha256)| MessageMark { label, sha256 });
    (vec(item(), 0..3), vec(message, 0..3), vec(item(), 0..3), vec(mark(), 0..3))
        .prop_map(|(created, messages, moved, records)| Written { created, messages, moved, records })
}

fn birth() -> impl Strategy<Value = Birth> {
    let first = (of(any::<u32>()), of(key()), hash(), vec(link(), 0..3), of(key()));
    let second = (of(item()), hash(), of(any::<i8>()), of(time()));
    (first, second).prop_map(
        |((attempts, key, lifecycle, links, name), (origin, payload, priority, run_at))| {
            let kind = "job".parse().unwrap();
            let estimated = false;
            Birth {
                attempts,
                estimated,
                key,
                kind,
                lifecycle,
                links,
                name,
                origin,
                payload,
                priority,
                run_at,
            }
        },
    )
}

/// An action and what it says, one shape an action.
fn facts() -> impl Strategy<Value = (Event, Facts)> {
    let reason = || of(any::<String>());
    let grant = (of(time()), of(key()), of(item()), any::<bool>())
        .prop_map(|(at, request, session, started)| Facts::Lease(Grant { at, request, session, started }));
    let progress = (vec(label(), 0..3), vec(label(), 0..3), vec(mark(), 0..3))
        .prop_map(|(closes, opens, records)| Facts::Progress(Progressed { closes, opens, records }));
    let commit = (any::<bool>(), of(hash()), written())
        .prop_map(|(finish, output, written)| Facts::Commit(Committed { finish, output, written }));
    let ended = (of(event()), any::<bool>(), reason(), of(time()), written()).prop_map(
        |(on, permanent, reason, run_at, written)| {
            Facts::End(Ended { on, permanent, reason, run_at, written })
        },
    );
    let cancel = (any::<bool>(), of(event()), reason(), of(hash()), written()).prop_map(
        |(asked, on, reason, request, written)| {
            Facts::Cancel(Cancelled { asked, on, reason, request, written })
        },
    );
    let moved =
        (reason(), of(hash()), of(time()), written()).prop_map(|(reason, request, run_at, written)| {
            Facts::Move(Moved { reason, request, run_at, written })
        });
    let folded = (hash(), key()).prop_map(|(digest, name)| Folded { digest, name });
    let note =
        (of(folded), vec(mark(), 0..3)).prop_map(|(folded, records)| Facts::Note(Noted { folded, records }));
    let linked =
        (vec(link(), 0..3), vec(link(), 0..3)).prop_map(|(add, remove)| Facts::Link(Linked { add, remove }));
    let bare = reason().prop_map(|reason| Facts::Bare(Bare { reason }));
    prop_oneof![
        birth().prop_map(|birth| (Event::Create, Facts::Create(birth))),
        grant.prop_map(|facts| (Event::Lease, facts)),
        progress.prop_map(|facts| (Event::Progress, facts)),
        commit.prop_map(|facts| (Event::Commit, facts)),
        ended.prop_map(|facts| (Event::TimeOut, facts)),
        cancel.prop_map(|facts| (Event::Cancel, facts)),
        moved.prop_map(|facts| ("a-move-of-its-own".parse().unwrap(), facts)),
        note.prop_map(|facts| (Event::Note, facts)),
        linked.prop_map(|facts| (Event::Link, facts)),
        bare.prop_map(|facts| (Event::Erase, facts)),
    ]
}

fn entry() -> impl Strategy<Value = Entry> {
    let cause = (actor(), item()).prop_map(|(actor, item)| Cause { actor, item });
    // Numbers past 2^53 are no numbers to JSON's other readers; no item has so many entries.
    let numbers = (0..1_u64 << 53, 0..1_u64 << 53);
    let who = (actor(), of(label()), of(cause), item(), label());
    (facts(), who, numbers, time(), of(hash())).prop_map(
        |((action, facts), (actor, shown, cause, item, state), (fence, version), at, previous)| {
            let (fence, store) = (Fence(fence), "default".parse().unwrap());
            Entry { action, actor, shown, cause, fence, item, at, facts, previous, state, store, version }
        },
    )
}

/// The same line, as a general serializer writes it.
#[derive(Serialize)]
struct Line<'a> {
    action: &'a Event,
    actor: &'a Actor,
    #[serde(rename = "as", skip_serializing_if = "Option::is_none")]
    shown: &'a Option<Label>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cause: &'a Option<Cause>,
    claim_version: Fence,
    event_id: ItemId,
    item: ItemId,
    occurred_at: Time,
    payload: &'a Facts,
    #[serde(skip_serializing_if = "Option::is_none")]
    previous: &'a Option<Hash>,
    state: &'a Label,
    store: &'a Store,
    version: u64,
}

fn serialized(entry: &Entry) -> String {
    let line = Line {
        action: &entry.action,
        actor: &entry.actor,
        shown: &entry.shown,
        cause: &entry.cause,
        claim_version: entry.fence,
        event_id: entry.event_id(),
        item: entry.item,
        occurred_at: entry.at,
        payload: &entry.facts,
        previous: &entry.previous,
        state: &entry.state,
        store: &entry.store,
        version: entry.version,
    };
    serde_json::to_string(&line).unwrap()
}

proptest! {
    // covers: K-40
    #[test]
    fn a_random_entry_is_what_a_general_serializer_makes_of_it(entry in entry()) {
        prop_assert_eq!(String::from_utf8(entry.canonical()).unwrap(), serialized(&entry));
    }

    // covers: K-40
    #[test]
    fn a_birth_is_known_by_what_a_general_serializer_makes_of_it(birth in birth()) {
        let request = Birth { lifecycle: Hash::ZERO, ..birth.clone() };
        prop_assert_eq!(birth.digest(), Hash::of(&serde_json::to_vec(&request).unwrap()));
    }

    // covers: K-40
    #[test]
    fn a_random_entry_is_what_a_canonicalizer_makes_of_it(entry in entry()) {
        let line = entry.canonical();
        let value: serde_json::Value = serde_json::from_slice(&line).unwrap();
        let canonical = serde_json_canonicalizer::to_vec(&value).unwrap();
        prop_assert_eq!(String::from_utf8(line.clone()).unwrap(), String::from_utf8(canonical).unwrap());
        prop_assert_eq!(Entry::read(&line), Ok(entry));
    }
}
