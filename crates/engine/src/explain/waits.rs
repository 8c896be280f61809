//! What an item waits for that nobody holds: its time, its turn, room, a worker, or somebody's move.

use tenure_core::actor::{Role, Roles};
use tenure_core::control::{Bound, HeldBack, QueueKey};
use tenure_core::decide::outlook;
use tenure_core::entry::Facts as Said;
use tenure_core::id::ItemId;
use tenure_core::item::{Item, Slot};
use tenure_core::lifecycle::event::Event;
use tenure_core::lifecycle::guard::Guard;
use tenure_core::lifecycle::{Phase, Row};
use tenure_core::time::Time;

use super::facts::{AHEAD_MAX, Facts, Known};
use super::words::{by_whom, count, one_of, rate, why};
use super::{Because, RELATED_MAX, Reason, Related, exits};

/// Waiting, or at rest with a way out: which moves there are, by whom, and what keeps them from being made.
pub(super) fn for_a_move(facts: &Facts, item: &Item) -> Vec<Because> {
    let exits = exits(item);
    let rows = || exits.iter().flat_map(|(_, rows)| rows);
    let roles = rows().fold(Roles::NONE, |all, row| all.and(row.actors));
    let reason = if roles == Roles::NONE.with(Role::System) { Reason::Engine } else { Reason::Actor };
    let waits = Because::new(reason, goes_on(item, &exits)).who(by_whom(roles));
    let conditions: Vec<Because> = rows().flat_map(|row| unmet(facts, item, row)).collect();
    // What is not possible outweighs what is waited for, where nothing else is.
    let is_barred = rows().all(|row| !outlook::barred(&facts.world, item, row).is_empty());
    match is_barred {
        true => conditions.into_iter().chain([waits]).collect(),
        false => [waits].into_iter().chain(conditions).collect(),
    }
}

/// What the lifecycle says of the state, and the moves out of it by whom they are made.
fn goes_on(item: &Item, exits: &[(&Event, Vec<&Row>)]) -> String {
    let meaning = item.table.state(item.state).meaning.trim_end_matches('.');
    let meaning = match item.phase().is_ended() {
        true => "it rests there",
        false if meaning.is_empty() => "it waits",
        false => meaning,
    };
    let mut by_roles: Vec<(Roles, Vec<String>)> = Vec::new();
    for (event, rows) in exits {
        let roles = rows.iter().fold(Roles::NONE, |all, row| all.and(row.actors));
        let event = format!("`{event}`");
        match by_roles.iter_mut().find(|(found, _)| *found == roles) {
            Some((_, events)) => events.push(event),
            None => by_roles.push((roles, vec![event])),
        }
    }
    if by_roles.is_empty() {
        return format!("{meaning}; no row of its lifecycle leaves this state");
    }
    let groups: Vec<String> =
        by_roles.iter().map(|(roles, events)| format!("{} by {}", one_of(events), by_whom(*roles))).collect();
    format!("{meaning}; it moves on with {}", groups.join(", or "))
}

/// The conditions of a row that do not hold now.
fn unmet(facts: &Facts, item: &Item, row: &Row) -> Vec<Because> {
    let barred = outlook::barred(&facts.world, item, row);
    barred
        .into_iter()
        .map(|barred| {
            let text = format!("`{}` is not possible now: {}", row.event, barred.why);
            Because::new(Reason::Condition, text).items(behind(facts, item, &barred.guard))
        })
        .collect()
}

/// The items that a condition is about and that do not fulfil it.
fn behind(facts: &Facts, item: &Item, guard: &Guard) -> Vec<Related> {
    let phase = |id: ItemId| facts.world.items.get(&id).map(|item| item.phase());
    let (label, is_open): (&str, fn(Option<Phase>) -> bool) = match guard {
        Guard::DependenciesDone => ("depends", |phase| phase != Some(Phase::Succeeded)),
        Guard::BlockersClosed => ("blocker", |phase| phase.is_none_or(|phase| !phase.is_ended())),
        _ => return Vec::new(),
    };
    let open = item.links.iter().filter(|link| &*link.label == label && is_open(phase(link.to)));
    open.take(RELATED_MAX).map(|link| Related::of(facts, link.to, Some(&link.label))).collect()
}

