//! Rows that can not be read: why, as far as anybody knows.

use tenure::core::id::ItemId;
use tenure::core::lifecycle::shipped;
use tenure::databases::look::Look;
use tenure::databases::postgres::{self, Postgres};
use tenure::databases::sqlite::{self, Sqlite};
use tenure::databases::{Database, batch};
use tenure::{Explanation, Facts, Reason, explain};

use crate::requests::*;
use crate::schema;

async fn ask<D: Database>(database: &D, request: tenure::core::request::Request) -> batch::Reply {
    let seed = u64::from(tenure::databases::outside::chance() as u32);
    let mut draw = tenure::core::draw::Draw::new(seed);
    batch::run(database, &[request], &mut draw).await.remove(0).unwrap()
}

async fn job<D: Database>(database: &D) -> ItemId {
    match ask(database, create(new("job", "{}"))).await.answer {
        tenure::core::answer::Answer::Created(item) => item.id,
        other => panic!("{other:?}"),
    }
}

/// Somebody looks for work, and finds that it can not be read.
async fn look<D: Database + Look>(database: &D, id: ItemId) -> Explanation {
    ask(database, request("worker:a/1", acquire(&["job"], 2))).await;
    let other = "other".parse().unwrap();
    assert!(!matches!(Facts::read(database, &other, id).await, Ok(Some(_))), "it is of another store");
    explain(&Facts::read(database, &store(), id).await.unwrap().expect("it is known"))
}

fn is_told(told: &Explanation) {
    assert_eq!(told.because.len(), 1, "{told:#?}");
    assert_eq!(told.because[0].reason, Reason::SetAside);
    let start = format!("job {} is PENDING: its row can not be read and was set aside at ", told.id);
    assert!(told.summary.starts_with(&start), "{}", told.summary);
    assert_eq!((told.phase, told.next.as_ref(), told.moves.len()), (None, None, 0));
    assert_eq!(told.state.as_deref(), Some("PENDING"));
}

#[test]
fn a_row_that_was_set_aside_says_why_on_sqlite() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let folder = tempfile::tempdir().unwrap();
        let options = sqlite::Options { tables: shipped::tables(), ..sqlite::Options::default() };
        let database = Sqlite::open(&folder.path().join("tenure.db"), options).unwrap();
        let (id, _) = (job(&database).await, job(&database).await);
        let stranger = rusqlite::Connection::open(database.path()).unwrap();
        stranger.execute("update items set rest = x'ff' where id = ?1", [id.0.to_be_bytes()]).unwrap();
        is_told(&look(&database, id).await);
    });
}

#[test]
fn a_row_that_was_set_aside_says_why_on_postgres() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let schema = schema::fresh();
        let options = postgres::Options { tables: shipped::tables(), ..postgres::Options::default() };
        let database = Postgres::connect(&schema::url(&schema), options).await.unwrap();
        let (id, _) = (job(&database).await, job(&database).await);
        let stranger = schema::raw().await;
        let damage = format!("update {schema}.items set rest = '\\xff' where id = '{:032x}'", id.0);
        stranger.batch_execute(&damage).await.unwrap();
        is_told(&look(&database, id).await);
        drop(database);
        schema::drop(&schema).await;
    });
}
