//! `tenure bench claims`: claims from their creation to their TruthBits, beside plain jobs whose handler writes the same records.
//!
//! Both are created by as many callers with names of their own, leased by a worker with its default settings, and committed with
//! records of the same number and size. What is left between them is what claims are for: the orchestrator's turn, which is one
//! move more, and the decomposer. They take turns in parts, so that a machine that is busy for a while is so for both; and their
//! processor time is told beside their rate, because a disk that is slow enough makes all rates alike.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tenure::{Done, Failure, Job, New, Tenure, Worker};
use tenure_systems::claims::decompose::{Decomposer, Statement, text::TextDecomposer};
use tenure_systems::claims::{self, Claims, NewClaim, Running, Settings};

use super::create;
use super::end_to_end::{failed, open};
use super::measure::{Latencies, Memory, processor_micros, rate};
use super::report::{Goal, Row};
use super::rounds::{self, Rounds};
use super::target::{Against, Target};
use crate::cli::BenchSystem;
use crate::outcome::{Error, Outcome};
use crate::output::Output;
use crate::time::{Stopwatch, pause};
use tenure_databases::url::SecretUrl;

/// As many callers as a busy service has at once.
const CALLERS: usize = 64;
/// Each is of one sort of work and then of the other.
const PARTS: usize = 4;
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// A domain each, and a text that has as many TruthBits as such texts have.
const TEXTS: [(&str, &str); 4] = [
    ("engineering", "The bridge was opened on 12 May 1932 and cost 4,217 pounds."),
    ("finance", "Revenue of Harbour Ltd rose by 12 % to 3.4 million euros in 2023."),
    ("medicine", "The trial had 318 patients. Fewer than 5 % of them fell ill."),
    ("geography", "The lake is 251 metres deep."),
];

struct Sizes {
    limits: usize,
    claims: usize,
    /// Read off the same run as the rates.
    processor: Mutex<Option<Row>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Measurement {
    Claims,
    /// As many a second of processor time.
    Processor,
}

pub fn run(arguments: &BenchSystem, output: &mut Output) -> Result<Outcome, Error> {
    let of = |whole: usize| if arguments.on.quick { whole / 100 } else { whole };
    let sizes = Sizes { limits: of(2_000), claims: of(100_000), processor: Mutex::default() };
    let wanted = vec![Measurement::Claims, Measurement::Processor];
    rounds::run(&sizes, Target::open(&arguments.on.db)?, wanted, arguments.on.form, output)
}

impl Rounds for Sizes {
    type One = Measurement;

    fn name(which: Measurement) -> &'static str {
        match which {
            Measurement::Claims => "claims",
            Measurement::Processor => "claims_processor",
        }
    }

    fn against(_which: Measurement) -> Against {
        Against::Itself
    }

    /// A claim is one move more than a job, of four, and a decomposition.
    fn goals(_which: Measurement, _store: &str) -> Vec<Goal> {
        vec![Goal::AtLeast(0.7)]
    }

    fn limit_size(&self) -> usize {
        self.limits
    }

    async fn one(&self, which: Measurement, target: &mut Target) -> Result<Row, Error> {
        let measured = |row: Option<Row>| row.ok_or_else(|| Error::Bench("nothing was measured".to_string()));
        match which {
            Measurement::Claims => self.claims(target).await,
            Measurement::Processor => measured(self.processor.lock().expect("nobody panics here").take()),
        }
    }
}

impl Sizes {
    async fn claims(&self, target: &mut Target) -> Result<Row, Error> {
        let jobs = Jobs::start(&target.fresh().await?).await?;
        let claims = Decomposing::start(&target.beside()).await?;
        let (mut of_jobs, mut of_claims) = (Measured::default(), Measured::default());
        let part = self.claims / PARTS;
        for _ in 0..PARTS {
            of_jobs.add(&jobs.tenure, part, jobs.create()).await?;
            of_claims.add(&claims.tenure, part, claims.create()).await?;
        }
        jobs.worker.drain().await;
        claims.running.drain().await;
        let row = |job: f64, claim: f64| Row {
            callers: Some(CALLERS),
            batch: Some(1),
            n: of_claims.n,
            rate: claim,
            rss_mb: of_claims.memory.mb(),
            limit_name: Some("jobs with records".to_string()),
            limit: Some(job),
            ratio: Some(claim / job),
            ..Row::default()
        };
        let processor = row(of_jobs.rate_of(of_jobs.processor), of_claims.rate_of(of_claims.processor));
        *self.processor.lock().expect("nobody panics here") = Some(processor);
        let row = row(of_jobs.rate_of(of_jobs.took), of_claims.rate_of(of_claims.took));
        Ok(row.with(&of_claims.latencies))
    }
}

