//! What the lines of all pages are: headings are larger than the rest or bold and alone, columns are tables, and lines that go on
//! are one paragraph.

use std::collections::BTreeMap;

use super::page::{Cell, Line};
use crate::runs::extract::form::Form;
use crate::runs::extract::plain::bullet;
use crate::runs::step::StepFailed;

/// As a share of the size of most of the text: what is set larger than this is a heading.
const LARGER: f32 = 1.12;
/// A heading is shorter than this.
const HEADING_CHARS_MAX: usize = 200;
/// As a share of the distance that most lines have: lines further apart are two paragraphs.
const APART: f32 = 1.3;
/// As a share of the size: no line follows another at a larger distance, nor is any other distance the usual one.
const FAR: f32 = 2.2;
/// As a share of the longest line: what ends sooner was ended on purpose, not because the line was full.
const FULL: f32 = 0.8;

/// Every page's lines, in order.
pub(super) fn blocks(pages: &[(u32, Vec<Line>)], form: &mut Form) -> Result<(), StepFailed> {
    let sizes = Sizes::of(pages);
    let full = pages.iter().flat_map(|(_, lines)| lines).map(Line::end).fold(0.0, f32::max) * FULL;
    for (number, lines) in pages {
        form.turn_to(*number);
        let mut rest = &lines[..];
        while let Some(first) = rest.first() {
            let count = match (table(rest), sizes.heading(rest)) {
                (count @ 2.., _) => {
                    form.table(rows(&rest[..count]))?;
                    count
                }
                (_, Some(level)) => {
                    form.heading(level, &first.text())?;
                    1
                }
                (_, None) => paragraph(rest, &sizes, full, form)?,
            };
            rest = &rest[count..];
        }
    }
    Ok(())
}

/// The sizes that the text is set in, in tenths of a point.
struct Sizes {
    /// What most characters have.
    usual: u32,
    /// Larger ones, the largest first: the levels of headings.
    larger: Vec<u32>,
    /// From one line to the next, as most have it; as a share of their size.
    distance: f32,
}

fn tenths(size: f32) -> u32 {
    // Far larger than any page; a cast of what is larger still stays in range.
    (size.min(10_000.0) * 10.0).round() as u32
}

impl Sizes {
    fn of(pages: &[(u32, Vec<Line>)]) -> Sizes {
        let (mut characters, mut distances) = (BTreeMap::new(), BTreeMap::new());
        for line in pages.iter().flat_map(|(_, lines)| lines) {
            let count: usize = line.cells.iter().map(|cell| cell.text.len()).sum();
            *characters.entry(tenths(line.size)).or_default() += count;
        }
        for pair in pages.iter().flat_map(|(_, lines)| lines.windows(2)) {
            let distance = (pair[0].y - pair[1].y) / pair[0].size;
            if distance > 0.0 && distance <= FAR && tenths(pair[0].size) == tenths(pair[1].size) {
                *distances.entry(tenths(distance)).or_default() += 1;
            }
        }
        let usual = most(&characters).unwrap_or(0);
        let distance = most(&distances).map_or(FAR, |tenths| tenths as f32 / 10.0);
        let larger = characters.into_keys().rev().take_while(|size| *size as f32 > usual as f32 * LARGER);
        Sizes { usual, larger: larger.collect(), distance }
    }

    /// The level of the heading that a line is.
    fn heading(&self, lines: &[Line]) -> Option<u8> {
        let line = lines.first()?;
        let size = tenths(line.size);
        let text = line.text();
        if text.chars().count() > HEADING_CHARS_MAX || !text.chars().any(char::is_alphanumeric) {
            return None;
        }
        if size as f32 > self.usual as f32 * LARGER {
            let rank = self.larger.partition_point(|larger| *larger >= size);
            return Some(u8::try_from(rank).unwrap_or(6).min(6));
        }
        let alone = lines.get(1).is_none_or(|next| !next.bold || !self.continues(line, next));
        let bold = line.bold
            && size >= self.usual
            && alone
            && line.cells.len() == 1
            && !text.ends_with(['.', ':', ',']);
        bold.then(|| u8::try_from(self.larger.len() + 1).unwrap_or(6).min(6))
    }

