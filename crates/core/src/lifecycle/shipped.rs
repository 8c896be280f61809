//! The lifecycles that ship with Tenure: the files of the five systems and of the engine itself, kept in
//! the program.
//!
//! They have no privilege. Each is read by the same parser as a user's own file, and could be one; only its payload schema is compiled
//! when it is needed.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::parse::parse_shipped;
use super::tables::Tables;
use crate::word::Kind;

/// A lifecycle file that is part of the program.
#[derive(Clone, Copy, Debug)]
pub struct Shipped {
    /// Which of the five systems it belongs to; `engine` and `server` for their own work.
    pub system: &'static str,
    pub file: &'static str,
    pub source: &'static str,
}

macro_rules! shipped {
    ($($system:literal: $($file:literal),+;)*) => {
        /// Every shipped file, in the order in which a reader would take them.
        pub const SHIPPED: &[Shipped] = &[$($(Shipped {
            system: $system,
            file: $file,
            source: include_str!(concat!("../../../../lifecycles/", $file)),
        }),+),*];
    };
}

shipped! {
    "claims": "claim.md", "evidence.md", "validation.md", "verdict.md", "recheck.md";
    "jobs": "job.md";
    "runs": "document.md", "run.md";
    "todos": "todo.md", "session.md";
    "tickets": "ticket.md", "blocker.md", "ticket_ready.md", "work_order.md", "gate.md";
    "engine": "schedule.md", "tick.md", "webhook.md", "delivery.md";
    "server": "token.md";
}

/// Whose items are Tenure's own work: schedules and their ticks, webhooks and their deliveries, tokens.
const OWN: [&str; 2] = ["engine", "server"];

/// Which system a kind ships with. None: it is a user's own.
pub fn system_of(kind: &Kind) -> Option<&'static str> {
    let is_its_file = |file: &str| file.strip_suffix(".md") == Some(kind.as_str());
    SHIPPED.iter().find(|shipped| is_its_file(shipped.file)).map(|shipped| shipped.system)
}

/// Whether Tenure works by this kind itself: its lifecycle is not a user's to change, nor are its items anybody's to make by hand.
pub fn is_own(kind: &Kind) -> bool {
    system_of(kind).is_some_and(|system| OWN.contains(&system))
}

/// The kind of what was uploaded: its items have files.
const UPLOADED: &str = "document";

/// Whether only a dedicated call creates items of this kind. That call writes or validates what the payload names: a file, an address,
/// a secret. General creates (items, effects, schedules, the SQL inbox) refuse the kind for every role.
pub fn has_own_create(kind: &Kind) -> bool {
    is_own(kind) || kind.as_str() == UPLOADED
}

/// The shipped lifecycles, read. Panics if one has a fault: that is a bug in this program, which its tests find first.
pub fn tables() -> Tables {
    let mut tables = Tables::default();
    for shipped in SHIPPED {
        match parse_shipped(shipped.source) {
            Ok(table) => tables.add(table),
            Err(faults) => {
                let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
                panic!("the shipped lifecycle {} has faults: {}", shipped.file, faults.join("; "))
            }
        };
    }
    tables
}

#[cfg(test)]
mod tests {
    use super::super::parse::parse;
    use super::*;

    #[test]
    fn a_shipped_file_has_no_fault_and_its_schema_is_one() {
        let tables = tables();
        for shipped in SHIPPED {
            let read = parse(shipped.source).unwrap();
            assert_eq!(tables.current(&read.kind).map(|table| table.hash()), Some(read.hash()));
        }
    }

    #[test]
    fn a_kind_is_of_the_system_that_it_ships_with() {
        for (kind, system, own, own_create) in [
            ("tick", Some("engine"), true, true),
            ("token", Some("server"), true, true),
            ("document", Some("runs"), false, true),
            ("run", Some("runs"), false, false),
            ("work_order", Some("tickets"), false, false),
            ("ticket", Some("tickets"), false, false),
            ("invoice", None, false, false),
        ] {
            let kind: Kind = kind.parse().unwrap();
            let found = (system_of(&kind), is_own(&kind), has_own_create(&kind));
            assert_eq!(found, (system, own, own_create), "{kind}");
        }
    }

    #[test]
    fn every_shipped_file_holds_the_kind_it_is_named_after() {
        let tables = tables();
        for shipped in SHIPPED {
            let kind: Kind = shipped.file.strip_suffix(".md").unwrap().parse().unwrap();
            assert!(tables.current(&kind).is_some(), "{kind}");
        }
        assert_eq!(tables.iter().count(), SHIPPED.len());
    }
}
