//! Followers of the log, killed between any two of their writes and started again.
//!
//! ```text
//! log ─▶ read ─▶ act (writes) ─▶ mark (a write)        killed at the k-th sync of the file, for every k
//! ```
//!
//! A follower that is started again must come to where it would have been: nothing is skipped, nothing is done twice. A new follower
//! is a row of [`Follower`]: what its log has, what it does, and what must be there once it has caught up.

use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::time::Duration;

use tenure::core::actor::Role;
use tenure::core::id::ItemId;
use tenure::databases::{PAGE_MAX, Query};
use tenure::{Done, Failure, Job, Message, New, Tenure, Webhook};
use tenure_systems::claims::{Claims, Part, Retries, Settings, start};

use crate::claims::kit::{Office, guarded, new, until};
use crate::kit::runtime;
use crate::program::Program;
use crate::shim::{Errno, Failing, How, Shim};
use crate::voice::Voice;

/// Items that a follower acts on. Each job sends two messages, so that an entry can be half told.
const ITEMS: usize = 3;
const LABELS: [&str; 2] = ["first", "second"];
const HOOKS: [&str; 2] = ["a", "b"];
/// More writes than any follower needs: what is not caught up by then never is.
const CUTS_MAX: usize = 60;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Follower {
    /// Makes a delivery of every message for every webhook.
    Webhooks,
    /// A handler of a program, which notes what it hears in a file.
    Subscriber,
    /// Enqueues every claim that was created.
    Claims,
}

impl Follower {
    fn name(self) -> &'static str {
        match self {
            Follower::Webhooks => "webhooks",
            Follower::Subscriber => "subscriber",
            Follower::Claims => "claims",
        }
    }

    fn named(name: &str) -> Follower {
        let all = [Follower::Webhooks, Follower::Subscriber, Follower::Claims];
        all.into_iter().find(|follower| follower.name() == name).expect("a follower")
    }

    /// The name under which it keeps how far it has come.
    fn mark(self) -> &'static str {
        match self {
            Follower::Webhooks => "webhooks of default",
            Follower::Subscriber => "subscriber s of default",
            Follower::Claims => "claims/orchestrator",
        }
    }

    /// Makes a log that nothing has followed yet.
    async fn prepare(self, url: &str) {
        let tenure = Tenure::builder(url).without_loops().open().await.unwrap();
        match self {
            Follower::Webhooks => {
                for name in HOOKS {
                    let hook = Webhook::new(name, "https://example.com/").secret("env:NONE");
                    tenure.webhook(hook).await.unwrap();
                }
                // Deliveries are made and none is sent.
                tenure.pause("delivery", "the test looks at them").await.unwrap();
                send(&tenure).await;
            }
            Follower::Subscriber => {
                let deaf = |_: Message| std::future::ready(Ok(()));
                // Its mark begins here.
                drop(tenure.subscribe("s", &[], deaf).await.unwrap());
                send(&tenure).await;
            }
            Follower::Claims => {
                let claims = Claims::of(&tenure.acting(tenure.store().clone(), "api:a".parse().unwrap()));
                for number in 0..ITEMS {
                    claims.create(new(&number.to_string(), "it rained")).await.unwrap();
                }
            }
        }
        tenure.close(Duration::from_secs(20)).await;
    }

    /// Follows until all has been acted on and the mark says so.
    async fn follow(self, url: &str, voice: &Voice) {
        let tenure = Tenure::open(url).await.expect("it opens");
        let mut standing: Vec<Box<dyn std::any::Any>> = Vec::new();
        match self {
            Follower::Webhooks => {}
            Follower::Subscriber => {
                let heard = heard_at(url);
                let hear = move |message: Message| std::future::ready(note(&heard, &message));
                standing.push(Box::new(tenure.subscribe("s", &[], hear).await.expect("it subscribes")));
            }
            Follower::Claims => {
                let (parts, mark_every) = (vec![Part::Orchestrator], Duration::ZERO);
                let settings =
                    Settings { parts, mark_every, retries: Retries::NONE, ..Settings::new(guarded()) };
                standing.push(Box::new(start(&tenure, settings).expect("it starts")));
            }
        }
        let last = last_to_act_on(&tenure).await;
        let acted = until(async || {
            let mark = tenure.mark(self.mark()).await.expect("it can be read").unwrap_or(0);
            (mark >= last).then_some(())
        });
        acted.await;
        drop(standing);
        voice.say("caught up");
        voice.go_on().await;
    }

    /// Nothing was skipped, and nothing was done twice.
    async fn is_as_if_never_killed(self, url: &str, cut: usize) {
        let tenure = Tenure::builder(url).without_loops().open().await.unwrap();
        match self {
            Follower::Webhooks => {
                let deliveries = payloads(&tenure, "delivery").await;
                let distinct: BTreeSet<&String> = deliveries.iter().collect();
                let expected = ITEMS * LABELS.len() * HOOKS.len();
                assert_eq!((deliveries.len(), distinct.len()), (expected, expected), "killed at {cut}");
            }
            Follower::Subscriber => {
                let heard = std::fs::read_to_string(heard_at(url)).unwrap();
                let mut distinct: Vec<&str> = Vec::new();
                for key in heard.lines() {
                    if !distinct.contains(&key) {
                        distinct.push(key);
                    }
                }
                assert_eq!(
                    distinct,
                    sent(&tenure).await,
                    "killed at {cut}: all of them, in the order of the log"
                );
            }
            Follower::Claims => {
                for claim in items(&tenure, "claim").await {
                    let history = tenure.history(claim).await.unwrap();
                    let enqueues = history.iter().filter(|entry| entry.action.to_string() == "enqueue");
                    assert_eq!(enqueues.count(), 1, "killed at {cut}");
                }
            }
        }
    }
}

