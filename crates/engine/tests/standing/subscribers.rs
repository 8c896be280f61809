//! Subscribers hear of every message in the order of the log, at least once, and go on where they were.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use tenure::{Done, Failure, Job, Message, New, Tenure, Worker};

use crate::kit::{on_each, on_files, until};

type Heard = Arc<Mutex<Vec<(String, u32)>>>;

fn sender(tenure: &Tenure) -> Worker {
    let send = async |job: Job| {
        let number = job.payload::<u32>()?;
        Done::default().message("first", &number)?.message("second", &number)
    };
    tenure.worker("sender").concurrency(1).handle("job", send).start().unwrap()
}

fn hears(
    heard: &Heard,
) -> impl Fn(Message) -> std::future::Ready<Result<(), Failure>> + Send + Sync + 'static {
    let heard = heard.clone();
    move |message: Message| {
        let number = message.payload().unwrap();
        heard.lock().unwrap().push((message.label.to_string(), number));
        std::future::ready(Ok(()))
    }
}

async fn count(heard: &Heard, count: usize) {
    until(&format!("{count} that were heard"), async || (heard.lock().unwrap().len() >= count).then_some(()))
        .await;
}

// covers: K-26
#[test]
fn messages_are_heard_in_the_order_of_the_log() {
    on_each(async |url| {
        let tenure = Tenure::open(url).await.unwrap();
        let (every, seconds) = (Heard::default(), Heard::default());
        let subscriptions = [
            tenure.subscribe("every", &[], hears(&every)).await.unwrap(),
            tenure.subscribe("seconds", &["second"], hears(&seconds)).await.unwrap(),
        ];
        let worker = sender(&tenure);
        for number in 0..20_u32 {
            tenure.create(New::job(&number)).await.unwrap();
        }
        count(&every, 40).await;
        count(&seconds, 20).await;
        let mut sent = Vec::new();
        for (_, entry) in tenure.log(0, 1_000).await.unwrap() {
            let payload = tenure.whole(entry.item).await.unwrap().payload.unwrap();
            if entry.action.as_str() == "commit" {
                sent.push(serde_json::from_slice::<u32>(payload.bytes()).unwrap());
            }
        }
        let numbers = |heard: &Heard, label: &str| -> Vec<u32> {
            let heard = heard.lock().unwrap();
            heard.iter().filter(|(of, _)| of == label).map(|(_, number)| *number).collect()
        };
        assert_eq!(numbers(&every, "first"), sent);
        assert_eq!(numbers(&every, "second"), sent);
        assert_eq!(numbers(&seconds, "second"), sent);
        assert_eq!(numbers(&seconds, "first"), [0_u32; 0]);
        drop(subscriptions);
        worker.drain().await;
    });
}

// covers: K-26
#[test]
fn one_that_fails_or_panics_hears_it_again_and_holds_up_nobody_else() {
    on_each(async |url| {
        let tenure = Tenure::open(url).await.unwrap();
        let (heard, tries, other) = (Heard::default(), Arc::new(AtomicUsize::new(0)), Heard::default());
        let told = hears(&heard);
        let counted = tries.clone();
        let stubborn = move |message: Message| {
            let hears = told(message.clone());
            let number = counted.fetch_add(1, Ordering::SeqCst);
            async move {
                match number {
                    0 => Err(Failure::retry("not now")),
                    1 => panic!("a bug"),
                    _ => hears.await,
                }
            }
        };
        let _stubborn = tenure.subscribe("stubborn", &[], stubborn).await.unwrap();
        let _other = tenure.subscribe("other", &[], hears(&other)).await.unwrap();
        let worker = sender(&tenure);
        tenure.create(New::job(&7_u32)).await.unwrap();
        count(&other, 2).await;
        count(&heard, 4).await;
        let all = |label: &str| (label.to_string(), 7);
        assert_eq!(*heard.lock().unwrap(), [all("first"), all("first"), all("first"), all("second")]);
        assert!(tenure.counters().last_failure().unwrap().contains("stubborn"));
        worker.drain().await;
    });
}

// It has heard the first message of an entry and is at the second when it ends.
// covers: K-26
// fault: W2
#[test]
fn one_that_ends_between_two_messages_of_an_entry_hears_the_second_later() {
    on_files(async |url| {
        let tenure = Tenure::open(url.clone()).await.unwrap();
        let (at_it, mut is_at_it) = tokio::sync::mpsc::unbounded_channel();
        let hear = move |message: Message| {
            let at_it = at_it.clone();
            async move {
                if message.label.as_str() == "second" {
                    at_it.send(()).unwrap();
                    std::future::pending::<()>().await;
                }
                Ok(())
            }
        };
        let subscription = tenure.subscribe("s", &[], hear).await.unwrap();
        let began = tenure.mark("subscriber s of default").await.unwrap();
        let worker = sender(&tenure);
        tenure.create(New::job(&1_u32)).await.unwrap();
        is_at_it.recv().await.unwrap();
        drop(subscription);
        // It keeps what is certain: the entries before this one.
        until("its mark", async || {
            (tenure.mark("subscriber s of default").await.unwrap() > began).then_some(())
        })
        .await;
        let after = Heard::default();
        let _subscription = tenure.subscribe("s", &[], hears(&after)).await.unwrap();
        let missed = ("second".to_string(), 1);
        until("the second", async || after.lock().unwrap().contains(&missed).then_some(())).await;
        worker.drain().await;
    });
}

// covers: K-26
#[test]
fn after_a_restart_it_goes_on_where_it_was() {
    on_files(async |url| {
        let (before, after) = (Heard::default(), Heard::default());
        let tenure = Tenure::open(url.clone()).await.unwrap();
        let worker = sender(&tenure);
        tenure.create(New::job(&0_u32)).await.unwrap();
        // What has no place in the log yet comes after whoever subscribes now.
        until("one before anybody listens", async || {
            let log = tenure.log(0, 100).await.unwrap();
            log.iter().any(|(_, entry)| entry.action.as_str() == "commit").then_some(())
        })
        .await;
        let subscription = tenure.subscribe("s", &[], hears(&before)).await.unwrap();
        tenure.create(New::job(&1_u32)).await.unwrap();
        count(&before, 2).await;
        drop(subscription);
        // Nobody listens now.
        tenure.create(New::job(&2_u32)).await.unwrap();
        until("one while nobody listens", async || (tenure.counters().committed() == 3).then_some(())).await;
        drop((worker, tenure));

        let tenure = Tenure::open(url).await.unwrap();
        let _subscription = tenure.subscribe("s", &[], hears(&after)).await.unwrap();
        let missed = ("second".to_string(), 2);
        until("what was missed", async || after.lock().unwrap().contains(&missed).then_some(())).await;
        let numbers: Vec<u32> = before.lock().unwrap().iter().map(|(_, number)| *number).collect();
        assert_eq!(numbers, [1, 1], "it began with what came after it");
        // At least once: the mark may have been a page behind.
        let again = after.lock().unwrap().iter().filter(|(_, number)| *number != 2).count();
        assert!(again <= 2, "{:?}", after.lock().unwrap());
    });
}
