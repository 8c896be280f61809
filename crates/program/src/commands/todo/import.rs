//! `tenure todo import`: the open boxes of a Markdown checklist, each once.

use std::fs::File;
use std::io::{self, ErrorKind, Read};

use serde_json::json;
use tenure_systems::todos::checklist;

use super::desk::{Desk, todos};
use super::shown::Shown;
use crate::cli::TodoImport;
use crate::database::run as block_on;
use crate::outcome::{Error, Outcome};
use crate::output::{Output, count, grouped};

/// A longer list is not read by anybody.
const FILE_BYTES_MAX: u64 = 4 << 20;

/// What a device says of its length is not so: no more is read than is allowed.
fn read(file: &str) -> io::Result<String> {
    let mut text = String::new();
    match File::open(file)?.take(FILE_BYTES_MAX + 1).read_to_string(&mut text)? as u64 {
        0..=FILE_BYTES_MAX => Ok(text),
        _ => Err(io::Error::new(ErrorKind::FileTooLarge, "it has more than 4 MiB; is this a checklist?")),
    }
}

pub fn run(arguments: &TodoImport, output: &mut Output) -> Result<Outcome, Error> {
    let file = &arguments.file;
    let text = read(file).map_err(|why| Error::Unreadable { file: file.clone(), why, near: None })?;
    let entries = checklist::read(&text, file);
    let (ids, fresh) = block_on(async {
        let desk = Desk::open(&arguments.at).await?;
        let (mut ids, mut fresh): (Vec<String>, usize) = (Vec::new(), 0);
        for entry in &entries {
            let parent = entry.parent.map(|parent| ids[parent].clone());
            let more = json!({
                "title": entry.title,
                "parent": parent,
                "external_reference": entry.external_reference,
            });
            let not_added = |error| Error::NotAdded {
                file: format!("{file}: {:?}", entry.title),
                error: Box::new(error),
            };
            let reply = desk.post(todos(), &desk.by(more)).await.map_err(not_added)?;
            fresh += usize::from(reply.made);
            ids.push(reply.read::<Shown>()?.todo_id);
        }
        Ok((ids, fresh))
    })?;
    if arguments.form.json {
        output.json(&json!({ "todos": ids, "new": fresh }))?;
    } else {
        output.line(format_args!(
            "{file}: {}, {} new; importing it again adds only what is new",
            count(ids.len(), "task"),
            grouped(fresh as u64)
        ))?;
    }
    Ok(Outcome::Done)
}
