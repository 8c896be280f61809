//! The inbox of a file: any type and any length can stand in any column of it.

use rusqlite::Connection;
use tenure_databases::sqlite::Sqlite;
use tenure_databases::{BatchId, Commit, Database, Tx, batch};

use crate::{Place, START, block_on, draw};

/// One turn of the inbox: how many rows became items, and how many stay with their reason.
fn take_in(database: &Sqlite, limit: usize) -> (usize, usize) {
    let turn = block_on(batch::inbox::take_in(database, limit, &mut draw())).unwrap();
    (turn.taken, turn.refused)
}

fn kept(stranger: &Connection) -> Vec<(i64, String)> {
    let sql = "select id, coalesce(error, 'waits') from tenure_inbox order by id";
    let mut statement = stranger.prepare(sql).unwrap();
    let kept = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    kept.map(Result::unwrap).collect()
}

// covers: K-51
#[test]
fn a_row_of_the_inbox_is_taken_or_kept_with_its_reason() {
    let place = Place::new();
    let database = place.open();
    let stranger = place.stranger();
    stranger
        .execute_batch(
            r#"insert into tenure_inbox (kind, payload) values ('job', '{}');
            insert into tenure_inbox (kind, payload, priority, run_at) values ('job', '{}', 3, 1794774300000000);
            insert into tenure_inbox (kind, payload, run_at) values ('job', '{}', '2026-11-15T20:25:00Z');
            insert into tenure_inbox (kind, payload, run_at) values ('job', '{}', datetime(1794774300, 'unixepoch'));
            insert into tenure_inbox (kind, payload, run_at) values ('job', '{}', 'tomorrow');
            insert into tenure_inbox (kind, payload, priority) values ('job', '{}', 'high');
            insert into tenure_inbox (kind, payload) values ('job', x'ff');
            insert into tenure_inbox default values;
            insert into tenure_inbox (kind, payload) values ('job', zeroblob(1048577));
            insert into tenure_inbox (kind, payload) values (hex(zeroblob(1000000)), '{}');"#,
        )
        .unwrap();
    block_on(async {
        let mut tx = database.begin(BatchId(1)).await.unwrap();
        let rows = tx.inbox(100).await.unwrap();
        let can_be_read = rows.iter().filter(|row| row.wrong.is_none()).map(|row| row.id);
        assert_eq!(can_be_read.collect::<Vec<_>>(), [1, 2, 3, 4, 8, 10]);
        assert_eq!((rows[1].priority, rows[1].run_at), (Some(3), Some(START)));
        assert_eq!((rows[2].run_at, rows[3].run_at), (Some(START), Some(START)));
        assert_eq!(
            (&rows[7].kind, &rows[8].payload),
            (&None, &None),
            "a payload that is too long is not read"
        );
        assert!(rows[9].kind.as_ref().unwrap().len() < 10_000, "nor is a kind to its end");
        tx.judged(&[(1, None)]).await.unwrap();
        assert_eq!(tx.inbox(1).await.unwrap()[0].id, 2);
        assert_eq!(tx.commit().await, Commit::Done);
    });
    assert_eq!(take_in(&database, 20), (3, 6));
    let told = ["run_at", "priority", "payload", "kind is missing", "1048577 bytes", "not a kind"];
    let kept = kept(&stranger);
    assert_eq!(kept.iter().map(|row| row.0).collect::<Vec<_>>(), [5, 6, 7, 8, 9, 10]);
    for ((id, why), told) in kept.iter().zip(told) {
        assert!(why.contains(told), "row {id}: {why}");
    }
}

/// The first rows of all can not be read, as many as a turn takes: they stay with their reasons, and who comes after them has a turn.
// covers: K-51
#[test]
fn rows_that_can_not_be_read_hold_up_no_other() {
    let place = Place::new();
    let database = place.open();
    let stranger = place.stranger();
    let rows = "insert into tenure_inbox (kind, payload, priority) values ('job', '{}', 'high'), ('job', '{}', 'low'), \
                ('job', '{}', 1)";
    stranger.execute_batch(rows).unwrap();
    assert_eq!(
        [take_in(&database, 2), take_in(&database, 2), take_in(&database, 2)],
        [(0, 2), (1, 0), (0, 0)]
    );
    let kept = kept(&stranger);
    assert!(kept.len() == 2 && kept.iter().all(|(_, why)| why.contains("priority")), "{kept:?}");
}

