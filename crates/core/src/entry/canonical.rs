//! The canonical text of an entry, written straight into one buffer: it is made and hashed for every request, and a
//! general serializer was a third of what a request cost.
//!
//! Keys stand in alphabetical order, what is unset or empty is left out, numbers are integers. Only what a client or a
//! person wrote freely can hold a character that JSON escapes; the other words have alphabets without one.

use alloc::vec::Vec;

use super::{
    Bare, Birth, Cancelled, Cause, Committed, Ended, Entry, Facts, Folded, Grant, Linked, MessageMark, Moved,
    Noted, Progressed, RecordMark, Written,
};
use crate::actor::Actor;
use crate::hash::Hash;
use crate::id::ItemId;
use crate::item::Link;
use crate::lifecycle::event::Event;
use crate::time::Time;
use crate::word::{Key, Kind, Label, Store};

/// Most entries have 400 to 500 bytes.
const USUAL_BYTES: usize = 512;

pub(super) fn entry(entry: &Entry) -> Vec<u8> {
    let mut text = Vec::with_capacity(USUAL_BYTES);
    object(&mut text, |line| {
        line.field("action", &entry.action);
        line.field("actor", &entry.actor);
        line.option("as", &entry.shown);
        line.option("cause", &entry.cause);
        line.field("claim_version", &entry.fence.0);
        line.field("event_id", &entry.event_id());
        line.field("item", &entry.item);
        line.field("occurred_at", &entry.at);
        line.field("payload", &entry.facts);
        line.option("previous", &entry.previous);
        line.field("state", &entry.state);
        line.field("store", &entry.store);
        line.field("version", &entry.version);
    });
    text
}

/// A birth, under the lifecycle that is given.
pub(super) fn birth(birth: &Birth, lifecycle: Hash) -> Vec<u8> {
    let mut text = Vec::with_capacity(USUAL_BYTES);
    object(&mut text, |o| birth_under(birth, &lifecycle, o));
    text
}

fn birth_under(birth: &Birth, lifecycle: &Hash, o: &mut Object) {
    o.option("attempts", &birth.attempts.map(u64::from));
    o.flag("estimated", birth.estimated);
    o.option("key", &birth.key);
    o.field("kind", &birth.kind);
    o.field("lifecycle", lifecycle);
    o.list("links", &birth.links);
    o.option("name", &birth.name);
    o.option("origin", &birth.origin);
    o.field("payload", &birth.payload);
    o.option("priority", &birth.priority);
    o.option("run_at", &birth.run_at);
}

/// What has a canonical text.
trait Canonical {
    fn write(&self, text: &mut Vec<u8>);
}

/// An object that is being written.
struct Object<'t> {
    text: &'t mut Vec<u8>,
    is_empty: bool,
}

fn object(text: &mut Vec<u8>, fields: impl FnOnce(&mut Object)) {
    text.push(b'{');
    fields(&mut Object { text: &mut *text, is_empty: true });
    text.push(b'}');
}

impl Object<'_> {
    #[inline]
    fn field(&mut self, key: &'static str, value: &impl Canonical) {
        self.text.extend_from_slice(if self.is_empty { b"\"" } else { b",\"" });
        self.is_empty = false;
        self.text.extend_from_slice(key.as_bytes());
        self.text.extend_from_slice(b"\":");
        value.write(self.text);
    }

    #[inline]
    fn option(&mut self, key: &'static str, value: &Option<impl Canonical>) {
        if let Some(value) = value {
            self.field(key, value);
        }
    }

    /// Written only when it is set.
    #[inline]
    fn flag(&mut self, key: &'static str, flag: bool) {
        if flag {
            self.field(key, &True);
        }
    }

    #[inline]
    fn list(&mut self, key: &'static str, list: &[impl Canonical]) {
        if !list.is_empty() {
            self.field(key, &list);
        }
    }

    fn written(&mut self, written: &Written) {
        if !written.is_empty() {
            self.field("written", written);
        }
    }
}

struct True;

impl Canonical for True {
    fn write(&self, text: &mut Vec<u8>) {
        text.extend_from_slice(b"true");
    }
}

impl<T: Canonical> Canonical for &[T] {
    fn write(&self, text: &mut Vec<u8>) {
        text.push(b'[');
        for (place, value) in self.iter().enumerate() {
            if place > 0 {
                text.push(b',');
            }
            value.write(text);
        }
        text.push(b']');
    }
}

impl Canonical for u64 {
    fn write(&self, text: &mut Vec<u8>) {
        let mut digits = [0; 20];
        let (mut rest, mut count) = (*self, 0);
        for digit in digits.iter_mut().rev() {
            *digit = b'0' + (rest % 10) as u8;
            (rest, count) = (rest / 10, count + 1);
            if rest == 0 {
                break;
            }
        }
        text.extend(digits.iter().skip(digits.len() - count));
    }
}

impl Canonical for i8 {
    fn write(&self, text: &mut Vec<u8>) {
        if *self < 0 {
            text.push(b'-');
        }
        u64::from(self.unsigned_abs()).write(text);
    }
}

/// Text that needs no escapes.
fn plain(text: &mut Vec<u8>, value: &[u8]) {
    text.push(b'"');
    text.extend_from_slice(value);
    text.push(b'"');
}

