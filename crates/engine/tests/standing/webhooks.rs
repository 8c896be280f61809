//! Messages reach webhooks at least once, signed, with a key that stays the same, and nobody else.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use tenure::core::item::Item;
use tenure::{Done, Error, Job, New, Tenure, Webhook, Worker};

use crate::kit::{all, on_each, on_files_together, until};
use crate::server::{Posted, Reply, Server};

const SECRET: &str = "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const OTHER: &str = "c29tZSBvdGhlciBzZWNyZXQgb2YgMzIgYnl0ZXMhIQ==";

async fn open(url: &str) -> Tenure {
    let secret = |text: &str| format!("whsec_{text}").parse().unwrap();
    let builder = Tenure::builder(url).secret("main", secret(SECRET)).secret("next", secret(OTHER));
    builder.open().await.unwrap()
}

/// Jobs send their payload under their key as the label.
fn sender(tenure: &Tenure) -> Worker {
    let send = async |job: Job| {
        let label = job.item().key.as_deref().unwrap_or("any").to_string();
        Done::default().message(&label, &job.payload::<u32>()?)
    };
    tenure.worker("sender").handle("job", send).start().unwrap()
}

async fn message(tenure: &Tenure, label: &str, number: u32) {
    tenure.create(New::job(&number).key(label)).await.unwrap();
}

fn hook(server: &Server) -> Webhook {
    Webhook::new("hook", &server.url).secret("given:main").allow_private()
}

/// As whoever receives it would.
fn verify(posted: &Posted, secret: &str) {
    let header = |name: &str| posted.headers[name].as_str();
    let signed = format!("{}.{}.{}", header("webhook-id"), header("webhook-timestamp"), posted.body);
    let mut mac = Hmac::<Sha256>::new_from_slice(&STANDARD.decode(secret).unwrap()).unwrap();
    mac.update(signed.as_bytes());
    let expected = format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()));
    assert!(header("webhook-signature").split(' ').any(|one| one == expected), "{posted:?}");
}

async fn deliveries(tenure: &Tenure, state: &str, count: usize) -> Vec<Item> {
    until(&format!("{count} {state}"), async || {
        let all = all(tenure, "delivery").await;
        let there = all.iter().filter(|item| &**item.state_name() == state).count() == count;
        there.then_some(all)
    })
    .await
}

// covers: K-26
#[test]
fn a_message_is_posted_signed_to_every_webhook_that_wants_it() {
    on_each(async |url| {
        let tenure = open(&url).await;
        let server = Server::start(|_| Reply::Status(204, "")).await;
        let worker = sender(&tenure);
        message(&tenure, "early", 0).await;
        until("the early one", async || (tenure.counters().committed() == 1).then_some(())).await;
        tenure.webhook(hook(&server).label("paid").secret("given:next")).await.unwrap();
        tenure.webhook(Webhook::new("all", &server.url).secret("given:main").allow_private()).await.unwrap();
        message(&tenure, "paid", 1).await;
        message(&tenure, "sent", 2).await;
        let made = deliveries(&tenure, "DELIVERED", 3).await;
        assert_eq!(made.len(), 3, "nothing of what was sent before they were there");
        let posted = server.posted();
        posted.iter().for_each(|posted| verify(posted, SECRET));
        let twice: Vec<&Posted> = posted.iter().filter(|posted| posted.body.contains("\"paid\"")).collect();
        assert_eq!(twice.len(), 2);
        assert_eq!(twice[0].headers["webhook-id"], twice[1].headers["webhook-id"], "one message, one key");
        let both = twice.iter().find(|posted| posted.headers["webhook-signature"].contains(' ')).unwrap();
        verify(both, OTHER);
        let body: serde_json::Value = serde_json::from_str(&both.body).unwrap();
        assert_eq!((&body["type"], &body["data"]), (&"paid".into(), &1.into()));
        worker.drain().await;
    });
}

// covers: K-26
#[test]
fn it_is_tried_until_the_other_side_has_it_and_the_key_stays_the_same() {
    on_each(async |url| {
        let tenure = open(&url).await;
        let server = Server::start(|number| match number {
            0 => Reply::Status(500, ""),
            1 => Reply::Status(302, "location: http://169.254.169.254/\r\n"),
            _ => Reply::Status(200, ""),
        })
        .await;
        let worker = sender(&tenure);
        tenure.webhook(hook(&server)).await.unwrap();
        message(&tenure, "paid", 1).await;
        let delivered = deliveries(&tenure, "DELIVERED", 1).await;
        let whole = tenure.whole(delivered[0].id).await.unwrap();
        let reasons: Vec<String> =
            whole.executions.iter().filter_map(|one| one.ended.as_ref()?.reason.clone()).collect();
        assert_eq!(reasons.len(), 2, "{reasons:?}");
        assert!(reasons[0].contains("500: said") && reasons[1].contains("not followed"), "{reasons:?}");
        assert!(!format!("{whole:?} {:?}", tenure.history(delivered[0].id).await.unwrap()).contains(SECRET));
        let posted = server.posted();
        assert_eq!(posted.len(), 3, "no redirect was followed");
        posted.iter().for_each(|posted| verify(posted, SECRET));
        let keys: Vec<&String> = posted.iter().map(|posted| &posted.headers["webhook-id"]).collect();
        assert!(keys.iter().all(|key| *key == keys[0]), "{keys:?}");
        assert!(posted.iter().all(|one| one.body == posted[0].body));
        worker.drain().await;
    });
}

