//! The measurements of a bench one after the other, with the limits of the machine in between.

use super::limits::Limits;
use super::report::{self, Goal, Row};
use super::target::{Against, Target};
use crate::cli::Form;
use crate::outcome::{Error, Outcome};
use crate::output::Output;
use crate::progress::Progress;

/// A bench: measurements by name, on a target.
pub trait Rounds {
    type One: Copy;

    fn name(which: Self::One) -> &'static str;

    fn against(which: Self::One) -> Against;

    /// What should come out.
    fn goals(which: Self::One, store: &str) -> Vec<Goal>;

    /// How much a sample of the limits does.
    fn limit_size(&self) -> usize;

    async fn one(&self, which: Self::One, target: &mut Target) -> Result<Row, Error>;
}

/// Those that were asked for, or all.
pub fn wanted<T: Copy + PartialEq>(all: &[T], only: &[T], has: impl Fn(&T) -> bool) -> Vec<T> {
    let is_wanted = |which: &T| (only.is_empty() || only.contains(which)) && has(which);
    all.iter().copied().filter(is_wanted).collect()
}

/// Measures, removes what was written, and shows what came out.
pub fn run<B: Rounds>(
    bench: &B,
    mut target: Target,
    wanted: Vec<B::One>,
    form: Form,
    output: &mut Output,
) -> Result<Outcome, Error> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let rows = runtime.block_on(async {
        let measured = tokio::select! {
            measured = measure(bench, &mut target, wanted) => measured,
            _ = tokio::signal::ctrl_c() => Err(Error::Interrupted),
        };
        let removed = target.remove().await;
        let rows = measured?;
        removed.map(|()| rows)
    })?;
    report::show(rows, form.json, output)?;
    Ok(Outcome::Done)
}

async fn measure<B: Rounds>(bench: &B, target: &mut Target, wanted: Vec<B::One>) -> Result<Vec<Row>, Error> {
    let (progress, n) = (Progress::new(), bench.limit_size());
    let (mut limits, mut rows) = (Limits::default(), Vec::new());
    for which in wanted {
        progress.say("limits of the machine…");
        limits.add(target.sample(n).await?);
        progress.say(&format!("{}…", B::name(which)));
        let row = bench.one(which, target).await?;
        let limit = target.limit(B::against(which)).map(str::to_string);
        let (name, store) = (B::name(which).to_string(), target.store());
        let goals = B::goals(which, store);
        rows.push(Row { name, store, goals, limit_name: row.limit_name.clone().or(limit), ..row });
    }
    limits.add(target.sample(n).await?);
    for row in rows.iter_mut().filter(|row| row.limit.is_none()) {
        row.limit = row.limit_name.as_deref().and_then(|name| limits.rate(name));
        // What is paced has no rate of its own: there a call is held against a write.
        row.ratio = row.limit.map(|limit| match row.paced_ms {
            Some(ms) => ms / 1_000.0 * limit,
            None => row.rate / limit,
        });
    }
    let mut all = limits.rows(target.store());
    all.extend(rows);
    Ok(all)
}
