//! The lifecycles that ship with Tenure: the files of the five systems and of the engine itself, kept in
//! the program.
//!
//! They have no privilege. Each is read by the same parser as a user's own file, and could be one; only its payload schema is compiled
//! when it is needed.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::parse::parse_shipped;
use super::tables::Tables;

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
    use crate::word::Kind;

    #[test]
    fn a_shipped_file_has_no_fault_and_its_schema_is_one() {
        let tables = tables();
        for shipped in SHIPPED {
            let read = parse(shipped.source).unwrap();
            assert_eq!(tables.current(&read.kind).map(|table| table.hash()), Some(read.hash()));
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
