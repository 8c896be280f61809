//! The layout of a diagram: where every state, label and line goes, in whole pixels.
//!
//! Layered, from left to right, after Sugiyama: columns ([`super::layers`]), order ([`super::order`]), heights
//! ([`super::place`]), and here the sizes and the way across. Lines are level inside a column and curve only
//! in the gaps between columns; as every column holds at most one thing at a height, no line can cross a state or a
//! label.

use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use super::layers::{self, Content, Layers, Route};
use super::place::{self, Link};
use super::ports::{self, Ports};
use super::{Edge, Line, Table, order};

/// The width of a character in eighths of a pixel, for names (14 px) and label lines (12 px): 0.6 of the size in nearly
/// every monospaced font, and a little air.
const NAME_EIGHTHS: usize = 69;
const LINE_EIGHTHS: usize = 59;

pub(super) const LINE_HEIGHT: i32 = 17;
pub(super) const LABEL_PADDING: i32 = 7;
pub(super) const ARROW: i32 = 9;
pub(super) const START_RADIUS: i32 = 7;
/// Around the whole picture.
const MARGIN: i32 = 24;
/// The name, the phase below it, and the room for one port above and one below the middle.
const STATE_HEIGHT: i32 = 54;
/// Beside a name, for the inner border of a final state too.
const STATE_PADDING: i32 = 18;
/// The phase is written there as well, and `succeeded` is the longest.
const STATE_WIDTH_MIN: i32 = 104;
/// From a state's outermost port to its corner, which is round.
const CORNER: i32 = 13;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Rectangle {
    pub x: i32,
    pub y: i32,
    pub width: i32,
    pub height: i32,
}

/// A drawn edge.
pub(super) struct Path {
    /// Pairs of points: level from the first to the second of a pair, curved from there to the next pair.
    pub level: Vec<[(i32, i32); 2]>,
    pub label: Rectangle,
    pub is_main: bool,
    pub is_backward: bool,
}

pub(super) struct Layout {
    pub width: i32,
    pub height: i32,
    /// The middle of the start's dot; none without a row that creates.
    pub start: Option<(i32, i32)>,
    /// In the table's order.
    pub states: Vec<Rectangle>,
    /// In the order of the edges.
    pub paths: Vec<Path>,
}

/// The text of a label line as it is drawn: a guard may hold a literal of any length.
pub(super) fn shown(line: &Line) -> Line {
    // The two longest guards together still fit, behind a kernel event.
    const CHARACTERS_MAX: usize = 56;
    let room = CHARACTERS_MAX.saturating_sub(line.event.chars().count() + 3);
    if line.guard.chars().count() <= room {
        return line.clone();
    }
    let mut guard: String = line.guard.chars().take(room.saturating_sub(1)).collect();
    guard.push('…');
    Line { event: line.event.clone(), guard }
}

pub(super) fn layout(table: &Table, edges: &[Edge]) -> Layout {
    let mut layers = layers::assign(table, edges);
    order::arrange(&mut layers);
    let ports = ports::assign(&layers);
    let sizes = sizes(table, edges, &layers, &ports);
    let tall: Vec<i32> = sizes.iter().map(|(_, height)| *height).collect();
    let links = ports::links(&layers, &ports);
    let middles = place::middles(&layers, &links, &tall);

    let has_start = layers.routes.iter().any(|route| layers.nodes[route.nodes[0]].content == Content::Start);
    let drawn = |node: usize| has_start || layers.nodes[node].content != Content::Start;
    let inside = || (0..layers.nodes.len()).filter(|node| drawn(*node));
    let top = inside().map(|node| middles[node] - tall[node] / 2).min().unwrap_or(0);
    let bottom = inside().map(|node| middles[node] + tall[node] / 2).max().unwrap_or(0);
    let y = |node: usize| middles[node] - top + MARGIN;

    let columns = across(&layers, &links, &sizes, &middles, has_start);
    let rectangle = |node: usize, width: i32| {
        let (left, right) = columns[layers.nodes[node].column];
        let x = (left + right - width) / 2;
        Rectangle { x, y: y(node) - tall[node] / 2, width, height: tall[node] }
    };

    let mut states = Vec::new();
    let mut start = None;
    for (index, node) in layers.nodes.iter().enumerate() {
        let (left, right) = columns[node.column];
        match node.content {
            Content::Start if has_start => start = Some(((left + right) / 2, y(index))),
            // All states of a column are as wide as it, so that their sides are level and lines may end there.
            Content::State(_) => states.push(rectangle(index, right - left)),
            Content::Start | Content::Label(_) | Content::Bend => {}
        }
    }
    let paths = layers.routes.iter().zip(&ports).map(|(route, ports)| {
        let label = route.nodes.iter().copied().find(|node| is_label(layers.nodes[*node].content));
        let label = label.expect("every route has a label");
        Path {
            level: level(&layers, route, *ports, &columns, &y),
            label: rectangle(label, sizes[label].0),
            is_main: route.is_main,
            is_backward: route.is_backward,
        }
    });
    let paths = paths.collect();
    let width = columns.last().map_or(0, |(_, right)| *right) + MARGIN;
    Layout { width, height: bottom - top + 2 * MARGIN, start, states, paths }
}

