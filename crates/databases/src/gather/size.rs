//! How large a request is, near enough: what it brings along that has no fixed size.

use tenure_core::request::{Command, Create, Effects, NewRecord, Request};

/// Bytes of the bodies and reasons of a request, with a little for each thing that hangs on it.
pub fn bytes(request: &Request) -> usize {
    EACH + match &request.command {
        Command::Create(create) => of_create(create),
        Command::Progress(progress) => of_records(&progress.records),
        Command::Commit(commit) => {
            commit.output.as_ref().map_or(0, |output| output.bytes().len()) + of_effects(&commit.effects)
        }
        Command::Fail(fail) => fail.reason.len() + of_effects(&fail.offers),
        Command::Release(release) => of_reason(release.reason.as_ref()),
        Command::Move(step) => of_reason(step.reason.as_ref()) + of_effects(&step.effects),
        Command::Cancel(cancel) => of_reason(cancel.reason.as_ref()) + of_effects(&cancel.offers),
        Command::Note(note) => of_records(&note.records),
        Command::Erase(erase) => of_reason(erase.reason.as_ref()),
        Command::Control(order) => order.reason.len(),
        Command::Sweep(sweep) => of_effects(&sweep.offers),
        // What an acquire leases is loaded with it.
        Command::Acquire(acquire) => EACH * acquire.max,
        Command::Link(link) => EACH * (link.add.len() + link.remove.len()),
        // The history of what is removed is loaded with it.
        Command::Prune(_) => EACH * 4,
        Command::Take(_) | Command::Start(_) | Command::Renew(_) | Command::Finish(_) => 0,
    }
}

/// A row with its names and its entry, without what is counted by itself.
const EACH: usize = 256;

fn of_create(create: &Create) -> usize {
    create.payload.bytes().len() + EACH * create.links.len()
}

fn of_records(records: &[NewRecord]) -> usize {
    records.iter().map(|record| EACH + record.body.bytes().len()).sum()
}

fn of_effects(effects: &Effects) -> usize {
    let creates: usize = effects.creates.iter().map(|create| EACH + of_create(create)).sum();
    let messages: usize = effects.messages.iter().map(|message| EACH + message.body.bytes().len()).sum();
    of_records(&effects.records) + creates + messages + EACH * effects.moves.len()
}

fn of_reason(reason: Option<&String>) -> usize {
    reason.map_or(0, String::len)
}
