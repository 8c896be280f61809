//! HTML as it is found: tokens as browsers read them, blocks where block tags begin and end, whatever is missing between.
//!
//! No tree is built. Tags that are not closed, crossed or nested without end cost nothing but themselves. Only tables are held until
//! they end: some are [frames](frame) of a page.

mod frame;

use html5gum::{DefaultEmitter, EndTag, StartTag, Token, Tokenizer};

use super::form::{Form, Kind, one_line};
use crate::runs::step::StepFailed;
use frame::{NESTED_MAX, Open, Said};

pub(super) fn read(text: &str, form: &mut Form) -> Result<(), StepFailed> {
    let mut emitter = DefaultEmitter::default();
    // What stands between these tags is no markup: scripts, styles, titles.
    emitter.naively_switch_states(true);
    let mut page = Page::new(form);
    for token in Tokenizer::new_with_emitter(text, emitter) {
        let Ok(token) = token;
        match token {
            Token::StartTag(tag) => page.start(&tag)?,
            Token::EndTag(tag) => page.end(&tag)?,
            Token::String(words) => page.say(&String::from_utf8_lossy(&words)),
            Token::Comment(_) | Token::Doctype(_) | Token::Error(_) => {}
        }
    }
    page.flush()?;
    page.end_tables()
}

/// What is inside of these is not read by people.
const HIDDEN: [&str; 11] = [
    "script", "style", "template", "noscript", "svg", "math", "iframe", "object", "select", "textarea",
    "canvas",
];

/// These end what was said before them, and what is in them.
const BLOCKS: [&str; 30] = [
    "address",
    "article",
    "aside",
    "body",
    "caption",
    "center",
    "dd",
    "details",
    "div",
    "dl",
    "dt",
    "fieldset",
    "figcaption",
    "figure",
    "footer",
    "form",
    "head",
    "header",
    "hr",
    "html",
    "legend",
    "main",
    "nav",
    "ol",
    "p",
    "section",
    "summary",
    "tbody",
    "thead",
    "ul",
];

/// And these, in their own ways.
const APART: [&str; 14] =
    ["blockquote", "br", "h1", "h2", "h3", "h4", "h5", "h6", "li", "pre", "table", "td", "th", "tr"];

/// Whether what stands before a tag and behind it are not one word: `one<br>two`, `</li><li>`.
pub(super) fn is_apart(tag: &str) -> bool {
    let name = tag.trim_start_matches(['<', '/']);
    let end = name.find(|letter: char| !letter.is_ascii_alphanumeric()).unwrap_or(name.len());
    let is_it = |block: &str| block.eq_ignore_ascii_case(&name[..end]);
    BLOCKS.iter().any(|block| is_it(block)) || APART.iter().any(|block| is_it(block))
}

struct Page<'a> {
    form: &'a mut Form,
    text: String,
    /// The hidden element that is open, and how often it is nested in itself.
    hidden: Option<(&'static str, u32)>,
    title: Option<String>,
    /// Its words have not come yet, or not all of them.
    heading: Option<u8>,
    lists: u8,
    in_item: bool,
    quotes: u32,
    preformatted: u32,
    /// Those that are open, the innermost last.
    tables: Vec<Open>,
    /// How many more are nested in them.
    deeper: u32,
}

impl<'a> Page<'a> {
    fn new(form: &'a mut Form) -> Page<'a> {
        Page {
            form,
            text: String::new(),
            hidden: None,
            title: None,
            heading: None,
            lists: 0,
            in_item: false,
            quotes: 0,
            preformatted: 0,
            tables: Vec::new(),
            deeper: 0,
        }
    }

    fn say(&mut self, words: &str) {
        match (&self.hidden, &mut self.title) {
            (Some(_), _) => {}
            (None, Some(title)) => title.push_str(words),
            (None, None) => self.text.push_str(words),
        }
    }

    fn start(&mut self, tag: &StartTag<()>) -> Result<(), StepFailed> {
        let name = String::from_utf8_lossy(&tag.name);
        if let Some((hidden, depth)) = &mut self.hidden {
            *depth += u32::from(*hidden == name && !tag.self_closing);
            return Ok(());
        }
        if let Some(hidden) = HIDDEN.iter().find(|hidden| **hidden == name) {
            self.hidden = (!tag.self_closing).then_some((*hidden, 1));
            return Ok(());
        }
        match &*name {
            "title" => self.title = Some(String::new()),
            "meta" => self.meta(tag),
            "html" => self.form.note("language", attribute(tag, "lang").trim()),
            // As text that keeps its lines has it.
            "br" => self.text.push(BREAK),
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
                self.flush()?;
                self.heading = name.as_bytes().get(1).map(|digit| digit - b'0');
            }
            "ul" | "ol" => {
                self.flush()?;
                self.lists = self.lists.saturating_add(1);
            }
            "li" => {
                self.flush()?;
                self.in_item = true;
            }
            "blockquote" => {
                self.flush()?;
                self.quotes += 1;
            }
            "pre" => {
                self.flush()?;
                self.preformatted += 1;
            }
            "table" => {
                self.flush()?;
                match self.tables.len() < NESTED_MAX {
                    true => self.tables.push(Open::default()),
                    false => self.deeper += 1,
                }
            }
            "td" | "th" | "tr" if self.is_in_table() => {
                self.flush()?;
                // One whose end is missing is over.
                self.heading = None;
                if name != "tr" {
                    self.form.cells(1)?;
                }
                if let Some(table) = self.tables.last_mut() {
                    match &*name {
                        "tr" => table.row(),
                        of_it => table.cell(of_it == "th"),
                    }
                }
            }
            "td" | "th" | "tr" => self.text.push(' '),
            // What is named and its name are one line.
            "dd" => match self.text.trim_end() {
                "" => {}
                named if named.ends_with(':') => self.text.push(' '),
                _ => self.text.push_str(": "),
            },
            block if BLOCKS.contains(&block) => self.flush()?,
            _ => {}
        }
        Ok(())
    }