// covers: K-26
#[test]
fn what_was_being_sent_when_the_process_died_is_sent_again() {
    // Its lease has to end first, and one wait is enough.
    on_files_together(async |url| {
        let server =
            Server::start(|number| if number == 0 { Reply::Hold } else { Reply::Status(200, "") }).await;
        let dies = open(&url).await;
        let worker = sender(&dies);
        dies.webhook(hook(&server)).await.unwrap();
        message(&dies, "paid", 1).await;
        until("the first attempt", async || (server.posted().len() == 1).then_some(())).await;
        // As if it had been killed: between sending and knowing that it was received.
        drop((worker, dies));
        let tenure = open(&url).await;
        deliveries(&tenure, "DELIVERED", 1).await;
        let posted = server.posted();
        assert_eq!(posted.len(), 2);
        assert_eq!(posted[0].headers["webhook-id"], posted[1].headers["webhook-id"]);
        assert_eq!(
            all(&tenure, "delivery").await.len(),
            1,
            "the log was followed again, and made nothing twice"
        );
    });
}

// covers: K-26
#[test]
fn gone_is_for_good_paused_is_held_back_and_a_failed_one_can_be_redriven() {
    on_each(async |url| {
        let tenure = open(&url).await;
        let server = Server::start(|number| Reply::Status(if number == 0 { 410 } else { 200 }, "")).await;
        let worker = sender(&tenure);
        let webhook = tenure.webhook(hook(&server)).await.unwrap();
        message(&tenure, "paid", 1).await;
        let failed = deliveries(&tenure, "FAILED", 1).await.pop().unwrap();
        assert!(failed.reason.unwrap().contains("410"));
        assert_eq!(server.posted().len(), 1, "it is not tried again");
        tenure.advance(failed.id, "redrive").await.unwrap();
        deliveries(&tenure, "DELIVERED", 1).await;

        tenure.pause_webhook("hook").await.unwrap();
        assert_eq!(&*tenure.webhooks().await.unwrap()[0].state, "PAUSED");
        message(&tenure, "paid", 2).await;
        let held = until("the one that is held back", async || {
            all(&tenure, "delivery").await.into_iter().find(|item| item.interruptions > 0)
        })
        .await;
        assert_eq!((&**held.state_name(), held.failures, server.posted().len()), ("PENDING", 0, 2));
        tenure.remove_webhook("hook").await.unwrap();
        assert_eq!(tenure.webhooks().await.unwrap(), []);
        assert_ne!(tenure.webhook(hook(&server)).await.unwrap().id, webhook.id, "its name is free");
        worker.drain().await;
    });
}

// covers: K-26
#[test]
fn private_addresses_are_refused_unless_they_are_allowed() {
    on_each(async |url| {
        let tenure = open(&url).await;
        let server = Server::start(|_| Reply::Status(200, "")).await;
        let worker = sender(&tenure);
        let refused =
            tenure.webhook(Webhook::new("hook", &server.url).secret("given:main")).await.unwrap_err();
        assert!(matches!(&refused, Error::Webhook(why) if why.contains("not a public address")), "{refused}");
        // A name is judged when it has been resolved.
        let port = server.url.split(':').next_back().unwrap();
        let named = Webhook::new("hook", format!("http://localhost:{port}")).secret("given:main");
        tenure.webhook(named).await.unwrap();
        message(&tenure, "paid", 1).await;
        let failed = deliveries(&tenure, "FAILED", 1).await.pop().unwrap();
        assert!(failed.reason.unwrap().contains("not a public address"));
        assert_eq!(server.posted().len(), 0);
        worker.drain().await;
    });
}

#[test]
fn a_webhook_that_can_not_work_is_refused_with_the_reason() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let tenure = open("memory:").await;
        let good = || Webhook::new("hook", "https://example.com/hook").secret("env:HOOK_SECRET");
        for (webhook, why) in [
            (Webhook::new("hook", "https://example.com/hook"), "one secret"),
            (good().secret("env:A").secret("env:B"), "one secret"),
            (good().secret(format!("whsec_{SECRET}")), "not written here"),
            (Webhook::new("hook", "ftp://example.com").secret("env:A"), "not with `https:`"),
            (Webhook::new("", "https://example.com").secret("env:A"), "its name"),
            (good().label("not a label"), "a label"),
            (
                Webhook::new("hook", format!("https://example.com/{}", "x".repeat(2_048))).secret("env:A"),
                "2048 bytes",
            ),
        ] {
            let refused = tenure.webhook(webhook).await.unwrap_err().to_string();
            assert!(refused.contains(why) && !refused.contains(SECRET), "{why}: {refused}");
        }
        let kept = tenure.webhook(good()).await.unwrap();
        assert_eq!(tenure.webhook(good()).await.unwrap().id, kept.id);
        let other = tenure.webhook(good().label("paid")).await.unwrap_err().to_string();
        assert!(other.contains("remove that one first"), "{other}");
    });
}
