//! Lifecycle tables for the tests of diagrams, written as compactly as they can be read.

use tenure_core::actor::{Role, Roles};
use tenure_core::lifecycle::event::Event;
use tenure_core::lifecycle::guard::Guard;
use tenure_core::lifecycle::settings::Settings;
use tenure_core::lifecycle::{Phase, Row, State, StateId, Table, To};

/// The tables whose pictures are kept as golden files.
pub fn all() -> Vec<Table> {
    vec![run(), job(), claim(), todo(), ticket(), validation()]
}

pub fn run() -> Table {
    table(
        "run",
        "QUEUED:ready RUNNING:active COMPLETED:succeeded FAILED:failed TIMED_OUT:failed",
        "
        — create as RUN_CREATED → QUEUED
        QUEUED lease as RUN_STARTED → RUNNING [no other running for key]
        RUNNING commit as RUN_COMPLETED → COMPLETED
        RUNNING fail as RUN_FAILED → FAILED [reason]
        RUNNING time-out as RUN_TIMED_OUT → TIMED_OUT
        RUNNING orphan as RUN_RECOVERED_AS_FAILED → FAILED
        ",
    )
}

pub fn job() -> Table {
    table(
        "job",
        "PENDING:ready RUNNING:active SUCCEEDED:succeeded FAILED:failed CANCELLED:stopped",
        "
        — create → PENDING
        PENDING lease → RUNNING
        RUNNING finish → SUCCEEDED
        RUNNING fail → FAILED [permanent]
        RUNNING fail → PENDING [attempts left]
        RUNNING fail → FAILED
        RUNNING expire → PENDING [attempts left]
        RUNNING expire → FAILED
        RUNNING time-out → PENDING [attempts left]
        RUNNING time-out → FAILED
        RUNNING release → PENDING
        PENDING cancel → CANCELLED [reason]
        RUNNING cancel → CANCELLED [reason]
        ",
    )
}

pub fn claim() -> Table {
    table(
        "claim",
        "pending:waiting queued:ready in_progress:active decomposed:succeeded failed:failed",
        "
        — create → pending
        pending enqueue → queued
        failed enqueue → queued
        queued enqueue → queued
        in_progress enqueue → in_progress
        decomposed enqueue → ! ALREADY_DECOMPOSED
        queued lease → in_progress
        queued expire → queued
        in_progress commit → decomposed
        in_progress fail → failed [reason]
        in_progress release → queued
        in_progress expire → queued [attempts left]
        in_progress expire → failed
        ",
    )
}

pub fn todo() -> Table {
    table(
        "todo",
        "Draft:ready Claimed:active Verified:succeeded Abandoned:stopped",
        "
        — create → Draft
        Draft lease as claim → Claimed [live session, workspace, dependencies done]
        Claimed claim → Claimed [owner]
        Claimed commit as done → Verified [owner, live session, workspace, gates pass]
        Verified done → Verified [same proof]
        Claimed release → Draft [owner]
        Claimed expire → Draft
        Draft abandon → Abandoned [reason]
        Claimed abandon → Abandoned [owner, reason]
        ",
    )
}

pub fn ticket() -> Table {
    table(
        "ticket",
        "NEW:waiting TODO:waiting IN_PROGRESS:waiting BLOCKED:waiting DONE:succeeded",
        "
        — create → NEW
        NEW approve → TODO
        TODO schedule → IN_PROGRESS
        TODO block → BLOCKED
        IN_PROGRESS pass → DONE
        IN_PROGRESS retry → TODO
        IN_PROGRESS block → BLOCKED
        BLOCKED resolve → TODO [blockers closed]
        ",
    )
}

pub fn validation() -> Table {
    table(
        "validation",
        "pending:waiting submitted:succeeded superseded:stopped invalidated:stopped",
        "
        — create → pending
        pending submit → submitted
        pending invalidate → invalidated [reason]
        submitted supersede → superseded
        submitted submit → submitted
        superseded submit → superseded
        invalidated submit → invalidated
        ",
    )
}

/// Reads `state:phase …` and rows of the form `FROM EVENT [as NAME] → TO [GUARD, …]`.
pub fn table(kind: &str, states: &str, rows: &str) -> Table {
    let states: Vec<State> = states.split_whitespace().map(state).collect();
    let rows = rows.lines().map(str::trim).filter(|line| !line.is_empty()).map(|line| row(line, &states));
    let rows = rows.collect();
    Table::new(kind.parse().expect(kind), String::new(), states, rows, Settings::default(), None)
}

fn state(text: &str) -> State {
    let (name, phase) = text.split_once(':').expect(text);
    let phase = Phase::ALL.into_iter().find(|known| known.as_str() == phase).expect(text);
    State { name: name.parse().expect(text), phase, meaning: String::new(), line: 0 }
}

fn row(text: &str, states: &[State]) -> Row {
    let id = |name: &str| {
        let index = states.iter().position(|state| state.name.as_str() == name).expect(text);
        StateId(u8::try_from(index).expect(text))
    };
    let (left, right) = text.split_once(" → ").expect(text);
    let (right, guards) = match right.split_once(" [") {
        Some((right, guards)) => (right, guards.strip_suffix(']').expect(text)),
        None => (right, ""),
    };
    let (from, event) = left.split_once(' ').expect(text);
    let (event, alias) = match event.split_once(" as ") {
        Some((event, alias)) => (event, Some(alias.parse().expect(text))),
        None => (event, None),
    };
    let guards = guards.split(", ").filter(|guard| !guard.is_empty());
    Row {
        from: (from != "—").then(|| id(from)),
        event: event.parse::<Event>().expect(text),
        alias,
        to: match right.strip_prefix("! ") {
            Some(code) => To::Refuse(code.parse().expect(text)),
            None => To::State(id(right)),
        },
        actors: Roles::NONE.with(Role::Api),
        guards: guards.map(|guard| guard.parse::<Guard>().expect(text)).collect(),
        effects: Vec::new(),
        line: 0,
    }
}
