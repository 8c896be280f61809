//! An engine that is closed gives back what its own workers hold: nobody waits for a lease to end.

use std::time::Duration;

use tenure::{Done, Job, New, Schedule, Tenure, Webhook};

use crate::kit::{all, on_files, until};
use crate::server::{Reply, Server};

async fn open(url: &str) -> Tenure {
    let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw".parse().unwrap();
    Tenure::builder(url).secret("main", secret).open().await.unwrap()
}

// covers: K-54
#[test]
fn a_closed_engine_gives_back_the_delivery_that_it_was_sending() {
    on_files(async |url| {
        let server = Server::start(|number| match number {
            0 => Reply::Hold,
            _ => Reply::Status(200, ""),
        })
        .await;
        let tenure = open(&url).await;
        let hook = Webhook::new("hook", &server.url).secret("given:main").allow_private();
        tenure.webhook(hook).await.unwrap();
        let send = async |_: Job| Done::default().message("paid", &1);
        let worker = tenure.worker("sender").handle("job", send).start().unwrap();
        tenure.create(New::job(&1)).await.unwrap();
        until("the first attempt", async || (server.posted().len() == 1).then_some(())).await;
        tenure.close(Duration::from_millis(100)).await;
        let [delivery] = &all(&tenure, "delivery").await[..] else { panic!("one delivery") };
        assert_eq!((&**delivery.state_name(), delivery.failures), ("PENDING", 0), "it is nobody's now");
        // Nothing more is leased here, neither by the engine nor by the program's own worker.
        let job = tenure.create(New::job(&2)).await.unwrap();
        assert_eq!(&**tenure.item(job.id).await.unwrap().state_name(), "PENDING");
        worker.drain().await;
        drop(tenure);

        let next = open(&url).await;
        until("the second attempt", async || {
            all(&next, "delivery").await.iter().all(|one| &**one.state_name() == "DELIVERED").then_some(())
        })
        .await;
        assert_eq!(server.posted()[0].headers["webhook-id"], server.posted()[1].headers["webhook-id"]);
        next.close(Duration::from_secs(20)).await;
    });
}

// covers: K-54
#[test]
fn an_engine_that_has_nothing_to_do_is_closed_at_once() {
    on_files(async |url| {
        let tenure = open(&url).await;
        tenure.schedule(Schedule::new("hourly", "every 1 h").creates(New::job(&1))).await.unwrap();
        until("its tick", async || (!all(&tenure, "tick").await.is_empty()).then_some(())).await;
        // Longer than the test may take: it waits for nothing that does not end by itself.
        tenure.close(Duration::from_secs(3_600)).await;
        tenure.close(Duration::ZERO).await;
        assert_eq!(all(&tenure, "tick").await[0].lease, None);
    });
}
