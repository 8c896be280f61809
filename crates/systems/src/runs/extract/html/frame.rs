//! Tables of a page that are open: each is one, or only the frame that its page is put into.
//!
//! Many pages are laid out by tables in tables. What stands in their cells are blocks of the page, headings and lists among them; as one
//! table it would be a single block that nobody can read. So cells keep their blocks until their table is known: it is a frame if it
//! has one column, if a cell has a heading with words under it, or if one has a table of several rows.

use crate::runs::extract::Kind;

/// Tables in tables in tables. What is nested deeper is text of its cell.
pub(super) const NESTED_MAX: usize = 8;

/// A block of the page, or of a cell.
pub(super) enum Said {
    /// With its level, where it has one.
    Words(Kind, u8, String),
    Table(Vec<Vec<String>>),
}

#[derive(Default)]
pub(super) struct Open {
    rows: Vec<Vec<Cell>>,
    pub in_cell: bool,
}

struct Cell {
    said: Vec<Said>,
    names_others: bool,
}

impl Open {
    pub fn row(&mut self) {
        self.rows.push(Vec::new());
        self.in_cell = false;
    }

    /// One that names a row or a column, or one of the others.
    pub fn cell(&mut self, names_others: bool) {
        if self.rows.is_empty() {
            self.row();
        }
        let row = self.rows.last_mut().expect("there is one");
        row.push(Cell { said: Vec::new(), names_others });
        self.in_cell = true;
    }

    pub fn say(&mut self, said: Said) {
        if let Some(cell) = self.rows.last_mut().and_then(|row| row.last_mut()) {
            cell.said.push(said);
        }
    }

    /// What it is now that it is closed.
    pub fn close(self) -> Vec<Said> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let is_frame = columns == 1 || self.rows.iter().flatten().any(Cell::is_page);
        match (columns, is_frame) {
            (0, _) => Vec::new(),
            (_, true) => self.rows.into_iter().flatten().flat_map(|cell| cell.said).collect(),
            (_, false) => {
                let texts = |row: Vec<Cell>| row.iter().map(Cell::text).collect();
                vec![Said::Table(self.rows.into_iter().map(texts).collect())]
            }
        }
    }
}

impl Cell {
    /// Whether it holds a part of a page, and not a value.
    fn is_page(&self) -> bool {
        let is_heading = |said: &Said| matches!(said, Said::Words(Kind::Heading, ..));
        let is_table = |said: &Said| matches!(said, Said::Table(rows) if rows.len() > 1);
        let has_heading = !self.names_others && self.said.len() > 1 && self.said.iter().any(is_heading);
        has_heading || self.said.iter().any(is_table)
    }

    /// On one line.
    fn text(&self) -> String {
        let mut words: Vec<&str> = Vec::new();
        for said in &self.said {
            match said {
                Said::Words(_, _, text) => words.extend(text.split_whitespace()),
                Said::Table(rows) => {
                    words.extend(rows.iter().flatten().flat_map(|cell| cell.split_whitespace()));
                }
            }
        }
        words.join(" ")
    }
}