fn is_label(content: Content) -> bool {
    matches!(content, Content::Label(_))
}

/// The width and the height of every node. Heights are even: a middle is a whole pixel.
fn sizes(table: &Table, edges: &[Edge], layers: &Layers, ports: &[Ports]) -> Vec<(i32, i32)> {
    let mut sizes: Vec<(i32, i32)> = layers
        .nodes
        .iter()
        .map(|node| match node.content {
            Content::Start => (2 * START_RADIUS, 2 * START_RADIUS),
            Content::State(state) => {
                let width = text_width(&table.states[state].name, NAME_EIGHTHS) + 2 * STATE_PADDING;
                (width.max(STATE_WIDTH_MIN), STATE_HEIGHT)
            }
            Content::Label(edge) => {
                let lines = &edges[edge].lines;
                let widths = lines.iter().map(|line| text_width(&shown(line).to_string(), LINE_EIGHTHS));
                let width = widths.max().unwrap_or(0);
                let height = lines.len() as i32 * LINE_HEIGHT + 4;
                (width + 2 * LABEL_PADDING, height + height % 2)
            }
            Content::Bend => (0, 0),
        })
        .collect();
    for (route, ports) in layers.routes.iter().zip(ports) {
        let ends = [(route.nodes[0], ports.left), (route.nodes[route.nodes.len() - 1], ports.right)];
        for (node, port) in ends {
            let size = &mut sizes[node];
            size.1 = size.1.max(2 * (port.abs() + CORNER));
        }
    }
    sizes
}

/// An even number of pixels, estimated: fonts cannot be asked here. From the East Asian scripts on, up to the emoji,
/// characters are two columns wide.
fn text_width(text: &str, eighths: usize) -> i32 {
    let cells: usize = text.chars().map(|character| if character < '\u{2e80}' { 1 } else { 2 }).sum();
    (cells * eighths).div_ceil(16) as i32 * 2
}

/// The left and the right side of every column. The steeper the lines between two columns, the wider the gap.
fn across(
    layers: &Layers,
    links: &[Link],
    sizes: &[(i32, i32)],
    middles: &[i32],
    has_start: bool,
) -> Vec<(i32, i32)> {
    const GAP_MIN: i32 = 26;
    const GAP_MAX: i32 = 84;
    let mut steepest = vec![0; layers.columns.len()];
    for link in links {
        let rise = (middles[link.left] + link.left_port - middles[link.right] - link.right_port).abs();
        let column = layers.nodes[link.left].column;
        steepest[column] = rise.max(steepest[column]);
    }
    let mut sides = Vec::new();
    let mut x = MARGIN;
    for (column, nodes) in layers.columns.iter().enumerate() {
        if column < 2 && !has_start {
            // Nothing is drawn in the start's column and in the one beside it.
            sides.push((x, x));
            continue;
        }
        let width = nodes.iter().map(|node| sizes[*node].0).max().unwrap_or(0);
        sides.push((x, x + width));
        let is_last = column + 1 == layers.columns.len();
        x += width + if is_last { 0 } else { (GAP_MIN + steepest[column] / 3).min(GAP_MAX) };
    }
    sides
}

/// The level stretches of a route, from the arrow's tail to its head.
fn level(
    layers: &Layers,
    route: &Route,
    ports: Ports,
    columns: &[(i32, i32)],
    y: &impl Fn(usize) -> i32,
) -> Vec<[(i32, i32); 2]> {
    let last = route.nodes.len() - 1;
    let mut stretches: Vec<[(i32, i32); 2]> = Vec::new();
    // The head of the arrow stands level on the side of its state.
    let (left_head, right_head) = if route.is_backward { (ARROW, 0) } else { (0, ARROW) };
    for (step, node) in route.nodes.iter().enumerate() {
        let (left, right) = columns[layers.nodes[*node].column];
        let middle = y(*node);
        stretches.push(if step == 0 {
            [(right, middle + ports.left), (right + left_head, middle + ports.left)]
        } else if step == last {
            [(left - right_head, middle + ports.right), (left, middle + ports.right)]
        } else {
            [(left, middle), (right, middle)]
        });
    }
    if route.is_backward {
        stretches.reverse();
        stretches.iter_mut().for_each(|stretch| stretch.reverse());
    }
    stretches
}
