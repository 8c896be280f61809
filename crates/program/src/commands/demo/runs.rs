//! Documents, in the demonstration: whoever reads one is killed, and its second run is complete.

use tenure::Tenure;
use tenure_systems::runs::builtin::{BUILTIN, builtin};
use tenure_systems::runs::documents::Upload;
use tenure_systems::runs::files::Files;
use tenure_systems::runs::{Library, Pipeline, Settings, start};

use super::{PATIENCE, heard, told};
use crate::child::Child;
use crate::outcome::Error;
use crate::output::{GOOD, Output, STRONG, styled};
use crate::time::Stopwatch;
use tenure_databases::url::SecretUrl;

const REPORT: &str = "# Report on the letters\n\nSix letters were sent in November 2026, each of them once. Two clerks were \
    stopped before they had finished, and others took over from them.\n\n## Costs\n\nStamps were 5.40 EUR in all.\n";

pub async fn show(tenure: &Tenure, url: &SecretUrl, output: &mut Output) -> Result<(), Error> {
    let watch = Stopwatch::start();
    let failed = |why: &dyn std::fmt::Display| Error::Part(why.to_string());
    let place = url.database().map_err(tenure::OpenError::from)?;
    let library = Library::new(Files::of(&place, None)?);
    let documents = library.documents(tenure.clone());
    output.line(styled(STRONG, "Runs: a document, read step by step"))?;
    let mut incoming = documents.receive().await.map_err(|why| failed(&why))?;
    incoming.write(REPORT.as_bytes()).await.map_err(|why| failed(&why))?;
    let upload = Upload { name: "report.md".to_string(), ..Upload::default() };
    let made = documents.upload(incoming, upload).await.map_err(|why| failed(&why))?;
    told(output, watch, "a report is uploaded: its file, its entry and its first run are on the disk")?;
    let (ivo, mut says) = Child::start("reader", url, &[])?;
    heard(&mut says, "began").await?;
    told(output, watch, "ivo, a process of his own, begins to read it … and is killed with kill -9")?;
    ivo.kill().await;
    let steps = BUILTIN.iter().filter_map(|name| builtin(name));
    let pipeline = Pipeline::new(steps).map_err(|why| failed(&why))?;
    let running = start(tenure.clone(), library, pipeline, Settings::of(&place)).await;
    let running = running.map_err(|why| failed(&why))?;
    let run = documents.run(made.run_id).await.map_err(|why| failed(&why))?;
    let why = run.failure_type.unwrap_or_default();
    told(
        output,
        watch,
        &format!("the next process starts, and knows it: the run is {} {}", run.state, styled(GOOD, why)),
    )?;
    let again = documents.reprocess(made.document_id, None, None).await.map_err(|why| failed(&why))?;
    tenure.wait(again.run_id, PATIENCE).await.map_err(|why| failed(&why))?;
    let run = documents.run(again.run_id).await.map_err(|why| failed(&why))?;
    let steps: Vec<&str> = run.steps.iter().map(|step| step.name.as_str()).collect();
    told(
        output,
        watch,
        &format!("asked for again it is a new run: {}, by {}", run.state, steps.join(" and ")),
    )?;
    running.drain().await;
    output.line("")
}
