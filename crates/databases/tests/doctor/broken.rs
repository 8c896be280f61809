//! Each invariant, broken by a stranger with SQL who took the wall away first. The doctor names the check and the offender.

use tenure_core::id::ItemId;
use tenure_databases::doctor::{Patient, Verdict};

use crate::ward::*;

struct Broken {
    /// What the stranger does. `{ready}` and the like are ids.
    sql: &'static str,
    check: &'static str,
    /// The offender, in the same words.
    id: &'static str,
    what: &'static str,
    /// Checks that must see it too: one lie leads to others.
    also: &'static [&'static str],
}

const WALL: &str = "the second wall stands";
/// It sees nearly everything, since the entries say what the rows should be.
const ENTRIES: &str = "an item is what its entries say";
const WHERE: &str = "an item is where its state belongs";
const IN_LANE: &str = "a running item is in its lane";
const OFFERS: &str = "a lane offers its oldest item";
const LAST: &str = "an item's last entry is in the log";
const CHAIN: &str = "the chain of the log recomputes";
const FENCE: &str = "no fence is below what it has fenced";
const COMMITS: &str = "an item commits once, and its execution is there";

const ROWS: &[Broken] = &[
    Broken {
        sql: "delete from executions where item = {done}",
        check: COMMITS,
        id: "{done}",
        what: "execution 1 committed, and has no row that says so",
        also: &[],
    },
    Broken {
        sql: "insert into executions (item, seat, fence, status, rest) select item, 7, 7, 4, rest from executions where item = {done}",
        check: COMMITS,
        id: "{done}",
        what: "has 2 executions that committed",
        also: &[FENCE],
    },
    Broken {
        sql: "update items set committed = null where id = {done}",
        check: COMMITS,
        id: "{done}",
        what: "has an execution that committed, but has not committed",
        also: &[],
    },
    Broken {
        sql: "update executions set fence = 0 where item = {done}",
        check: COMMITS,
        id: "{done}",
        what: "execution 1 committed, and has no row that says so",
        also: &[],
    },
    Broken {
        sql: "update items set slot = 2 where id = {done}",
        check: "what has committed is offered to nobody",
        id: "{done}",
        what: "has committed, and stands in a queue",
        also: &[WHERE],
    },
    Broken {
        sql: "update items set fence = 0 where id = {done}",
        check: FENCE,
        id: "{done}",
        what: "its claim version is 0, and there was a higher one",
        also: &[],
    },
    Broken {
        sql: "update items set state = 99 where id = {ready}",
        check: "every state is one of its lifecycle",
        id: "{ready}",
        what: "its lifecycle has no state number 99",
        also: &[],
    },
    Broken {
        sql: "update items set slot = 0 where id = {ready}",
        check: WHERE,
        id: "{ready}",
        what: "is ready, and not kept as such: it is found by nobody, or by the wrong ones",
        also: &[],
    },
    Broken {
        sql: "update items set owner = 'm/1', expires = 1, heartbeat = 1 where id = {ready}",
        check: "what is not active is held by nobody",
        id: "{ready}",
        what: "is not active, and m/1 holds it",
        also: &[],
    },
    Broken {
        sql: "update items set expires = null where id = {active}",
        check: "a lease has an owner and an end",
        id: "{active}",
        what: "is held by a/1 without an end",
        also: &[],
    },
    Broken {
        sql: "update items set expires = 1 where id = {active}",
        check: "what time has ended is swept",
        id: "{active}",
        what: "its lease or its window is over since ",
        also: &[],
    },
    Broken {
        sql: "update items set window_ends = 1 where id = {running}",
        check: "what time has ended is swept",
        id: "{running}",
        what: "its lease or its window is over since ",
        also: &[],
    },
    Broken {
        sql: "insert into executions (item, seat, fence, status, rest) values ({stranger}, 1, 1, 5, {empty})",
        check: "an execution belongs to an item",
        id: "{stranger}",
        what: "execution 1 is there, and its item is not",
        also: &[],
    },
    Broken {
        sql: "insert into records (id, item, label, name, hash, version, at) \
              values ({stranger}, {stranger}, 'l', 'n', {empty}, 1, 1)",
        check: "a record belongs to an item",
        id: "{stranger}",
        what: "a record of it is there, and the item is not",
        also: &[],
    },
    Broken {
        sql: "update items set segment = 999999 where id = {ready}",
        check: LAST,
        id: "{ready}",
        what: "its last entry is in segment 999999, which the log does not have",
        also: &[],
    },
    Broken {
        sql: "update items set slot = -1 where id = {ready}; insert into quarantine values ({ready}, 'it is half leased', 1)",
        check: "every row can be read",
        id: "{ready}",
        what: "it is half leased",
        also: &[],
    },
    Broken {
        sql: "update items set run_at = run_at + 1 where id = {ready}",
        check: ENTRIES,
        id: "{ready}",
        what: "is not what its entries say: run_at is ",
        also: &[],
    },
];

