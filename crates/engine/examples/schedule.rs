//! Work that is created at its times, at most so many at once, whatever happens to the processes that do it.
//!
//! ```text
//! cargo run -p tenure --example schedule
//! ```

use std::time::Duration;

use tenure::core::lifecycle::settings::Rate;
use tenure::{CatchUp, Done, Job, New, Schedule, Tenure};
use tokio::sync::mpsc;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let tenure = Tenure::open("memory:").await?;
    tenure
        .limit("job", Some(2), Some(Rate { count: 10, per: Duration::from_secs(1) }), "be kind to others")
        .await?;
    let (tell, mut told) = mpsc::unbounded_channel();
    let report = move |job: Job| {
        let tell = tell.clone();
        async move {
            let _ = tell.send(format!("{} for {}", job.payload::<String>()?, job.item().created));
            Ok(Done::default())
        }
    };
    let worker = tenure.worker("reports").handle("job", report).start()?;
    let schedule = Schedule::new("report", "every 1 s").catch_up(CatchUp::One).creates(New::job(&"a report"));
    tenure.schedule(schedule).await?;
    // Others would say `0 3 * * *` and `.zone("Europe/Berlin")`.
    for _ in 0..2 {
        println!("{}", told.recv().await.ok_or("nobody reports any more")?);
    }
    tenure.remove_schedule("report").await?;
    worker.drain().await;
    Ok(())
}
