//! `tenure lifecycle list`: the lifecycles that ship with Tenure, one a line.

use serde::Serialize;
use tenure_core::lifecycle::shipped::SHIPPED;

use super::Found;
use crate::cli::List;
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
    let listed: Vec<Listed> = SHIPPED
        .iter()
        .map(|shipped| Ok(line(&Found::shipped(shipped)?, shipped.system)))
        .collect::<Result<_, Error>>()?;
    if arguments.form.json {
        listed.iter().try_for_each(|line| output.json(line))?;
    } else {
        let rows =
            listed.into_iter().map(|it| [it.kind, it.system.into(), it.states.to_string(), it.summary]);
        output.table(["KIND", "SYSTEM", "STATES", "SUMMARY"], rows)?;
    }
    Ok(Outcome::Done)
}

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