/// Any text. Escapes exactly what RFC 8785 says, in the shortest form that JSON has for it.
fn escaped(text: &mut Vec<u8>, value: &str) {
    let needs_escape = |byte: &u8| *byte < 0x20 || *byte == b'"' || *byte == b'\\';
    let mut rest = value.as_bytes();
    while let Some(place) = rest.iter().position(needs_escape) {
        let (before, after) = rest.split_at(place);
        text.extend_from_slice(before);
        let Some((byte, after)) = after.split_first() else { break };
        match byte {
            b'"' => text.extend_from_slice(b"\\\""),
            b'\\' => text.extend_from_slice(b"\\\\"),
            0x08 => text.extend_from_slice(b"\\b"),
            b'\t' => text.extend_from_slice(b"\\t"),
            b'\n' => text.extend_from_slice(b"\\n"),
            0x0c => text.extend_from_slice(b"\\f"),
            b'\r' => text.extend_from_slice(b"\\r"),
            control => {
                let low = control & 15;
                let digit = if low < 10 { b'0' + low } else { b'a' + low - 10 };
                text.extend_from_slice(&[b'\\', b'u', b'0', b'0', b'0' + (control >> 4), digit]);
            }
        }
        rest = after;
    }
    text.extend_from_slice(rest);
}

impl Canonical for str {
    fn write(&self, text: &mut Vec<u8>) {
        text.push(b'"');
        escaped(text, self);
        text.push(b'"');
    }
}

impl Canonical for alloc::string::String {
    fn write(&self, text: &mut Vec<u8>) {
        self.as_str().write(text);
    }
}

impl Canonical for Key {
    fn write(&self, text: &mut Vec<u8>) {
        self.as_str().write(text);
    }
}

impl Canonical for Actor {
    fn write(&self, text: &mut Vec<u8>) {
        text.push(b'"');
        text.extend_from_slice(self.role.as_str().as_bytes());
        text.push(b':');
        escaped(text, &self.id);
        if let Some(incarnation) = &self.incarnation {
            text.push(b'/');
            escaped(text, incarnation);
        }
        text.push(b'"');
    }
}

macro_rules! written_plainly {
    ($($word:ty),*) => {
        $(impl Canonical for $word {
            #[inline]
            fn write(&self, text: &mut Vec<u8>) {
                plain(text, self.as_str().as_bytes());
            }
        })*
    };
}

written_plainly!(Event, Kind, Label, Store);

impl Canonical for Hash {
    fn write(&self, text: &mut Vec<u8>) {
        plain(text, &self.text());
    }
}

impl Canonical for ItemId {
    fn write(&self, text: &mut Vec<u8>) {
        plain(text, &self.text());
    }
}

impl Canonical for Time {
    fn write(&self, text: &mut Vec<u8>) {
        plain(text, &self.text());
    }
}

impl Canonical for Facts {
    fn write(&self, text: &mut Vec<u8>) {
        object(text, |o| match self {
            Facts::Create(birth) => birth_under(birth, &birth.lifecycle, o),
            Facts::Lease(Grant { at, request, session, started }) => {
                o.option("at", at);
                o.option("request", request);
                o.option("session", session);
                o.flag("started", *started);
            }
            Facts::Progress(Progressed { closes, opens, records }) => {
                o.list("closes", closes);
                o.list("opens", opens);
                o.list("records", records);
            }
            Facts::Commit(Committed { finish, output, written }) => {
                o.flag("finish", *finish);
                o.option("output", output);
                o.written(written);
            }
            Facts::End(Ended { on, permanent, reason, run_at, written }) => {
                o.option("on", on);
                o.flag("permanent", *permanent);
                o.option("reason", reason);
                o.option("run_at", run_at);
                o.written(written);
            }
            Facts::Cancel(Cancelled { asked, on, reason, request, written }) => {
                o.flag("asked", *asked);
                o.option("on", on);
                o.option("reason", reason);
                o.option("request", request);
                o.written(written);
            }
            Facts::Move(Moved { reason, request, run_at, written }) => {
                o.option("reason", reason);
                o.option("request", request);
                o.option("run_at", run_at);
                o.written(written);
            }
            Facts::Note(Noted { folded, records }) => {
                o.option("folded", folded);
                o.list("records", records);
            }
            Facts::Link(Linked { add, remove }) => {
                o.list("add", add);
                o.list("remove", remove);
            }
            Facts::Bare(Bare { reason }) => o.option("reason", reason),
        });
    }
}

impl Canonical for Written {
    fn write(&self, text: &mut Vec<u8>) {
        object(text, |o| {
            o.list("created", &self.created);
            o.list("messages", &self.messages);
            o.list("moved", &self.moved);
            o.list("records", &self.records);
        });
    }
}

impl Canonical for Cause {
    fn write(&self, text: &mut Vec<u8>) {
        object(text, |o| {
            o.field("actor", &self.actor);
            o.field("item", &self.item);
        });
    }
}

impl Canonical for Folded {
    fn write(&self, text: &mut Vec<u8>) {
        object(text, |o| {
            o.field("digest", &self.digest);
            o.field("name", &self.name);
        });
    }
}

impl Canonical for RecordMark {
    fn write(&self, text: &mut Vec<u8>) {
        object(text, |o| {
            o.field("label", &self.label);
            o.field("name", &self.name);
            o.field("sha256", &self.sha256);
        });
    }
}

impl Canonical for MessageMark {
    fn write(&self, text: &mut Vec<u8>) {
        object(text, |o| {
            o.field("label", &self.label);
            o.field("sha256", &self.sha256);
        });
    }
}

impl Canonical for Link {
    fn write(&self, text: &mut Vec<u8>) {
        object(text, |o| {
            o.field("label", &self.label);
            o.field("to", &self.to);
        });
    }
}
