//! A worker that takes every step of an execution by itself and waits before each, so that it can be killed between them.
//!
//! ```text
//! leased ITEM FENCE ─▶ started ─▶ prepared ─▶ committed ─▶ finished         (a no is said as `no CODE`)
//! ```

use std::sync::Arc;
use std::time::Duration;

use tenure::core::answer::Answer;
use tenure::core::id::ItemId;
use tenure::core::lifecycle::shipped;
use tenure::core::request::{Command, Commit, Effects, NewRecord, Take, Terms};
use tenure::databases::gather::{Gather, Options, Writers};
use tenure::databases::outside::chance;
use tenure::databases::postgres::{self, Postgres};
use tenure::databases::sqlite::{self, Sqlite};
use tenure::databases::url::Url;

use crate::requests::{body, finish, leases, progress, request, start};
use crate::voice::Voice;

pub async fn gather(url: &str) -> Gather {
    match url.parse::<Url>().expect("an address") {
        Url::Memory => panic!("processes share no memory"),
        Url::Sqlite(path) => {
            let options = sqlite::Options { tables: shipped::tables(), ..sqlite::Options::default() };
            let database = Arc::new(Sqlite::open(&path, options).expect("it opens"));
            Gather::start(database, Options::new(Writers::Thread, chance()))
        }
        Url::Postgres(url) => {
            let options = postgres::Options { tables: shipped::tables(), ..postgres::Options::default() };
            let database = Arc::new(Postgres::connect(url.reveal(), options).await.expect("it opens"));
            Gather::start(database, Options::new(Writers::TASKS, chance()))
        }
    }
}

/// Long enough for the steps on a busy machine.
const LEASE: Duration = Duration::from_secs(3);

pub async fn work(url: &str, name: &str, item: ItemId, voice: &Voice) {
    let gather = gather(url).await;
    let actor = format!("worker:{name}/{}", std::process::id());
    let ask = async |command: Command| {
        gather.ask(request(&actor, command)).await.expect("the database works").answer
    };
    let terms = Terms { lease: Some(LEASE), ..Terms::default() };
    let granted = leases(ask(Command::Take(Take { item, terms })).await).remove(0);
    let execution = granted.execution;
    voice.say(&format!("leased {} {}", execution.item, execution.fence));
    let record = |label: &str| NewRecord {
        label: label.parse().unwrap(),
        name: execution.fence.to_string().parse().unwrap(),
        body: body("1"),
    };
    let effects = Effects { records: vec![record("effect")], ..Effects::default() };
    let (output, attests) = (Some(body("\"by steps\"")), Vec::new());
    let commit = Commit { execution, output, effects, finish: false, session: None, attests };
    let steps = [
        ("started", start(execution)),
        ("prepared", progress(execution, record("prepared"))),
        ("committed", Command::Commit(commit)),
        ("finished", finish(execution)),
    ];
    for (step, command) in steps {
        voice.go_on().await;
        match ask(command).await {
            Answer::Ran(_) | Answer::Done(_) => voice.say(step),
            no => voice.say(&format!("no {}", no.code().expect("a no has a code"))),
        }
    }
}
