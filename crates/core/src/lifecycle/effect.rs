//! Effects: what the Effect column lets a row write beside the move itself.
//!
//! A commit's or a plain move's effects come with its request and may only be what its row lists here, or what the
//! caller could do directly. A system row's effects must come with the sweep that takes it. Three the kernel makes by
//! itself: `move older …`, `close open steps`, `lapse held`.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;

use crate::word::{EventName, Kind, Label};

/// One permission of an Effect cell.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Effect {
    /// `record artifact`, `record any`.
    Record(Scope<Label>),
    /// `create work_order`, `create any`.
    Create(Scope<Kind>),
    /// `move ticket pass/retry/block`.
    Move(Kind, Vec<EventName>),
    /// `message invoice_paid`, `message any`.
    Message(Scope<Label>),
    /// `move older supersede`: the item of the same kind and key that succeeded before this one takes this event.
    MoveOlder(EventName),
    /// `close open steps`: every step that was opened and not closed gets a closing record.
    CloseSteps,
    /// `lapse held`: leases that were taken under this item (a session) count as expired from now on.
    LapseHeld,
}

/// One name, or any.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Scope<T> {
    Any,
    Only(T),
}

impl<T: PartialEq> Scope<T> {
    pub fn covers(&self, name: &T) -> bool {
        match self {
            Scope::Any => true,
            Scope::Only(only) => only == name,
        }
    }
}

impl<T: fmt::Display> fmt::Display for Scope<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scope::Any => f.write_str("any"),
            Scope::Only(only) => write!(f, "{only}"),
        }
    }
}

impl Effect {
    /// The kernel writes it by itself; no request brings it.
    pub fn is_automatic(&self) -> bool {
        matches!(self, Effect::MoveOlder(_) | Effect::CloseSteps | Effect::LapseHeld)
    }

    /// Reads a whole cell: `record a, b; create c; move d e/f`.
    pub fn parse_cell(cell: &str) -> Result<Vec<Effect>, NotAnEffect> {
        let mut effects = Vec::new();
        for part in cell.split(';').map(str::trim).filter(|part| !part.is_empty()) {
            parse_part(part, &mut effects)?;
        }
        Ok(effects)
    }
}

/// The text is no effect.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NotAnEffect(pub String);

fn parse_part(part: &str, effects: &mut Vec<Effect>) -> Result<(), NotAnEffect> {
    let wrong = |why: &str| NotAnEffect(format!("`{part}` is no effect: {why}"));
    match part {
        "close open steps" => {
            effects.push(Effect::CloseSteps);
            return Ok(());
        }
        "lapse held" => {
            effects.push(Effect::LapseHeld);
            return Ok(());
        }
        _ => {}
    }
    let (verb, rest) = part.split_once(' ').ok_or_else(|| wrong("it says what, but not which"))?;
    let names = rest.split(',').map(str::trim);
    match verb {
        "record" => each(names, effects, Effect::Record, wrong)?,
        "message" => each(names, effects, Effect::Message, wrong)?,
        "create" => each(names, effects, Effect::Create, wrong)?,
        "move" => {
            let (target, events) =
                rest.trim().split_once(' ').ok_or_else(|| wrong("`move` needs a kind and an event"))?;
            let events: Result<Vec<EventName>, _> =
                events.split('/').map(|event| event.trim().parse()).collect();
            let mut events = events.map_err(|e| wrong(&format!("{e}")))?;
            effects.push(match (target, events.len()) {
                ("older", 1) => Effect::MoveOlder(events.remove(0)),
                ("older", _) => return Err(wrong("`move older` takes one event")),
                _ => Effect::Move(target.parse().map_err(|e| wrong(&format!("{e}")))?, events),
            });
        }
        _ => {
            return Err(wrong(
                "it begins with none of record, create, move, message, close open steps, lapse held",
            ));
        }
    }
    Ok(())
}

/// `a, b, any`: one effect a name.
fn each<'n, T: FromStr<Err: fmt::Display>>(
    names: impl Iterator<Item = &'n str>,
    effects: &mut Vec<Effect>,
    effect: fn(Scope<T>) -> Effect,
    wrong: impl Fn(&str) -> NotAnEffect,
) -> Result<(), NotAnEffect> {
    for name in names {
        effects.push(effect(match name {
            "any" => Scope::Any,
            name => Scope::Only(name.parse().map_err(|why| wrong(&format!("{why}")))?),
        }));
    }
    Ok(())
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Effect::Record(scope) => write!(f, "record {scope}"),
            Effect::Create(scope) => write!(f, "create {scope}"),
            Effect::Move(kind, events) => {
                let events: Vec<&str> = events.iter().map(EventName::as_str).collect();
                write!(f, "move {kind} {}", events.join("/"))
            }
            Effect::Message(scope) => write!(f, "message {scope}"),
            Effect::MoveOlder(event) => write!(f, "move older {event}"),
            Effect::CloseSteps => f.write_str("close open steps"),
            Effect::LapseHeld => f.write_str("lapse held"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn a_cell_lists_effects() {
        let cell = "record context_snapshot, pause_state; create work_order; move ticket schedule/block; message any";
        let effects = Effect::parse_cell(cell).unwrap();
        let shown: Vec<String> = effects.iter().map(ToString::to_string).collect();
        assert_eq!(
            shown.join("; "),
            "record context_snapshot; record pause_state; create work_order; move ticket schedule/block; message any"
        );
        assert_eq!(Effect::parse_cell("move older supersede").unwrap().len(), 1);
        assert!(Effect::parse_cell("").unwrap().is_empty());
        for bad in
            ["record", "make coffee", "move ticket", "move older a/b", "create Work Order", "record a b"]
        {
            assert!(Effect::parse_cell(bad).is_err(), "{bad}");
        }
    }
}
