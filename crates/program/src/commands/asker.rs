//! Who asks, where a person's word counts: the person who is logged in, or somebody whose word is never taken for a person's. That is an
//! agent by its name, whoever works in a session, and any command that Tenure itself has started.
//!
//! A token says for itself who its bearer is, whatever is said here.

use tenure_systems::process::marked::MARKS;

use super::todo::desk::actor;
use super::work::keeper::MARK;

/// In the environment of whatever Tenure starts: of an executor, of a worker's command, of any command at all.
const STARTED: [&str; 3] = ["TENURE_WORK_ORDER", MARK, MARKS];

/// `ROLE:NAME` of whoever asks; an agent is a worker.
pub fn asker(agent: Option<&str>, session: Option<&str>) -> String {
    let is_said = |text: Option<&str>| text.is_some_and(|text| !text.is_empty());
    let is_started = STARTED.iter().any(|name| std::env::var_os(name).is_some());
    match agent.filter(|agent| !agent.is_empty()) {
        Some(agent) => actor(Some(agent)),
        None if is_said(session) => actor(Some("session")),
        None if is_started => actor(Some("command")),
        None => actor(None),
    }
}

/// The same for what clients do and workers do not: to ask for something that a person decides on.
pub fn client(agent: Option<&str>, session: Option<&str>) -> String {
    let asker = asker(agent, session);
    match asker.strip_prefix("worker:") {
        Some(name) => format!("api:{name}"),
        None => asker,
    }
}
