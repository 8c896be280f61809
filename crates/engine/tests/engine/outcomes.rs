//! What handlers came to and what can not be done with it: nothing of it is in the way of others.

use std::time::Duration;

use tenure::core::lifecycle::shipped::SHIPPED;
use tenure::{Done, Failure, Job, New, Tenure};
use tokio::sync::mpsc::unbounded_channel;

use crate::{PATIENCE, on_each};

/// Nothing is found out by a renewal: it is far away.
const LONG: Duration = Duration::from_secs(3_600);

// covers: K-51
#[test]
fn what_panics_after_its_commit_is_in_nobody_elses_way() {
    on_each(async |url| {
        let tenure = Tenure::open(url).await.unwrap();
        let (told, mut tells) = unbounded_channel();
        let work = move |job: Job| {
            let told = told.clone();
            async move {
                let number: u32 = job.payload()?;
                Ok(Done::default().after(move || {
                    assert!(
                        !number.is_multiple_of(7),
                        "a bug of the program's own, before there is anything to wait for"
                    );
                    told.send(number).unwrap();
                    std::future::ready(())
                }))
            }
        };
        let worker = tenure.worker("w").concurrency(10).lease(LONG).handle("job", work).start().unwrap();
        // More than it has places for: whatever is not let go of keeps the last ones waiting.
        let jobs = tenure.create_all((0..100_u32).map(|number| New::job(&number))).await;
        for job in jobs {
            tenure.wait(job.unwrap().id, PATIENCE).await.unwrap();
        }
        let mut heard = Vec::new();
        while heard.len() < 85 {
            heard.push(tokio::time::timeout(PATIENCE, tells.recv()).await.unwrap().unwrap());
        }
        assert!(heard.iter().all(|number| !number.is_multiple_of(7)));
        worker.drain().await;
    });
}

// covers: K-51
#[test]
fn an_end_whose_system_panics_keeps_no_place() {
    on_each(async |url| {
        let job = SHIPPED.iter().find(|file| file.file == "job.md").unwrap().source;
        let mut parcel = job.replace("# job\n", "# parcel\n");
        // However it fails, it has to write what only its system knows.
        for guard in ["permanent    ", "attempts left", "             "] {
            for to in ["FAILED   ", "PENDING  "] {
                let row = format!("| RUNNING | fail     | {to} | worker        | {guard} |");
                parcel = parcel.replace(
                    &format!("{row}                                     |"),
                    &format!("{row} record why |"),
                );
            }
        }
        assert_eq!(parcel.matches("record why").count(), 3);
        let builder = Tenure::builder(url).offering("parcel", |_, _| panic!("a bug of the system's own"));
        let tenure = builder.open().await.unwrap();
        tenure.add_lifecycle(parcel).await.unwrap();
        let bad = tenure.create(New::of("parcel", &1)).await.unwrap();
        let fails = async |_: Job| Err::<Done, _>(Failure::permanent("it can not be done"));
        let worker = tenure.worker("w").concurrency(1).lease(LONG).handle("parcel", fails);
        let worker = worker.handle("job", async |_: Job| Ok(Done::default())).start().unwrap();
        let good = tenure.create(New::job(&2)).await.unwrap();
        let whole = tenure.wait(good.id, PATIENCE).await.unwrap();
        assert_eq!(&**whole.item.state_name(), "SUCCEEDED");
        let told = tenure.counters().last_failure().unwrap();
        assert!(told.contains("the end of a parcel") && told.contains(&bad.id.to_string()), "{told}");
        assert!(tenure.item(bad.id).await.unwrap().lease.is_some(), "the end of its lease will do it");
        worker.drain().await;
    });
}