const KEYS: &[Broken] = &[
    Broken {
        sql: "update items set slot = 3, owner = 'm/1', heartbeat = 1, expires = 9000000000000000, fence = 1, exclusive = key, \
              state = (select r.state from items r where r.id = {running}) where id = {waiting}",
        check: "one item of an exclusive key runs",
        id: "{waiting}",
        what: "runs for the key a, as another one does",
        also: &[IN_LANE, OFFERS],
    },
    Broken {
        sql: "update items set exclusive = null where id = {running}",
        check: "one item of an exclusive key runs",
        id: "{running}",
        what: "runs, and its key is not kept for it",
        also: &[],
    },
    Broken {
        sql: "update lanes set running = {empty} where key = 'a'",
        check: IN_LANE,
        id: "{running}",
        what: "runs for the key a, and the key does not know",
        also: &[],
    },
    Broken {
        sql: "update lanes set next_id = null, next_rank = null where key = 'a'",
        check: OFFERS,
        id: "key a",
        what: "it offers an item that is not its oldest ready one: the others wait for ever",
        also: &[],
    },
    Broken {
        sql: "update lanes set next_rank = next_rank + 1 where key = 'a'",
        check: OFFERS,
        id: "key a",
        what: "it offers an item that is not its oldest ready one: the others wait for ever",
        also: &[],
    },
    Broken {
        sql: "delete from lanes where key = 'a'",
        check: "what waits for its key has a lane",
        id: "{waiting}",
        what: "waits for the key a, which has no lane: it is offered to nobody",
        also: &[IN_LANE],
    },
    Broken {
        sql: "update lanes set latest = {stranger} where key = 'b'",
        check: "a lane names its own items",
        id: "key b",
        what: "names item {stranger}, which is not there",
        also: &[],
    },
    Broken {
        sql: "update lanes set latest = {ready} where key = 'b'",
        check: "a lane names its own items",
        id: "key b",
        what: "names item {ready}, which is of another key",
        also: &[],
    },
    Broken {
        sql: "update items set slot = 0, owner = null, expires = null, heartbeat = null where id = {running}",
        check: "a lane names its own items",
        id: "key a",
        what: "names item {running}, which does not run",
        also: &[WHERE],
    },
    Broken {
        sql: "delete from items where id = {named}",
        check: "a name stands for an item that is there",
        id: "create job `n`",
        what: "stands for item {named}, which is not there",
        also: &[],
    },
    Broken {
        sql: "delete from names",
        check: ENTRIES,
        id: "{named}",
        what: "its idempotency key `n` is missing",
        also: &[],
    },
    Broken {
        sql: "update names set value = {empty}",
        check: "a name stands for an item that is there",
        id: "create job `n`",
        what: "the row can not be read: ",
        also: &[],
    },
];

const LOG: &[Broken] = &[
    Broken {
        sql: "delete from segments where segment = (select segment from items where id = {done})",
        check: "the log has no holes",
        id: "entry ",
        what: "after it and its 1 entries comes entry ",
        also: &[CHAIN, LAST],
    },
    Broken {
        sql: "update segments set lines = (select s.lines from segments s order by s.segment limit 1) \
              where segment = (select segment from items where id = {done})",
        check: CHAIN,
        id: "entry ",
        what: "its segment ",
        also: &[],
    },
    Broken {
        sql: "update segments set lines = {empty} where segment = (select min(segment) from segments)",
        check: CHAIN,
        id: "entry 1",
        what: "the row can not be read: ",
        also: &[],
    },
    Broken {
        sql: "insert into moves (lifecycle, from_state, to_state) select lifecycle, state, 0 from items where id = {done}",
        check: "the legal moves are those of the lifecycles",
        id: "job (",
        what: "SUCCEEDED → PENDING is not legal",
        also: &[],
    },
    Broken {
        sql: "delete from moves where lifecycle = (select lifecycle from items where id = {done}) and from_state = 0",
        check: "the legal moves are those of the lifecycles",
        id: "job (",
        what: "PENDING → ",
        also: &[],
    },
    Broken {
        sql: "update states set phase = 'ready' where lifecycle = (select lifecycle from items where id = {done}) and name = 'FAILED'",
        check: "the legal moves are those of the lifecycles",
        id: "job (",
        what: "its state FAILED was changed",
        also: &[WHERE],
    },
    Broken {
        sql: "update lifecycles set source = '# job' where lifecycle = (select lifecycle from items where id = {done})",
        check: "the legal moves are those of the lifecycles",
        id: "job (",
        what: "is not the lifecycle that was kept",
        also: &[],
    },
    Broken {
        sql: "insert into tenure_inbox (kind, created_at) values ('job', '2020-01-01T00:00:00Z')",
        check: "the inbox is read",
        id: "row ",
        what: "waits since ",
        also: &[],
    },
    Broken {
        sql: "insert into tenure_inbox (kind, error) values ('jop', 'there is no kind jop')",
        check: "rows of the inbox that made no item",
        id: "row ",
        what: "there is no kind jop",
        also: &[],
    },
];

const STRANGER: ItemId = ItemId(0xfedc_ba98_7654_3210_fedc_ba98_7654_3210);

