//! `tenure todo export` and `join`: the log of a list as a file that is committed with its repository. Both work on the database itself.
//!
//! A log names bodies by hash; what they say (titles, plans, proofs) stands in a second file beside it, one body a line.
//!
//! A log that is ahead of mine is a fast-forward. Two that have gone different ways are not made one: they are told apart by the
//! first entry in which they differ.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, BufReader, ErrorKind, Read, Write};
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use tenure_core::body::Body;
use tenure_core::draw::Draw;
use tenure_core::hash::Hash;
use tenure_databases::export::{self, line::End};
use tenure_databases::outside::chance;
use tenure_databases::regular_file;
use tenure_databases::replay::replay_with;
use tenure_databases::url::SecretUrl;
use tenure_databases::{Database, PAGE_MAX, Query, verify};
use tenure_systems::todos::workspace::{FOLDER, Workspace};

use super::desk::{self, here};
use crate::cli::{OtherDb, TodoExport, TodoJoin};
use crate::commands::export::whole;
use crate::commands::verify::sums;
use crate::database::{self, Access, Work};
use crate::outcome::{Error, Outcome};
use crate::output::Output;

/// Where the log is kept in a file.
fn log(named: Option<&String>) -> Result<String, Error> {
    if let Some(named) = named {
        return Ok(named.clone());
    }
    let workspace = here()?.ok_or(Error::NoRepository)?;
    Ok(workspace.home.join(FOLDER).join("todo.jsonl").display().to_string())
}

/// The database that was named, or that of the repository. A server hands out no bodies with its log and takes none in: whoever named
/// one is told where to go.
fn list(named: &OtherDb, own: impl FnOnce(&Workspace) -> Result<PathBuf, Error>) -> Result<SecretUrl, Error> {
    match &named.0 {
        Some(db) => db.url(Access::Existing),
        None => Ok(desk::url(&own(&here()?.ok_or(Error::NoRepository)?)?)),
    }
}

pub fn export(arguments: &TodoExport, output: &mut Output) -> Result<Outcome, Error> {
    let url = list(&arguments.db, |workspace| Ok(desk::file(workspace)))?;
    let file = log(arguments.file.as_ref())?;
    let (text, end) = database::with(&url, Access::Existing, Whole)?;
    let bodies = database::with(&url, Access::Existing, Kept)?;
    whole(&file, |out| Ok(out.write_all(&text)?))?;
    whole(&beside(&file), |out| Ok(out.write_all(&bodies)?))?;
    if arguments.form.json {
        output.json(&Exported {
            bodies: beside(&file),
            entries: end.entries,
            file,
            head: end.chain,
            items: end.items,
            lifecycles: end.lifecycles,
        })?;
        return Ok(Outcome::Done);
    }
    output.line(format_args!("{file}: {}", sums(end.entries, end.items, end.lifecycles)))?;
    output.line(format_args!("head {}", end.chain))?;
    Ok(Outcome::Done)
}

/// What was written where.
#[derive(Serialize)]
struct Exported {
    /// The file with what the log names by hash.
    bodies: String,
    entries: u64,
    file: String,
    /// Of the chain of the log: what `tenure verify --head` takes.
    head: Hash,
    items: u64,
    lifecycles: u64,
}

/// The log as a file has it.
struct Whole;

impl Work for Whole {
    type Done = (Vec<u8>, End);

    async fn run<D: Database>(self, database: &D) -> Result<(Vec<u8>, End), Error> {
        let mut text = Vec::new();
        let end = export::export(database, &mut text, |_| {}).await?;
        Ok((text, end))
    }
}

/// The file of the bodies that a log names.
fn beside(log: &str) -> String {
    format!("{}.bodies.jsonl", log.strip_suffix(".jsonl").unwrap_or(log))
}

/// A body as its file has it: the very text that was hashed.
#[derive(Serialize, Deserialize)]
struct Line<'a> {
    sha256: Hash,
    text: Cow<'a, str>,
}

/// The bodies of all items, each once, in the order of their hashes.
struct Kept;

impl Work for Kept {
    type Done = Vec<u8>;

    async fn run<D: Database>(self, database: &D) -> Result<Vec<u8>, Error> {
        let mut bodies: BTreeMap<Hash, Body> = BTreeMap::new();
        let mut query = Query { limit: PAGE_MAX, ..Query::default() };
        loop {
            let page = database.list(&query).await?;
            for item in &page {
                let Some(whole) = database.whole(&item.store, item.id).await? else { continue };
                let records = whole.records.into_iter().filter_map(|record| record.body);
                let all = whole.payload.into_iter().chain(whole.output).chain(records);
                bodies.extend(all.map(|body| (body.hash(), body)));
            }
            match page.last() {
                Some(last) if page.len() == PAGE_MAX => query.after = Some(last.id),
                _ => break,
            }
        }
        let mut text = Vec::new();
        for (sha256, body) in &bodies {
            let line = Line { sha256: *sha256, text: String::from_utf8_lossy(body.bytes()) };
            serde_json::to_writer(&mut text, &line).map_err(std::io::Error::from)?;
            text.push(b'\n');
        }
        Ok(text)
    }
}

/// The bodies beside a log. What is not what its hash says is left out, as what is missing is.
fn bodies(log: &str) -> Result<BTreeMap<Hash, Body>, Error> {
    let file = beside(log);
    let text = match regular_file::open(file.as_ref()).and_then(io::read_to_string) {
        Ok(text) => text,
        Err(why) if why.kind() == ErrorKind::NotFound => return Ok(BTreeMap::new()),
        Err(why) => return Err(Error::Unreadable { file, why, near: None }),
    };
    let read = |line: &str| {
        let line: Line = serde_json::from_str(line).ok()?;
        Some((line.sha256, Body::kept(line.text.as_bytes(), &line.sha256)?))
    };
    Ok(text.lines().filter_map(read).collect())
}

