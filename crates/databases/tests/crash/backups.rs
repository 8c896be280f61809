//! D8: a backup that is made while a writer works.

use std::process::Command;

use tenure_core::entry::Sealed;
use tenure_databases::Database;
use tenure_databases::postgres::{self, Postgres};
use tenure_databases::sqlite::Sqlite;

use crate::child::{postgres_options, sqlite_options};
use crate::kills::file_is_sound;
use crate::oracle::{Acks, check};
use crate::program::Program;
use crate::{on_two_threads, rounds, schema};

async fn log<D: Database>(database: &D) -> Vec<Sealed> {
    let mut log: Vec<Sealed> = Vec::new();
    loop {
        let page = database.log(log.len() as u64, 1_000).await.unwrap();
        if page.is_empty() {
            return log;
        }
        log.extend(page.into_iter().map(|(_, entry)| entry));
    }
}

// covers: K-03, K-08
#[test]
fn d8_a_backup_under_load_is_sound_and_the_beginning_of_the_original() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tenure.db");
    let seed = rounds::seed();
    on_two_threads(async {
        let mut child = Program::start(&format!("writer sqlite:{} {seed} 1", path.display()));
        let mut acks = Acks::of(child.until("committed "));
        let original = Sqlite::open(&path, sqlite_options()).unwrap();
        for round in 0..rounds::backups() {
            // What was answered before a backup began is in it.
            let answered = acks.clone();
            let place = folder.path().join(format!("backup-{round}.db"));
            original.backup(&place).await.expect("it can be copied");
            acks.hear_all(&child.until("committed "));
            file_is_sound(&place);
            let copy = Sqlite::open(&place, sqlite_options()).expect("the copy opens");
            check(&copy, &answered).await;
            let (copied, whole) = (log(&copy).await, log(&original).await);
            assert!(!copied.is_empty() && whole.starts_with(&copied), "the copy's log begins the original's");
            let taken = original.backup(&place).await.unwrap_err().to_string();
            assert!(taken.contains("exists already"), "{taken}");
        }
        acks.hear_all(&child.kill());
        assert_eq!(acks.errors, [""; 0], "nobody was disturbed");
        check(&original, &acks).await;
    });
}

/// A dump is restored into a database of its own, by PostgreSQL's own programs.
// covers: K-03, K-08
#[test]
fn d8_a_dump_under_load_is_sound_and_the_beginning_of_the_original() {
    let folder = tempfile::tempdir().unwrap();
    let (schema, elsewhere) = (schema::fresh(), schema::fresh());
    let (url, seed) = (schema::url(&schema), rounds::seed());
    let there = format!("{}/{elsewhere}", schema::server().rsplit_once('/').expect("a URL").0);
    on_two_threads(async {
        let mut child = Program::start(&format!("writer {url} {seed} 2"));
        let mut acks = Acks::of(child.until("committed "));
        let original = Postgres::connect(&url, postgres_options()).await.unwrap();
        for round in 0..rounds::dumps() {
            let answered = acks.clone();
            while original.sequence(10_000).await.unwrap() > 0 {}
            let place = folder.path().join(format!("backup-{round}.dump"));
            postgres::backup(&url, &place).expect("it can be dumped");
            acks.hear_all(&child.until("committed "));
            schema::raw().await.batch_execute(&format!("create database {elsewhere}")).await.unwrap();
            let restored =
                Command::new("pg_restore").args(["--no-owner", "--dbname", &there]).arg(&place).status();
            assert!(restored.expect("pg_restore runs").success(), "{}", place.display());
            let copy =
                Postgres::connect(&format!("{there}?schema={schema}"), postgres_options()).await.unwrap();
            // What has no place yet gets one there by itself: only what had one is the same.
            let (copied, whole) = (log(&copy).await, log(&original).await);
            assert!(!copied.is_empty() && whole.starts_with(&copied), "the copy's log begins the original's");
            check(&copy, &answered).await;
            drop(copy);
            schema::raw()
                .await
                .batch_execute(&format!("drop database {elsewhere} with (force)"))
                .await
                .unwrap();
            let taken = postgres::backup(&url, &place).unwrap_err().to_string();
            assert!(taken.contains("exists already"), "{taken}");
        }
        acks.hear_all(&child.kill());
        assert_eq!(acks.errors, [""; 0], "nobody was disturbed");
        check(&original, &acks).await;
        drop(original);
        schema::drop(&schema).await;
    });
}
