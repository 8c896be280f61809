//! A lifecycle that another process has put in force is in force here with the next request, however that is written.

use std::sync::atomic::{AtomicU64, Ordering};

use tenure_core::answer::Answer;
use tenure_core::hash::Hash;
use tenure_core::lifecycle::parse::parse;
use tenure_core::lifecycle::shipped;
use tenure_databases::Database;
use tenure_databases::batch::inbox::{Turn, take_in};
use tenure_databases::postgres::Postgres;

use crate::kit::*;
use crate::schema;

/// Another version of `job`, each time. Answers its hash.
async fn another(elsewhere: &Postgres) -> Hash {
    static BYTES: AtomicU64 = AtomicU64::new(6);
    let job = shipped::tables().current(&"job".parse().unwrap()).cloned().unwrap();
    let attempts = format!("| attempts | {} ", BYTES.fetch_add(1, Ordering::SeqCst));
    let source = job.source.replace("| attempts | 5 ", &attempts);
    elsewhere.add_table(&source).await.unwrap();
    parse(&source).unwrap().hash()
}

/// A small create leaves a moment behind that the next one goes by; what that may have missed is looked at when it is written.
// covers: K-01
#[test]
fn no_item_is_made_by_a_lifecycle_that_was_withdrawn_elsewhere() {
    with(async |kit| {
        let elsewhere = open(&schema::url(&kit.schema)).await;
        let long = format!("\"{}\"", "x".repeat(5_000));
        for creates in [
            vec![create(new("job", "{}"))],
            vec![create(new("job", &long))],
            (0..40).map(|_| create(new("job", "{}"))).collect(),
            (0..40).map(|_| create(new("job", &long))).collect(),
        ] {
            created(&kit.database, new("job", "{}")).await;
            let in_force = another(&elsewhere).await;
            for reply in tried(&kit.database, &creates).await {
                let Answer::Created(item) = reply.expect("it was tried again").answer else {
                    panic!("created")
                };
                assert_eq!(item.table.hash(), in_force, "{} creates", creates.len());
            }
        }
    });
}

/// A row of the inbox that is refused is refused for good.
// covers: K-01, K-51
#[test]
fn the_inbox_knows_a_lifecycle_as_soon_as_it_is_in_force_elsewhere() {
    with(async |kit| {
        let elsewhere = open(&schema::url(&kit.schema)).await;
        let job = shipped::tables().current(&"job".parse().unwrap()).cloned().unwrap();
        let chore = job.source.replacen("# job", "# chore", 1);
        created(&kit.database, new("job", "{}")).await;
        elsewhere.add_table(&chore).await.unwrap();
        let row = "insert into tenure_inbox (kind, payload) values ('chore', '{}')";
        kit.raw.batch_execute(row).await.unwrap();
        let turn = take_in(&*kit.database, 10, &mut draw()).await.unwrap();
        assert_eq!(turn, Turn { taken: 1, refused: 0 });
        created(&kit.database, new("job", "{}")).await;
        let in_force = another(&elsewhere).await;
        kit.raw.batch_execute(&row.replace("chore", "job")).await.unwrap();
        let turn = take_in(&*kit.database, 10, &mut draw()).await.unwrap();
        assert_eq!(turn, Turn { taken: 1, refused: 0 });
        let newest = "select l.hash from items i join lifecycles l using (lifecycle) \
                      order by i.created desc, i.id desc limit 1";
        let hash: Vec<u8> = kit.raw.query_one(newest, &[]).await.unwrap().get(0);
        assert_eq!(hash, in_force.0);
    });
}
