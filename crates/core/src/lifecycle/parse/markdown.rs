//! Markdown, as far as a lifecycle file uses it: titles, sections, their tables and fenced blocks, each with its line.
//!
//! Only what stands at the top level counts: a table inside a quotation or a list is somebody's example. Cells and
//! headings are plain text here; code marks, emphasis and links have been taken off.

use alloc::borrow::ToOwned;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

#[derive(Default)]
pub(super) struct Document {
    /// The level-one headings; a good file has one.
    pub titles: Vec<Heading>,
    /// The Markdown between the title and the first section.
    pub summary: String,
    pub sections: Vec<Section>,
    pub last_line: u32,
}

pub(super) struct Heading {
    pub text: String,
    pub line: u32,
}

/// A level-two heading with what follows it.
pub(super) struct Section {
    pub name: String,
    pub line: u32,
    pub tables: Vec<Grid>,
    pub fences: Vec<Fence>,
}

/// A table as it was written.
#[derive(Default)]
pub(super) struct Grid {
    pub head: Line,
    pub rows: Vec<Line>,
}

#[derive(Default)]
pub(super) struct Line {
    pub line: u32,
    pub cells: Vec<String>,
    /// There was more on the line than the table has columns. Markdown drops it without a word.
    pub has_surplus: bool,
}

pub(super) struct Fence {
    pub language: String,
    pub text: String,
    pub line: u32,
}

impl Document {
    pub fn read(source: &str) -> Document {
        let mut walk = Walk::new(source);
        for (event, range) in Parser::new_ext(source, Options::ENABLE_TABLES).into_offset_iter() {
            walk.take(event, range);
        }
        walk.finish()
    }
}

/// The walk over the parser's events, and what is open at the moment.
struct Walk<'s> {
    source: &'s str,
    /// Where each line begins.
    starts: Vec<usize>,
    document: Document,
    /// How many blocks and spans we are inside of.
    depth: u32,
    /// The text of the heading or cell that is open.
    text: Option<String>,
    grid: Option<Grid>,
    fence: Option<Fence>,
    /// From where to where the summary reaches.
    summary: Option<Range<usize>>,
    /// Where the last cell ended.
    cell_end: usize,
}

impl<'s> Walk<'s> {
    fn new(source: &'s str) -> Walk<'s> {
        let mut starts = Vec::from([0]);
        starts.extend(source.match_indices('\n').map(|(at, _)| at + 1).filter(|start| *start < source.len()));
        Walk {
            source,
            starts,
            document: Document::default(),
            depth: 0,
            text: None,
            grid: None,
            fence: None,
            summary: None,
            cell_end: 0,
        }
    }

    fn line(&self, offset: usize) -> u32 {
        // A file has at most 64 Ki bytes, so its lines fit.
        self.starts.partition_point(|start| *start <= offset) as u32
    }

    fn take(&mut self, event: Event<'_>, range: Range<usize>) {
        match event {
            Event::Start(tag) => {
                self.open(tag, &range);
                self.depth += 1;
            }
            Event::End(tag) => {
                self.depth -= 1;
                self.close(tag, &range);
            }
            Event::Text(text) | Event::Code(text) | Event::InlineHtml(text) => self.say(&text),
            Event::SoftBreak | Event::HardBreak => self.say(" "),
            // None of these stands in a heading or a cell, or none is switched on.
            Event::Html(_) | Event::Rule | Event::InlineMath(_) | Event::DisplayMath(_) => {}
            Event::FootnoteReference(_) | Event::TaskListMarker(_) => {}
        }
    }

    fn say(&mut self, text: &str) {
        if let Some(open) = &mut self.text {
            open.push_str(text);
        } else if let Some(fence) = &mut self.fence {
            fence.text.push_str(text);
        }
    }

    fn open(&mut self, tag: Tag<'_>, range: &Range<usize>) {
        let line = self.line(range.start);
        match tag {
            Tag::Heading { .. } if self.depth == 0 => self.text = Some(String::new()),
            Tag::Table(_) if self.depth == 0 => self.grid = Some(Grid::default()),
            Tag::CodeBlock(CodeBlockKind::Fenced(language)) if self.depth == 0 => {
                self.fence = Some(Fence { language: language.to_string(), text: String::new(), line });
            }
            Tag::TableCell if self.grid.is_some() => self.text = Some(String::new()),
            Tag::TableRow => {
                if let Some(grid) = &mut self.grid {
                    grid.rows.push(Line { line, ..Line::default() });
                }
            }
            Tag::TableHead => {
                if let Some(grid) = &mut self.grid {
                    grid.head.line = line;
                }
            }
            _ => {}
        }
    }

    fn close(&mut self, tag: TagEnd, range: &Range<usize>) {
        match tag {
            TagEnd::Heading(level) => {
                if let Some(text) = self.text.take() {
                    self.heading(level, text.trim().to_owned(), range);
                }
            }
            TagEnd::TableCell => {
                self.cell_end = range.end;
                if let (Some(text), Some(grid)) = (self.text.take(), &mut self.grid) {
                    grid.rows.last_mut().unwrap_or(&mut grid.head).cells.push(text.trim().to_owned());
                }
            }
            TagEnd::TableRow => {
                let rest = self.source.get(self.cell_end..range.end).unwrap_or("");
                if let Some(row) = self.grid.as_mut().and_then(|grid| grid.rows.last_mut()) {
                    row.has_surplus = rest.contains(|c: char| c != '|' && !c.is_whitespace());
                }
            }
            TagEnd::Table if self.depth == 0 => {
                if let (Some(grid), Some(section)) = (self.grid.take(), self.document.sections.last_mut()) {
                    section.tables.push(grid);
                }
            }
            TagEnd::CodeBlock if self.depth == 0 => {
                if let (Some(fence), Some(section)) = (self.fence.take(), self.document.sections.last_mut()) {
                    section.fences.push(fence);
                }
            }
            _ => {}
        }
    }

    fn heading(&mut self, level: HeadingLevel, text: String, range: &Range<usize>) {
        let line = self.line(range.start);
        match level {
            HeadingLevel::H1 => {
                self.document.titles.push(Heading { text, line });
                self.summary.get_or_insert(range.end..self.source.len());
            }
            HeadingLevel::H2 => {
                if let Some(summary) = &mut self.summary {
                    summary.end = summary.end.min(range.start);
                }
                self.document.sections.push(Section {
                    name: text,
                    line,
                    tables: Vec::new(),
                    fences: Vec::new(),
                });
            }
            HeadingLevel::H3 | HeadingLevel::H4 | HeadingLevel::H5 | HeadingLevel::H6 => {}
        }
    }

    fn finish(mut self) -> Document {
        let summary = self.summary.and_then(|range| self.source.get(range)).unwrap_or("");
        self.document.summary = summary.trim().to_owned();
        self.document.last_line = self.starts.len() as u32;
        self.document
    }
}