/// Five hundred rows of the longest payloads are half a gigabyte, which no turn takes into memory.
#[test]
fn a_turn_of_the_inbox_takes_so_many_bytes_and_no_more() {
    let place = Place::new();
    let database = place.open();
    let long = "insert into tenure_inbox (kind, payload) select 'job', '\"' || hex(zeroblob(524287)) || '\"' \
                from json_each('[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18]')";
    place.stranger().execute_batch(long).unwrap();
    assert_eq!([16, 2, 0].map(|_| take_in(&database, 512)), [(16, 0), (2, 0), (0, 0)]);
}

// covers: K-51
// fault: I7
#[test]
fn a_run_at_in_another_unit_stays_in_the_inbox_and_every_time_of_the_year_9999_is_taken() {
    let place = Place::new();
    let database = place.open();
    let stranger = place.stranger();
    // Seconds, milliseconds, in a number, a fraction and a text; the largest number that is refused; and what no time is.
    let refused = [
        ("1794774300", "microseconds since 1970 and at least 100000000000000"),
        ("1794774300000", "run_at is 1794774300000;"),
        ("99999999999999", "microseconds"),
        ("0", "run_at is 0;"),
        ("-1794774300000000", "run_at is -1794774300000000;"),
        ("1794774300.5", "run_at is 1794774300.5;"),
        ("'1794774300'", "run_at is \"1794774300\";"),
        ("'infinity'", "run_at is \"infinity\";"),
        ("'10000-01-01T00:00:00Z'", "10000-01-01"),
        ("253402300800000000", "the latest 9999-12-31T23:59:59.999999Z"),
        ("9223372036854775807", "the latest 9999-12-31T23:59:59.999999Z"),
    ];
    let taken = [
        ("100000000000000", "1973-03-03T09:46:40.000000Z"),
        ("'1969-12-31T23:59:59Z'", "1969-12-31T23:59:59.000000Z"),
        ("'9999-12-31T23:59:59Z'", "9999-12-31T23:59:59.000000Z"),
        ("'9999-12-31 23:59:59'", "9999-12-31T23:59:59.000000Z"),
        ("253402300799999999", "9999-12-31T23:59:59.999999Z"),
    ];
    for (run_at, _) in refused.iter().chain(&taken) {
        let sql =
            format!("insert into tenure_inbox (kind, payload, run_at) values ('job', '{{}}', {run_at})");
        stranger.execute_batch(&sql).unwrap();
    }
    assert_eq!(take_in(&database, 100), (taken.len(), refused.len()));
    for ((id, why), (run_at, told)) in kept(&stranger).iter().zip(refused) {
        assert!(why.contains(told), "row {id}, {run_at}: {why}");
    }
    let query = tenure_databases::Query { limit: 100, ..Default::default() };
    let items = block_on(database.list(&query)).unwrap();
    let times: Vec<String> = items.iter().map(|item| item.run_at.to_string()).collect();
    assert_eq!(times, taken.map(|(_, time)| time.to_string()));
}

// fault: A16
#[test]
fn a_row_of_a_kind_with_a_create_of_its_own_is_set_aside() {
    let place = Place::new();
    let database = place.open();
    let stranger = place.stranger();
    for kind in ["document", "webhook", "schedule", "tick", "token"] {
        let sql = "insert into tenure_inbox (kind, payload) values (?1, '{}')";
        stranger.execute(sql, [kind]).unwrap();
    }
    assert_eq!(take_in(&database, 20), (0, 5));
    for (_, reason) in kept(&stranger) {
        assert!(reason.starts_with("FORBIDDEN") && reason.contains("its own call alone"), "{reason}");
    }
}
