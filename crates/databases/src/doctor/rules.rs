//! Invariants of rows: each is one statement that selects its offenders, an id and what is the matter.
//!
//! A statement is about a slice: `{slice} x`. The slice is bounded and goes over an index, so that no table is too large.

use super::{Check, Examined, FOUND_MAX, Found, Patient, ROWS_MAX, Terms, thousands};
use crate::Error;

pub(super) struct Rule {
    check: Check,
    slice: &'static Slice,
    sql: &'static str,
}

/// Rows, at most `ROWS_MAX`, and which they are where that is not all.
struct Slice {
    sql: &'static str,
    which: &'static str,
}

macro_rules! items {
    ($which:literal) => {
        concat!(
            "(select i.id, i.queue, i.lifecycle, i.state, i.slot, i.fence, i.created, i.key, i.exclusive, i.owner, \
             i.heartbeat, i.expires, i.window_ends, i.committed, i.segment from @.items i ",
            $which,
            " limit {rows})"
        )
    };
}

static ITEMS: Slice = Slice { sql: items!("order by i.id desc"), which: "newest" };
static ACTIVE: Slice =
    Slice { sql: items!("/*items_active*/ where i.slot = 3 order by i.queue, i.id"), which: "first active" };
static BEHIND: Slice = Slice { sql: items!("where {behind}"), which: "first" };
static EXECUTIONS: Slice = Slice {
    sql: "(select e.item, e.seat, e.fence from @.executions e order by e.item desc, e.seat desc limit {rows})",
    which: "newest",
};
static RECORDS: Slice =
    Slice { sql: "(select r.id, r.item from @.records r order by r.id desc limit {rows})", which: "newest" };
static LANES: Slice = Slice {
    sql: "(select l.queue, l.key, l.next_id, l.next_rank from @.lanes l order by l.queue, l.key limit {rows})",
    which: "first",
};
static SEGMENTS: Slice = Slice { sql: "{segments}", which: "newest" };
static QUARANTINE: Slice =
    Slice { sql: "(select q.item, q.why from @.quarantine q order by q.item limit {rows})", which: "first" };
static INBOX: Slice = Slice {
    sql: "(select p.id, p.error, p.kind, {posted} as posted from @.tenure_inbox p order by p.id limit {rows})",
    which: "first",
};
static DELIVERIES: Slice = Slice {
    sql: "(select i.id, q.store from @.queues q join @.items i on i.queue = q.queue and i.slot = 0 and i.rank = -1 \
          where q.kind = 'delivery' limit {rows})",
    which: "first",
};

const RESTORE: &str =
    "somebody wrote around Tenure: stop, keep a copy, and restore a backup that `tenure verify` finds sound";

