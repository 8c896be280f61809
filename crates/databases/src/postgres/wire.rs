//! Telling other processes on the same schema that there may be work, and hearing it from them.
//!
//! NOTIFY holds a lock of the whole server while its transaction commits, so none is sent in a transaction that does
//! anything else, and what is to be told is gathered first. Behind a pooler a connection is nobody's own: there nothing is
//! heard, and looking now and then has to do.

use std::future::poll_fn;

use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_postgres::{AsyncMessage, Client};

use super::Postgres;
use super::fault;
use super::pool::{Ask, Pool};
use super::url::Address;
use super::value::text;
use crate::Error;

/// The server refuses longer ones.
pub const WORDS_BYTES_MAX: usize = 7_999;

/// A connection that only listens.
#[derive(Debug)]
pub struct Listener {
    _client: Client,
    heard: mpsc::Receiver<String>,
    _driver: JoinSet<()>,
}

/// Words that were heard and not taken yet. Whoever falls so far behind misses some, and looks anyway.
const HEARD_MAX: usize = 256;

impl Listener {
    async fn connect(address: &Address, channel: &str) -> Result<Listener, Error> {
        let (client, mut connection) = address.connect().await?;
        let (tell, heard) = mpsc::channel(HEARD_MAX);
        let mut driver = JoinSet::new();
        driver.spawn(async move {
            while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await {
                if let AsyncMessage::Notification(notification) = message {
                    let _ = tell.try_send(notification.payload().to_string());
                }
            }
        });
        client.batch_execute(&format!("listen \"{channel}\"")).await.map_err(|cause| fault::of(&cause))?;
        Ok(Listener { _client: client, heard, _driver: driver })
    }

    /// What somebody told. None: the connection is lost.
    pub async fn next(&mut self) -> Option<String> {
        self.heard.recv().await
    }
}

/// How this process tells and hears.
#[derive(Debug)]
pub(super) struct Wire {
    address: Address,
    channel: String,
    pool: Pool,
}

impl Wire {
    pub fn new(address: &Address) -> Wire {
        // Names are cut at 63 bytes: two schemas could share one, and would wake each other for nothing.
        let channel = format!("tenure_{}", address.schema.trim_matches('"'));
        Wire { pool: Pool::new(address, 1), address: address.clone(), channel }
    }
}

impl Postgres {
    /// None behind a pooler.
    pub async fn listen(&self) -> Result<Option<Listener>, Error> {
        if self.wire.address.pooled {
            return Ok(None);
        }
        Listener::connect(&self.wire.address, &self.wire.channel).await.map(Some)
    }

    pub async fn tell(&self, words: &str) -> Result<(), Error> {
        if self.wire.address.pooled {
            return Ok(());
        }
        let lent = self.wire.pool.lend().await?;
        lent.one(Ask::rows("select pg_notify($1, $2)", [text(&self.wire.channel), text(words)]))
            .await
            .map(drop)
    }
}
