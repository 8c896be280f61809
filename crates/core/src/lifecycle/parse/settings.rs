//! The Settings table: names and values, each at most once. What a value may be is written in `settings/spelling.rs`.

use alloc::collections::BTreeMap;
use alloc::format;

use super::Faults;
use super::markdown::Section;
use super::words::{self, Columns};
use crate::lifecycle::settings::{NotASetting, Settings};

const COLUMNS: Columns<2> = Columns { titles: ["Setting", "Value"], optional: 0 };

/// The settings, and the line of each that was given.
#[derive(Default)]
pub(super) struct Given {
    pub values: Settings,
    pub lines: Lines,
}

pub(super) type Lines = BTreeMap<&'static str, u32>;

pub(super) fn read(section: Option<&Section>, faults: &mut Faults) -> Given {
    let mut given = Given::default();
    let rows = section.and_then(|section| COLUMNS.rows(section, faults)).unwrap_or_default();
    for row in rows {
        let [name, value] = row.texts;
        match given.values.set(name, value) {
            Ok(known) => {
                if let Some(before) = given.lines.insert(known, row.line) {
                    faults.add(
                        row.line,
                        format!("`{name}` stands on line {before} already; keep one of the two"),
                    );
                }
            }
            Err(NotASetting::Unknown) => {
                let instead = words::instead(name, Settings::names());
                faults.add(row.line, format!("there is no setting `{name}`{instead}"));
            }
            Err(NotASetting::Value { form }) => {
                faults.add(row.line, format!("`{name}` can not be `{value}`; write {form}"));
            }
        }
    }
    given
}