pub(super) static RULES: &[Rule] = &[
    Rule {
        check: Check::wrong("an item commits once, and its execution is there", "K-21", RESTORE),
        slice: &ITEMS,
        sql: "select x.id, case when x.committed is null then 'has an execution that committed, but has not committed' \
                when x.all_of_it > 1 then 'has ' || x.all_of_it || ' executions that committed' \
                else 'execution ' || x.committed || ' committed, and has no row that says so' end \
            from (select x.id, x.committed, \
                (select count(*) from @.executions e where e.item = x.id and e.status in (3, 4)) as all_of_it, \
                (select count(*) from @.executions e where e.item = x.id and e.status in (3, 4) \
                    and e.fence = x.committed) as its_own from {slice} x) x \
            where x.all_of_it <> case when x.committed is null then 0 else 1 end \
                or (x.committed is not null and x.its_own <> 1)",
    },
    Rule {
        check: Check::wrong("what has committed is offered to nobody", "K-24", RESTORE),
        slice: &ITEMS,
        sql: "select x.id, 'has committed, and stands in a queue' from {slice} x \
            where x.committed is not null and x.slot in (1, 2, 4)",
    },
    Rule {
        check: Check::wrong("no fence is below what it has fenced", "K-12", RESTORE),
        slice: &ITEMS,
        sql: "select x.id, 'its claim version is ' || x.fence || ', and there was a higher one' from {slice} x \
            where x.fence < coalesce(x.committed, 0) \
                or exists (select 1 from @.executions e where e.item = x.id and e.fence > x.fence)",
    },
    Rule {
        check: Check::wrong("every state is one of its lifecycle", "K-01", RESTORE),
        slice: &ITEMS,
        sql: "select x.id, 'its lifecycle has no state number ' || x.state from {slice} x where not exists \
            (select 1 from @.states s where s.lifecycle = x.lifecycle and s.state = x.state)",
    },
    Rule {
        check: Check::wrong("an item is where its state belongs", "K-10, K-50", RESTORE),
        slice: &ITEMS,
        sql: "select x.id, 'is ' || s.phase || ', and not kept as such: it is found by nobody, or by the wrong ones' \
            from {slice} x join @.states s on s.lifecycle = x.lifecycle and s.state = x.state \
            where x.slot <> -1 and not case s.phase when 'active' then x.slot = 3 \
                when 'ready' then x.slot in (1, 2, 4) else x.slot = 0 end",
    },
    Rule {
        check: Check::wrong("what is not active is held by nobody", "K-10", RESTORE),
        slice: &ITEMS,
        sql: "select x.id, 'is not active, and ' || coalesce(x.owner, 'nobody') || ' holds it' from {slice} x \
            where x.slot not in (-1, 3) and (x.owner is not null or x.expires is not null)",
    },
    Rule {
        check: Check::wrong("a lease has an owner and an end", "K-10, K-11", RESTORE),
        slice: &ACTIVE,
        sql: "select x.id, case when x.owner is null then 'is active, and nobody holds it' \
                when x.expires is null then 'is held by ' || x.owner || ' without an end' \
                when x.heartbeat is null then 'is held by ' || x.owner || ' without a heartbeat' \
                else 'is held by ' || x.owner || ' under no claim version' end \
            from {slice} x where x.owner is null or x.expires is null or x.heartbeat is null or x.fence < 1",
    },
    Rule {
        check: Check::wrong("one item of an exclusive key runs", "K-31", RESTORE),
        slice: &ACTIVE,
        sql: "select x.id, 'runs for the key ' || x.key || ', as another one does' from {slice} x \
            join (select y.queue, y.key from {slice} y where y.lifecycle in ({exclusive}) and y.key is not null \
                group by y.queue, y.key having count(*) > 1) twice on twice.queue = x.queue and twice.key = x.key \
            where x.lifecycle in ({exclusive}) \
            union all select x.id, 'runs, and its key is not kept for it' from {slice} x \
            where x.lifecycle in ({exclusive}) and x.key is not null and x.exclusive is distinct from x.key",
    },
    Rule {
        check: Check::wrong(
            "what time has ended is swept",
            "K-50",
            "nothing sweeps: start the server or a worker; if one runs, look at its log",
        ),
        slice: &ACTIVE,
        sql: "select x.id, 'its lease or its window is over since ' || \
                (({now} - case when x.expires < {late} then x.expires else x.window_ends end) / 60000000) || ' min' \
            from {slice} x where x.expires < {late} or (x.committed is null and x.window_ends < {late}) \
            union all select x.id, 'its lease was granted by a clock that was ahead by ' || \
                ((x.heartbeat - {now}) / 60000000) || ' min, and has ended' \
            from {slice} x where 2 * x.heartbeat - x.expires > {now}",
    },
    Rule {
        check: Check::wrong("an execution belongs to an item", "K-20", RESTORE),
        slice: &EXECUTIONS,
        sql: "select x.item, 'execution ' || x.fence || ' is there, and its item is not' from {slice} x \
            where not exists (select 1 from @.items i where i.id = x.item)",
    },
    Rule {
        check: Check::wrong("a record belongs to an item", "K-22", RESTORE),
        slice: &RECORDS,
        sql: "select x.item, 'a record of it is there, and the item is not' from {slice} x \
            where not exists (select 1 from @.items i where i.id = x.item)",
    },
    Rule {
        check: Check::wrong("a running item is in its lane", "K-31", RESTORE),
        slice: &ACTIVE,
        sql: "select x.id, 'runs for the key ' || x.key || ', and the key does not know' from {slice} x \
            where x.lifecycle in ({exclusive}) and x.key is not null and not exists (select 1 from @.lanes l \
                where l.queue = x.queue and l.key = x.key and {in_lane})",
    },
    Rule {
        check: Check::wrong("a lane offers its oldest item", "K-32", RESTORE),
        slice: &LANES,
        sql: "select 'key ' || x.key, 'it offers an item that is not its oldest ready one: the others wait for ever' \
            from {slice} x where x.next_id is distinct from (select i.id from @.items i \
                where i.queue = x.queue and i.key = x.key and {behind} order by i.created, i.id limit 1) \
            or x.next_rank is distinct from (select i.rank from @.items i where i.id = x.next_id)",
    },
    Rule {
        check: Check::wrong("what waits for its key has a lane", "K-50", RESTORE),
        slice: &BEHIND,
        sql: "select x.id, 'waits for the key ' || x.key || ', which has no lane: it is offered to nobody' \
            from {slice} x where not exists (select 1 from @.lanes l where l.queue = x.queue and l.key = x.key)",
    },
    Rule {
        check: Check::wrong("an item's last entry is in the log", "K-02, K-40", RESTORE),
        slice: &ITEMS,
        sql: "select x.id, 'its last entry is in segment ' || x.segment || ', which the log does not have' \
            from {slice} x where not exists (select 1 from @.segments s where s.segment = x.segment)",
    },
    Rule {
        check: Check::wrong("the log has no holes", "K-40, K-43", RESTORE),
        slice: &SEGMENTS,
        sql: "select 'entry ' || x.pos, 'after it and its ' || x.entries || ' entries comes entry ' || x.next \
            from (select y.pos, y.entries, lead(y.pos) over (order by y.pos) as next from {slice} y) x \
            where x.pos + x.entries <> x.next",
    },
    Rule {
        check: Check::wrong(
            "every row can be read",
            "K-51",
            "these items are set aside and offered to nobody: find out who wrote them, then restore them from a backup",
        ),
        slice: &QUARANTINE,
        sql: "select x.item, x.why from {slice} x",
    },
    Rule {
        check: Check::wrong(
            "the inbox is read",
            "K-50",
            "nothing reads it: start the server or a worker; if one runs, look at its log",
        ),
        slice: &INBOX,
        sql: "select 'row ' || x.id, 'waits since ' || (({now} - x.posted) / 60000000) || ' min' from {slice} x \
            where x.error is null and x.posted < {late}",
    },
    Rule {
        check: Check::note(
            "rows of the inbox that made no item",
            "K-51",
            "mend what wrote them, post them anew, and delete these: delete from tenure_inbox where error is not null",
        ),
        slice: &INBOX,
        sql: "select 'row ' || x.id, x.error from {slice} x where x.error is not null",
    },
    Rule {
        check: Check::note(
            "deliveries that failed",
            "K-26",
            "look at the webhook's address, then send them again with `tenure item bulk redrive --kind delivery --reason WORDS`",
        ),
        slice: &DELIVERIES,
        sql: "select x.id, 'was not delivered, store ' || x.store from {slice} x",
    },
];

pub(super) async fn examine<P: Patient>(patient: &P, terms: &Terms, rule: &Rule) -> Examined {
    Examined::of(rule.check, ask(patient, terms, rule).await)
}

async fn ask<P: Patient>(patient: &P, terms: &Terms, rule: &Rule) -> Result<Examined, Error> {
    let fill = |sql: &str| terms.fill(&sql.replace("{slice}", rule.slice.sql));
    let counted = patient.ask(&fill("select count(*) from {slice} x")).await?;
    let looked_at = counted.first().map_or(0, |row| row[0].number());
    let rows = patient.ask(&fill(&format!("{} limit {}", rule.sql, FOUND_MAX + 1))).await?;
    let found = rows.iter().map(|row| Found::new(row[0].shown(), row[1].text())).collect();
    let is_cut = looked_at >= ROWS_MAX as i64;
    let only = is_cut.then(|| format!("the {} {}", rule.slice.which, thousands(ROWS_MAX)));
    Ok(Examined::new(rule.check, looked_at.unsigned_abs(), found).only(only))
}
