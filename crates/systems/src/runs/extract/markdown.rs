//! Markdown, as GitHub knows it. HTML inside of it is read as HTML.

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use super::form::{Form, one_line};
use super::html;
use crate::runs::step::StepFailed;

pub(super) fn read(text: &str, form: &mut Form) -> Result<(), StepFailed> {
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_YAML_STYLE_METADATA_BLOCKS;
    let mut reader = Reader { form, text: String::new(), lists: 0, items: 0, quotes: 0, rows: Vec::new() };
    for event in Parser::new_ext(text, options) {
        reader.event(event)?;
    }
    reader.flush()
}

struct Reader<'a> {
    form: &'a mut Form,
    /// Of the block that is open.
    text: String,
    lists: u8,
    items: u32,
    quotes: u32,
    rows: Vec<Vec<String>>,
}

impl Reader<'_> {
    fn event(&mut self, event: Event<'_>) -> Result<(), StepFailed> {
        match event {
            Event::Start(tag) => self.start(&tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) | Event::Code(text) | Event::Html(text) => {
                self.text.push_str(&text);
                Ok(())
            }
            Event::SoftBreak => {
                self.text.push(' ');
                Ok(())
            }
            Event::HardBreak => {
                self.text.push('\n');
                Ok(())
            }
            Event::TaskListMarker(done) => {
                self.text.push_str(if done { "[x] " } else { "[ ] " });
                Ok(())
            }
            // A tag within a line: the words around it are what is said, and those that a page would set apart stay apart.
            Event::InlineHtml(tag) => {
                if html::is_apart(&tag) {
                    self.text.push('\n');
                }
                Ok(())
            }
            // Not asked for by the options above.
            Event::FootnoteReference(_) | Event::InlineMath(_) | Event::DisplayMath(_) => Ok(()),
            Event::Rule => self.flush(),
        }
    }

    fn start(&mut self, tag: &Tag<'_>) -> Result<(), StepFailed> {
        match tag {
            Tag::Paragraph
            | Tag::Heading { .. }
            | Tag::CodeBlock(_)
            | Tag::HtmlBlock
            | Tag::MetadataBlock(_) => self.flush(),
            Tag::BlockQuote(_) => {
                self.flush()?;
                self.quotes += 1;
                Ok(())
            }
            Tag::List(_) => {
                self.flush()?;
                self.lists = self.lists.saturating_add(1);
                Ok(())
            }
            Tag::Item => {
                self.flush()?;
                self.items += 1;
                Ok(())
            }
            Tag::Table(_) => {
                self.flush()?;
                Ok(())
            }
            Tag::TableHead | Tag::TableRow => {
                self.rows.push(Vec::new());
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn end(&mut self, tag: TagEnd) -> Result<(), StepFailed> {
        match tag {
            TagEnd::Heading(level) => {
                let text = std::mem::take(&mut self.text);
                self.form.heading(level as u8, &text)
            }
            TagEnd::CodeBlock => {
                let text = std::mem::take(&mut self.text);
                self.form.code(&text)
            }
            TagEnd::HtmlBlock => {
                let page = std::mem::take(&mut self.text);
                html::read(&page, self.form)
            }
            TagEnd::MetadataBlock(_) => {
                for (name, value) in
                    std::mem::take(&mut self.text).lines().filter_map(|line| line.split_once(':'))
                {
                    self.form.note(name.trim(), value.trim().trim_matches(['"', '\'']));
                }
                Ok(())
            }
            TagEnd::Paragraph => self.flush(),
            TagEnd::BlockQuote(_) => {
                self.flush()?;
                self.quotes = self.quotes.saturating_sub(1);
                Ok(())
            }
            TagEnd::Item => {
                self.flush()?;
                self.items = self.items.saturating_sub(1);
                Ok(())
            }
            TagEnd::List(_) => {
                self.flush()?;
                self.lists = self.lists.saturating_sub(1);
                Ok(())
            }
            TagEnd::TableCell => {
                let cell = one_line(&std::mem::take(&mut self.text));
                self.form.cells(1)?;
                self.rows.last_mut().expect("a cell is in a row").push(cell);
                Ok(())
            }
            TagEnd::Table => {
                let rows = std::mem::take(&mut self.rows);
                self.form.table(rows)
            }
            _ => Ok(()),
        }
    }

    /// What was said since the last block, as what it stands in.
    fn flush(&mut self) -> Result<(), StepFailed> {
        let text = std::mem::take(&mut self.text);
        match (self.items > 0, self.quotes > 0) {
            (true, _) => self.form.item(self.lists, &text),
            (false, true) => self.form.quote(&text),
            (false, false) => self.form.paragraph(&text),
        }
    }
}