    fn continues(&self, line: &Line, next: &Line) -> bool {
        let down = (line.y - next.y) / line.size.max(next.size);
        down > 0.0 && down <= self.distance * APART && tenths(line.size).abs_diff(tenths(next.size)) <= 5
    }
}

/// What is counted most often; of several the smallest.
fn most(counted: &BTreeMap<u32, usize>) -> Option<u32> {
    counted.iter().rev().max_by_key(|(_, count)| **count).map(|(what, _)| *what)
}

/// How many lines from here on are rows of one table: two columns or more, one row under the other.
fn table(lines: &[Line]) -> usize {
    let columns = |line: &Line| line.cells.len() >= 2;
    let Some(first) = lines.first().filter(|line| columns(line)) else { return 0 };
    let below = |pair: &&[Line]| columns(&pair[1]) && pair[1].y < pair[0].y && meet(first, &pair[1]);
    1 + lines.windows(2).take_while(below).count()
}

/// Something of one stands above something of the other.
fn meet(line: &Line, other: &Line) -> bool {
    let over = |cell: &Cell| other.cells.iter().filter(|below| overlap(cell, below) > 0.0).count() > 0;
    line.cells.iter().filter(|cell| over(cell)).count() >= 2
}

fn overlap(cell: &Cell, other: &Cell) -> f32 {
    cell.end.min(other.end) - cell.start.max(other.start)
}

/// Every cell under the column that it stands in; the row with the most cells says which columns there are.
fn rows(lines: &[Line]) -> Vec<Vec<String>> {
    let widest = lines.iter().max_by_key(|line| line.cells.len()).expect("a table has rows");
    let mut columns: Vec<Cell> = widest.cells.clone();
    for line in lines.iter().filter(|line| line.cells.len() == widest.cells.len()) {
        for (column, cell) in columns.iter_mut().zip(&line.cells) {
            column.start = column.start.min(cell.start);
            column.end = column.end.max(cell.end);
        }
    }
    lines.iter().map(|line| row(line, &columns)).collect()
}

fn row(line: &Line, columns: &[Cell]) -> Vec<String> {
    let mut row = vec![String::new(); columns.len()];
    for (at, cell) in line.cells.iter().enumerate() {
        let nearest = || {
            let near = |column: &Cell| overlap(cell, column);
            (0..columns.len()).max_by(|a, b| near(&columns[*a]).total_cmp(&near(&columns[*b]))).unwrap_or(0)
        };
        let column = if line.cells.len() == columns.len() { at } else { nearest() };
        if !row[column].is_empty() {
            row[column].push(' ');
        }
        row[column].push_str(cell.text.trim());
    }
    row
}

/// Adds the paragraph or the item that begins here and answers how many lines it has.
fn paragraph(lines: &[Line], sizes: &Sizes, full: f32, form: &mut Form) -> Result<usize, StepFailed> {
    let first = lines[0].text();
    let item = bullet(&first);
    let mut text = item.map_or_else(|| first.clone(), |(_, said)| said.to_string());
    let mut count = 1;
    while let (before, Some(line)) = (&lines[count - 1], lines.get(count)) {
        let next = line.text();
        let other = bullet(&next).is_some()
            || table(&lines[count..]) >= 2
            || sizes.heading(&lines[count..]).is_some();
        if other || !sizes.continues(before, line) {
            break;
        }
        join(&mut text, &next, before.end() >= full);
        count += 1;
    }
    match item {
        Some((level, _)) => form.item(level, &text)?,
        None => form.paragraph(&text)?,
    }
    Ok(count)
}

/// A word that was parted at the end of a full line is whole again.
fn join(text: &mut String, next: &str, full: bool) {
    let mut end = text.chars().rev();
    let parted = matches!(end.next(), Some('-' | '\u{ad}')) && end.next().is_some_and(char::is_alphabetic);
    match (full, parted && next.starts_with(char::is_lowercase)) {
        (true, true) => drop(text.pop()),
        (true, false) => text.push(' '),
        (false, _) => text.push('\n'),
    }
    text.push_str(next);
}
