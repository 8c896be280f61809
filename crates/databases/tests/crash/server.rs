//! D2: the PostgreSQL server itself is killed, all its processes at once, while writers work.

use std::io::Write;

use tenure_core::draw::Draw;
use tenure_databases::postgres;
use tenure_databases::postgres::Postgres;

use crate::child::postgres_options;
use crate::kills::at_the_end;
use crate::oracle::{Acks, Ahead, check};
use crate::private::Server;
use crate::program::Program;
use crate::{on_two_threads, rounds};

impl Server {
    /// Has something done, and waits until it is.
    fn tell(&mut self, what: &str) {
        let input = self.input.as_mut().expect("it listens until it is dropped");
        writeln!(input, "{what}").and_then(|()| input.flush()).expect("the script lives");
        assert_eq!(self.line(), what);
    }
}

/// Lines before the server is killed, and after it is back.
const LINES_MAX: u64 = 200;

// covers: K-02, K-03, K-04, K-30, K-50, K-53
#[test]
fn d2_a_killed_server_loses_nothing_and_its_clients_go_on() {
    let mut server = Server::start("--serve");
    let seed = rounds::seed();
    let mut dice = Draw::new(seed);
    let mut all = Acks::default();
    on_two_threads(async {
        for round in 0..rounds::server_kills() {
            let mut child = Program::start(&format!("writer {} {} 3", server.url, seed + round as u64));
            let mut acks = Acks::default();
            for _ in 0..1 + dice.number() % LINES_MAX {
                acks.hear(&child.line().expect("it works"));
            }
            server.tell("kill");
            acks.hear_all(&child.until("error "));
            server.tell("start");
            child.go_on();
            // The same process goes on with the server that is back.
            for _ in 0..LINES_MAX {
                let line = child.line().expect("it goes on");
                acks.hear(&line);
                if line.starts_with("error ") {
                    child.go_on();
                }
            }
            acks.hear_all(&child.kill());
            let retryable = |error: &String| {
                error.starts_with("error unavailable ") || error.starts_with("error unknown ")
            };
            assert!(acks.errors.iter().all(retryable), "{:?}", acks.errors);
            check(&Postgres::connect(&server.url, postgres_options()).await.expect("it opens"), &acks).await;
            all.merge(acks);
        }
        let ahead = Ahead::default();
        let options = postgres::Options { clock: Some(ahead.clock()), ..postgres_options() };
        at_the_end(&Postgres::connect(&server.url, options).await.unwrap(), &ahead, &all).await;
    });
}
