//! Help with words: the known word that somebody probably meant, and the heading of a table.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::Faults;
use super::markdown::{Grid, Line, Section};

/// The known word nearest to this one, if one is near: letter case apart, or at most two slips away.
pub fn nearest<'w>(word: &str, known: impl IntoIterator<Item = &'w str>) -> Option<&'w str> {
    let near = |known: &'w str| {
        if known.eq_ignore_ascii_case(word) {
            return Some((0, known));
        }
        // In a short word two slips are most of it.
        let most = if known.len() <= 4 { 1 } else { 2 };
        let distance = distance(&word.to_lowercase(), &known.to_lowercase());
        (distance <= most).then_some((distance, known))
    };
    known.into_iter().filter_map(near).min_by_key(|(distance, _)| *distance).map(|(_, known)| known)
}

/// The end of a fault about an unknown word: the word that was meant, or all that there are.
pub(super) fn instead<'w>(word: &str, known: impl IntoIterator<Item = &'w str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    match nearest(word, known.iter().copied()) {
        Some(near) => format!("; did you mean `{near}`?"),
        None => format!("; write one of {}", known.join(", ")),
    }
}

/// How many slips turn one word into the other: a letter added, left out or mistaken, or two neighbours swapped
/// (optimal string alignment).
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    // Words of very different length are never near; this also bounds the work for a cell full of prose.
    if one.chars().count().abs_diff(other.len()) > 2 {
        return usize::MAX;
    }
    let mut before: Option<(char, Vec<usize>)> = None;
    let mut previous: Vec<usize> = (0..=other.len()).collect();
    for (row, left) in one.chars().enumerate() {
        let mut current = Vec::from([row + 1]);
        let mut beside = row + 1;
        for (column, (right, above)) in other.iter().zip(previous.windows(2)).enumerate() {
            let [diagonal, above] = above else { break };
            let replaced = diagonal + usize::from(left != *right);
            beside = replaced.min(above + 1).min(beside + 1);
            let right_before = column.checked_sub(1).and_then(|column| Some((column, *other.get(column)?)));
            if let (Some((left_before, costs)), Some((column, right_before))) = (&before, right_before)
                && (*left_before, left) == (*right, right_before)
            {
                beside = beside.min(costs.get(column).map_or(usize::MAX, |cost| cost + 1));
            }
            current.push(beside);
        }
        before = Some((left, core::mem::replace(&mut previous, current)));
    }
    previous.last().copied().unwrap_or(usize::MAX)
}

/// The columns that a section's table has, by title. The last `optional` ones may be left out, each by itself.
pub(super) struct Columns<const N: usize> {
    pub titles: [&'static str; N],
    pub optional: usize,
}

/// One row's cells in the order of [`Columns::titles`]; a column that is left out is empty.
pub(super) struct Cells<'g, const N: usize> {
    pub line: u32,
    pub texts: [&'g str; N],
}

impl<const N: usize> Columns<N> {
    pub fn shown(&self) -> String {
        self.titles.join(" | ")
    }

    /// The rows of a section's only table. A wrong table is a fault and has no rows.
    pub fn rows<'g>(&self, section: &'g Section, faults: &mut Faults) -> Option<Vec<Cells<'g, N>>> {
        let Some((grid, others)) = section.tables.split_first() else {
            faults.add(
                section.line,
                format!(
                    "`## {}` has no table: write `| {} |` and under it a line of dashes with as many columns",
                    section.name,
                    self.shown()
                ),
            );
            return None;
        };
        for other in others {
            faults.add(other.head.line, format!("`## {}` has a second table; keep one", section.name));
        }
        let places = self.places(grid, faults)?;
        for row in grid.rows.iter().filter(|row| row.has_surplus) {
            faults.add(
                row.line,
                "the row has more cells than the table has columns; inside a cell a bar is `\\|`",
            );
        }
        Some(grid.rows.iter().map(|row| Cells { line: row.line, texts: self.cells(row, &places) }).collect())
    }

    fn cells<'g>(&self, row: &'g Line, places: &[Option<usize>; N]) -> [&'g str; N] {
        places.map(|place| place.and_then(|place| row.cells.get(place)).map_or("", String::as_str))
    }

    /// Where each column is.
    fn places(&self, grid: &Grid, faults: &mut Faults) -> Option<[Option<usize>; N]> {
        let found = &grid.head.cells;
        let places = self.titles.map(|title| found.iter().position(|cell| cell.eq_ignore_ascii_case(title)));
        let needed = N - self.optional;
        let all_there = places.iter().take(needed).all(Option::is_some);
        // In order and nothing beside them: the columns found are then 0, 1, 2….
        let in_order = places.iter().flatten().copied().eq(0..found.len());
        if all_there && in_order {
            return Some(places);
        }
        let may = match self.titles.get(needed..) {
            Some([]) | None => String::new(),
            Some(optional) => format!(" ({} may be left out)", optional.join(" and ")),
        };
        faults.add(
            grid.head.line,
            format!("the columns are `{}`; write `{}`{may}", found.join(" | "), self.shown()),
        );
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_near_word_is_found_and_a_far_one_is_not() {
        let known = ["RUNNING", "QUEUED", "DONE"];
        assert_eq!(nearest("RUNING", known), Some("RUNNING"));
        assert_eq!(nearest("running", known), Some("RUNNING"));
        assert_eq!(nearest("QEUED", known), Some("QUEUED"));
        assert_eq!(nearest("GONE", known), Some("DONE"));
        assert_eq!(nearest("GONG", known), None);
        assert_eq!(nearest("", known), None);
        assert_eq!(distance("kitten", "sittin"), 2);
    }

    #[test]
    fn swapped_neighbours_are_one_slip() {
        assert_eq!(nearest("jbo", ["job", "run"]), Some("job"));
        assert_eq!(nearest("DOEN", ["DONE"]), Some("DONE"));
        for (one, other, slips) in
            [("jbo", "job", 1), ("ab", "ba", 1), ("abcd", "badc", 2), ("abc", "cab", 2)]
        {
            assert_eq!(distance(one, other), slips, "{one} {other}");
        }
    }
}
