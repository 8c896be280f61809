//! The same through the handle that a program has, while a worker works.

use std::time::Duration;

use tenure::{Done, Error, Failure, Job, New, Reason, Tenure};

const PATIENCE: Duration = Duration::from_secs(60);

/// A database of this test's own, on SQLite and on PostgreSQL.
fn on_both(test: impl AsyncFn(String)) {
    let folder = tempfile::tempdir().unwrap();
    let schema = crate::schema::fresh();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        test(format!("sqlite:{}", folder.path().join("tenure.db").display())).await;
        test(crate::schema::url(&schema)).await;
        crate::schema::drop(&schema).await;
    });
}

#[test]
fn a_job_is_explained_from_its_creation_to_its_retry() {
    on_both(async |url| {
        let tenure = Tenure::open(url.clone()).await.unwrap();
        let job = tenure.create(New::job(&1)).await.unwrap();
        let told = tenure.explain(job.id).await.unwrap();
        let reasons: Vec<Reason> = told.because.iter().map(|because| because.reason).collect();
        assert_eq!(reasons, [Reason::InLine, Reason::Unattended]);
        assert_eq!(told.moves[0].command.as_deref(), Some("tenure work job -- COMMAND"));

        let work = async |job: Job| match job.attempt() {
            1 => Err::<Done, _>(Failure::retry_after(Duration::ZERO, "it broke")),
            _ => Err(Failure::permanent("there is no such address")),
        };
        let worker = tenure.worker("w").handle("job", work).start().unwrap();
        tenure.wait(job.id, PATIENCE).await.unwrap();
        worker.drain().await;
        let told = tenure.explain(job.id).await.unwrap();
        assert_eq!(told.because[0].reason, Reason::Failed);
        let reasons: Vec<_> = told.failures.iter().filter_map(|failed| failed.reason.as_deref()).collect();
        assert_eq!(reasons, ["it broke", "there is no such address"]);
        let command = format!("tenure job retry {}", job.id);
        assert_eq!(told.moves[0].command.as_deref(), Some(&*command));

        // The move that it names is one that there is.
        let again = tenure.retry(job.id).await.unwrap();
        assert_eq!(tenure.explain(job.id).await.unwrap().retried_as, Some(again.id));
        assert_eq!(tenure.explain(again.id).await.unwrap().retry_of, Some(job.id));

        let elsewhere = Tenure::builder(url).store("elsewhere").open().await.unwrap();
        assert!(matches!(elsewhere.explain(job.id).await, Err(Error::NotFound(_))));
        let there = elsewhere.create(New::job(&2)).await.unwrap();
        let told = elsewhere.explain(there.id).await.unwrap();
        assert_eq!(told.moves[0].command.as_deref(), Some("tenure work job --store elsewhere -- COMMAND"));
    });
}
