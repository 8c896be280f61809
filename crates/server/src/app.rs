//! What every request meets: the engine, the signer of leases, and the tokens that are known.

use std::sync::Arc;

use tenure::Tenure;
use tokio::sync::Semaphore;

use crate::limits::REQUESTS_MAX;
use crate::signed::Signer;
use crate::token::Tokens;

/// Who may come without a token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Open {
    /// Anybody, as long as there is no token: only this machine can reach the service.
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
}

impl App {
    pub async fn new(tenure: Tenure, open: Open) -> Result<App, tenure::Error> {
        let signer = Signer::new(&tenure.secret().await?);
        let (tokens, room) = (Arc::new(Tokens::new(&tenure)), Arc::new(Semaphore::new(REQUESTS_MAX)));
        Ok(App { tenure, signer, tokens, open, room })
    }

    /// Whether anybody would need a token now.
    pub async fn has_tokens(&self) -> Result<bool, tenure::Error> {
        self.tokens.exist().await
    }
}