/// Jobs that were done, one after the other, each with its messages.
async fn send(tenure: &Tenure) {
    let send = async |job: Job| {
        let number = job.payload::<usize>()?;
        Done::default().message(LABELS[0], &number)?.message(LABELS[1], &number)
    };
    let worker = tenure.worker("sender").handle("job", send).start().unwrap();
    for number in 0..ITEMS {
        let job = tenure.create(New::job(&number)).await.unwrap();
        tenure.wait(job.id, crate::kit::PATIENCE).await.unwrap();
    }
    worker.drain().await;
}

/// Where the last entry is that a follower must have come past.
async fn last_to_act_on(tenure: &Tenure) -> u64 {
    let log = tenure.log(0, PAGE_MAX).await.expect("it can be read");
    let acts = |action: &str| ["commit", "create"].contains(&action);
    let own = log.iter().filter(|(_, entry)| entry.actor.role != Role::System);
    own.filter(|(_, entry)| acts(&entry.action.to_string())).map(|(at, _)| *at).max().expect("there is one")
}

/// The keys of all messages, in the order of the log.
async fn sent(tenure: &Tenure) -> Vec<String> {
    let log = tenure.log(0, PAGE_MAX).await.unwrap();
    let commits = log.iter().filter(|(_, entry)| entry.action.to_string() == "commit");
    let keys = |entry: &tenure::core::entry::Sealed| {
        (0..LABELS.len()).map(|ordinal| format!("{}-{}-{ordinal}", entry.item, entry.version)).collect()
    };
    commits.flat_map(|(_, entry)| -> Vec<String> { keys(entry) }).collect()
}

fn heard_at(url: &str) -> String {
    format!("{}.heard", url.strip_prefix("sqlite:").expect("a file"))
}

fn note(path: &str, message: &Message) -> Result<(), Failure> {
    let mut file = OpenOptions::new().create(true).append(true).open(path)?;
    Ok(writeln!(file, "{}", message.key)?)
}

