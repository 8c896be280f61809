//! What every document becomes: blocks in reading order, and the bounds that all of them keep.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use super::{EMPTY, TOO_LARGE};
use crate::runs::builtin::{never, over};
use crate::runs::step::StepFailed;

/// Some 1,500 printed pages. It stands in the answer twice, and steps after this one hold it in memory.
pub const TEXT_BYTES_MAX: usize = 4 << 20;
/// A block is a line or more; more of them than this is not a document but a dump.
pub const BLOCKS_MAX: usize = 100_000;
/// A sheet of 20 columns and 25,000 rows.
pub const CELLS_MAX: usize = 500_000;
/// Nobody indents further; deeper levels count as this one.
pub const LEVEL_MAX: u8 = 32;
/// What a file says of itself is a title and a few names.
const METADATA_MAX: usize = 32;
const METADATA_BYTES_MAX: usize = 1 << 10;

/// A document's text and structure, the same for every type.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Extracted {
    pub media_type: String,
    /// The blocks' texts, one after the other.
    pub text: String,
    /// Of a type that has pages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pages: Option<u32>,
    pub blocks: Vec<Block>,
    /// What the file says of itself: title, author, charset.
    #[serde(default)]
    pub metadata: BTreeMap<String, String>,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Block {
    pub kind: Kind,
    /// Of a heading: 1 is the highest. Of an item of a list: how deep it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<u8>,
    /// The page it begins on, counted from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page: Option<u32>,
    /// Of a table: its rows as lines, with tabs between cells.
    pub text: String,
    /// Of a table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<Vec<Vec<String>>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    Heading,
    Paragraph,
    ListItem,
    Table,
    Code,
    Quote,
}

/// What is being made. Every block goes through here, so the bounds are kept and `stop` is heard.
#[derive(Debug)]
pub(super) struct Form {
    made: Extracted,
    cells: usize,
    page: Option<u32>,
    stop: watch::Receiver<bool>,
}

impl Form {
    pub fn new(media_type: &str, stop: watch::Receiver<bool>) -> Form {
        let made = Extracted {
            media_type: media_type.to_string(),
            text: String::new(),
            pages: None,
            blocks: Vec::new(),
            metadata: BTreeMap::new(),
        };
        Form { made, cells: 0, page: None, stop }
    }

    /// The loops of the parsers ask this as they go.
    pub fn go_on(&self) -> Result<(), StepFailed> {
        match *self.stop.borrow() {
            true => Err(over()),
            false => Ok(()),
        }
    }

    pub fn pages(&mut self, count: u32) {
        self.made.pages = Some(count);
    }

    /// What is added from now on is on this page.
    pub fn turn_to(&mut self, page: u32) {
        self.page = Some(page);
    }

    /// What the file says of itself. The first time counts.
    pub fn note(&mut self, name: &str, value: &str) {
        let value = one_line(value);
        let fits = value.len() <= METADATA_BYTES_MAX && name.len() <= METADATA_BYTES_MAX;
        if fits && !value.is_empty() && self.made.metadata.len() < METADATA_MAX {
            self.made.metadata.entry(name.to_string()).or_insert(value);
        }
    }

    pub fn heading(&mut self, level: u8, text: &str) -> Result<(), StepFailed> {
        self.add(Kind::Heading, Some(level), &one_line(text), None)
    }

    pub fn paragraph(&mut self, text: &str) -> Result<(), StepFailed> {
        self.add(Kind::Paragraph, None, text.trim(), None)
    }

    pub fn item(&mut self, level: u8, text: &str) -> Result<(), StepFailed> {
        self.add(Kind::ListItem, Some(level), text.trim(), None)
    }

    pub fn quote(&mut self, text: &str) -> Result<(), StepFailed> {
        self.add(Kind::Quote, None, text.trim(), None)
    }

    /// Its spaces are part of it.
    pub fn code(&mut self, text: &str) -> Result<(), StepFailed> {
        self.add(Kind::Code, None, text.trim_end().trim_matches('\n'), None)
    }

    /// Rows without a word in any cell are left out.
    pub fn table(&mut self, mut rows: Vec<Vec<String>>) -> Result<(), StepFailed> {
        rows.retain(|row| row.iter().any(|cell| !cell.is_empty()));
        let lines: Vec<String> = rows.iter().map(|row| row.join("\t")).collect();
        self.add(Kind::Table, None, &lines.join("\n"), Some(rows))
    }

    /// A parser that holds cells until its table ends counts them as they come.
    pub fn cells(&mut self, count: usize) -> Result<(), StepFailed> {
        self.cells += count;
        bounded("cells", self.cells, CELLS_MAX)?;
        self.go_on()
    }

    fn add(
        &mut self,
        kind: Kind,
        level: Option<u8>,
        text: &str,
        rows: Option<Vec<Vec<String>>>,
    ) -> Result<(), StepFailed> {
        self.go_on()?;
        if text.trim().is_empty() {
            return Ok(());
        }
        bounded("bytes of text", self.made.text.len() + text.len(), TEXT_BYTES_MAX)?;
        bounded("blocks", self.made.blocks.len() + 1, BLOCKS_MAX)?;
        if !self.made.text.is_empty() {
            let of_a_list = |kind| kind == Kind::ListItem;
            let close = of_a_list(kind) && self.made.blocks.last().is_some_and(|last| of_a_list(last.kind));
            self.made.text.push_str(if close { "\n" } else { "\n\n" });
        }
        self.made.text.push_str(text);
        let level = level.map(|level| level.clamp(1, LEVEL_MAX));
        self.made.blocks.push(Block { kind, level, page: self.page, text: text.to_string(), rows });
        Ok(())
    }

    pub fn end(self) -> Result<Extracted, StepFailed> {
        match self.made.blocks.is_empty() {
            true => Err(never(EMPTY, "there is no text in it")),
            false => Ok(self.made),
        }
    }
}

pub(super) fn bounded(what: &str, found: usize, most: usize) -> Result<(), StepFailed> {
    match found > most {
        true => Err(never(TOO_LARGE, format!("more than {most} {what}"))),
        false => Ok(()),
    }
}

/// Words with one space between them.
pub(super) fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    line
}
