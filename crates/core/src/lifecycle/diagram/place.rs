//! The third step of the layout: how high everything stands.
//!
//! Nodes that must be level form a *block*: the main path is one, and so is the inside of every edge, unless it crosses
//! another there. Blocks pull at those they are linked with and keep their distance from those below and above. They
//! are moved until they rest: each by its own pull, or, where some push against each other, together by the mean pull
//! (the pendulum method). The main path never moves.

use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;

use super::layers::{Content, Layers};

/// Positions are kept in sixteenths of a pixel while they settle, so that halving a pull does not lose it.
const FRACTION: i64 = 16;
/// Enough for a push to come through a long table; what has come to rest stays there.
const ROUNDS: usize = 60;
/// Steps worth taking for a level line.
const SNAP: i64 = 40 * FRACTION;
/// Further than any diagram reaches.
const FAR: i64 = i64::MAX / 4;
/// The main path's block: the start is node 0 and always on it.
const MAIN: usize = 0;

/// A link between nodes of neighbouring columns, with where it touches each of them, from their middles.
pub(super) struct Link {
    pub left: usize,
    pub right: usize,
    pub left_port: i32,
    pub right_port: i32,
    /// How much it matters that it is level.
    pub weight: i64,
}

/// The middle of every node, from top to bottom, in pixels; the main path is at 0.
pub(super) fn middles(layers: &Layers, links: &[Link], heights: &[i32]) -> Vec<i32> {
    let blocks = blocks(layers);
    let mut field = Field::new(layers.nodes.len());
    for ((above, below), distance) in distances(layers, &blocks, heights) {
        field.below[above].push((below, distance));
        field.above[below].push((above, distance));
    }
    for link in links {
        let (left, right) = (blocks[link.left], blocks[link.right]);
        if left != right {
            let slope = i64::from(link.left_port - link.right_port) * FRACTION;
            field.pulls[left].push(Pull { other: right, level: -slope, weight: link.weight });
            field.pulls[right].push(Pull { other: left, level: slope, weight: link.weight });
        }
    }
    field.pack();
    for _ in 0..ROUNDS {
        field.swing();
    }
    let alone: Vec<usize> = (0..layers.nodes.len()).collect();
    for route in layers.routes.iter().filter(|route| !route.is_main) {
        field.snap(blocks[route.nodes[1]], &alone);
    }
    let pixel = |position: i64| (position + FRACTION / 2).div_euclid(FRACTION) as i32;
    blocks.iter().map(|block| pixel(field.positions[*block])).collect()
}

/// The block of every node. No two blocks cross each other anywhere, so "above" is an order among them.
fn blocks(layers: &Layers) -> Vec<usize> {
    let mut places = vec![0; layers.nodes.len()];
    for (place, node) in layers.columns.iter().flat_map(|column| column.iter().enumerate()) {
        places[*node] = place;
    }
    // Between each column and the next: where the main path runs, and the inner stretches of the other routes.
    let mut main = vec![None; layers.columns.len()];
    let mut inner: Vec<Vec<(usize, usize)>> = vec![Vec::new(); layers.columns.len()];
    for route in &layers.routes {
        for pair in route.nodes.windows(2) {
            let is_inner =
                |node: usize| matches!(layers.nodes[node].content, Content::Label(_) | Content::Bend);
            let column = layers.nodes[pair[0]].column;
            if route.is_main {
                main[column] = Some((places[pair[0]], places[pair[1]]));
            } else if is_inner(pair[0]) && is_inner(pair[1]) {
                inner[column].push((pair[0], pair[1]));
            }
        }
    }
    let mut blocks: Vec<usize> = (0..layers.nodes.len()).collect();
    for (node, block) in blocks.iter_mut().enumerate() {
        if layers.nodes[node].is_main {
            *block = MAIN;
        }
    }
    for (column, stretches) in inner.iter_mut().enumerate() {
        stretches.sort_by_key(|(left, _)| places[*left]);
        let mut lowest = None;
        for (left, right) in stretches {
            let crosses_main = main[column].is_some_and(|(main_left, main_right)| {
                (places[*left] < main_left) != (places[*right] < main_right)
            });
            if !crosses_main && lowest < Some(places[*right]) {
                lowest = Some(places[*right]);
                blocks[*right] = blocks[*left];
            }
        }
    }
    blocks
}

/// The least distance of each pair of blocks, one above the other.
fn distances(layers: &Layers, blocks: &[usize], heights: &[i32]) -> BTreeMap<(usize, usize), i64> {
    let mut distances = BTreeMap::new();
    for pair in layers.columns.iter().flat_map(|column| column.windows(2)) {
        let (above, below) = (pair[0], pair[1]);
        let gap = match (layers.nodes[above].content, layers.nodes[below].content) {
            (Content::Start | Content::State(_), _) | (_, Content::Start | Content::State(_)) => 24,
            (Content::Label(_), Content::Label(_)) => 12,
            (Content::Bend, Content::Label(_)) | (Content::Label(_), Content::Bend) => 14,
            (Content::Bend, Content::Bend) => 18,
        };
        let distance = i64::from((heights[above] + heights[below]) / 2 + gap) * FRACTION;
        let widest = distances.entry((blocks[above], blocks[below])).or_insert(0);
        *widest = distance.max(*widest);
    }
    distances
}

