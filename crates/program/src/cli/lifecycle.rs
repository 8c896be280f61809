//! The arguments of `tenure check` and `tenure lifecycle`.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};
use tenure_core::lifecycle::diagram::Format;

use super::at::There;
use super::{Form, Reach};

/// Read lifecycle files and explore everything that can happen to their items
///
/// A fault is told as FILE:LINE: WHAT. Exploring runs every order of events that workers, crashes, expiry and repeated
/// requests can produce; a promise that breaks is told with the shortest way to get there. Files that are given
/// together may name each other's kinds, and those that ship with Tenure.
#[derive(Args, Debug)]
pub struct Check {
    /// Lifecycle files; a folder stands for every .md file in it, `-` for standard input
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<String>,
    #[command(flatten)]
    pub form: Form,
}

#[derive(Subcommand, Debug)]
pub enum Lifecycle {
    /// List the lifecycles that ship with Tenure; with --db or --url, those in force there
    List(List),
    /// Print a lifecycle as it is written: a good template for your own
    Show(Show),
    /// Draw a lifecycle as a diagram
    Draw(Draw),
    /// Put a lifecycle in force: a new kind, or a new version of one; items keep the version they were created under
    Add(Add),
}

#[derive(Args, Debug)]
pub struct List {
    #[command(flatten)]
    pub there: There,
    #[command(flatten)]
    pub form: Form,
}

#[derive(Args, Debug)]
pub struct Show {
    /// The name of a shipped lifecycle, as in `job`, or the path of a file, as in ./expense.md; `-` is standard input
    pub kind: String,
    #[command(flatten)]
    pub there: There,
    #[command(flatten)]
    pub form: Form,
}

#[derive(Args, Debug)]
pub struct Draw {
    /// The name of a shipped lifecycle, as in `job`, or the path of a file, as in ./expense.md; `-` is standard input
    pub kind: String,
    /// mermaid is drawn by GitHub, dot by graphviz; svg is a picture: `tenure lifecycle draw job --format svg > job.svg`
    #[arg(long, default_value = Format::Mermaid.as_str(), value_parser = format())]
    pub format: Format,
    #[command(flatten)]
    pub there: There,
}

#[derive(Args, Debug)]
pub struct Add {
    /// A lifecycle file; `-` is standard input
    pub file: String,
    #[command(flatten)]
    pub reach: Reach,
    #[command(flatten)]
    pub form: Form,
}

fn format() -> impl TypedValueParser<Value = Format> {
    PossibleValuesParser::new(Format::ALL.map(Format::as_str)).try_map(|name| name.parse::<Format>())
}
