//! A lifecycle that this program can not read: a newer one has put it there. Whatever else there is goes on.

use std::time::Duration;

use tenure::core::lifecycle::shipped::SHIPPED;
use tenure::core::request::Terms;
use tenure::{Done, Job, New, Tenure};

use crate::place::{PATIENCE, is_sound, jobs, on_each, until_so};
use crate::requests::{acquire_with, leases, request};
use crate::steps::gather;
use crate::{place, raw};

/// The text of parcels is replaced, and everybody is told that there is something new.
async fn rewrite(url: &str, from: &str, to: &str) {
    let grow = match raw::is_sqlite(url) {
        true => "update meta set value = value + 1 where name = 'lifecycles'",
        false => "update @.meta set value = (value::bigint + 1)::text where name = 'catalog'",
    };
    let script = format!(
        "begin; update @.lifecycles set source = replace(source, '{from}', '{to}') where kind = 'parcel'; {grow}; commit;"
    );
    raw::run(url, &script).await;
}

// fault: L5
// covers: K-51, K-55
#[test]
fn l5_a_lifecycle_that_can_not_be_read_stops_nothing_else() {
    on_each(async |url| {
        let source = SHIPPED.iter().find(|file| file.file == "job.md").unwrap().source;
        let tenure = Tenure::open(url.clone()).await.unwrap();
        tenure.add_lifecycle(source.replace("# job\n", "# parcel\n")).await.unwrap();
        let [waits, held] = [1, 2].map(|number| New::of("parcel", &number));
        let held = tenure.create(held).await.unwrap().id;
        let terms = Terms { lease: Some(Duration::from_secs(1)), ..Terms::default() };
        let lease = request("worker:gone/1", acquire_with(&["parcel"], 1, terms));
        assert_eq!(leases(gather(&url).await.ask(lease).await.unwrap().answer)[0].item.id, held);
        let waits = tenure.create(waits).await.unwrap().id;

        rewrite(&url, "## States", "## States of a form to come").await;
        let handler = async |_: Job| Ok(Done::default());
        let worker = tenure.worker("w").handle("parcel", handler).handle("job", handler).start().unwrap();
        // The engine that runs, and one that is opened now.
        for tenure in [tenure.clone(), Tenure::open(url.clone()).await.unwrap()] {
            let [job] = jobs(&tenure, 1).await[..] else { panic!("one job") };
            let whole = tenure.wait(job, PATIENCE).await.unwrap();
            assert_eq!(&**whole.item.state_name(), "SUCCEEDED");
            let foreign = tenure.foreign_lifecycles();
            assert_eq!(foreign.iter().map(|one| &*one.kind).collect::<Vec<_>>(), ["parcel"]);
            let why = tenure.item(waits).await.unwrap_err().to_string();
            assert!(why.contains("not one that this program can read"), "{why}");
            assert!(tenure.create(New::of("parcel", &3)).await.is_err(), "nobody knows how one begins");
            assert!(tenure.list(tenure::databases::Query { limit: 100, ..Default::default() }).await.is_ok());
        }
        let swept = |tenure: &Tenure| tenure.counters().turns().get("sweep").copied().unwrap_or_default();
        let before = swept(&tenure);
        until_so(|| swept(&tenure) >= before + 3).await;
        let counters = tenure.counters();
        assert_eq!((counters.failed_turns(), counters.swept()), (0, 0), "{:?}", counters.last_failure());
        assert_eq!(counters.failed_acquires(), 0, "{:?}", counters.last_failure());

        // Where it can be read again nothing was lost, and nothing set aside.
        rewrite(&url, "## States of a form to come", "## States").await;
        let [job] = jobs(&tenure, 1).await[..] else { panic!("one job") };
        tenure.wait(job, PATIENCE).await.unwrap();
        for parcel in [waits, held] {
            let done = place::until(&tenure, parcel, |item| item.phase().is_ended()).await;
            assert_eq!(&**done.state_name(), "SUCCEEDED");
        }
        assert_eq!(tenure.foreign_lifecycles(), []);
        worker.drain().await;
        drop(tenure);
        is_sound(&url).await;
    });
}
