//! Every state of every shipped lifecycle, in a world that the explorer found: there is always something to say.

use std::collections::BTreeSet;
use std::sync::Arc;

use tenure::core::check::explore::{Setup, explore};
use tenure::core::lifecycle::shipped;
use tenure::core::world::World;
use tenure::databases::look::Ahead;
use tenure::{Explanation, Facts, Known, explain};

use crate::told::{compare, tell};

/// What would have been read of the explored item.
fn facts(world: &World, kind: &str) -> Facts {
    let of_kind = |item: &&Arc<tenure::core::item::Item>| &*item.table.kind == kind;
    let item = world.items.values().find(of_kind).expect("there is one").clone();
    let known = Known {
        executions: world.executions_of(item.id).cloned().collect(),
        history: world.entries.values().filter(|entry| entry.item == item.id).cloned().collect(),
        has_output: world.outputs.contains_key(&item.id),
        ahead: Ahead::default(),
        retried_as: None,
        item: item.clone(),
    };
    let (id, store) = (item.id, item.store.clone());
    Facts { id, store, world: world.clone(), known: Some(known), set_aside: None, refused: Vec::new() }
}

fn is_whole(told: &Explanation) {
    assert!(!told.because.is_empty(), "{told:#?}");
    assert!(told.because.iter().all(|because| !because.text.is_empty()), "{told:#?}");
    assert!(told.summary.len() > told.id.to_string().len() + 20, "{told:#?}");
    assert!(told.summary.ends_with('.') && !told.summary.contains('\n'), "{told:#?}");
    let names: BTreeSet<&str> = told.moves.iter().map(|one| &*one.event).collect();
    assert_eq!(names.len(), told.moves.len(), "each move once: {told:#?}");
    assert!(told.moves.iter().all(|one| !one.roles.is_empty()), "{told:#?}");
    let json = serde_json::to_value(told).unwrap();
    for field in ["id", "kind", "store", "state", "phase", "summary", "because", "next", "moves"] {
        assert!(json.get(field).is_some(), "{field}: {json}");
    }
}

#[test]
fn every_state_of_every_shipped_lifecycle_says_who_moves_it_on() {
    let mut page = String::new();
    for table in shipped::tables().iter() {
        let mut seen = BTreeSet::new();
        for setup in Setup::for_table(table) {
            let start = setup.world.now;
            for (state, world) in explore(&setup).witnesses {
                if !seen.insert(state) {
                    continue;
                }
                let told = explain(&facts(&world, &table.kind));
                is_whole(&told);
                // Nothing is stuck: somebody or something moves it on, unless it has ended for good.
                let goes_on = !told.moves.is_empty() || told.next.is_some();
                assert!(goes_on || table.is_final(state), "{told:#?}");
                page.push_str(&tell(&format!("{} {}", table.kind, table.name(state)), &told, start));
            }
        }
        assert_eq!(seen.len(), table.states.len(), "every state of {}", table.kind);
    }
    compare("states.txt", &page);
}
