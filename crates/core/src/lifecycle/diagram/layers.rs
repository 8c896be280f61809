//! The first step of the layout: which column everything stands in.
//!
//! Columns alternate: even ones hold states (the start alone stands in column 0), odd ones hold labels. An edge is a
//! *route* of nodes, one in each column from one end to the other: its label in an odd column, bends elsewhere. So a
//! label or a passing line has its own place in every column it touches, like a state, and nothing can overlap.
//!
//! Edges that would close a cycle (found by depth-first search from the start) are routed backward: they take part in
//! the layout the other way round and only their arrow points left.

use alloc::vec;
use alloc::vec::Vec;

use super::{Edge, Phase, Table};

/// Vertex 0 is the start, vertex n + 1 the state n.
const START: usize = 0;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Content {
    Start,
    /// A state, by its place in the table.
    State(usize),
    /// The label of an edge, by its place among the edges.
    Label(usize),
    /// Where a long edge passes a column.
    Bend,
}

pub(super) struct Node {
    pub content: Content,
    pub column: usize,
    /// On the main path: kept on one straight line.
    pub is_main: bool,
    /// Where it would stand among its column before crossings are counted; smaller is higher.
    pub wish: i32,
}

pub(super) struct Route {
    /// One node a column, from left to right.
    pub nodes: Vec<usize>,
    /// The arrow points from right to left.
    pub is_backward: bool,
    pub is_main: bool,
}

pub(super) struct Layers {
    pub nodes: Vec<Node>,
    /// One route an edge, in the order of the edges.
    pub routes: Vec<Route>,
    /// The nodes of each column, from top to bottom.
    pub columns: Vec<Vec<usize>>,
}

/// An edge between vertices.
struct Arc {
    from: usize,
    to: usize,
    is_usual: bool,
    is_main: bool,
    is_backward: bool,
}

pub(super) fn assign(table: &Table, edges: &[Edge]) -> Layers {
    let vertices = table.states.len() + 1;
    let mut arcs: Vec<Arc> = edges
        .iter()
        .map(|edge| Arc {
            from: edge.from.map_or(START, |from| usize::from(from.0) + 1),
            to: usize::from(edge.to.0) + 1,
            is_usual: edge.is_usual,
            is_main: false,
            is_backward: false,
        })
        .collect();
    let is_main = mark_main_path(table, &mut arcs);
    mark_backward(vertices, &mut arcs);
    let levels = levels(vertices, &arcs);

    let mut nodes: Vec<Node> = Vec::new();
    for vertex in 0..vertices {
        let content = if vertex == START { Content::Start } else { Content::State(vertex - 1) };
        // States beside the main path go below it, in the table's order.
        let wish = if is_main[vertex] { 0 } else { vertex as i32 };
        nodes.push(Node { content, column: 2 * levels[vertex], is_main: is_main[vertex], wish });
    }
    let mut routes = Vec::new();
    for (edge, arc) in arcs.iter().enumerate() {
        // Returns along the main path arch over it; all else hangs below, by where it leads.
        let wish = match (arc.is_main, arc.is_backward && is_main[arc.from] && is_main[arc.to]) {
            (true, _) => 0,
            (false, true) => -1,
            (false, false) => nodes[arc.from].wish.max(nodes[arc.to].wish).max(1),
        };
        let (left, right) = if arc.is_backward { (arc.to, arc.from) } else { (arc.from, arc.to) };
        let (first, last) = (nodes[left].column + 1, nodes[right].column);
        // The label stands beside the state where the event happens.
        let label_column = if arc.is_backward { last - 1 } else { first };
        let mut route = vec![left];
        for column in first..last {
            let content = if column == label_column { Content::Label(edge) } else { Content::Bend };
            route.push(nodes.len());
            nodes.push(Node { content, column, is_main: arc.is_main, wish });
        }
        route.push(right);
        routes.push(Route { nodes: route, is_backward: arc.is_backward, is_main: arc.is_main });
    }

    let column_count = nodes.iter().map(|node| node.column + 1).max().unwrap_or(0);
    let mut columns = vec![Vec::new(); column_count];
    for (index, node) in nodes.iter().enumerate() {
        columns[node.column].push(index);
    }
    for column in &mut columns {
        column.sort_by_key(|node| nodes[*node].wish);
    }
    Layers { nodes, routes, columns }
}

