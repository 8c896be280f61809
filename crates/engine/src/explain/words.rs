//! Words that several of the explanations use.

use std::time::Duration;

use tenure_core::actor::{Role, Roles};
use tenure_core::lifecycle::settings::Rate;

/// `a worker or a person`.
pub(super) fn by_whom(roles: Roles) -> String {
    let names: Vec<&str> = roles.iter().map(who).collect();
    one_of(&names)
}

fn who(role: Role) -> &'static str {
    match role {
        Role::Api => "a caller of the API",
        Role::Orchestrator => "an orchestrator",
        Role::Worker => "a worker",
        Role::Human => "a person",
        Role::System => "the engine",
        Role::Admin => "an administrator",
    }
}

/// `a, b or c`.
pub(super) fn one_of(words: &[impl AsRef<str>]) -> String {
    match words {
        [] => String::new(),
        [one] => one.as_ref().to_string(),
        [first @ .., last] => {
            let first: Vec<&str> = first.iter().map(AsRef::as_ref).collect();
            format!("{} or {}", first.join(", "), last.as_ref())
        }
    }
}

/// `: the reason`, where there is one.
pub(super) fn why(reason: Option<&str>) -> String {
    reason.map_or(String::new(), |reason| format!(": {reason}"))
}

/// `1 attempt`, `3 attempts`.
pub(super) fn count(number: u64, one: &str) -> String {
    format!("{number} {one}{}", if number == 1 { "" } else { "s" })
}

/// `5 in 1 min`.
pub(super) fn rate(rate: Rate) -> String {
    format!("{} in {}", rate.count, span(rate.per))
}

fn span(span: Duration) -> String {
    let seconds = span.as_secs();
    match seconds {
        _ if seconds.is_multiple_of(3600) => format!("{} h", seconds / 3600),
        _ if seconds.is_multiple_of(60) => format!("{} min", seconds / 60),
        _ => format!("{seconds} s"),
    }
}
