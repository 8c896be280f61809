//! A proof plan: the gates that a task must pass, and in which version.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use tenure::core::hash::Hash;

use crate::gate::Gate;

/// A plan that needs more checks than this wants a script that runs them.
pub const GATES_MAX: usize = 32;

/// The gates of a task. A changed plan is a new version; the old ones stay.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Plan {
    /// 1 for the one that the task was made with.
    pub version: u32,
    pub gates: Vec<Gate>,
}

impl Plan {
    /// The plan that a task is made with.
    pub fn first(gates: Vec<Gate>) -> Plan {
        Plan { version: 1, gates }
    }

    /// The paths that its gates declare. None: a gate declares none, or there is no gate, and the plan depends on the whole tree.
    pub fn paths(&self) -> Option<BTreeSet<String>> {
        let declared: Option<Vec<&BTreeSet<String>>> =
            self.gates.iter().map(|gate| gate.paths.as_ref()).collect();
        let paths: BTreeSet<String> = declared?.into_iter().flatten().cloned().collect();
        (!paths.is_empty()).then_some(paths)
    }

    /// What makes two plans the same: their gates, in order.
    pub fn hash(&self) -> Hash {
        let gates: Vec<String> = self.gates.iter().map(ToString::to_string).collect();
        let gates: Vec<&[u8]> = gates.iter().map(String::as_bytes).collect();
        Hash::of_parts(&gates)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // covers: T-05
    #[test]
    fn a_gate_without_a_declaration_makes_its_plan_depend_on_the_whole_tree() {
        for (gates, expected) in [
            (&["in[b,a] cmd:x", "advisory in[c] cmd:y", "in[a] human:z"][..], Some("a b c")),
            (&["in[a] cmd:x", "cmd:y"], None),
            (&["in[a] cmd:x", "file_exists:b"], None),
            (&["in[a] cmd:x", "advisory human:y"], None),
            (&[], None),
        ] {
            let plan = Plan::first(gates.iter().map(|gate| gate.parse().unwrap()).collect());
            let paths = plan.paths().map(|paths| paths.into_iter().collect::<Vec<_>>().join(" "));
            assert_eq!(paths.as_deref(), expected, "{gates:?}");
        }
    }

    #[test]
    fn a_plan_is_the_same_when_its_gates_are() {
        let plan = |gates: [&str; 2]| Plan::first(gates.map(|gate| gate.parse().unwrap()).to_vec());
        let (one, other) = (plan(["cmd:a", "cmd:b"]), plan(["cmd:b", "cmd:a"]));
        assert_ne!(one.hash(), other.hash());
        assert_eq!(one.hash(), Plan { version: 2, ..one.clone() }.hash());
    }
}
