//! Who only looks disturbs nobody: nothing is written, brought up to date or waited for.

use tenure_core::answer::Answer;
use tenure_core::request::Command;
use tenure_databases::doctor::Patient;
use tenure_databases::postgres::{self, Postgres};
use tenure_databases::sqlite::{self, Sqlite, migrate};

use crate::requests::*;
use crate::schema;
use crate::ward::*;

async fn writes_nothing<W: Ward>(ward: &W) {
    filled(ward.database()).await;
    let patient = ward.look();
    let mut draw = tenure_core::draw::Draw::new(7);
    let replies = tenure_databases::batch::run(patient, &[create(new("job", "{}"))], &mut draw).await;
    assert!(replies[0].is_err(), "it can not write");
    assert!(patient.ask("delete from @.names").await.is_err(), "not even when it is asked to");
    assert!(matches!(
        ask(ward.database(), "api:test", Command::Create(new("job", "{}"))).await,
        Answer::Created(_)
    ));
}

#[test]
fn who_looks_at_a_file_can_not_write() {
    with(writes_nothing::<File>);
}

#[test]
fn who_looks_at_a_server_can_not_write() {
    with(writes_nothing::<Server>);
}

#[test]
fn an_older_schema_is_left_as_it_is() {
    with(async |ward: &Server| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tenure.db");
        let mut old = rusqlite::Connection::open(&path).unwrap();
        migrate::run(&mut old, &path, &migrate::MIGRATIONS[..1]).unwrap();
        let refused = Sqlite::look(&path).map(drop).unwrap_err();
        assert!(matches!(refused, sqlite::OpenError::Older { found: 1, .. }), "{refused}");
        assert!(refused.to_string().ends_with("run `tenure migrate` first"), "{refused}");
        let nowhere = schema::url(&format!("{}_none", ward.schema));
        let refused = Postgres::look(&nowhere).await.map(drop).unwrap_err();
        assert!(matches!(refused, postgres::OpenError::Older(_)), "{refused}");
    });
}
