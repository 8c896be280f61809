//! `tenure lifecycle …`: looking at lifecycles, those that ship with Tenure and a user's own.

mod add;
mod draw;
mod list;
mod show;

use serde::Deserialize;
use tenure_core::lifecycle::Table;
use tenure_core::lifecycle::parse;
use tenure_core::lifecycle::shipped::{SHIPPED, Shipped};

use crate::cli::{Lifecycle, There};
use crate::client::{Client, Loops, Target};
use crate::database::{Access, run as block_on};
use crate::outcome::{Error, Outcome};
use crate::output::Output;
use crate::source::{STDIN, Source, stem};

pub fn run(command: Lifecycle, output: &mut Output) -> Result<Outcome, Error> {
    match command {
        Lifecycle::List(arguments) => list::run(&arguments, output),
        Lifecycle::Show(arguments) => show::run(&arguments, output),
        Lifecycle::Draw(arguments) => draw::run(&arguments, output),
        Lifecycle::Add(arguments) => add::run(&arguments, output),
    }
}

/// As the service shows it; its text says everything else.
#[derive(Deserialize)]
struct Fetched {
    source: String,
}

/// A lifecycle with the text that it was read from.
struct Found {
    source: Source,
    table: Table,
    /// None: a user's own.
    system: Option<&'static str>,
}

impl Found {
    /// The lifecycle in force where somebody said to look, or else the one that ships.
    fn at(there: &There, name: &str) -> Result<Found, Error> {
        let Some(reach) = &there.0 else { return Found::named(name) };
        let shown: Fetched = block_on(async {
            let client = Client::open(reach, None, Access::Existing, Loops::LeftToOthers).await?;
            client.get(Target::new(["v1", "lifecycles", name])).await?.read()
        })?;
        let shipped = SHIPPED.iter().find(|shipped| shipped.source == shown.source);
        let source = Source { file: format!("{name}.md"), text: shown.source };
        Found::read(source, shipped.map(|shipped| shipped.system))
    }

    /// The shipped lifecycle of that name; or, where the name is a path, what the file holds.
    fn named(name: &str) -> Result<Found, Error> {
        if let Some(shipped) = SHIPPED.iter().find(|shipped| stem(shipped.file) == name) {
            return Found::shipped(shipped);
        }
        // No kind has one of these in its name, and nearly every path has.
        if name == STDIN || name.contains(['/', '\\', '.']) {
            return Found::read(Source::read(name)?, None);
        }
        let kinds = SHIPPED.iter().map(|shipped| stem(shipped.file));
        Err(Error::NoLifecycle { name: name.into(), near: parse::nearest(name, kinds).map(str::to_string) })
    }

    fn shipped(shipped: &Shipped) -> Result<Found, Error> {
        let source = Source { file: shipped.file.into(), text: shipped.source.into() };
        Found::read(source, Some(shipped.system))
    }

    fn read(source: Source, system: Option<&'static str>) -> Result<Found, Error> {
        match parse::parse(&source.text) {
            Ok(table) => Ok(Found { source, table, system }),
            Err(faults) => {
                let others = faults.len() - 1;
                let first = faults.into_iter().next().expect("a file that is not taken has a fault");
                Err(Error::Faulty { file: source.file, first, others })
            }
        }
    }
}