struct Field {
    /// By block.
    positions: Vec<i64>,
    /// By block: those below and above it, and how far apart at least.
    below: Vec<Vec<(usize, i64)>>,
    above: Vec<Vec<(usize, i64)>>,
    /// By block.
    pulls: Vec<Vec<Pull>>,
}

/// What draws a block to another one.
struct Pull {
    other: usize,
    /// Where the block would stand to be level with the other, from there.
    level: i64,
    weight: i64,
}

impl Field {
    fn new(block_count: usize) -> Field {
        let none = || (0..block_count).map(|_| Vec::new());
        Field {
            positions: vec![0; block_count],
            below: none().collect(),
            above: none().collect(),
            pulls: (0..block_count).map(|_| Vec::new()).collect(),
        }
    }

    /// A first placement that keeps all distances: everything as high as it can be, the main path at 0.
    fn pack(&mut self) {
        let mut waits_for: Vec<usize> = self.above.iter().map(Vec::len).collect();
        let mut free: Vec<usize> = (0..waits_for.len()).filter(|block| waits_for[*block] == 0).collect();
        while let Some(block) = free.pop() {
            for (below, distance) in &self.below[block] {
                self.positions[*below] = self.positions[*below].max(self.positions[block] + distance);
                waits_for[*below] -= 1;
                if waits_for[*below] == 0 {
                    free.push(*below);
                }
            }
        }
        let zero = self.positions[MAIN];
        self.positions.iter_mut().for_each(|position| *position -= zero);
    }

    /// How far a block would go: the weighted sum over those it is linked with, and the weight.
    fn pull(&self, block: usize) -> (i64, i64) {
        let way =
            |pull: &Pull| (self.positions[pull.other] + pull.level - self.positions[block]) * pull.weight;
        self.pulls[block].iter().fold((0, 0), |sum, pull| (sum.0 + way(pull), sum.1 + pull.weight))
    }

    /// How far up and down a block may go before it touches one that is not of its group.
    fn room(&self, block: usize, groups: &[usize]) -> (i64, i64) {
        let others = |near: &Vec<(usize, i64)>| {
            let other = near.iter().filter(|(other, _)| groups[*other] != groups[block]);
            other
                .map(|(other, distance)| (self.positions[*other] - self.positions[block]).abs() - distance)
                .min()
        };
        (-others(&self.above[block]).unwrap_or(FAR), others(&self.below[block]).unwrap_or(FAR))
    }

    /// Moves every group of blocks once.
    fn swing(&mut self) {
        let (groups, members) = self.groups();
        for (group, blocks) in members.iter().enumerate() {
            if blocks.is_empty() || group == groups[MAIN] {
                continue;
            }
            let (mut sum, mut weight, mut up, mut down) = (0, 0, -FAR, FAR);
            for block in blocks {
                let pull = self.pull(*block);
                let room = self.room(*block, &groups);
                (sum, weight) = (sum + pull.0, weight + pull.1);
                (up, down) = (up.max(room.0), down.min(room.1));
            }
            let way = if weight == 0 { 0 } else { (sum / weight).clamp(up, down) };
            blocks.iter().for_each(|block| self.positions[*block] += way);
        }
    }

    /// Groups blocks that touch and push against each other. Answers the group of each block and the blocks of each.
    fn groups(&self) -> (Vec<usize>, Vec<Vec<usize>>) {
        let mut groups: Vec<usize> = (0..self.positions.len()).collect();
        let mut members: Vec<Vec<usize>> = groups.iter().map(|block| vec![*block]).collect();
        let mut pulls: Vec<(i64, i64)> = groups.iter().map(|block| self.pull(*block)).collect();
        // The main path resists every push.
        pulls[MAIN] = (0, i64::from(u32::MAX));
        let mut has_joined = true;
        while has_joined {
            has_joined = false;
            for above in 0..groups.len() {
                for (below, distance) in &self.below[above] {
                    let (upper, lower) = (groups[above], groups[*below]);
                    let touch = self.positions[*below] - self.positions[above] == *distance;
                    let push = |group: usize| pulls[group].0 / pulls[group].1.max(1);
                    if upper == lower || !touch || push(upper) <= push(lower) {
                        continue;
                    }
                    let (from, to) = if members[upper].len() < members[lower].len() {
                        (upper, lower)
                    } else {
                        (lower, upper)
                    };
                    for block in core::mem::take(&mut members[from]) {
                        groups[block] = to;
                        members[to].push(block);
                    }
                    pulls[to] = (pulls[to].0 + pulls[from].0, pulls[to].1 + pulls[from].1);
                    has_joined = true;
                }
            }
        }
        (groups, members)
    }

    /// Makes the nearer end of an edge level, where that takes a small step and there is room: a line with one curve is
    /// calmer than one with two.
    fn snap(&mut self, block: usize, alone: &[usize]) {
        let (up, down) = self.room(block, alone);
        let ways = self.pulls[block]
            .iter()
            .map(|pull| self.positions[pull.other] + pull.level - self.positions[block]);
        let nearest = ways.filter(|way| (up..=down).contains(way)).min_by_key(|way| way.abs());
        self.positions[block] += nearest.filter(|way| way.abs() <= SNAP).unwrap_or(0);
    }
}
