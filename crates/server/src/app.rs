//! What every request meets: the engine, the signer of leases, and the tokens that are known.

use std::sync::Arc;

use tenure::Tenure;
use tenure::databases::durability::Durability;
use tenure_systems::runs::Library;
use tenure_systems::{claims, todos};
use tokio::sync::Semaphore;

use crate::access::Access;
use crate::limits::REQUESTS_MAX;
use crate::metrics::Requests;
use crate::signed::Signer;
use crate::streams::Streams;
use crate::token::Tokens;

/// Who may come without a token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Open {
    /// Every caller, as long as there never was a token: only this machine can reach the service.
    WhileNoToken,
    /// Whoever has opened the database has every right to it already: a command without a server.
    Always,
    Never,
}

#[derive(Clone, Debug)]
pub struct App {
    pub(crate) tenure: Tenure,
    pub(crate) signer: Signer,
    pub(crate) tokens: Arc<Tokens>,
    pub(crate) open: Open,
    pub(crate) room: Arc<Semaphore>,
    pub(crate) streams: Arc<Streams>,
    pub(crate) requests: Arc<Requests>,
    pub(crate) access: Option<Access>,
    /// How claims are worked on.
    pub(crate) claims: Arc<claims::Settings>,
    /// None: it keeps no files, and so has no documents.
    pub(crate) library: Option<Arc<Library>>,
    /// What the operator decides about the lists of tasks.
    pub(crate) todos: Arc<todos::Settings>,
}

impl App {
    pub async fn new(tenure: Tenure, open: Open) -> Result<App, tenure::Error> {
        let signer = Signer::new(&tenure.secret().await?);
        let tokens = Arc::new(Tokens::new(&tenure));
        let (room, streams) = (Arc::new(Semaphore::new(REQUESTS_MAX)), Arc::default());
        let (requests, access, library) = (Arc::default(), None, None);
        let (claims, todos) = (Arc::new(claims::Settings::shipped()), Arc::default());
        Ok(App { tenure, signer, tokens, open, room, streams, requests, access, claims, library, todos })
    }

    /// The same service, with other decomposers.
    pub fn with_claims(self, claims: claims::Settings) -> App {
        App { claims: Arc::new(claims), ..self }
    }

    /// How claims are worked on here: also for whoever works on them in this process.
    pub fn claims(&self) -> &claims::Settings {
        &self.claims
    }

    /// The same service, with these settings for tasks.
    pub fn with_todos(self, todos: todos::Settings) -> App {
        App { todos: Arc::new(todos), ..self }
    }

    /// The same service, writing a line for every request.
    pub fn logging(self, access: Access) -> App {
        App { access: Some(access), ..self }
    }

    /// The same service, with documents whose files are there.
    pub fn keeping(self, library: Library) -> App {
        App { library: Some(Arc::new(library)), ..self }
    }

    /// What an answer of this service has survived.
    pub fn durability(&self) -> Durability {
        self.tenure.durability()
    }

    /// By how much the database's clock is behind the log, if that is worth a word.
    pub async fn clock_behind(&self) -> Result<Option<std::time::Duration>, tenure::Error> {
        self.tenure.clock_behind().await
    }

    /// Whether somebody without a token is let in now.
    pub(crate) async fn is_open(&self) -> Result<bool, tenure::Error> {
        match self.open {
            Open::Always => Ok(true),
            Open::Never => Ok(false),
            Open::WhileNoToken => Ok(!self.requires_token().await?),
        }
    }

    /// Whether requests need a token: this database has, or had, one.
    pub async fn requires_token(&self) -> Result<bool, tenure::Error> {
        self.tokens.required().await
    }

    /// Whether there is a token that was not revoked.
    pub async fn has_tokens(&self) -> Result<bool, tenure::Error> {
        self.tokens.any_live().await
    }
}