async fn is_named<W: Ward>(ward: &W, filled: &Filled, broken: &Broken) {
    let ids = [
        ("{ready}", filled.ready),
        ("{active}", filled.active),
        ("{done}", filled.done),
        ("{running}", filled.running),
        ("{waiting}", filled.waiting),
        ("{named}", filled.named),
        ("{stranger}", STRANGER),
    ];
    let put_in = |text: &str, shown: fn(ItemId) -> String| {
        ids.iter().fold(text.replace("{empty}", W::EMPTY), |text, (word, id)| text.replace(word, &shown(*id)))
    };
    let sql = put_in(broken.sql, W::Database::literal);
    ward.execute(&sql).await;
    let all = examine(ward).await;
    let told = unwell(&all);
    let (id, what) = (put_in(broken.id, |id| id.to_string()), put_in(broken.what, |id| id.to_string()));
    let Some(named) = told.iter().find(|one| one.check.name == broken.check) else {
        panic!("{sql}: not found, but {told:#?}");
    };
    assert!(!matches!(named.verdict, Verdict::CouldNot(_)), "{sql}: {named:#?}");
    let is_named = named.found.iter().any(|found| found.id.starts_with(&id) && found.what.starts_with(&what));
    assert!(is_named, "{sql}: {named:#?}");
    for name in [&[WALL], broken.also].concat() {
        assert!(told.iter().any(|one| one.check.name == name), "{sql}: {name} sees it too: {told:#?}");
    }
    let expected =
        |name: &str| name == broken.check || name == WALL || name == ENTRIES || broken.also.contains(&name);
    let others: Vec<_> = told.iter().filter(|one| !expected(one.check.name)).collect();
    assert!(others.is_empty(), "{sql}: it breaks nothing else: {others:#?}");
}

fn each_is_named<W: Ward>(list: &[Broken]) {
    with(async |ward: &W| {
        let filled = filled(ward.database()).await;
        ward.unwall().await;
        ward.save().await;
        for broken in list {
            is_named(ward, &filled, broken).await;
            ward.mend().await;
        }
    });
}

// covers: K-01, K-02, K-08, K-10, K-11, K-12, K-20…K-22, K-24, K-40, K-50, K-51
#[test]
fn a_broken_row_of_a_file_is_named() {
    each_is_named::<File>(ROWS);
}

// covers: K-01, K-02, K-08, K-10, K-11, K-12, K-20…K-22, K-24, K-40, K-50, K-51
#[test]
fn a_broken_row_of_a_server_is_named() {
    each_is_named::<Server>(ROWS);
}

// covers: K-30…K-32, K-50
#[test]
fn a_broken_key_or_name_of_a_file_is_named() {
    each_is_named::<File>(KEYS);
}

// covers: K-30…K-32, K-50
#[test]
fn a_broken_key_or_name_of_a_server_is_named() {
    each_is_named::<Server>(KEYS);
}

// covers: K-01, K-40, K-43, K-50, K-51
#[test]
fn a_broken_log_inbox_or_lifecycle_of_a_file_is_named() {
    each_is_named::<File>(LOG);
}

// covers: K-01, K-40, K-43, K-50, K-51
#[test]
fn a_broken_log_inbox_or_lifecycle_of_a_server_is_named() {
    each_is_named::<Server>(LOG);
}

/// The latest entry is of the year 2100, as a clock that was ahead leaves it, and a lease was granted by that clock.
fn a_clock_that_is_behind_is_named<W: Ward>() {
    with(async |ward: &W| {
        let filled = filled(ward.database()).await;
        let check = "the clock is not behind the log";
        assert!(unwell(&examine(ward).await).iter().all(|one| one.check.name != check));
        ward.unwall().await;
        let ahead = 4_102_444_800_000_000_i64;
        ward.execute(&format!("update meta set value = '{ahead}' where name = 'latest'")).await;
        let active = W::Database::literal(filled.active);
        let lease = format!("heartbeat = {ahead}, expires = {}", ahead + 60_000_000);
        ward.execute(&format!("update items set {lease} where id = {active}")).await;
        let all = examine(ward).await;
        let named = |check: &str| {
            let told = unwell(&all);
            let one = told.iter().find(|one| one.check.name == check).expect("it is named");
            one.found
                .iter()
                .map(|found| format!("{} {}", found.id, found.what))
                .collect::<Vec<_>>()
                .join("; ")
        };
        let clock = named(check);
        assert!(
            clock.contains(" s behind the latest entry, which is of 2100-01-01T00:00:00.000000Z"),
            "{clock}"
        );
        let lease = named("what time has ended is swept");
        assert!(
            lease.contains(&filled.active.to_string()) && lease.contains("a clock that was ahead"),
            "{lease}"
        );
    });
}

// covers: K-17
// fault: T9
#[test]
fn t9_a_clock_that_is_behind_the_log_is_named() {
    a_clock_that_is_behind_is_named::<File>();
    a_clock_that_is_behind_is_named::<Server>();
}
