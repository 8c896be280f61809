//! A job that fails once, makes a child with its commit, and tells what happened afterwards.
//!
//! ```text
//! cargo run -p tenure --example pipeline
//! ```

use std::time::Duration;

use tenure::{Done, Failure, Job, New, Tenure};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let tenure = Tenure::open("memory:").await?;
    let work = async |job: Job| match job.payload::<String>()?.as_str() {
        "order" if job.attempt() == 1 => {
            job.log("the warehouse does not answer");
            Err(Failure::retry_after(Duration::from_millis(100), "the warehouse is away"))
        }
        // The parcel is created with this commit: both are there afterwards, or neither is.
        "order" => Done::with(&"accepted")?.create(New::job(&"parcel").idempotency_key("parcel of order 1")),
        _ => Done::with(&"sent"),
    };
    let worker = tenure.worker("shop").handle("job", work).start()?;
    let order = tenure.create(New::job(&"order").idempotency_key("order 1")).await?;
    let again = tenure.create(New::job(&"order").idempotency_key("order 1")).await?;
    assert_eq!(order.id, again.id, "asked twice, it is one order");
    tenure.wait(order.id, Duration::from_secs(10)).await?;
    for attempt in tenure.executions(order.id).await? {
        println!("attempt {}: {} {:?}", attempt.attempt, attempt.status, attempt.reason);
    }
    for entry in tenure.history(order.id).await? {
        println!("{} {} by {} -> {}", entry.at, entry.action, entry.actor, entry.state);
    }
    worker.drain().await;
    Ok(())
}