async fn items(tenure: &Tenure, kind: &str) -> Vec<ItemId> {
    let kind = Some(kind.parse().unwrap());
    let items = tenure.list(Query { kind, limit: PAGE_MAX, ..Query::default() }).await.unwrap();
    items.into_iter().map(|item| item.id).collect()
}

async fn payloads(tenure: &Tenure, kind: &str) -> Vec<String> {
    let mut payloads = Vec::new();
    for id in items(tenure, kind).await {
        let payload = tenure.whole(id).await.unwrap().payload.unwrap();
        payloads.push(String::from_utf8(payload.bytes().to_vec()).unwrap());
    }
    payloads
}

/// The child process: a follower.
pub async fn follow(name: &str, url: &str, voice: Voice) {
    Follower::named(name).follow(url, &voice).await;
}

/// A child that follows. False: it was killed at this sync of the file, from 1; at 0 never.
fn caught_up(follower: Follower, url: &str, shim: &Shim, at: usize) -> bool {
    let failing = Failing { files: "-wal", call: "sync", at, how: How::Kill, errno: Errno::Io };
    let told = format!("follow {} {url}", follower.name());
    let mut child = Program::start_with(&told, &shim.variables(failing));
    let caught_up = child.until("caught up").last().is_some_and(|line| line == "caught up");
    if caught_up {
        child.kill();
    }
    caught_up
}

/// Kills the follower at its first write, then at its second, and so on, until it catches up before it is killed.
fn killed_at_every_write(follower: Follower, writes_min: usize) {
    let folder = tempfile::tempdir().unwrap();
    let shim = Shim::build(folder.path());
    let runtime = runtime();
    for cut in 1..CUTS_MAX {
        let path = folder.path().join(format!("{cut}.db"));
        let url = format!("sqlite:{}", Path::new(&path).display());
        runtime.block_on(follower.prepare(&url));
        if caught_up(follower, &url, &shim, cut) {
            eprintln!("{} was killed at {} writes", follower.name(), cut - 1);
            assert!(cut > writes_min, "it was killed at {} writes only", cut - 1);
            return;
        }
        assert!(
            caught_up(follower, &url, &shim, 0),
            "killed at {cut} and started again, it comes to its end"
        );
        runtime.block_on(follower.is_as_if_never_killed(&url, cut));
    }
    panic!("it does not catch up within {CUTS_MAX} writes");
}

// covers: K-26
// fault: W1
#[test]
fn webhooks_that_are_killed_between_any_two_writes_have_every_delivery_once() {
    killed_at_every_write(Follower::Webhooks, 2);
}

// covers: K-26
// fault: W2
#[test]
fn a_subscriber_that_is_killed_between_any_two_writes_hears_every_message_in_order() {
    killed_at_every_write(Follower::Subscriber, 1);
}

// covers: C-04, C-15
// fault: W3
#[test]
fn an_orchestrator_that_is_killed_between_any_two_writes_enqueues_every_claim_once() {
    killed_at_every_write(Follower::Claims, 2);
}

// The mark is as far behind as a crash can leave it: the creation is read again when the claim has failed.
// covers: C-04, C-15
// fault: W4
#[test]
fn a_creation_that_is_read_again_is_no_retry_of_a_claim_that_failed() {
    crate::kit::on_each(async |url| {
        let office = Office::open(url).await;
        let claim = office.claim("refuse").await;
        let seldom = Duration::from_secs(3_600);
        let settings = || Settings { mark_every: seldom, ..crate::claims::kit::settings() };
        let decomposing = Settings { parts: vec![Part::Decomposers], ..settings() };
        office.claims("orchestrator:o").enqueue(claim, None).await.unwrap();
        let running = office.start(decomposing);
        office.at_rest(claim, "failed").await;
        running.drain().await;
        // It begins at the first entry, and comes to a claim behind it.
        let running = office.start(settings());
        office.decomposed("it rained").await;
        office.at_rest(claim, "failed").await;
        assert_eq!(office.tenure.whole(claim).await.unwrap().executions.len(), 1, "it was not tried again");
        running.drain().await;
    });
}
