//! The arguments of `tenure schedule`.

use std::time::Duration;

use clap::{Args, Subcommand};

use super::{At, Form, priority, span};

#[derive(Subcommand, Debug)]
pub enum Schedule {
    /// Create a schedule: work that comes at its times
    Create(ScheduleCreate),
    /// List schedules, and when each creates next
    List(ScheduleList),
    /// Pause a schedule; times that pass meanwhile are not made up for
    Pause(ScheduleOne),
    /// Resume a schedule
    Resume(ScheduleOne),
    /// Remove a schedule; what it has created stays
    Remove(ScheduleOne),
}

#[derive(Args, Debug)]
pub struct ScheduleCreate {
    /// The same under the same name again is the same schedule
    pub name: String,
    /// A cron expression, as in '0 3 * * *', or an interval, as in 'every 90 s'
    pub times: String,
    /// The kind of what it creates, as in `job`
    pub kind: String,
    /// JSON; `-` reads it from standard input, `@FILE` from a file. Left out it is {}
    #[arg(value_name = "PAYLOAD|-|@FILE")]
    pub payload: Option<String>,
    /// Whose clock a cron expression goes by, as in Europe/Berlin. Left out: UTC
    #[arg(long)]
    pub zone: Option<String>,
    /// What becomes of times that passed while nothing ran
    #[arg(long, default_value = "one", value_parser = ["skip", "one", "all"])]
    pub catch_up: String,
    /// How many `all` makes up for
    #[arg(long, value_name = "NUMBER")]
    pub catch_up_max: Option<u32>,
    /// It counts from this time on, as in 2026-11-15T20:25:00Z. Left out: from now on
    #[arg(long, value_name = "TIME")]
    pub from: Option<String>,
    /// Each time is put off by up to so long, always by the same for the same time
    #[arg(long, value_name = "SPAN", value_parser = span)]
    pub jitter: Option<Duration>,
    /// What the work is about; some kinds run one of a key at a time
    #[arg(long)]
    pub key: Option<String>,
    /// Higher is sooner, from -100 to 100
    #[arg(long, allow_hyphen_values = true, value_parser = priority)]
    pub priority: Option<i8>,
    /// How often it may fail before it is given up
    #[arg(long, value_name = "NUMBER")]
    pub max_attempts: Option<u32>,
    #[command(flatten)]
    pub at: At,
    #[command(flatten)]
    pub form: Form,
}

#[derive(Args, Debug)]
pub struct ScheduleList {
    #[command(flatten)]
    pub at: At,
    #[command(flatten)]
    pub form: Form,
}

#[derive(Args, Debug)]
pub struct ScheduleOne {
    pub name: String,
    #[command(flatten)]
    pub at: At,
    #[command(flatten)]
    pub form: Form,
}
