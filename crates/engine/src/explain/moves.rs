//! What somebody can do about an item: every event that its state has a row for, by whom, and how it is typed.

use serde::Serialize;
use tenure_core::actor::{Role, Roles};
use tenure_core::control::QueueKey;
use tenure_core::decide::control::OPERATORS;
use tenure_core::decide::outlook::{self, Barred};
use tenure_core::execution::Status;
use tenure_core::item::{Item, Slot};
use tenure_core::lifecycle::event::Event;
use tenure_core::lifecycle::guard::Guard;
use tenure_core::lifecycle::shipped::is_own;
use tenure_core::lifecycle::{Phase, Row};
use tenure_core::retry::WayBack;

use super::exits;
use super::facts::Facts;

/// One thing that can be done. The names of the fields are a promise.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Move {
    /// An event of the lifecycle; `retry`: a new item in its place; `resume`: its kind goes on.
    pub event: String,
    /// Who may. An administrator may whatever somebody beside the engine may.
    pub roles: Vec<&'static str>,
    /// What the request has to bring, as the lifecycle says it: `reason`, `live session`.
    pub needs: Vec<String>,
    /// Why it is not possible now. None: it is.
    pub barred: Option<String>,
    /// None: it comes from whoever holds the item, or with another item's commit.
    pub command: Option<String>,
}

pub(super) fn moves(facts: &Facts, item: &Item) -> Vec<Move> {
    let committed = item.lease.as_ref().is_some_and(|lease| lease.status() == Status::Committed);
    let exits = exits(item).into_iter().filter(|(event, _)| !committed || **event == Event::Finish);
    let mut moves: Vec<Move> = exits.map(|(event, rows)| by_row(facts, item, event, &rows)).collect();
    moves.extend(retry(facts, item));
    moves.extend(resume(facts, item));
    moves
}

fn by_row(facts: &Facts, item: &Item, event: &Event, rows: &[&Row]) -> Move {
    let roles = rows.iter().fold(Roles::NONE, |all, row| all.and(row.actors));
    // A need that some row does without is none.
    let needs_of = |row: &Row| outlook::needed(row).map(ToString::to_string).collect::<Vec<_>>();
    let mut needs = rows.first().map_or(Vec::new(), |row| needs_of(row));
    needs.retain(|need| rows.iter().all(|row| needs_of(row).contains(need)));
    Move {
        event: event.to_string(),
        roles: roles.iter().map(Role::as_str).collect(),
        needs,
        barred: barred(facts, item, event, rows),
        command: command(item, event, roles, rows),
    }
}

/// Why no row of this event can be taken now, whoever asks.
fn barred(facts: &Facts, item: &Item, event: &Event, rows: &[&Row]) -> Option<String> {
    // One row whose conditions hold is enough.
    let conditions = rows.iter().map(|row| outlook::barred(&facts.world, item, row).into_iter().next());
    let conditions: Option<Vec<Barred>> = conditions.collect();
    let condition = conditions.and_then(|all| all.into_iter().next()).map(|barred| barred.why);
    condition.or_else(|| by_the_kernel(facts, item, event))
}

/// What the kernel asks for beside the table's guards.
fn by_the_kernel(facts: &Facts, item: &Item, event: &Event) -> Option<String> {
    let now = facts.world.now;
    let lease = item.lease.as_ref();
    match event {
        Event::Lease if item.slot(now) == Slot::Scheduled => {
            Some(format!("it is not due before {}", item.run_at))
        }
        Event::Lease => outlook::held_back(&facts.world, item).map(|held_back| held_back.to_string()),
        Event::Cancel => {
            item.cancel.as_ref().map(|asked| format!("{} has asked for it already", asked.actor))
        }
        Event::Commit | Event::Finish | Event::Fail | Event::Release
            if lease.is_some_and(|lease| !lease.is_live(now) && lease.committed.is_none()) =>
        {
            Some("its lease has ended".to_string())
        }
        Event::Commit | Event::Finish if lease.is_some_and(|lease| lease.status() == Status::Leased) => {
            Some("it has not been started".to_string())
        }
        _ => None,
    }
}

