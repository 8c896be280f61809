//! Derived state: what an item's executions alone make of it.
//!
//! A lifecycle with `derived: yes` promises that nothing but executions moves its items. This is that function, written
//! without looking at any state that was stored; `verify` and the explorer compare it with the row.

use crate::execution::{Execution, Status};
use crate::lifecycle::event::Event;
use crate::lifecycle::guard::Guard;
use crate::lifecycle::{Row, StateId, Table, To};

/// The state that these executions (oldest first, the live one last) leave an item in.
pub fn derive<'e>(
    table: &Table,
    attempts: Option<u32>,
    executions: impl IntoIterator<Item = &'e Execution>,
) -> Option<StateId> {
    let mut state = first(table.rows_from(None, &Event::Create), |_| true)?;
    let mut failures: u32 = 0;
    for execution in executions {
        let never_ran =
            execution.ended.as_ref().is_some_and(|end| end.cause == Event::Cancel && end.on.is_none());
        if !never_ran {
            state = first(table.rows_from(Some(state), &Event::Lease), |_| true)?;
        }
        let end = match (execution.status(), &execution.ended) {
            (Status::Leased | Status::InProgress | Status::Committed, _) | (_, None) => continue,
            (Status::Done | Status::Aborted, Some(end)) => end,
        };
        let left = attempts.is_none_or(|most| failures.saturating_add(1) < most);
        let holds = |row: &Row| {
            row.guards.iter().all(|guard| match guard {
                Guard::AttemptsLeft => left,
                Guard::AttemptsExhausted => !left,
                Guard::Permanent => end.permanent,
                _ => true,
            })
        };
        state = first(table.rows_from(Some(state), &end.cause), holds)?;
        if end.cause.is_failure() {
            failures = failures.saturating_add(1);
        }
    }
    Some(state)
}

fn first<'t>(mut rows: impl Iterator<Item = &'t Row>, holds: impl Fn(&Row) -> bool) -> Option<StateId> {
    rows.find_map(|row| match row.to {
        To::State(state) if holds(row) => Some(state),
        To::State(_) | To::Refuse(_) => None,
    })
}