pub fn join(arguments: &TodoJoin, output: &mut Output) -> Result<Outcome, Error> {
    let url = list(&arguments.db, desk::made)?;
    let file = log(arguments.file.as_ref())?;
    let unreadable = |why| Error::Unreadable { file: file.clone(), why, near: None };
    let mut theirs = Vec::new();
    // The file comes with the repository: what is there may be a link to a device.
    regular_file::open(file.as_ref())
        .and_then(|mut opened| opened.read_to_end(&mut theirs))
        .map_err(unreadable)?;
    let report = verify::file(theirs.as_slice(), None, |_| {}).map_err(unreadable)?;
    if let Some(fault) = report.faults.first() {
        return Err(Error::Unsound { file, fault: fault.to_string() });
    }
    let (mine, _) = database::with(&url, Access::MayCreate, Whole)?;
    let found = compare(&mine, &theirs);
    let (said, entries) = match found {
        Found::Same => ("nothing to join: both are the same".to_string(), None),
        Found::MineIsAhead => ("nothing to join: this list has all of it and more".to_string(), None),
        Found::Diverged { line, mine, theirs } => {
            let (here, there) = (told(&mine), told(&theirs));
            return Err(Error::Diverged { file, url, position: line, here, there });
        }
        Found::TheirsIsAhead => {
            let joined = database::with(&url, Access::MayCreate, Forward { file: &file })?;
            (format!("{file}: joined; this list has {joined} entries now"), Some(joined))
        }
    };
    match arguments.form.json {
        true => output.json(&Joined { entries, file, joined: entries.is_some() })?,
        false => output.line(said)?,
    }
    Ok(Outcome::Done)
}

/// What came of it.
#[derive(Serialize)]
struct Joined {
    /// Of this list, where something was joined.
    #[serde(skip_serializing_if = "Option::is_none")]
    entries: Option<u64>,
    file: String,
    /// False: there was nothing that this list has not.
    joined: bool,
}

struct Forward<'a> {
    file: &'a str,
}

impl Work for Forward<'_> {
    type Done = u64;

    async fn run<D: Database>(self, database: &D) -> Result<u64, Error> {
        let opened = regular_file::open(self.file.as_ref()).map_err(|why| Error::Unreadable {
            file: self.file.to_string(),
            why,
            near: None,
        })?;
        let mut draw = Draw::new(chance());
        let kept = bodies(self.file)?;
        let kept = |hash: &Hash| kept.get(hash).cloned();
        let done = replay_with(BufReader::new(opened), database, &mut draw, &kept, |_| {}).await;
        let done = done.map_err(|stopped| Error::Replay { file: self.file.to_string(), stopped })?;
        Ok(done.head.position)
    }
}

#[derive(PartialEq, Eq, Debug)]
enum Found {
    Same,
    MineIsAhead,
    TheirsIsAhead,
    /// The first line that differs, and what stands there in each.
    Diverged {
        line: u64,
        mine: Vec<u8>,
        theirs: Vec<u8>,
    },
}

/// A line of a log in a few words.
#[derive(Deserialize)]
struct Entry<'a> {
    action: Option<&'a str>,
    actor: Option<&'a str>,
    item: Option<&'a str>,
    occurred_at: Option<&'a str>,
}

fn told(line: &[u8]) -> String {
    match serde_json::from_slice(line) {
        Ok(Entry { action: Some(action), actor, item, occurred_at }) => {
            let or_nothing = Option::unwrap_or_default;
            format!(
                "{action} of {} by {} at {}",
                or_nothing(item),
                or_nothing(actor),
                or_nothing(occurred_at)
            )
        }
        Ok(Entry { action: None, .. }) | Err(_) => "a lifecycle".to_string(),
    }
}

/// Which of two logs goes on where the other ends. The last line of each sums it up and is not compared.
fn compare(mine: &[u8], theirs: &[u8]) -> Found {
    let lines = |text: &'_ [u8]| -> Vec<Vec<u8>> {
        let mut lines: Vec<Vec<u8>> =
            text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).map(<[u8]>::to_vec).collect();
        lines.pop();
        lines
    };
    let (mine, theirs) = (lines(mine), lines(theirs));
    let same = mine.iter().zip(&theirs).take_while(|(mine, theirs)| mine == theirs).count();
    match (same == mine.len(), same == theirs.len()) {
        (true, true) => Found::Same,
        (true, false) => Found::TheirsIsAhead,
        (false, true) => Found::MineIsAhead,
        (false, false) => {
            Found::Diverged { line: same as u64 + 1, mine: mine[same].clone(), theirs: theirs[same].clone() }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_ahead_the_same_or_elsewhere() {
        let cases = [
            ("a\nb\nend\n", "a\nb\nend\n", Found::Same),
            ("a\nend1\n", "a\nb\nend\n", Found::TheirsIsAhead),
            ("a\nb\nend\n", "a\nend1\n", Found::MineIsAhead),
            (
                "a\nb\nend\n",
                "a\nc\nend\n",
                Found::Diverged { line: 2, mine: b"b".to_vec(), theirs: b"c".to_vec() },
            ),
            ("", "a\nend\n", Found::TheirsIsAhead),
        ];
        for (mine, theirs, found) in cases {
            assert_eq!(compare(mine.as_bytes(), theirs.as_bytes()), found, "{mine:?} {theirs:?}");
        }
    }
}