/// How it is typed.
fn command(item: &Item, event: &Event, roles: Roles, rows: &[&Row]) -> Option<String> {
    if roles == Roles::NONE.with(Role::System) {
        return None;
    }
    if is_own(&item.table.kind) && &*item.table.kind != "delivery" {
        return by_name(item, event);
    }
    let (id, kind) = (item.id, &item.table.kind);
    let mut guards = rows.iter().flat_map(|row| &row.guards);
    // The holder's, over the API, or a worker's of its own, as whatever else is written under a lease; a validator's, with the judgement.
    let is_asked = |guard: &Guard| {
        use Guard::{Decomposition, Judgement, OutputBundle, RunRecord, TerminalReason};
        matches!(guard, Decomposition | Judgement | OutputBundle | RunRecord | TerminalReason)
    };
    if guards.clone().any(is_asked) {
        return None;
    }
    let is_attested = guards.any(Guard::is_attested);
    let shown = rows.first().map_or(event.as_str(), |row| row.shown());
    let typed = match event {
        // What only the kind's own command can attest is typed with that.
        _ if is_attested => format!("{kind} {shown} {id}"),
        // Tenure sends them itself.
        Event::Lease if is_own(kind) => return None,
        Event::Lease if roles == Roles::NONE.with(Role::Worker) => match ends_with(item) {
            None => format!("work {kind}"),
            // A worker that knows nothing of tickets could not end it.
            Some(Guard::OutputBundle) => "runner".to_string(),
            Some(_) => return None,
        },
        Event::Cancel if &**kind == "job" => format!("job cancel {id}"),
        // A person's word, which a plain move would leave out.
        Event::Plain(name) if is_a_word(kind, name) => format!("inbox approve {id}"),
        // Their own commands bring along what the move needs.
        Event::Plain(name) if is_typed(kind, name) => format!("{kind} {name} {id}"),
        Event::Cancel | Event::Plain(_) => format!("item move {id} {event}"),
        // The holder's, over the library or the API.
        _ => return None,
    };
    let needs_reason = rows.iter().all(|row| row.guards.contains(&Guard::Reason));
    let reason = if needs_reason { " --reason REASON" } else { "" };
    let tail = if *event == Event::Lease && !is_attested { " -- COMMAND" } else { "" };
    Some(format!("tenure {typed}{reason}{}{tail}", in_store(item)))
}

/// What is Tenure's own is not moved as an item: a schedule and a webhook have commands, which know them by their names.
fn by_name(item: &Item, event: &Event) -> Option<String> {
    let (kind, name) = (item.table.kind.as_str(), item.key.as_ref()?);
    let is_plain = name.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_.".contains(letter));
    match (kind, event) {
        ("schedule" | "webhook", Event::Plain(event)) if is_plain => {
            Some(format!("tenure {kind} {event} {name}{}", in_store(item)))
        }
        _ => None,
    }
}

/// Moves that have a command of their own.
fn is_typed(kind: &str, event: &str) -> bool {
    matches!((kind, event), ("claim", "enqueue") | ("ticket", "approve" | "resolve"))
}

/// Moves that are an answer to what waits in the inbox.
fn is_a_word(kind: &str, event: &str) -> bool {
    matches!((kind, event), ("gate", "attest"))
}

/// What the system of a kind has to establish for its work to be committed.
fn ends_with(item: &Item) -> Option<&Guard> {
    let ends = item.table.rows.iter().filter(|row| matches!(row.event, Event::Commit | Event::Finish));
    ends.flat_map(|row| &row.guards).find(|guard| guard.is_attested())
}

/// A new item in place of one that rests for ever.
fn retry(facts: &Facts, item: &Item) -> Option<Move> {
    let creators = item.table.roles_of(&Event::Create);
    let again = |role: Role| matches!(item.way_back(role), Ok(WayBack::Again));
    if !creators.iter().any(again) || is_own(&item.table.kind) {
        return None;
    }
    let retried = facts.known.as_ref().and_then(|known| known.retried_as);
    let retried = retried.map(|retried| format!("{retried} was made to try it again"));
    let erased = item.erased.then(|| "it was erased: there is no payload to try again with".to_string());
    let command = format!("tenure job retry {}{}", item.id, in_store(item));
    Some(Move {
        event: "retry".to_string(),
        roles: creators.iter().map(Role::as_str).collect(),
        needs: Vec::new(),
        barred: retried.or(erased),
        command: (&*item.table.kind == "job").then_some(command),
    })
}

fn resume(facts: &Facts, item: &Item) -> Option<Move> {
    let key = QueueKey { store: item.store.clone(), kind: item.table.kind.clone() };
    let is_paused = facts.world.controls.get(&key).is_some_and(|control| control.pause.is_some());
    (item.phase() == Phase::Ready && is_paused).then(|| Move {
        event: "resume".to_string(),
        roles: OPERATORS.iter().map(Role::as_str).collect(),
        needs: Vec::new(),
        barred: None,
        command: Some(format!("tenure resume {}{}", key.kind, in_store(item))),
    })
}

fn in_store(item: &Item) -> String {
    if &*item.store == "default" { String::new() } else { format!(" --store {}", item.store) }
}
