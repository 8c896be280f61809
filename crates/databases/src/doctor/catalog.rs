//! The legal moves, held against the lifecycles they were made from; and what holds kinds back.

use std::collections::{BTreeMap, BTreeSet};

use tenure_core::lifecycle::Table;
use tenure_core::lifecycle::parse::parse;
use tenure_core::time::Time;

use super::{Check, Examined, Found, Patient, ROWS_MAX, Row};
use crate::Error;
use crate::row::control;

const MOVES: Check = Check::wrong(
    "the legal moves are those of the lifecycles",
    "K-01",
    "the schema refuses what is legal, or lets pass what is not: restore these rows from a backup",
);
const HELD_BACK: Check = Check::note(
    "kinds that are held back",
    "K-38",
    "nothing of them is leased until somebody resumes them, or their breaker closes",
);

/// By number: the kind, and its table if it can be read and is what it was kept as.
async fn tables<P: Patient>(patient: &P) -> Result<BTreeMap<i64, (String, Option<Table>)>, Error> {
    let rows = patient.ask("select lifecycle, hash, kind, source from @.lifecycles").await?;
    let table = |row: &Row| parse(row[3].text()).ok().filter(|table| table.hash().0 == *row[1].bytes());
    Ok(rows.iter().map(|row| (row[0].number(), (row[2].text().to_string(), table(row)))).collect())
}

/// The numbers of the exclusive lifecycles, as a list in a statement.
pub(super) async fn exclusive<P: Patient>(patient: &P) -> Result<String, Error> {
    let tables = tables(patient).await?;
    let is_exclusive = |table: &Option<Table>| table.as_ref().is_some_and(Table::is_exclusive);
    let exclusive = tables.iter().filter(|(_, (_, table))| is_exclusive(table));
    // There is no lifecycle 0, and a list can not be empty.
    Ok(exclusive.fold("0".to_string(), |list, (number, _)| format!("{list}, {number}")))
}

pub(super) async fn lifecycles<P: Patient>(patient: &P) -> Examined {
    Examined::of(MOVES, compared(patient).await)
}

async fn compared<P: Patient>(patient: &P) -> Result<Examined, Error> {
    let tables = tables(patient).await?;
    let states = patient.ask("select lifecycle, state, name, phase from @.states").await?;
    let moves = patient.ask("select lifecycle, from_state, to_state from @.moves").await?;
    let mut found = Vec::new();
    for (number, (kind, table)) in &tables {
        let Some(table) = table else {
            found.push(Found::new(format!("{kind} ({number})"), "is not the lifecycle that was kept"));
            continue;
        };
        let of = |row: &&Row| row[0].number() == *number;
        let kept: BTreeSet<(i64, i64)> =
            moves.iter().filter(of).map(|row| (row[1].number(), row[2].number())).collect();
        let legal: BTreeSet<(i64, i64)> =
            table.moves().into_iter().map(|(from, to)| (from.0.into(), to.0.into())).collect();
        let named: BTreeSet<(i64, &str, &str)> =
            states.iter().filter(of).map(|row| (row[1].number(), row[2].text(), row[3].text())).collect();
        let meant: BTreeSet<(i64, &str, &str)> = (0..)
            .zip(&table.states)
            .map(|(at, state)| (at, state.name.as_str(), state.phase.as_str()))
            .collect();
        let state =
            |at: i64| named.iter().find(|(number, ..)| *number == at).map_or("?", |(_, name, _)| name);
        for (from, to) in kept.symmetric_difference(&legal) {
            let what = if legal.contains(&(*from, *to)) { "is missing" } else { "is not legal" };
            found.push(Found::new(
                format!("{kind} ({number})"),
                format!("{} → {} {what}", state(*from), state(*to)),
            ));
        }
        for (_, name, _) in named.symmetric_difference(&meant) {
            found.push(Found::new(format!("{kind} ({number})"), format!("its state {name} was changed")));
        }
    }
    let strays = states.iter().chain(&moves).map(|row| row[0].number());
    let strays: BTreeSet<i64> = strays.filter(|number| !tables.contains_key(number)).collect();
    found.extend(
        strays.iter().map(|number| Found::new(format!("lifecycle {number}"), "has moves, and is not there")),
    );
    Ok(Examined::new(MOVES, tables.len() as u64, found))
}

pub(super) async fn held_back<P: Patient>(patient: &P, now: Time) -> Examined {
    Examined::of(HELD_BACK, controls(patient, now).await)
}

async fn controls<P: Patient>(patient: &P, now: Time) -> Result<Examined, Error> {
    let sql = format!(
        "select q.store, q.kind, c.value from @.controls c join @.queues q on q.queue = c.queue \
         order by q.store, q.kind limit {ROWS_MAX}"
    );
    let rows = patient.ask(&sql).await?;
    let mut found = Vec::new();
    for row in &rows {
        let kind = format!("{} (store {})", row[1].text(), row[0].text());
        let control = match control::read(row[2].text()) {
            Ok(control) => control,
            Err(damaged) => {
                found.push(Found::new(kind, damaged.to_string()));
                continue;
            }
        };
        if let Some(said) = &control.pause {
            let what = format!("paused by {} at {}: {}", said.by, said.at, said.why);
            found.push(Found::new(&kind, what));
        }
        if let Some(trip) = control.trip {
            let what = match trip.until > now {
                // Whether that is too far ahead to be believed is the kernel's to say, which knows the pause.
                true => format!("its breaker is open until {}", trip.until),
                false => "its breaker was open, and lets one item through at a time".to_string(),
            };
            found.push(Found::new(&kind, what));
        }
    }
    Ok(Examined::new(HELD_BACK, rows.len() as u64, found))
}
