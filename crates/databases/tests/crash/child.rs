//! What a child process can be told to be.

use std::path::Path;

use tenure_core::lifecycle::shipped;
use tenure_databases::postgres::{self, Postgres};
use tenure_databases::sqlite::{self, Sqlite};
use tenure_databases::url::Url;

use crate::program::{Program, TOLD};
use crate::voice::Voice;
use crate::writer::{self, fast_clock};
use crate::{hot, inbox, migrations, script};

pub fn sqlite_options() -> sqlite::Options {
    let clock = Some(std::sync::Arc::new(fast_clock) as _);
    sqlite::Options { tables: shipped::tables(), clock, ..sqlite::Options::default() }
}

pub fn postgres_options() -> postgres::Options {
    postgres::Options { tables: shipped::tables(), clock: Some(std::sync::Arc::new(fast_clock)) }
}

/// Runs something on whichever database an address names.
macro_rules! on_database {
    ($url:expr, $voice:ident, $database:ident => $run:expr) => {
        match $url.parse::<Url>().expect("an address") {
            Url::Memory => panic!("nothing survives in memory"),
            Url::Sqlite(path) => {
                let $database = open(&path, &$voice).await;
                $run
            }
            Url::Postgres(url) => {
                let $database = Postgres::connect(url.reveal(), postgres_options()).await.expect("it opens");
                $run
            }
        }
    };
}

/// Opens a file; while that fails, says so and waits.
async fn open(path: &Path, voice: &Voice) -> Sqlite {
    loop {
        match Sqlite::open(path, sqlite_options()) {
            Ok(database) => return database,
            Err(error) => {
                voice.say(&format!("error unavailable {error}"));
                voice.go_on().await;
            }
        }
    }
}

/// Not told to be anything, it is a test of its own: a child says what it does, and ends with its input.
#[test]
fn a_child_does_what_it_is_told() {
    match std::env::var(TOLD) {
        Ok(told) => {
            let runtime =
                tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
            runtime.block_on(be(&told));
        }
        Err(_) => {
            let folder = tempfile::tempdir().unwrap();
            let url = format!("sqlite:{}", folder.path().join("tenure.db").display());
            let mut child = Program::start(&format!("writer {url} 1 1"));
            assert!(child.until("created 1-0-1 ").last().is_some_and(|line| line.starts_with("created")));
            child.close();
            assert!(child.ended_well(), "without input it ends");
        }
    }
}

async fn be(told: &str) {
    let words: Vec<&str> = told.split(' ').collect();
    let voice = Voice::new();
    match words[..] {
        ["writer", url, seed, workers] => {
            let (seed, workers) = (seed.parse().expect("a seed"), workers.parse().expect("a number"));
            on_database!(url, voice, database => {
                voice.say("open");
                writer::work(&database, &voice, seed, workers).await;
            });
        }
        ["relaxed", url, seed, _] => {
            let Ok(Url::Sqlite(path)) = url.parse() else { panic!("{url} is no file") };
            let options = sqlite::Options { relaxed: true, ..sqlite_options() };
            let database = Sqlite::open(&path, options).expect("it opens");
            writer::work(&database, &voice, seed.parse().expect("a seed"), 1).await;
        }
        ["script", url] => {
            on_database!(url, voice, database => script::play(&database, &voice, url).await);
            voice.say("end");
        }
        ["claimer", url, name] => {
            on_database!(url, voice, database => hot::claim(&database, &voice, name).await)
        }
        ["inbox", url] => on_database!(url, voice, database => inbox::take(&database, &voice).await),
        ["migrate", path] => {
            migrations::bring_up(Path::new(path));
            voice.say("end");
        }
        ["connect", url] => {
            Postgres::connect(url, postgres_options()).await.expect("it opens");
            voice.say("end");
        }
        _ => panic!("a child was told to be `{told}`"),
    }
}