    fn end(&mut self, tag: &EndTag<()>) -> Result<(), StepFailed> {
        let name = String::from_utf8_lossy(&tag.name);
        if let Some((hidden, depth)) = &mut self.hidden {
            *depth -= u32::from(*hidden == name);
            if *depth == 0 {
                self.hidden = None;
            }
            return Ok(());
        }
        match &*name {
            "title" => {
                let title = self.title.take().unwrap_or_default();
                self.form.note("title", &title);
            }
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
                self.flush()?;
                self.heading = None;
            }
            "ul" | "ol" => {
                self.flush()?;
                self.lists = self.lists.saturating_sub(1);
            }
            "li" => {
                self.flush()?;
                // The rest of an outer item comes after the list in it.
                self.in_item = self.lists > 1;
            }
            "blockquote" => {
                self.flush()?;
                self.quotes = self.quotes.saturating_sub(1);
            }
            "pre" => {
                self.flush()?;
                self.preformatted = self.preformatted.saturating_sub(1);
            }
            "table" => {
                self.flush()?;
                match self.deeper.checked_sub(1) {
                    Some(deeper) => self.deeper = deeper,
                    None => self.end_table()?,
                }
            }
            "td" | "th" | "tr" if self.is_in_table() => {
                self.flush()?;
                if let Some(table) = self.tables.last_mut() {
                    table.in_cell = false;
                }
            }
            "dt" => {}
            block if BLOCKS.contains(&block) => self.flush()?,
            _ => {}
        }
        Ok(())
    }

    fn meta(&mut self, tag: &StartTag<()>) {
        let name = attribute(tag, "name").to_ascii_lowercase();
        if matches!(name.as_str(), "author" | "description" | "keywords" | "date" | "generator") {
            self.form.note(&name, &attribute(tag, "content"));
        }
    }

    /// Of one that is not too deep for its cells to be told apart.
    fn is_in_table(&self) -> bool {
        self.deeper == 0 && !self.tables.is_empty()
    }

    fn end_table(&mut self) -> Result<(), StepFailed> {
        let said = self.tables.pop().map(Open::close).unwrap_or_default();
        said.into_iter().try_for_each(|said| self.put(said))
    }

    /// Where the page ends before they do.
    fn end_tables(&mut self) -> Result<(), StepFailed> {
        while !self.tables.is_empty() {
            self.end_table()?;
        }
        Ok(())
    }

    /// In the innermost cell that is open, or on the page.
    fn put(&mut self, said: Said) -> Result<(), StepFailed> {
        self.form.go_on()?;
        if let Some(table) = self.tables.iter_mut().rev().find(|table| table.in_cell) {
            table.say(said);
            return Ok(());
        }
        match said {
            Said::Words(Kind::Heading, level, text) => self.form.heading(level, &text),
            Said::Words(Kind::ListItem, level, text) => self.form.item(level, &text),
            Said::Words(Kind::Quote, _, text) => self.form.quote(&text),
            Said::Words(Kind::Code, _, text) => self.form.code(&text),
            Said::Words(Kind::Paragraph | Kind::Table, _, text) => self.form.paragraph(&text),
            Said::Table(rows) => self.form.table(rows),
        }
    }

    /// What was said since the last block, as what it stands in.
    fn flush(&mut self) -> Result<(), StepFailed> {
        let text = std::mem::take(&mut self.text);
        if self.preformatted > 0 && !text.trim().is_empty() {
            return self.put(Said::Words(Kind::Code, 0, text.replace(BREAK, "\n")));
        }
        let lines: Vec<String> = text.split(BREAK).map(one_line).filter(|line| !line.is_empty()).collect();
        if lines.is_empty() {
            return Ok(());
        }
        // The first words are the heading, also in a block of their own. Where its end is missing the rest is none.
        let (kind, level) = match (self.heading.take(), self.in_item && self.lists > 0, self.quotes > 0) {
            (Some(level), _, _) => (Kind::Heading, level),
            (None, true, _) => (Kind::ListItem, self.lists),
            (None, false, true) => (Kind::Quote, 0),
            (None, false, false) => (Kind::Paragraph, 0),
        };
        self.put(Said::Words(kind, level, lines.join("\n")))
    }
}

/// Where a line ends that is not wrapped; no text has this character, for it is refused as none.
const BREAK: char = '\0';

fn attribute(tag: &StartTag<()>, name: &str) -> String {
    let found = tag.attributes.get(name.as_bytes());
    found.map(|value| String::from_utf8_lossy(value).into_owned()).unwrap_or_default()
}
