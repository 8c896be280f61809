//! What a child process can be told to be, by the system that it belongs to.

use crate::claims::crash;
use crate::followers;
use crate::program::{Program, TOLD};
use crate::runs::{erasing, power};
use crate::voice::Voice;

/// Not told to be anything, it is a test of its own: a child ends with its input.
#[test]
fn a_child_does_what_it_is_told() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    match std::env::var(TOLD) {
        Ok(told) => runtime.block_on(be(&told)),
        Err(_) => {
            let mut child = Program::start("idle");
            assert_eq!(child.line().as_deref(), Some("idle"));
            child.close();
            assert!(child.ended_well(), "without input it ends");
        }
    }
}

async fn be(told: &str) {
    let voice = Voice::new();
    let words: Vec<&str> = told.split(' ').collect();
    match words[..] {
        ["idle"] => {
            voice.say("idle");
            std::future::pending().await
        }
        ["store", url] => power::store(url, voice).await,
        ["claim", url, claim] => crash::decompose(url, claim.parse().expect("an id"), voice).await,
        ["erase", url, folder, document] => {
            erasing::erase(url, folder, document.parse().expect("an id"), voice).await
        }
        ["follow", name, url] => followers::follow(name, url, voice).await,
        _ => panic!("a child was told to be `{told}`"),
    }
}