/// Finds the way an item is meant to take, from its creation to success, and marks its arcs. Answers which vertices
/// lie on it.
fn mark_main_path(table: &Table, arcs: &mut [Arc]) -> Vec<bool> {
    // A table's own short cut (`skip`) costs more than leasing and committing do together.
    const USUAL: u32 = 1;
    const OTHER: u32 = 3;
    let vertices = table.states.len() + 1;
    let mut best: Vec<Option<(u32, usize)>> = vec![None; vertices];
    for _ in 0..vertices {
        for (index, arc) in arcs.iter().enumerate() {
            let so_far = if arc.from == START { Some(0) } else { best[arc.from].map(|(cost, _)| cost) };
            let Some(so_far) = so_far else { continue };
            let cost = so_far + if arc.is_usual { USUAL } else { OTHER };
            if best[arc.to].is_none_or(|(known, _)| cost < known) {
                best[arc.to] = Some((cost, index));
            }
        }
    }
    let rank = |phase: Phase| match phase {
        Phase::Succeeded => 0,
        Phase::Stopped => 1,
        Phase::Failed => 2,
        Phase::Active => 3,
        Phase::Ready => 4,
        Phase::Waiting => 5,
    };
    let goal = (1..vertices)
        .filter_map(|vertex| Some((rank(table.states[vertex - 1].phase), best[vertex]?.0, vertex)))
        .min();
    let mut is_main = vec![false; vertices];
    is_main[START] = true;
    let mut vertex = goal.map_or(START, |(_, _, vertex)| vertex);
    while vertex != START {
        is_main[vertex] = true;
        let (_, arc) = best[vertex].expect("every vertex on the way back to the start was reached");
        arcs[arc].is_main = true;
        vertex = arcs[arc].from;
    }
    is_main
}

/// Marks the arcs that lead back to a vertex from which the search came. The main path is searched first, so no arc of
/// it is ever one of them.
fn mark_backward(vertices: usize, arcs: &mut [Arc]) {
    #[derive(Clone, Copy, PartialEq)]
    enum Visit {
        Not,
        Open,
        Done,
    }
    fn visit(vertex: usize, visits: &mut [Visit], arcs: &mut [Arc]) {
        visits[vertex] = Visit::Open;
        for main in [true, false] {
            for index in 0..arcs.len() {
                if arcs[index].from != vertex || arcs[index].is_main != main {
                    continue;
                }
                let to = arcs[index].to;
                match visits[to] {
                    Visit::Not => visit(to, visits, arcs),
                    Visit::Open => arcs[index].is_backward = true,
                    Visit::Done => {}
                }
            }
        }
        visits[vertex] = Visit::Done;
    }
    let mut visits = vec![Visit::Not; vertices];
    // After the start, the states that nothing reaches: an unsound table is drawn too, so that it can be seen.
    for vertex in 0..vertices {
        if visits[vertex] == Visit::Not {
            visit(vertex, &mut visits, arcs);
        }
    }
}

/// The longest way to each vertex. States begin at level 1, beside the start.
fn levels(vertices: usize, arcs: &[Arc]) -> Vec<usize> {
    let mut levels = vec![1; vertices];
    levels[START] = 0;
    // Without the backward arcs there is no cycle, so no way is longer than the number of vertices.
    for _ in 0..vertices {
        for arc in arcs {
            let (left, right) = if arc.is_backward { (arc.to, arc.from) } else { (arc.from, arc.to) };
            levels[right] = levels[right].max(levels[left] + 1);
        }
    }
    levels
}
