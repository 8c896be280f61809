//! The pages: one block a state, one line for all events that are answered alike, one column a role.

use std::fmt;

use tenure_core::actor::Role;

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Cell {
    Moved(String),
    Written,
    Same,
    Refused(String),
    Forbidden,
    NotFound,
    NotAsked,
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cell::Moved(to) => f.pad(&format!("→ {to}")),
            Cell::Written => f.pad("✓"),
            Cell::Same => f.pad("="),
            Cell::Refused(code) if code == "TRANSITION_REFUSED" => f.pad("!"),
            Cell::Refused(code) => f.pad(&format!("! {code}")),
            Cell::Forbidden => f.pad("403"),
            Cell::NotFound => f.pad("404"),
            Cell::NotAsked => f.pad("·"),
        }
    }
}

pub type Cells = [Cell; 6];

pub struct Block {
    pub title: String,
    pub rows: Vec<(String, Cells)>,
}

impl Block {
    /// Events with the same answers share a line, at the place of the first.
    fn folded(&self) -> Vec<(String, &Cells)> {
        let mut lines: Vec<(String, &Cells)> = Vec::new();
        for (event, cells) in &self.rows {
            match lines.iter_mut().find(|(_, known)| *known == cells) {
                Some((events, _)) => events.push_str(&format!(", {event}")),
                None => lines.push((event.clone(), cells)),
            }
        }
        lines
    }
}

pub fn page(blocks: &[Block]) -> String {
    let mut widths = Role::ALL.map(|role| role.as_str().chars().count());
    for (_, cells) in blocks.iter().flat_map(|block| &block.rows) {
        for (width, cell) in widths.iter_mut().zip(cells) {
            *width = (*width).max(cell.to_string().chars().count());
        }
    }
    let line = |texts: [String; 6], last: &str| {
        let padded: Vec<String> =
            texts.iter().zip(widths).map(|(text, width)| format!("{text:width$}")).collect();
        format!("  {}  {last}\n", padded.join("  "))
    };
    let mut page = String::new();
    for block in blocks {
        page.push_str(&format!("\n{}\n", block.title));
        page.push_str(&line(Role::ALL.map(|role| role.to_string()), "").replace(" \n", "\n"));
        let (alike, differing): (Vec<_>, Vec<_>) =
            block.folded().into_iter().partition(|(_, cells)| cells.iter().all(|cell| *cell == cells[0]));
        for (events, cells) in differing {
            page.push_str(&line(cells.clone().map(|cell| cell.to_string()), &events));
        }
        for (events, cells) in alike {
            page.push_str(&format!("  everyone: {}  {events}\n", cells[0]));
        }
    }
    page.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}
