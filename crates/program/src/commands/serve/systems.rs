//! What the systems do by themselves while a server runs: each of them, and each of their parts, unless `--without` leaves it to others.

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use tenure::Tenure;
use tenure_databases::url::Url;
use tenure_server::App;
use tenure_systems::claims::decompose::domains::Decomposers;
use tenure_systems::claims::{self, Retries};
use tenure_systems::runs::builtin::{BUILTIN, builtin};
use tenure_systems::runs::files::Files;
use tenure_systems::runs::{self, Library, Pipeline};
use tenure_systems::{process, tickets};

use crate::cli::Serve;
use crate::commands::work::keeper::Keeper;
use crate::outcome::Error;

/// What the routes of the systems need.
pub struct Systems {
    claims: claims::Settings,
    library: Library,
    pipeline: Pipeline,
}

/// What works. To be drained when the process is told to end.
pub struct Working {
    claims: Option<claims::Running>,
    runs: Option<runs::Running>,
    tickets: Option<tickets::Running>,
    /// Of what steps and gates start. None: nothing is started here.
    _keeper: Option<Arc<Keeper>>,
}

impl Systems {
    /// As the command line and the configuration have them.
    pub fn of(arguments: &Serve, place: &Url) -> Result<Systems, Error> {
        let library = Library::new(Files::of(place, arguments.files.as_deref().map(Path::new))?);
        Ok(Systems { claims: of_claims(arguments)?, library, pipeline: pipeline(arguments)? })
    }

    /// The folder of documents.
    pub fn files(&self) -> String {
        self.library.files.folder().display().to_string()
    }

    pub fn served_by(&self, app: App) -> App {
        app.with_claims(self.claims.clone()).keeping(self.library.clone())
    }

    pub async fn start(self, arguments: &Serve, tenure: &Tenure, place: &Url) -> Result<Working, Error> {
        let keeper = keeper(arguments)?;
        let parts = [
            ("orchestrator", claims::Part::Orchestrator),
            ("decomposers", claims::Part::Decomposers),
            ("verdicts", claims::Part::Verdicts),
        ];
        let parts = arguments.parts_of("claims", parts);
        let claims = match parts.is_empty() {
            true => None,
            false => {
                let started = claims::start(tenure, claims::Settings { parts, ..self.claims });
                Some(started.map_err(|why| Error::Part(why.to_string()))?)
            }
        };
        let runs = match arguments.runs("runs") {
            true => {
                let settings = runs::Settings {
                    grace: arguments.grace,
                    tell: Arc::new(tell),
                    ..runs::Settings::of(place)
                };
                let started = runs::start(tenure.clone(), self.library, self.pipeline, settings).await;
                Some(started.map_err(|why| Error::Part(why.to_string()))?)
            }
            false => None,
        };
        let parts = [
            ("readiness", tickets::Part::Readiness),
            ("scheduler", tickets::Part::Scheduler),
            ("gate", tickets::Part::Gate),
        ];
        let parts = arguments.parts_of("tickets", parts);
        let tickets = (!parts.is_empty()).then(|| {
            let (repository, grace) = (arguments.repository.clone(), arguments.grace);
            tickets::start(tenure, tickets::Settings { parts, repository, grace, lease: None })
        });
        Ok(Working { claims, runs, tickets, _keeper: keeper })
    }
}

impl Working {
    /// All at once: each has its grace from now on.
    pub async fn drain(self) {
        let Working { claims, runs, tickets, _keeper } = self;
        let claims = async {
            if let Some(claims) = claims {
                claims.drain().await;
            }
        };
        let runs = async {
            if let Some(runs) = runs {
                runs.drain().await;
            }
        };
        let tickets = async {
            if let Some(tickets) = tickets {
                tickets.drain().await;
            }
        };
        tokio::join!(claims, runs, tickets);
    }
}

/// Commands die with this process, also when it is killed.
fn keeper(arguments: &Serve) -> Result<Option<Arc<Keeper>>, Error> {
    let has_commands = arguments.steps.iter().any(|step| step.command.is_some());
    if !has_commands && arguments.repository.is_none() {
        return Ok(None);
    }
    let keeper = Arc::new(Keeper::start(&format!("serve-{}", std::process::id()))?);
    process::kept_by(&keeper);
    Ok(Some(keeper))
}

fn of_claims(arguments: &Serve) -> Result<claims::Settings, Error> {
    let decomposers = Decomposers::from_environment(&arguments.claims.domains).map_err(|why| {
        let then =
            "set the variable where the server is started, or choose another decomposer for the domain"
                .to_string();
        Error::NotPossible { what: format!("[claims.domains] of tenure.toml: {why}"), then }
    })?;
    let retries = Retries { max: arguments.claim_retries.into(), ..Retries::default() };
    let policy = Arc::new(arguments.claims.policy.clone());
    Ok(claims::Settings { retries, policy, grace: arguments.grace, ..claims::Settings::with(decomposers) })
}

/// The steps that are configured, or those that ship.
fn pipeline(arguments: &Serve) -> Result<Pipeline, Error> {
    let steps: Result<Vec<_>, String> = match arguments.steps.is_empty() {
        true => Ok(BUILTIN.iter().filter_map(|name| builtin(name)).collect()),
        false => arguments.steps.iter().map(|settings| settings.step()).collect(),
    };
    let steps = steps.map_err(Error::Steps)?;
    Pipeline::new(steps).map_err(|why| Error::Steps(why.to_string()))
}

fn tell(line: &str) {
    // Nobody is left to tell when this can not be written.
    let _ = writeln!(io::stderr(), "{line}");
}
