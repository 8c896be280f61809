//! The second step of the layout: the order within each column, with few crossings.
//!
//! Sweeps to and fro sort each column by the mean place of its neighbours in the column before (the barycenter
//! method). The first order is the one wished for; another replaces it only when it has fewer crossings.

use alloc::vec;
use alloc::vec::Vec;

use super::layers::Layers;

/// Four each way: the method improves most in its first sweeps.
const SWEEPS: usize = 8;

/// Orders `layers.columns` in place.
pub(super) fn arrange(layers: &mut Layers) {
    let mut left: Vec<Vec<usize>> = vec![Vec::new(); layers.nodes.len()];
    let mut right = left.clone();
    for route in &layers.routes {
        for pair in route.nodes.windows(2) {
            right[pair[0]].push(pair[1]);
            left[pair[1]].push(pair[0]);
        }
    }
    let mut columns = layers.columns.clone();
    let mut fewest = crossings(&columns, &right);
    for sweep in 0..SWEEPS {
        if fewest == 0 {
            return;
        }
        let mut places = places(&columns, layers.nodes.len());
        let to_the_right = sweep % 2 == 0;
        for step in 1..columns.len() {
            let column = if to_the_right { step } else { columns.len() - 1 - step };
            let neighbours = if to_the_right { &left } else { &right };
            sort(&mut columns[column], neighbours, &mut places);
        }
        let found = crossings(&columns, &right);
        if found < fewest {
            fewest = found;
            layers.columns.clone_from(&columns);
        }
    }
}

/// Each node's place in its column.
fn places(columns: &[Vec<usize>], node_count: usize) -> Vec<usize> {
    let mut places = vec![0; node_count];
    for column in columns {
        for (place, node) in column.iter().enumerate() {
            places[*node] = place;
        }
    }
    places
}

/// Sorts a column by its neighbours' mean place. Equal ones keep their order, and so the wish of the first one.
fn sort(column: &mut [usize], neighbours: &[Vec<usize>], places: &mut [usize]) {
    // Fine enough to tell apart means of up to 64 neighbours.
    const FRACTION: usize = 4096;
    let mean = |node: usize| match neighbours[node].as_slice() {
        [] => places[node] * FRACTION,
        near => near.iter().map(|other| places[*other]).sum::<usize>() * FRACTION / near.len(),
    };
    column.sort_by_cached_key(|node| mean(*node));
    for (place, node) in column.iter().enumerate() {
        places[*node] = place;
    }
}

/// How many pairs of lines cross between neighbouring columns.
fn crossings(columns: &[Vec<usize>], right: &[Vec<usize>]) -> usize {
    let places = places(columns, right.len());
    let mut count = 0;
    for pair in columns.windows(2) {
        // Lines in the order of their left ends; each crosses those before it that end further down.
        let mut ends = Tally::new(pair[1].len());
        for node in &pair[0] {
            for end in &right[*node] {
                count += ends.after(places[*end]);
            }
            for end in &right[*node] {
                ends.add(places[*end]);
            }
        }
    }
    count
}

/// Counts of places, with sums over a range in logarithmic time (a Fenwick tree).
struct Tally {
    counts: Vec<usize>,
    total: usize,
}

impl Tally {
    fn new(size: usize) -> Tally {
        Tally { counts: vec![0; size + 1], total: 0 }
    }

    fn add(&mut self, place: usize) {
        self.total += 1;
        let mut index = place + 1;
        while index < self.counts.len() {
            self.counts[index] += 1;
            index += index & index.wrapping_neg();
        }
    }

    /// How many were added at a later place.
    fn after(&self, place: usize) -> usize {
        let mut until = 0;
        let mut index = place + 1;
        while index > 0 {
            until += self.counts[index];
            index &= index - 1;
        }
        self.total - until
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crossings_are_counted_once_a_pair() {
        // 0 and 1 on the left; 2 and 3 on the right; every left one joined to every right one.
        let columns = [vec![0, 1], vec![2, 3]];
        assert_eq!(crossings(&columns, &[vec![2, 3], vec![2, 3], vec![], vec![]]), 1);
        assert_eq!(crossings(&columns, &[vec![3], vec![2], vec![], vec![]]), 1);
        assert_eq!(crossings(&columns, &[vec![2], vec![3], vec![], vec![]]), 0);
    }
}