/// Ready: the first of these is what it waits for now; what follows would be next.
pub(super) fn for_a_lease(facts: &Facts, known: &Known) -> Vec<Because> {
    let item = &known.item;
    let mut because = Vec::new();
    let is_scheduled = item.slot(facts.world.now) == Slot::Scheduled;
    if is_scheduled {
        because.push(scheduled(known));
    }
    if let Some(held_back) = outlook::held_back(&facts.world, item) {
        because.push(limited(facts, item, held_back));
    }
    let leases: Vec<&Row> = item.table.rows_from(Some(item.state), &Event::Lease).collect();
    for row in &leases {
        for barred in outlook::barred(&facts.world, item, row) {
            let reason = match barred.guard {
                Guard::NoOtherRunning => key_held(facts, item),
                _ => {
                    let text = format!("it can not be leased now: {}", barred.why);
                    Because::new(Reason::Condition, text).items(behind(facts, item, &barred.guard))
                }
            };
            because.push(reason);
        }
    }
    if is_scheduled {
        return because;
    }
    if known.ahead.of_key > 0 {
        let text = match at_least(known.ahead.of_key) {
            (1, "") => "1 older one of its key comes first".to_string(),
            (number, more) => format!("{number}{more} older ones of its key come first"),
        };
        because.push(Because::new(Reason::KeyTurn, text));
    }
    let roles = leases.iter().fold(Roles::NONE, |all, row| all.and(row.actors));
    if because.is_empty() {
        because.push(in_line(known, roles));
        because.extend(unattended(facts, item, roles));
    }
    because
}

fn in_line(known: &Known, roles: Roles) -> Because {
    let who = by_whom(roles);
    let text = match at_least(known.ahead.of_kind) {
        (0, _) => format!("it is next in line and waits for {who} to take it"),
        (1, "") => format!("1 of its kind comes before it; it waits for {who} to take it"),
        (number, more) => format!("{number}{more} of its kind come before it; it waits for {who} to take it"),
    };
    Because::new(Reason::InLine, text).who(who)
}

fn at_least(number: usize) -> (usize, &'static str) {
    (number, if number >= AHEAD_MAX { " or more" } else { "" })
}

/// Who works on a kind is known by what they hold, and by nothing else.
fn unattended(facts: &Facts, item: &Item, roles: Roles) -> Option<Because> {
    let key = QueueKey { store: item.store.clone(), kind: item.table.kind.clone() };
    let held = facts.world.active.get(&key).copied().unwrap_or(0);
    let text = format!("nobody holds any {} now: is there a worker for it?", item.table.kind);
    let only_workers = roles == Roles::NONE.with(Role::Worker);
    (held == 0 && only_workers).then(|| Because::new(Reason::Unattended, text))
}

/// Who said that it is not due yet, and why.
fn scheduled(known: &Known) -> Because {
    let item = &known.item;
    let until = item.run_at;
    // The newest entry that says a time is the one that it waits for.
    let said = known.history.iter().rev().find(|entry| says_when(&entry.facts).is_some());
    let because = match said.map(|entry| (entry, &entry.facts)) {
        Some((entry, Said::End(end))) if entry.action == Event::Release => {
            let text = format!("{} put it off until {until}{}", entry.actor, why(end.reason.as_deref()));
            Because::new(Reason::Snoozed, text).who(&entry.actor)
        }
        Some((entry, Said::End(end))) => {
            let most = item.attempts.map_or(String::new(), |most| format!(" of {most}"));
            let text = format!(
                "attempt {} {}{}; it is due again at {until} (failure {}{most})",
                entry.fence.0,
                how(&entry.action),
                why(end.reason.as_deref()),
                item.failures,
            );
            Because::new(Reason::Backoff, text)
        }
        Some((entry, Said::Create(_))) => {
            let text = format!("{} asked for it not before {until}", entry.actor);
            Because::new(Reason::Scheduled, text).who(&entry.actor)
        }
        Some((entry, _)) => {
            let text = format!("`{}` by {} put it off until {until}", entry.shown(), entry.actor);
            Because::new(Reason::Scheduled, text).who(&entry.actor)
        }
        None => Because::new(Reason::Scheduled, format!("it is not due before {until}")),
    };
    because.until(Some(until))
}

