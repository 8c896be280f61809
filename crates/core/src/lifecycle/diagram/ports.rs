//! Where lines touch the states: every line has a port of its own, in the order in which the lines arrive, so that
//! they do not cross at the last step. The main path has the middle and the others stand around it. Only the start's dot
//! is too small for that: there all lines leave from the middle.

use alloc::vec;
use alloc::vec::Vec;

use super::layers::{Content, Layers, Route};
use super::place::Link;

/// Between neighbouring ports: enough for two arrow heads.
const PORT: i32 = 12;

/// The ports of a route, from the middles of the states at its left and right end.
#[derive(Clone, Copy, Default)]
pub(super) struct Ports {
    pub left: i32,
    pub right: i32,
    /// The route has the side of a state for itself.
    is_alone_left: bool,
    is_alone_right: bool,
}

/// The ports of every route, in their order.
pub(super) fn assign(layers: &Layers) -> Vec<Ports> {
    let mut places = vec![0; layers.nodes.len()];
    for (place, node) in layers.columns.iter().flat_map(|column| column.iter().enumerate()) {
        places[*node] = place;
    }
    // For each node the routes that leave at its right side and arrive at its left side, each by its next node's place.
    let mut rights: Vec<Vec<(usize, usize)>> = vec![Vec::new(); layers.nodes.len()];
    let mut lefts = rights.clone();
    for (index, route) in layers.routes.iter().enumerate() {
        let last = route.nodes.len() - 1;
        if layers.nodes[route.nodes[0]].content != Content::Start {
            rights[route.nodes[0]].push((places[route.nodes[1]], index));
        }
        lefts[route.nodes[last]].push((places[route.nodes[last - 1]], index));
    }
    let mut ports = vec![Ports::default(); layers.routes.len()];
    for side in rights {
        let is_alone = side.len() == 1;
        for (route, port) in spread(&layers.routes, side) {
            ports[route] = Ports { left: port, is_alone_left: is_alone, ..ports[route] };
        }
    }
    for side in lefts {
        let is_alone = side.len() == 1;
        for (route, port) in spread(&layers.routes, side) {
            ports[route] = Ports { right: port, is_alone_right: is_alone, ..ports[route] };
        }
    }
    ports
}

/// The routes at one side of a state and their ports, from top to bottom.
fn spread(routes: &[Route], mut side: Vec<(usize, usize)>) -> Vec<(usize, i32)> {
    side.sort();
    let main = side.iter().position(|(_, route)| routes[*route].is_main);
    let port = |place: usize| match main {
        Some(main) => (place as i32 - main as i32) * PORT,
        None => place as i32 * PORT - (side.len() as i32 - 1) * PORT / 2,
    };
    side.iter().enumerate().map(|(place, (_, route))| (*route, port(place))).collect()
}

/// Every step of every route from one column to the next.
pub(super) fn links(layers: &Layers, ports: &[Ports]) -> Vec<Link> {
    // An arrow that has a side of a state for itself is the one that should be level with it.
    const ALONE: i64 = 6;
    let mut links = Vec::new();
    for (route, ports) in layers.routes.iter().zip(ports) {
        let last = route.nodes.len() - 2;
        for (step, pair) in route.nodes.windows(2).enumerate() {
            let is_alone = (step == 0 && ports.is_alone_left) || (step == last && ports.is_alone_right);
            links.push(Link {
                left: pair[0],
                right: pair[1],
                left_port: if step == 0 { ports.left } else { 0 },
                right_port: if step == last { ports.right } else { 0 },
                weight: if is_alone { ALONE } else { 1 },
            });
        }
    }
    links
}
