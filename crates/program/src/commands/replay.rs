//! `tenure replay`: a database from an exported log.

use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::io::BufReader;

use tenure_core::draw::Draw;
use tenure_databases::Database;
use tenure_databases::replay::{self, Replayed, replay};

use super::verify::{sums, unreadable};
use crate::cli::Replay;
use crate::database::{self, Access, Work};
use crate::outcome::{Error, Outcome};
use crate::output::{Output, Progress};

pub fn run(arguments: &Replay, output: &mut Output) -> Result<Outcome, Error> {
    let file = &arguments.file;
    if let Err(not) = arguments.into.database() {
        return Err(Error::NotInto(not));
    }
    let opened = File::open(file).map_err(|why| unreadable(file, why))?;
    let done = database::with(&arguments.into, Access::MayCreate, From { file, opened })?;
    output.line(format_args!(
        "{}: {}",
        arguments.into,
        sums(done.head.position, done.items, done.lifecycles)
    ))?;
    if done.known > 0 {
        output
            .line(format_args!("{} of the entries were there already, from a replay before", done.known))?;
    }
    output.line(format_args!("head {}", done.head.chain))?;
    Ok(Outcome::Done)
}

struct From<'a> {
    file: &'a str,
    opened: File,
}

impl Work for From<'_> {
    type Done = Replayed;

    async fn run<D: Database>(self, database: &D) -> Result<Replayed, Error> {
        let (mut verified, mut written) =
            (Progress::new("lines verified"), Progress::new("entries replayed"));
        let reader = BufReader::with_capacity(1 << 16, self.opened);
        // Every process has its own random state: the names of its transactions must be nobody else's.
        let mut draw = Draw::new(RandomState::new().hash_one("replay"));
        let done = replay(reader, database, &mut draw, |at| match at {
            replay::Progress::Verified(lines) => verified.tell(lines),
            replay::Progress::Written(entries) => written.tell(entries),
        });
        done.await.map_err(|stopped| Error::Replay { file: self.file.to_string(), stopped })
    }
}