/// What one of the two has taken so far.
#[derive(Default)]
struct Measured {
    n: usize,
    took: Duration,
    processor: Duration,
    /// Of creates.
    latencies: Latencies,
    memory: Memory,
}

impl Measured {
    /// From the first create to the last commit of a part.
    async fn add<F>(
        &mut self,
        tenure: &Tenure,
        part: usize,
        create: impl Fn(usize) -> F + Clone + Send + 'static,
    ) -> Result<(), Error>
    where
        F: Future<Output = Result<(), Error>> + Send,
    {
        let (first, used, watch) = (self.n, processor_micros(), Stopwatch::start());
        let created = create::each(CALLERS, part, move |number| create(first + number)).await?;
        self.latencies.extend(created.latencies);
        self.n += created.n;
        while tenure.counters().committed() < self.n as u64 {
            pause(LOOK_EVERY).await;
            self.memory.look();
        }
        self.took += watch.elapsed();
        self.processor += Duration::from_micros(processor_micros().saturating_sub(used).unsigned_abs());
        match tenure.counters().leased() {
            leased if leased == self.n as u64 => Ok(()),
            leased => Err(Error::Bench(format!("{} items took {leased} leases", self.n))),
        }
    }

    fn rate_of(&self, took: Duration) -> f64 {
        rate(self.n, took)
    }
}

struct Decomposing {
    tenure: Tenure,
    running: Running,
}

impl Decomposing {
    async fn start(url: &SecretUrl) -> Result<Decomposing, Error> {
        let tenure = open(url).await?;
        let running = claims::start(&tenure, Settings::shipped());
        let running = running.map_err(|why| Error::Bench(why.to_string()))?;
        Ok(Decomposing { tenure, running })
    }

    fn create(&self) -> impl Fn(usize) -> Creating + Clone + Send + 'static {
        let claims = Claims::of(&self.tenure);
        move |number| {
            let claims = claims.clone();
            let (domain, text) = TEXTS[number % TEXTS.len()];
            let new = NewClaim {
                idempotency_key: format!("claim-{number}"),
                domain: domain.to_string(),
                text: text.to_string(),
                created_by: None,
                trace: None,
            };
            Box::pin(async move {
                let created = claims.create(new).await;
                created.map(drop).map_err(|why| Error::Bench(why.to_string()))
            })
        }
    }
}

type Creating = std::pin::Pin<Box<dyn Future<Output = Result<(), Error>> + Send>>;

/// As a claim's payload is.
#[derive(Serialize, Deserialize)]
struct Payload {
    domain: String,
    text: String,
}

/// As a TruthBit's record is.
#[derive(Serialize)]
struct Record {
    place: usize,
    statement: String,
    expected_type: String,
    policy: String,
}

struct Jobs {
    tenure: Tenure,
    worker: Worker,
}

impl Jobs {
    async fn start(url: &SecretUrl) -> Result<Jobs, Error> {
        let tenure = open(url).await?;
        let records = Arc::new(records().await?);
        let handler = move |job: Job| {
            let records = records.clone();
            async move {
                let Payload { domain, .. } = job.payload()?;
                let none = || Failure::permanent(format!("there is no text of {domain}"));
                let mut done = Done::default();
                for (key, record) in records.get(&*domain).ok_or_else(none)? {
                    done = done.record("truthbit", key, record)?;
                }
                Ok(done)
            }
        };
        let worker = tenure.worker("bench").handle("job", handler).start().map_err(failed)?;
        Ok(Jobs { tenure, worker })
    }

    fn create(&self) -> impl Fn(usize) -> Creating + Clone + Send + 'static {
        let tenure = self.tenure.clone();
        move |number| {
            let tenure = tenure.clone();
            let (domain, text) = TEXTS[number % TEXTS.len()];
            let payload = Payload { domain: domain.to_string(), text: text.to_string() };
            let new = New::job(&payload).idempotency_key(format!("claim-{number}"));
            Box::pin(async move { tenure.create(new).await.map(drop).map_err(failed) })
        }
    }
}

/// What the decomposer makes of each text, so that jobs write the same.
async fn records() -> Result<BTreeMap<&'static str, Vec<(String, Record)>>, Error> {
    let mut records = BTreeMap::new();
    for (domain, text) in TEXTS {
        let statement = Statement { domain: domain.to_string(), text: text.to_string() };
        let parts = TextDecomposer.decompose(&statement).await;
        let parts = parts.map_err(|why| Error::Bench(why.to_string()))?;
        let policy = Settings::shipped().policy.version.clone();
        let record = |(place, part): (usize, claims::decompose::Part)| {
            let claims::decompose::Part { key, statement, expected_type } = part;
            (key, Record { place, statement, expected_type, policy: policy.clone() })
        };
        records.insert(domain, parts.into_iter().enumerate().map(record).collect());
    }
    Ok(records)
}
