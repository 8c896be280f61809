//! The row of an execution that committed or ended.

use tenure_core::execution::{End, Execution, Status};
use tenure_core::id::{ExecutionId, Fence, ItemId};
use tenure_core::lifecycle::event::Event;

use super::bytes::{Reader, Writer};
use super::item::{read_mark, write_mark};
use super::{Damaged, Memo, signed, unsigned};

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExecutionRow {
    pub item: ItemId,
    /// The second half of the primary key: 0 for the one that committed, of which an item has at most one, and the fence
    /// for one that was aborted. So the key itself says no to a second commit.
    pub seat: i64,
    pub fence: i64,
    pub status: Status,
    pub rest: Vec<u8>,
}

const FORMAT: u8 = 1;

const STARTED: u64 = 1;
const COMMITTED: u64 = 1 << 1;
const ENDED: u64 = 1 << 2;
const ON: u64 = 1 << 3;
const PERMANENT: u64 = 1 << 4;
const REASON: u64 = 1 << 5;
const OUTPUT: u64 = 1 << 6;

impl ExecutionRow {
    pub fn of(execution: &Execution) -> ExecutionRow {
        let ended = execution.ended.as_ref();
        let flag = |is: bool, flag: u64| if is { flag } else { 0 };
        let flags = flag(execution.started_at.is_some(), STARTED)
            | flag(execution.committed.is_some(), COMMITTED)
            | flag(ended.is_some(), ENDED)
            | flag(ended.is_some_and(|end| end.on.is_some()), ON)
            | flag(ended.is_some_and(|end| end.permanent), PERMANENT)
            | flag(ended.is_some_and(|end| end.reason.is_some()), REASON)
            | flag(execution.output.is_some(), OUTPUT);
        let mut out = Writer::with_capacity(96);
        out.byte(FORMAT);
        out.number(flags);
        out.text(&execution.owner.to_string());
        out.time(execution.leased_at);
        out.time(execution.lease_expires_at);
        execution.started_at.iter().for_each(|started| out.time(*started));
        execution.committed.iter().for_each(|mark| write_mark(&mut out, mark));
        if let Some(end) = ended {
            write_mark(&mut out, &end.mark);
            out.text(end.cause.as_str());
            end.on.iter().for_each(|on| out.text(on.as_str()));
            end.reason.iter().for_each(|reason| out.text(reason));
        }
        execution.output.iter().for_each(|output| out.hash(output));
        let fence = signed(execution.id.fence.0);
        ExecutionRow {
            item: execution.id.item,
            seat: if execution.committed.is_some() { 0 } else { fence },
            fence,
            status: execution.status(),
            rest: out.into_bytes(),
        }
    }
}

/// Whether its row is there already: it committed with an earlier entry than the one that ends it.
pub fn is_there(execution: &Execution) -> bool {
    let marks = execution.committed.zip(execution.ended.as_ref());
    marks.is_some_and(|(commit, end)| commit.version != end.mark.version)
}

/// An execution from its columns. `status` is derived and only there for the schema and for readers.
pub fn read(item: ItemId, fence: i64, rest: &[u8], memo: &mut Memo) -> Result<Execution, Damaged> {
    let mut reader = Reader::new(rest);
    if reader.byte()? != FORMAT {
        return Err(Damaged::because("it was written by a newer Tenure"));
    }
    let flags = reader.number()?;
    let has = |flag: u64| flags & flag != 0;
    let owner = memo.owner(reader.text()?)?;
    let leased_at = reader.time()?;
    let lease_expires_at = reader.time()?;
    let started_at = if has(STARTED) { Some(reader.time()?) } else { None };
    let committed = if has(COMMITTED) { Some(read_mark(&mut reader)?) } else { None };
    let ended = match has(ENDED) {
        true => Some(End {
            mark: read_mark(&mut reader)?,
            cause: event(&mut reader)?,
            on: if has(ON) { Some(event(&mut reader)?) } else { None },
            permanent: has(PERMANENT),
            reason: if has(REASON) { Some(reader.text()?.to_string()) } else { None },
        }),
        false => None,
    };
    let output = if has(OUTPUT) { Some(reader.hash()?) } else { None };
    reader.end()?;
    let id = ExecutionId { item, fence: Fence(unsigned(fence)?) };
    Ok(Execution { id, owner, leased_at, lease_expires_at, started_at, committed, ended, output })
}

fn event(reader: &mut Reader<'_>) -> Result<Event, Damaged> {
    reader.word()
}