fn says_when(said: &Said) -> Option<Time> {
    match said {
        Said::Create(birth) => birth.run_at,
        Said::End(end) => end.run_at,
        Said::Move(moved) => moved.run_at,
        Said::Lease(_) | Said::Progress(_) | Said::Commit(_) | Said::Cancel(_) => None,
        Said::Note(_) | Said::Link(_) | Said::Bare(_) => None,
    }
}

fn how(event: &Event) -> &'static str {
    match event {
        Event::Expire => "lost its lease",
        Event::TimeOut => "ran out of time",
        Event::Orphan => "was lost",
        _ => "failed",
    }
}

fn key_held(facts: &Facts, item: &Item) -> Because {
    let running = running(facts, item);
    let kind = &item.table.kind;
    let text = match &running[..] {
        [Related { id, owner: Some(owner), until: Some(until), .. }, ..] => {
            format!("one {kind} of a key runs at a time: {owner} holds {id} until {until}")
        }
        _ => format!("one {kind} of a key runs at a time, and another one runs"),
    };
    let owner = running.first().and_then(|first| first.owner.clone());
    Because { who: owner, ..Because::new(Reason::KeyHeld, text).items(running) }
}

/// Those of its key that are held.
fn running(facts: &Facts, item: &Item) -> Vec<Related> {
    let is_its = |key: &tenure_core::world::LaneKey| Some(&key.key) == item.key.as_ref();
    let lane = facts.world.lanes.iter().find(|(key, _)| is_its(key)).map(|(_, lane)| lane);
    let running = lane.into_iter().flat_map(|lane| &lane.running).take(RELATED_MAX);
    running.map(|id| Related::of(facts, *id, None)).collect()
}

fn limited(facts: &Facts, item: &Item, held_back: HeldBack) -> Because {
    let kind = &held_back.kind;
    let until = held_back.until;
    let then = until.map_or(String::new(), |until| format!("; there is room again at {until}"));
    let because = match held_back.by {
        Bound::Paused => return paused(facts, item),
        Bound::Concurrency(limit) => {
            Because::new(Reason::Concurrency, format!("{limit} of {kind} may run at a time, and as many do"))
        }
        Bound::Rate(limit) => {
            Because::new(Reason::Rate, format!("no more than {} of {kind} may start{then}", rate(limit)))
        }
        Bound::KeyConcurrency(limit) => {
            let text = format!("{limit} of a key may run at a time, and as many do");
            Because::new(Reason::KeyConcurrency, text).items(running(facts, item))
        }
        Bound::KeyRate(limit) => {
            let text = format!("no more than {} of a key may start{then}", rate(limit));
            Because::new(Reason::KeyRate, text)
        }
        Bound::Breaker => breaker(facts, item, until),
    };
    because.until(until)
}

fn paused(facts: &Facts, item: &Item) -> Because {
    let key = QueueKey { store: item.store.clone(), kind: item.table.kind.clone() };
    let said = facts.world.controls.get(&key).and_then(|control| control.pause.as_ref());
    match said {
        Some(said) => {
            let reason = Some(&*said.why).filter(|why| !why.is_empty());
            let text = format!("{} paused {} at {}{}", said.by, key.kind, said.at, why(reason));
            Because::new(Reason::Paused, text).who(&said.by)
        }
        None => Because::new(Reason::Paused, format!("{} is paused", key.kind)),
    }
}

fn breaker(facts: &Facts, item: &Item, until: Option<Time>) -> Because {
    let key = QueueKey { store: item.store.clone(), kind: item.table.kind.clone() };
    let failures = item.table.settings.breaker.map_or(0, |breaker| u64::from(breaker.failures));
    let text = match until {
        Some(until) => format!(
            "the breaker of {} is open after {}; one is let through at {until}",
            key.kind,
            count(failures, "failure")
        ),
        None => format!("the breaker of {} is open, and one is being tried", key.kind),
    };
    let trip = facts.world.controls.get(&key).and_then(|control| control.trip);
    let probe = trip.and_then(|trip| trip.probe).filter(|_| until.is_none());
    let items = probe.into_iter().map(|probe| Related::of(facts, probe.item, None)).collect();
    Because::new(Reason::Breaker, text).items(items)
}
