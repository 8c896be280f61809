//! `tenure export`: the log of a database as a file.
//!
//! The file gets its name when it is whole and on the disk. Until then it has another, so nobody takes half an export for
//! one.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use tenure_databases::Database;
use tenure_databases::export::{export, line::End};

use super::verify::sums;
use crate::cli::Export;
use crate::database::{self, Access, Work};
use crate::outcome::{Error, Outcome};
use crate::output::{Output, Progress};
use crate::source::STDIN;

pub fn run(arguments: &Export, output: &mut Output) -> Result<Outcome, Error> {
    let url = &arguments.db.url(Access::Existing)?;
    match arguments.file.as_deref() {
        None | Some(STDIN) => {
            let mut out = BufWriter::with_capacity(1 << 16, output);
            database::with(url, Access::Existing, To { out: &mut out })?;
        }
        Some(file) => {
            database::parse(url, Access::Existing)?;
            let over = if arguments.force { Over::Anything } else { Over::Nothing };
            let end = written(file, over, |out| database::with(url, Access::Existing, To { out }))?;
            output.line(format_args!("{file}: {}", sums(end.entries, end.items, end.lifecycles)))?;
            output.line(format_args!("head {}", end.chain))?;
            output.line("keep the head elsewhere: with `tenure verify FILE --head HEAD` it shows whether anything was changed since")?;
        }
    }
    Ok(Outcome::Done)
}

struct To<'a, W> {
    out: &'a mut W,
}

impl<W: Write> Work for To<'_, W> {
    type Done = End;

    async fn run<D: Database>(self, database: &D) -> Result<End, Error> {
        let mut progress = Progress::new("entries exported");
        let mut out = self.out;
        Ok(export(database, &mut out, |entries| progress.tell(entries)).await?)
    }
}

/// What a new file may take the name of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Over {
    Nothing,
    Anything,
}

/// Writes a file beside the one that is wanted, and gives it the name when everything went well. What had the name is replaced.
pub fn whole<T>(
    file: &str,
    write: impl FnOnce(&mut BufWriter<File>) -> Result<T, Error>,
) -> Result<T, Error> {
    written(file, Over::Anything, write)
}

fn written<T>(
    file: &str,
    over: Over,
    write: impl FnOnce(&mut BufWriter<File>) -> Result<T, Error>,
) -> Result<T, Error> {
    let exists = || Error::Exists { file: file.to_string(), may_force: true };
    // Known before the work is done, and again when it is.
    if over == Over::Nothing && Path::new(file).exists() {
        return Err(exists());
    }
    let unwritable = |why: io::Error| Error::Unwritable { file: file.to_string(), why };
    let part = beside(Path::new(file));
    let mut out = BufWriter::with_capacity(1 << 16, File::create_new(&part).map_err(unwritable)?);
    let written = write(&mut out).and_then(|done| {
        let opened = out.into_inner().map_err(|error| unwritable(error.into_error()))?;
        opened.sync_all().map_err(unwritable)?;
        let placed = match over {
            Over::Anything => fs::rename(&part, file),
            // A link, unlike a rename, refuses a name that was taken meanwhile.
            Over::Nothing => fs::hard_link(&part, file).and_then(|()| fs::remove_file(&part)),
        };
        placed.map_err(|why| match why.kind() {
            io::ErrorKind::AlreadyExists => exists(),
            _ => unwritable(why),
        })?;
        Ok(done)
    });
    if written.is_err() {
        // What matters is the error; a part that can not be removed has a name that says what it is.
        let _ = fs::remove_file(&part);
    }
    written
}

fn beside(file: &Path) -> PathBuf {
    let name = file.file_name().map_or_else(Default::default, |name| name.to_string_lossy().into_owned());
    file.with_file_name(format!(".{name}.part-{}", std::process::id()))
}
