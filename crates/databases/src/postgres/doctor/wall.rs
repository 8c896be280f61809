//! What should stand beside the rows: the constraints, indexes and triggers that the migrations make, read from their text.

use std::collections::BTreeSet;

use crate::postgres::migrate::MIGRATIONS;

/// As `index NAME`, `trigger NAME`, `constraint NAME`: those that were made and not taken away again. A primary key has its
/// table's name.
pub(super) fn stones() -> BTreeSet<String> {
    let mut stones = BTreeSet::new();
    for migration in MIGRATIONS {
        let lines = migration.sql.lines().filter(|line| !line.trim_start().starts_with("--"));
        let words: Vec<&str> = lines.flat_map(str::split_whitespace).collect();
        for at in 0..words.len() {
            match words[at..] {
                ["create", "table", name, ..] => {
                    stones.insert(format!("constraint {}_pkey", bare(name)));
                }
                ["create", "constraint" | "unique", sort @ ("index" | "trigger"), name, ..]
                | ["create", sort @ ("index" | "trigger"), name, ..] => {
                    stones.insert(format!("{sort} {}", bare(name)));
                }
                ["drop", sort @ ("index" | "trigger" | "constraint"), name, ..] => {
                    stones.remove(&format!("{sort} {}", bare(name)));
                }
                ["constraint", name, ..] if at == 0 || !["create", "drop"].contains(&words[at - 1]) => {
                    stones.insert(format!("constraint {}", bare(name)));
                }
                _ => {}
            }
        }
    }
    stones
}

fn bare(name: &str) -> &str {
    name.trim_start_matches("@.").trim_end_matches(';')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_migrations_make_is_known_by_name() {
        let stones = stones();
        for stone in [
            "constraint executions_one_committed",
            "constraint executions_pkey",
            "constraint items_lease_is_whole",
            "index items_active",
            "index items_one_running_a_key",
            "trigger items_judged",
            "trigger items_removed",
            "trigger leaving_logged",
        ] {
            assert!(stones.contains(stone), "{stone} is missing in {stones:?}");
        }
    }
}
