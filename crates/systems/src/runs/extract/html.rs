//! HTML as it is found: tokens as browsers read them, blocks where block tags begin and end, whatever is missing between.
//!
//! No tree is built. Tags that are not closed, crossed or nested without end cost nothing but themselves.

use html5gum::{DefaultEmitter, EndTag, StartTag, Token, Tokenizer};

use super::form::{Form, one_line};
use crate::runs::step::StepFailed;

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
    page.end_table()
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
    let is_it = |block: &&str| block.eq_ignore_ascii_case(&name[..end]);
    BLOCKS.iter().any(|block| is_it(&block)) || APART.iter().any(|block| is_it(&block))
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
    /// How deep tables are nested. One inside of another is text of its cell.
    tables: u32,
    rows: Vec<Vec<String>>,
    in_cell: bool,
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
            tables: 0,
            rows: Vec::new(),
            in_cell: false,
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
                self.tables += 1;
            }
            "tr" if self.tables == 1 => {
                self.flush()?;
                self.rows.push(Vec::new());
                self.in_cell = false;
            }
            "td" | "th" if self.tables == 1 => {
                self.flush()?;
                self.cell()?;
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
                self.tables = self.tables.saturating_sub(1);
                if self.tables == 0 {
                    self.end_table()?;
                }
            }
            "td" | "th" | "tr" if self.tables == 1 => {
                self.flush()?;
                self.in_cell = false;
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

    fn cell(&mut self) -> Result<(), StepFailed> {
        self.form.cells(1)?;
        if self.rows.is_empty() {
            self.rows.push(Vec::new());
        }
        self.rows.last_mut().expect("there is one").push(String::new());
        self.in_cell = true;
        Ok(())
    }

    fn end_table(&mut self) -> Result<(), StepFailed> {
        self.in_cell = false;
        let rows = std::mem::take(&mut self.rows);
        match rows.iter().map(Vec::len).max() {
            // A page that uses a table to put its text in a frame.
            Some(1) => rows.iter().flatten().try_for_each(|cell| self.form.paragraph(cell)),
            Some(_) => self.form.table(rows),
            None => Ok(()),
        }
    }

    /// What was said since the last block, as what it stands in.
    fn flush(&mut self) -> Result<(), StepFailed> {
        let text = std::mem::take(&mut self.text);
        if self.preformatted > 0 && !self.in_cell {
            return self.form.code(&text.replace(BREAK, "\n"));
        }
        let lines: Vec<String> = text.split(BREAK).map(one_line).filter(|line| !line.is_empty()).collect();
        if lines.is_empty() {
            return Ok(());
        }
        // The first words are the heading, also in a block of their own. Where its end is missing the rest is none.
        let heading = self.heading.take();
        if self.in_cell
            && let Some(cell) = self.rows.last_mut().and_then(|row| row.last_mut())
        {
            if !cell.is_empty() {
                cell.push(' ');
            }
            cell.push_str(&lines.join(" "));
            return Ok(());
        }
        let text = lines.join("\n");
        match (heading, self.in_item && self.lists > 0, self.quotes > 0) {
            (Some(level), _, _) => self.form.heading(level, &text),
            (None, true, _) => self.form.item(self.lists, &text),
            (None, false, true) => self.form.quote(&text),
            (None, false, false) => self.form.paragraph(&text),
        }
    }
}

/// Where a line ends that is not wrapped; no text has this character, for it is refused as none.
const BREAK: char = '\0';

fn attribute(tag: &StartTag<()>, name: &str) -> String {
    let found = tag.attributes.get(name.as_bytes());
    found.map(|value| String::from_utf8_lossy(value).into_owned()).unwrap_or_default()
}
