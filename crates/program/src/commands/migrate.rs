//! `tenure migrate`: bring a database's schema up to date, or say what that would take.

use serde::Serialize;
use tenure_databases::url::Url;
use tenure_databases::{postgres, sqlite};

use crate::cli::Migrate;
use crate::database::{self, Access};
use crate::outcome::{Error, Outcome};
use crate::output::Output;

/// One step, as `--json` prints it.
#[derive(Serialize)]
struct Step {
    number: i64,
    name: &'static str,
    applied: bool,
}

pub fn run(arguments: &Migrate, output: &mut Output) -> Result<Outcome, Error> {
    let applied = !arguments.dry_run;
    let steps: Vec<Step> = match database::parse(&arguments.db.url(Access::MayCreate)?, Access::MayCreate)? {
        Url::Memory => Vec::new(),
        Url::Sqlite(path) => {
            let found =
                if applied { sqlite::migrate::apply(&path)? } else { sqlite::migrate::pending(&path)? };
            found.iter().map(|step| Step { number: step.number.into(), name: step.name, applied }).collect()
        }
        Url::Postgres(url) => database::run(async {
            let found = match applied {
                true => postgres::migrate::apply(url.reveal()).await?,
                false => postgres::migrate::pending(url.reveal()).await?,
            };
            Ok(found
                .iter()
                .map(|step| Step { number: step.number.into(), name: step.name, applied })
                .collect())
        })?,
    };
    if arguments.form.json {
        for step in &steps {
            output.json(step)?;
        }
        return Ok(Outcome::Done);
    }
    for step in &steps {
        output.line(format_args!("{} {}", if applied { "applied" } else { "pending" }, step.name))?;
    }
    match (steps.is_empty(), applied) {
        (true, _) => output.line("the schema is up to date")?,
        (false, true) => output.line("the schema is up to date now")?,
        (false, false) => output.line("nothing was changed; run it without --dry-run to apply them")?,
    }
    Ok(Outcome::Done)
}
