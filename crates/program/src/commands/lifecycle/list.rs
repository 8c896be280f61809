//! `tenure lifecycle list`: the lifecycles that ship with Tenure, or those in force somewhere, one a line.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tenure_core::lifecycle::shipped::SHIPPED;

use super::Found;
use crate::cli::{List, Reach};
use crate::client::{Client, Loops, Target};
use crate::database::{Access, run as block_on};
use crate::outcome::{Error, Outcome};
use crate::output::Output;

/// One line of the list.
#[derive(Serialize, Debug)]
struct Listed {
    kind: String,
    system: &'static str,
    states: usize,
    summary: String,
}

pub fn run(arguments: &List, output: &mut Output) -> Result<Outcome, Error> {
    if let Some(reach) = &arguments.there.0 {
        return in_force(reach, arguments.form.json, output);
    }
    let listed: Vec<Listed> = SHIPPED
        .iter()
        .map(|shipped| Ok(line(&Found::shipped(shipped)?, shipped.system)))
        .collect::<Result<_, Error>>()?;
    if arguments.form.json {
        listed.iter().try_for_each(|line| output.json(line))?;
    } else {
        let rows =
            listed.into_iter().map(|it| [it.kind, it.system.into(), it.states.to_string(), it.summary]);
        output.table(["kind", "system", "states", "summary"], rows)?;
    }
    Ok(Outcome::Done)
}

/// As the service lists them.
#[derive(Deserialize)]
struct Page {
    items: Vec<Box<RawValue>>,
}

#[derive(Deserialize)]
struct Brief {
    kind: String,
    hash: String,
    summary: String,
}

fn in_force(reach: &Reach, json: bool, output: &mut Output) -> Result<Outcome, Error> {
    let page: Page = block_on(async {
        let client = Client::open(reach, None, Access::Existing, Loops::LeftToOthers).await?;
        client.get(Target::new(["v1", "lifecycles"])).await?.read()
    })?;
    if json {
        page.items.iter().try_for_each(|item| output.line(item.get()))?;
        return Ok(Outcome::Done);
    }
    let read = page.items.iter().map(|item| serde_json::from_str(item.get()));
    let briefs: Result<Vec<Brief>, serde_json::Error> = read.collect();
    let briefs = briefs.map_err(|why| Error::Strange(format!("an answer that does not fit: {why}")))?;
    let rows = briefs
        .into_iter()
        .map(|it| [it.kind, it.hash.chars().take(HASH_DIGITS).collect(), first_sentence(&it.summary)]);
    output.table(["kind", "version", "summary"], rows)?;
    Ok(Outcome::Done)
}

/// Enough to tell versions apart by eye.
const HASH_DIGITS: usize = 12;

fn line(found: &Found, system: &'static str) -> Listed {
    let table = &found.table;
    Listed {
        kind: table.kind.to_string(),
        system,
        states: table.states.len(),
        summary: first_sentence(&table.summary),
    }
}

/// Up to the first full stop that ends a word, on one line.
fn first_sentence(prose: &str) -> String {
    let mut words = Vec::new();
    for word in prose.split_whitespace() {
        words.push(word);
        if word.ends_with('.') {
            break;
        }
    }
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::first_sentence;

    #[test]
    fn a_sentence_ends_at_its_full_stop_and_may_run_over_lines() {
        assert_eq!(first_sentence("One 1.5 pass\nof a thing. Then more."), "One 1.5 pass of a thing.");
        assert_eq!(first_sentence("no stop"), "no stop");
        assert_eq!(first_sentence(""), "");
    }
}
