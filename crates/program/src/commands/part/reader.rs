//! A reader: somebody of the demonstration who begins to read a document, says so, and never comes to its end.

use std::sync::Arc;

use tenure::Tenure;
use tenure_systems::runs::files::Files;
use tenure_systems::runs::step::{Input, Step, Stepping};
use tenure_systems::runs::{Library, Pipeline, Settings, start};

use super::{Orders, Voice, open};
use crate::cli::PartReader;
use crate::outcome::Error;

struct Reads(Voice);

impl Step for Reads {
    fn name(&self) -> &str {
        "read"
    }

    fn run(&self, input: Input) -> Stepping {
        self.0.say(&format!("began {}", input.document.id));
        Box::pin(std::future::pending())
    }
}

pub async fn run(arguments: &PartReader, voice: Voice, mut orders: Orders) -> Result<(), Error> {
    let failed = |why: String| Error::Part(why);
    let tenure = open(|| Tenure::builder(&arguments.db).without_loops()).await?;
    let place = arguments.db.database().map_err(tenure::OpenError::from)?;
    let library = Library::new(Files::of(&place, None)?);
    let pipeline = Pipeline::new([Arc::new(Reads(voice)) as Arc<dyn Step>]);
    let pipeline = pipeline.map_err(|why| failed(why.to_string()))?;
    let running = start(tenure, library, pipeline, Settings::of(&place)).await;
    let _running = running.map_err(|why| failed(why.to_string()))?;
    while orders.next().await.is_some() {}
    Ok(())
}
