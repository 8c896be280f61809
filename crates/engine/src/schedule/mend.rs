//! Mending: a schedule that is ACTIVE has a tick. One whose tick was not created yet (its creator died in between), or ended
//! during a pause, gets it here. Creating it twice is answered with the first.

use std::collections::HashSet;

use tenure_core::item::Item;
use tenure_core::request::{Command, Request};
use tenure_core::word::{Key, Store};
use tenure_databases::Error;

use super::due::Next;
use super::plan::Plan;
use super::tick::{Tick, pauses};
use crate::loops::Parts;

/// Schedules that are looked at in one turn of the loop, in pages.
const PAGE: usize = 500;
const PAGES_MAX: usize = 20;

pub(super) async fn turn(parts: &Parts) -> Result<bool, Error> {
    let store = &parts.store;
    let mut ticking = HashSet::new();
    let mut after: Option<Key> = None;
    for _ in 0..PAGES_MAX {
        let page = parts.kept.standing(store, &super::tick_kind(), after.as_ref(), PAGE).await?;
        after = page.last().map(|(key, _)| key.clone());
        let full = page.len() >= PAGE;
        ticking.extend(page.into_iter().map(|(key, _)| key.to_string()));
        if !full {
            break;
        }
    }
    after = None;
    for _ in 0..PAGES_MAX {
        let page = parts.kept.standing(store, &super::kind(), after.as_ref(), PAGE).await?;
        for (_, schedule) in page.iter().filter(|(_, schedule)| !ticking.contains(&schedule.to_string())) {
            mend(parts, store, *schedule).await?;
        }
        after = page.last().map(|(key, _)| key.clone());
        if page.len() < PAGE {
            break;
        }
    }
    Ok(false)
}

/// Gives a schedule its tick, if it is to have one.
pub(super) async fn mend(parts: &Parts, store: &Store, id: tenure_core::id::ItemId) -> Result<(), Error> {
    let Some(whole) = parts.kept.whole(store, id).await? else { return Ok(()) };
    let schedule = &whole.item;
    if &**schedule.state_name() != "ACTIVE" {
        return Ok(());
    }
    let resumed = match schedule.version {
        1 => None,
        _ => pauses(&parts.kept.history(store, id).await?).last().and_then(|pause| pause.until),
    };
    let plan = whole.payload.as_ref().ok_or("its payload was erased".to_string()).and_then(Plan::read);
    match plan.and_then(|plan| first_tick(schedule, &plan, resumed)) {
        Ok(Some(request)) => {
            let request = Request { store: store.clone(), actor: super::actor(parts), command: request };
            let reply = parts.gather.ask(request.clone()).await?;
            parts.bells.heard(&request, &reply);
        }
        Ok(None) => {}
        // It was made through the general interface, and nobody looked at it until now.
        Err(why) => parts.counters.failed_turn(&format!("schedule {id} can not fire: {why}")),
    }
    Ok(())
}

fn first_tick(
    schedule: &Item,
    plan: &Plan,
    resumed: Option<tenure_core::time::Time>,
) -> Result<Option<Command>, String> {
    let Some(at) = plan.first(schedule.created, resumed)? else { return Ok(None) };
    Ok(Some(Command::Create(Tick::create(schedule.id, plan, Next { at, left: None })?)))
}
