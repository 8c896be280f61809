//! The arguments of `tenure limit`.

use std::time::Duration;

use clap::{Args, Subcommand};

use super::{At, Form, span};

#[derive(Subcommand, Debug)]
pub enum Limit {
    /// List what holds kinds back: limits, pauses, breakers
    List(LimitList),
    /// Set how many of a kind run at once, and how many begin in a span
    Set(LimitSet),
    /// Give a kind its lifecycle's own limits back; a pause stays
    Reset(LimitReset),
}

#[derive(Args, Debug)]
pub struct LimitList {
    #[command(flatten)]
    pub at: At,
    #[command(flatten)]
    pub form: Form,
}

#[derive(Args, Debug)]
pub struct LimitSet {
    /// The kind, as in `job`
    pub kind: String,
    /// How many run at once. What is left out is as the lifecycle says
    #[arg(long, value_name = "NUMBER", required_unless_present = "rate")]
    pub concurrency: Option<u32>,
    /// How many begin in a span, as in 100/1m
    #[arg(long, value_name = "NUMBER/SPAN", value_parser = rate)]
    pub rate: Option<Pace>,
    /// Why, for whoever looks later
    #[arg(long, default_value = "said on the command line")]
    pub reason: String,
    #[command(flatten)]
    pub at: At,
    #[command(flatten)]
    pub form: Form,
}

/// So many in a span.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    pub count: u32,
    pub per: Duration,
}

fn rate(text: &str) -> Result<Pace, String> {
    let wrong = || "a rate is a number and a span: 100/1m".to_string();
    let (count, per) = text.split_once('/').ok_or_else(wrong)?;
    Ok(Pace { count: count.parse().map_err(|_| wrong())?, per: span(per)? })
}

#[derive(Args, Debug)]
pub struct LimitReset {
    pub kind: String,
    #[command(flatten)]
    pub at: At,
    #[command(flatten)]
    pub form: Form,
}
