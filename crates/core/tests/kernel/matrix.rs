//! Every state × every event × every role, as the real `decide` answers, one page a kind in `matrix/`.
//!
//! The pages are made by asking, not by reading the table: for every state the explorer finds a world in which an item
//! is there, and everything that anyone could ask is asked of it. A person reviews the page; the test keeps it true.
//! Rewrite the pages with `UPDATE_GOLDEN=1`.

mod asked;
mod execution;
mod shown;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use tenure_core::actor::{Actor, Role};
use tenure_core::check::explore::{Setup, explore};
use tenure_core::id::ItemId;
use tenure_core::lifecycle::event::Event;
use tenure_core::lifecycle::{Phase, StateId, Table, shipped};
use tenure_core::world::World;

use asked::{Asked, Scene};
use shown::{Block, Cell, page};

const HEADER: &str = "\
What `decide` answers, by state, event and role.

→ STATE  the item moves            ✓  written; the item stays where it is
=        nothing is written        !  refused with TRANSITION_REFUSED, ! CODE with another code
403      the role may not          ·  can not be asked for here

Everyone asks as the one who holds the item, or held it last, each with their own role; with a reason, a live session and
the guards attested that a system attests. Effects that a request would have to bring are left out of the tables here.
";

/// A world for every state of the table.
fn witnesses(table: &Table) -> BTreeMap<StateId, World> {
    let mut all = BTreeMap::new();
    for setup in Setup::for_table(table) {
        let explored = explore(&setup);
        assert_eq!(explored.finding, None, "{}", table.kind);
        for (state, world) in explored.witnesses {
            all.entry(state).or_insert(world);
        }
    }
    all
}

/// The pages' blocks: the create, then every state; a held one as it is between start and commit, and, where committing
/// and finishing are two steps, between those.
fn blocks(table: &Table) -> Vec<Block> {
    let witnesses = witnesses(table);
    let missed: Vec<&str> =
        table.state_ids().filter(|id| !witnesses.contains_key(id)).map(|id| table.name(id)).collect();
    assert!(missed.is_empty(), "no world was found in which a {} is {missed:?}", table.kind);
    let first = witnesses.values().next().expect("an item can be made");
    let mut blocks = vec![create_block(table, Scene::new(first.clone()))];
    for (state, world) in witnesses {
        let name = table.name(state);
        let mut scene = Scene::new(world);
        if table.phase(state) != Phase::Active {
            blocks.push(block(table, state, format!("{name} ({})", table.phase(state)), &scene));
            continue;
        }
        let may_hold = |role: &Role| table.roles_of(&Event::Lease).names(*role);
        let holds = [Role::Worker].into_iter().chain(Role::ALL).find(may_hold).expect("somebody can hold it");
        let holder = scene.holder(holds);
        scene.do_as(&holder, &Asked::Start);
        blocks.push(block(table, state, format!("{name} (active)"), &scene));
        if table.rows_from(Some(state), &Event::Finish).next().is_some() {
            scene.do_as(&holder, &Asked::Commit);
            blocks.push(block(table, state, format!("{name} (active, committed)"), &scene));
        }
    }
    blocks
}

fn create_block(table: &Table, scene: Scene) -> Block {
    let cells = Role::ALL.map(|role| {
        let cell = scene.create(role);
        assert_eq!(
            cell == Cell::Forbidden,
            !table.roles_of(&Event::Create).allow(role),
            "{} create by {role}",
            table.kind
        );
        cell
    });
    Block { title: "—".into(), rows: vec![("create".into(), cells)] }
}

fn block(table: &Table, state: StateId, title: String, scene: &Scene) -> Block {
    let mut rows = Vec::new();
    for asked in Asked::all(table, scene.item()) {
        let cells = Role::ALL.map(|role| {
            let cell = scene.ask(&scene.holder(role), &asked);
            judge(table, state, &asked, role, &cell);
            cell
        });
        rows.push((asked.to_string(), cells));
    }
    Block { title, rows }
}

/// What must be true of a cell, whatever the page says.
fn judge(table: &Table, state: StateId, asked: &Asked, role: Role, cell: &Cell) {
    let what = format!("{}: {} {asked} by {role} {cell}", table.kind, table.name(state));
    if let Cell::Moved(to) = cell {
        assert!(!table.is_final(state), "a final state has no exits: {what}");
        let taken = |event: &Event| {
            let leads = |row: &&tenure_core::lifecycle::Row| row.is_exit() && asked::leads_to(row, table, to);
            table.rows_from(Some(state), event).filter(leads).any(|row| row.actors.allow(role))
        };
        assert!(asked.events().iter().any(taken), "every move is a row of the table: {what}");
    }
    let forbidden = asked.judged_by(table).is_some_and(|roles| !roles.is_empty() && !roles.allow(role));
    if forbidden && *cell != Cell::NotAsked {
        assert_eq!(*cell, Cell::Forbidden, "the role is judged before the state: {what}");
    }
}

fn compare(name: &str, found: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kernel/matrix").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, found).unwrap();
    }
    let kept = fs::read_to_string(&path).unwrap_or_default();
    if kept != found {
        let differs = |(at, (kept, found)): (usize, (&str, &str))| {
            (kept != found).then(|| format!("line {}:\n- {kept}\n+ {found}", at + 1))
        };
        let first = kept.lines().zip(found.lines()).enumerate().find_map(differs);
        panic!("{name} is not what decide answers; review and rewrite with UPDATE_GOLDEN=1\n{first:?}");
    }
}

// covers: K-01, K-05, K-07
#[test]
fn every_state_event_and_role_is_answered_as_the_pages_say() {
    let known = shipped::tables();
    for table in known.iter() {
        let text = format!("# {}\n\n{HEADER}{}", table.kind, page(&blocks(table)));
        compare(&format!("{}.txt", table.kind), &text);
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kernel/matrix");
    let is_page = |name: &str| name.ends_with(".txt") && name != "execution.txt";
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert_eq!(
        names.filter(|name| is_page(name)).count(),
        known.iter().count(),
        "a page a kind, and no other"
    );
}

// covers: K-07
#[test]
fn from_another_store_nothing_is_there_for_anyone() {
    let known = shipped::tables();
    for table in known.iter() {
        for (_, world) in witnesses(table) {
            let mut scene = Scene::new(world);
            scene.store = "elsewhere".parse().unwrap();
            for asked in Asked::all(table, scene.item()) {
                for role in Role::ALL {
                    let cell = scene.ask(&scene.holder(role), &asked);
                    let nothing = matches!(cell, Cell::NotFound | Cell::NotAsked);
                    assert!(nothing, "{} {asked} by {role} {cell}", table.kind);
                }
            }
        }
    }
}

/// The owner of an item's lease, or of its last execution, in a role.
fn as_holder(world: &World, item: ItemId, role: Role) -> Actor {
    let live = world.items[&item].lease.as_ref().map(|lease| lease.owner.clone());
    let ended = || world.executions_of(item).last().map(|execution| execution.owner.clone());
    let owner = live.or_else(ended).unwrap_or_else(|| "a/p1".parse().unwrap());
    Actor { role, id: owner.id, incarnation: owner.incarnation }
}
