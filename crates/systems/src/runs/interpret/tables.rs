//! Tables: which row names the columns, and what stands in each of them.

use serde::Serialize;

use crate::runs::extract::Block;
use crate::text::{Unit, dates, quantities};

#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Table {
    pub block: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page: Option<u32>,
    /// Whether the first row is names. If not, columns are called by their number.
    pub header: bool,
    pub columns: Vec<Column>,
    /// Without the names; every row is as long as there are columns.
    pub rows: Vec<Vec<String>>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Column {
    pub name: String,
    #[serde(rename = "type")]
    pub is: Type,
}

/// What every cell of a column is that has something in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Type {
    Empty,
    Integer,
    Number,
    Date,
    Amount,
    Percentage,
    Boolean,
    Text,
}

pub(super) fn read(number: usize, block: &Block) -> Table {
    let mut rows = block.rows.clone().unwrap_or_default();
    let width = rows.iter().map(Vec::len).max().unwrap_or(0);
    rows.iter_mut().for_each(|row| row.resize(width, String::new()));
    let header = rows.len() >= 2 && is_header(&rows[0]);
    let names = match header {
        true => rows.remove(0),
        false => (1..=width).map(|column| column.to_string()).collect(),
    };
    let kind = |column: usize| rows.iter().map(|row| Type::of(&row[column])).fold(Type::Empty, Type::with);
    let columns = names.into_iter().enumerate().map(|(at, name)| Column { name, is: kind(at) }).collect();
    Table { block: number, page: block.page, header, columns, rows }
}

/// Names are words, and all different.
fn is_header(row: &[String]) -> bool {
    let named: Vec<&String> = row.iter().filter(|cell| !cell.is_empty()).collect();
    let mut distinct = named.clone();
    distinct.sort_unstable();
    distinct.dedup();
    !named.is_empty()
        && distinct.len() == named.len()
        && named.iter().all(|cell| Type::of(cell) == Type::Text)
}

impl Type {
    fn of(cell: &str) -> Type {
        let cell = cell.trim();
        if cell.is_empty() {
            return Type::Empty;
        }
        if ["true", "false", "yes", "no"].iter().any(|word| cell.eq_ignore_ascii_case(word)) {
            return Type::Boolean;
        }
        // Without a digit it is none of the others, which saves most cells the looking.
        if !cell.contains(|digit: char| digit.is_ascii_digit()) || cell.len() > CELL_BYTES_LOOKED_AT {
            return Type::Text;
        }
        if dates(cell).first().is_some_and(|date| date.range.start == 0 && is_time(&cell[date.range.end..])) {
            return Type::Date;
        }
        let whole = quantities(cell).into_iter().find(|found| found.range == (0..cell.len()));
        match whole.map(|found| found.value.unit) {
            Some(Unit::Percent) => Type::Percentage,
            Some(Unit::Currency(_)) => Type::Amount,
            Some(Unit::None) | None => plain(cell),
            Some(Unit::Measure(_) | Unit::Word(_)) => Type::Text,
        }
    }

    /// Of a column that was the one and has the other, too.
    fn with(self, other: Type) -> Type {
        match (self, other) {
            (same, Type::Empty) | (Type::Empty, same) => same,
            (Type::Integer | Type::Number, Type::Integer | Type::Number) if self != other => Type::Number,
            _ if self == other => self,
            _ => Type::Text,
        }
    }
}

/// A number, a date or an amount is shorter.
const CELL_BYTES_LOOKED_AT: usize = 64;

/// What may follow a day: nothing, or a time.
fn is_time(rest: &str) -> bool {
    let rest = rest.trim_start_matches([' ', 'T', 't']);
    rest.bytes().all(|byte| byte.is_ascii_digit() || b":.,+-Zz".contains(&byte))
}

/// Also as other countries write it, which a reader of single texts could not tell: `1.200,50`.
fn plain(cell: &str) -> Type {
    let digits = cell.trim_start_matches(['-', '+', '−']);
    let inside = |byte: u8| byte.is_ascii_digit() || b".,'".contains(&byte);
    let is_number = digits.bytes().all(inside)
        && digits.starts_with(|digit: char| digit.is_ascii_digit())
        && digits.ends_with(|digit: char| digit.is_ascii_digit());
    match is_number {
        true if digits.bytes().all(|byte| byte.is_ascii_digit()) => Type::Integer,
        true => Type::Number,
        false => Type::Text,
    }
}
