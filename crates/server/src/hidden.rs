//! What an explanation says of items that its reader has nothing to do with: nothing. An item of one kind may wait for, be made by
//! or have made one of another, and a token may be for the one and not for the other.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use tenure::core::id::ItemId;

use crate::caller::Caller;
use crate::problem::Problem;

const SOMETHING: &str = "an item of another kind";

/// What is shown of an item, with where it comes from.
pub trait Originated {
    fn origin(&self) -> Option<ItemId>;

    fn hide_origin(&mut self);
}

/// Takes out where items come from, where the caller may not see that.
pub async fn origins<'a, T: Originated + 'a>(
    caller: &Caller,
    shown: impl Iterator<Item = &'a mut T>,
) -> Result<(), Problem> {
    if !caller.is_limited_to_kinds() {
        return Ok(());
    }
    let shown: Vec<&mut T> = shown.filter(|one| one.origin().is_some()).collect();
    let named: BTreeSet<ItemId> = shown.iter().filter_map(|one| one.origin()).collect();
    if named.is_empty() {
        return Ok(());
    }
    let seen = caller.seen(named.into_iter().collect()).await?;
    for one in shown {
        if one.origin().is_some_and(|origin| !seen.contains(&origin)) {
            one.hide_origin();
        }
    }
    Ok(())
}

/// Takes out every item but the one explained that the caller may not see: as an object, as a field, and in a text.
pub async fn hide(caller: &Caller, about: ItemId, shown: &mut Value) -> Result<(), Problem> {
    let mut named = BTreeMap::new();
    names(shown, &mut named);
    named.remove(&about.to_string());
    let mut hidden = BTreeSet::new();
    for (text, id) in named {
        match caller.tenure.item(id).await {
            Ok(item) if caller.may_see(&item).is_ok() => {}
            // Of one that is gone nobody can tell any more whose it was.
            Ok(_) | Err(tenure::Error::NotFound(_)) => drop(hidden.insert(text)),
            Err(error) => return Err(error.into()),
        }
    }
    without(shown, &hidden);
    Ok(())
}

/// Every id in it, also within a text.
fn names(value: &Value, found: &mut BTreeMap<String, ItemId>) {
    match value {
        Value::String(text) => {
            let words = text.split(|letter: char| !letter.is_ascii_alphanumeric());
            found.extend(words.filter_map(|word| Some((word.to_string(), word.parse().ok()?))));
        }
        Value::Array(many) => many.iter().for_each(|one| names(one, found)),
        Value::Object(fields) => fields.values().for_each(|one| names(one, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn without(value: &mut Value, hidden: &BTreeSet<String>) {
    match value {
        Value::String(text) if hidden.contains(text) => *value = Value::Null,
        Value::String(text) => {
            for id in hidden.iter().filter(|id| text.contains(*id)).collect::<Vec<_>>() {
                *text = text.replace(id, SOMETHING);
            }
        }
        Value::Array(many) => {
            let is_hidden =
                |one: &Value| one.as_str().or(one["id"].as_str()).is_some_and(|id| hidden.contains(id));
            many.retain(|one| !is_hidden(one));
            many.iter_mut().for_each(|one| without(one, hidden));
        }
        Value::Object(fields) => fields.values_mut().for_each(|one| without(one, hidden)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
