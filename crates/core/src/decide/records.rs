//! Records: append-only, each under a name that is its identity.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::vec::Vec;

use super::draft::Draft;
use crate::answer::Answer;
use crate::body::Body;
use crate::code::Problem;
use crate::entry::RecordMark;
use crate::id::{ItemId, RecordId};
use crate::item::Item;
use crate::lifecycle::event::Event;
use crate::request::NewRecord;
use crate::word::Label;

/// The records that are not there yet. The same content again is a no-op; other content under the same name is refused.
pub fn new_records(draft: &Draft, item: ItemId, records: &[NewRecord]) -> Result<Vec<NewRecord>, Answer> {
    let mut seen = BTreeSet::new();
    let mut new = Vec::new();
    for record in records {
        let id = RecordId::of(item, &record.label, &record.name);
        let refused = |why: &str| {
            let detail = format!("record {} `{}` {why}", record.label, record.name);
            Answer::Invalid(Problem::invalid(detail))
        };
        if !seen.insert(id) {
            return Err(refused("is given twice"));
        }
        if &*record.label == CLOSING.0 && record.name.ends_with(CLOSING.1) {
            return Err(refused("has a name that is kept for steps which nobody closed"));
        }
        match draft.record(id) {
            None => new.push(record.clone()),
            Some(kept) if kept.hash == record.body.hash() => {}
            Some(_) => return Err(refused("is there already with other content; records are append-only")),
        }
    }
    Ok(new)
}

/// What an entry says of them.
pub fn marks(records: &[NewRecord]) -> Vec<RecordMark> {
    let mark = |record: &NewRecord| RecordMark {
        label: record.label.clone(),
        name: record.name.clone(),
        sha256: record.body.hash(),
    };
    records.iter().map(mark).collect()
}

pub fn bodies(records: &[NewRecord]) -> Vec<Body> {
    records.iter().map(|record| record.body.clone()).collect()
}

/// The label of closing records, and how their names end. Nobody else writes such a record: one that was there already
/// would keep an item from ending.
const CLOSING: (&str, &str) = ("step", "/closed");

/// What `close open steps` writes for a step that never ended.
pub fn closing_record(item: &Item, step: &Label, event: &Event) -> NewRecord {
    let text = format!(r#"{{"error_code":"{event}","status":"failed","step":"{step}"}}"#);
    NewRecord {
        label: CLOSING.0.parse().expect("a valid label"),
        name: format!("{step}/{}{}", item.fence, CLOSING.1).parse().expect("a valid name"),
        body: Body::json(text.into_bytes()).expect("this is JSON"),
    }
}
