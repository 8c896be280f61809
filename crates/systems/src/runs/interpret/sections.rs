//! Headings as a tree: what stands under which.

use serde::Serialize;

use crate::runs::extract::{Block, Kind};

#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Section {
    pub title: String,
    pub level: u8,
    /// The block that its heading is.
    pub block: usize,
    /// The first block that is not in it any more.
    pub end: usize,
    pub sections: Vec<Section>,
}

pub(super) fn of(blocks: &[Block]) -> Vec<Section> {
    let headings = blocks.iter().enumerate().filter(|(_, block)| block.kind == Kind::Heading);
    let headings: Vec<Section> = headings
        .map(|(block, heading)| {
            let level = heading.level.unwrap_or(1);
            Section { title: heading.text.clone(), level, block, end: blocks.len(), sections: Vec::new() }
        })
        .collect();
    tree(&headings, blocks.len())
}

/// A section has what follows with a lower rank. Levels only grow on the way down, so it is no deeper than there are levels.
fn tree(mut headings: &[Section], end: usize) -> Vec<Section> {
    let mut sections = Vec::new();
    while let Some((first, rest)) = headings.split_first() {
        let inside = rest.iter().take_while(|heading| heading.level > first.level).count();
        let end = rest.get(inside).map_or(end, |next| next.block);
        sections.push(Section { end, sections: tree(&rest[..inside], end), ..first.clone() });
        headings = &rest[inside..];
    }
    sections
}
