//! `tenure backup`: a copy of a database while it is in use.
//!
//! On SQLite the copy is a database itself and is verified at once; on PostgreSQL it is what `pg_dump` writes.

use std::path::Path;

use tenure_core::lifecycle::shipped;
use tenure_databases::sqlite::{self, Sqlite};
use tenure_databases::url::Url;
use tenure_databases::{postgres, verify};

use super::verify::sums;
use crate::cli::Backup;
use crate::database::{self, Access};
use crate::outcome::{Error, Outcome};
use crate::output::{Output, Progress};

pub fn run(arguments: &Backup, output: &mut Output) -> Result<Outcome, Error> {
    let to = Path::new(&arguments.file);
    let shown = to.display();
    let url = &arguments.db.url(Access::Existing)?;
    let place = database::parse(url, Access::Existing)?;
    if to.exists() {
        return Err(Error::Exists { file: arguments.file.clone(), may_force: false });
    }
    match place {
        Url::Memory => return Err(Error::NoDatabase { url: url.clone() }),
        Url::Sqlite(path) => {
            let options = sqlite::Options { tables: shipped::tables(), ..sqlite::Options::default() };
            let report = database::run(async {
                Sqlite::open(&path, options)?.backup(to).await?;
                let mut progress = Progress::new("entries verified");
                // Wherever it is: a copy may be kept where no database may be opened.
                let copy = Sqlite::look_at_copy(to)?;
                Ok(verify::database(&copy, None, |entries| progress.tell(entries)).await?)
            })?;
            if let Some(fault) = report.faults.first() {
                return Err(Error::Unsound { file: shown.to_string(), fault: fault.to_string() });
            }
            output
                .line(format_args!("{shown}: {}", sums(report.entries, report.items, report.lifecycles)))?;
            if let Some(head) = report.chain {
                output.line(format_args!("head {head}"))?;
            }
            match Sqlite::may_be_at(to) {
                Ok(()) => output
                    .line(format_args!("verified; it is a database: `tenure log --db sqlite:{shown}`"))?,
                Err(why) => {
                    output.line(format_args!("verified; to open it copy it to another place first: {why}"))?
                }
            }
        }
        Url::Postgres(url) => {
            postgres::backup(url.reveal(), to)?;
            output.line(format_args!("{shown}: written by pg_dump"))?;
            output.line("restore it with `pg_restore --dbname=… FILE` into an empty database, then `tenure verify` that")?;
        }
    }
    Ok(Outcome::Done)
}
