use crate::cli::Work;
use crate::outcome::{Error, Outcome};
use crate::output::Output;
pub fn run(_: &Work, _: &mut Output) -> Result<Outcome, Error> {
    Ok(Outcome::Done)
}
