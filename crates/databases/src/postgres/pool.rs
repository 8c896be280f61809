//! Connections: a few, lent one at a time, replaced when they are lost.
//!
//! What is asked for together is sent together and answered in order: a round trip costs more than most statements. A
//! connection remembers what it has prepared; behind a pooler nothing is prepared and every statement brings its types.

use std::collections::HashMap;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};

use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::task::JoinSet;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Error as Cause, Row, Statement};

use super::fault;
use super::url::{Address, LOOK_MS_MAX};
use super::value::Param;
use crate::Error;

/// The text of a statement. `@` stands for the schema; `#` for a limit, which is part of the text because a plan for an
/// unknown limit expects a tenth of the table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sql {
    pub text: &'static str,
    pub limit: usize,
}

impl Sql {
    /// Texts are constants: where one stands tells which it is.
    fn key(self) -> (usize, usize, usize) {
        (self.text.as_ptr().addr(), self.text.len(), self.limit)
    }
}

/// One statement with its parameters.
pub(super) struct Ask<'a> {
    sql: Sql,
    params: Vec<Param<'a>>,
    answer: Wanted,
}

enum Wanted {
    Rows,
    Count,
    /// No parameters, no rows, nothing prepared: BEGIN and its like.
    Nothing,
}

impl<'a> Ask<'a> {
    pub fn rows(text: &'static str, params: impl Into<Vec<Param<'a>>>) -> Ask<'a> {
        Ask { sql: Sql { text, limit: 0 }, params: params.into(), answer: Wanted::Rows }
    }

    /// With a limit, rounded up to a power of two so that there are few of them.
    pub fn some_rows(text: &'static str, limit: usize, params: impl Into<Vec<Param<'a>>>) -> Ask<'a> {
        let limit = limit.next_power_of_two();
        Ask { sql: Sql { text, limit }, params: params.into(), answer: Wanted::Rows }
    }

    /// With a higher limit in its text.
    pub fn sized(mut self, limit: usize) -> Ask<'a> {
        self.sql.limit = limit.next_power_of_two();
        self
    }

    pub fn count(text: &'static str, params: impl Into<Vec<Param<'a>>>) -> Ask<'a> {
        Ask { sql: Sql { text, limit: 0 }, params: params.into(), answer: Wanted::Count }
    }

    pub fn plain(text: &'static str) -> Ask<'a> {
        Ask { sql: Sql { text, limit: 0 }, params: Vec::new(), answer: Wanted::Nothing }
    }
}

#[derive(Debug, Default)]
pub(super) struct Answer {
    pub rows: Vec<Row>,
    pub count: u64,
}

pub(super) struct Connection {
    client: Client,
    prepared: Mutex<HashMap<(usize, usize, usize), Statement>>,
    schema: Arc<str>,
    pooled: bool,
    /// A BEGIN was sent, and no answer to what ends it was heard.
    is_open: AtomicBool,
    /// What it has prepared is of a schema that was changed since.
    is_outdated: AtomicBool,
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connection").finish_non_exhaustive()
    }
}

impl Connection {
    /// Sends all and waits for all. The first error is the one that tells: those after it only say that the transaction
    /// has failed.
    pub async fn ask(&self, asks: Vec<Ask<'_>>) -> Result<Vec<Answer>, Error> {
        let answers = self.answers(&asks).await.map_err(|cause| fault::of(&cause))?;
        answers.into_iter().map(|answer| answer.map_err(|cause| fault::of(&cause))).collect()
    }

    pub async fn one(&self, ask: Ask<'_>) -> Result<Answer, Error> {
        Ok(self.ask(vec![ask]).await?.pop().unwrap_or_default())
    }

    /// As [`Connection::ask`], each with its own outcome.
    pub async fn answers(&self, asks: &[Ask<'_>]) -> Result<Vec<Result<Answer, Cause>>, Cause> {
        let mut ready: Vec<Option<Statement>> = Vec::with_capacity(asks.len());
        for ask in asks {
            ready.push(self.statement(ask).await?);
        }
        let sent = asks.iter().zip(ready).map(|(ask, statement)| {
            let sending: Pin<Box<dyn Future<Output = Result<Answer, Cause>> + Send + '_>> =
                Box::pin(self.send(ask, statement));
            sending
        });
        let answers = all(sent.collect()).await;
        if answers.iter().any(|answer| answer.as_ref().is_err_and(fault::is_outdated)) {
            self.is_outdated.store(true, Ordering::Relaxed);
        }
        Ok(answers)
    }

    async fn statement(&self, ask: &Ask<'_>) -> Result<Option<Statement>, Cause> {
        if self.pooled || matches!(ask.answer, Wanted::Nothing) {
            return Ok(None);
        }
        let key = ask.sql.key();
        if let Some(statement) = held(&self.prepared).get(&key) {
            return Ok(Some(statement.clone()));
        }
        let types: Vec<Type> = ask.params.iter().map(|param| param.of.clone()).collect();
        let statement = self.client.prepare_typed(&self.text(ask.sql), &types).await?;
        held(&self.prepared).insert(key, statement.clone());
        Ok(Some(statement))
    }

    fn text(&self, sql: Sql) -> String {
        sql.text.replace('@', &self.schema).replace('#', &sql.limit.to_string())
    }

    async fn send(&self, ask: &Ask<'_>, statement: Option<Statement>) -> Result<Answer, Cause> {
        let client = &self.client;
        match (&ask.answer, statement) {
            (Wanted::Nothing, _) => self.plain(ask.sql.text).await.map(|()| Answer::default()),
            (Wanted::Rows, Some(statement)) => {
                let rows = client.query(&statement, &values(ask)).await?;
                Ok(Answer { count: rows.len() as u64, rows })
            }
            (Wanted::Count, Some(statement)) => {
                let count = client.execute(&statement, &values(ask)).await?;
                Ok(Answer { rows: Vec::new(), count })
            }
            (Wanted::Rows, None) => {
                let rows = client.query_typed(&self.text(ask.sql), &typed(ask)).await?;
                Ok(Answer { count: rows.len() as u64, rows })
            }
            (Wanted::Count, None) => {
                let count = client.execute_typed(&self.text(ask.sql), &typed(ask)).await?;
                Ok(Answer { rows: Vec::new(), count })
            }
        }
    }

    /// BEGIN, COMMIT or ROLLBACK. Whoever stops waiting for it leaves the transaction open as far as anybody knows.
    async fn plain(&self, text: &str) -> Result<(), Cause> {
        let begins = text.starts_with("begin");
        if begins {
            self.is_open.store(true, Ordering::Relaxed);
        }
        let done = self.client.batch_execute(text).await;
        if !begins {
            // Refused or not, it is over.
            self.is_open.store(false, Ordering::Relaxed);
        }
        done
    }

    /// One question whose text is made for it, in a transaction of its own that can not write. Nothing of it is prepared.
    pub async fn look(&self, text: &str) -> Result<Vec<Row>, Error> {
        let begin = format!("begin read only; set local statement_timeout = {LOOK_MS_MAX}");
        self.plain(&begin).await.map_err(|cause| fault::of(&cause))?;
        let rows = self.client.query_typed(text, &[]).await.map_err(|cause| fault::of(&cause));
        self.plain("rollback").await.map_err(|cause| fault::of(&cause))?;
        rows
    }

    /// Runs a script of many statements, with the schema put in.
    pub async fn script(&self, text: &str) -> Result<(), Error> {
        let text = text.replace('@', &self.schema);
        self.client.batch_execute(&text).await.map_err(|cause| fault::of(&cause))
    }

    /// Queues a ROLLBACK without waiting for it: whatever is asked next comes after it.
    pub fn roll_back(&self) {
        let rollback = pin!(self.client.batch_execute("rollback"));
        // The first poll sends it. Nobody needs the answer: a lost connection rolls back by itself.
        let _ = rollback.poll(&mut Context::from_waker(Waker::noop()));
        self.is_open.store(false, Ordering::Relaxed);
    }

    /// Whether whoever comes next finds it as if it were new.
    fn is_good(&self) -> bool {
        let is_spoiled = self.is_open.load(Ordering::Relaxed) || self.is_outdated.load(Ordering::Relaxed);
        !is_spoiled && !self.client.is_closed()
    }
}

fn values<'a>(ask: &'a Ask<'_>) -> Vec<&'a (dyn ToSql + Sync)> {
    ask.params.iter().map(|param| &*param.value as &(dyn ToSql + Sync)).collect()
}

fn typed<'a>(ask: &'a Ask<'_>) -> Vec<(&'a (dyn ToSql + Sync), Type)> {
    ask.params.iter().map(|param| (&*param.value as &(dyn ToSql + Sync), param.of.clone())).collect()
}

/// Polls all, in order, so that what is sent by a first poll is sent in order.
async fn all<T>(mut pending: Vec<Pin<Box<dyn Future<Output = T> + Send + '_>>>) -> Vec<T> {
    let mut done: Vec<Option<T>> = pending.iter().map(|_| None).collect();
    poll_fn(|context| {
        let mut waits = false;
        for (future, done) in pending.iter_mut().zip(&mut done).filter(|(_, done)| done.is_none()) {
            match future.as_mut().poll(context) {
                Poll::Ready(value) => *done = Some(value),
                Poll::Pending => waits = true,
            }
        }
        if waits { Poll::Pending } else { Poll::Ready(()) }
    })
    .await;
    done.into_iter().flatten().collect()
}

pub(super) fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("nobody panics while holding it")
}

#[derive(Debug)]
pub(super) struct Pool {
    address: Address,
    schema: Arc<str>,
    permits: Semaphore,
    idle: Mutex<Vec<Connection>>,
    /// What reads and writes the sockets. They end with their connection, or with the pool.
    drivers: Mutex<JoinSet<()>>,
}

impl Pool {
    pub fn new(address: &Address, connections: usize) -> Pool {
        Pool {
            address: address.clone(),
            schema: address.schema.as_str().into(),
            permits: Semaphore::new(connections),
            idle: Mutex::default(),
            drivers: Mutex::default(),
        }
    }

    /// A connection, once one is free. One that was lost meanwhile is replaced.
    pub async fn lend(&self) -> Result<Lent<'_>, Error> {
        let permit = self.permits.acquire().await.map_err(|why| Error::Unavailable(why.to_string()))?;
        while let Some(connection) = self.take() {
            if !connection.client.is_closed() {
                return Ok(Lent { connection: Some(connection), pool: self, _permit: permit });
            }
        }
        let connection = self.connect().await?;
        Ok(Lent { connection: Some(connection), pool: self, _permit: permit })
    }

    fn take(&self) -> Option<Connection> {
        held(&self.idle).pop()
    }

    async fn connect(&self) -> Result<Connection, Error> {
        let (client, driver) = self.address.connect().await?;
        let mut drivers = held(&self.drivers);
        while drivers.try_join_next().is_some() {}
        drivers.spawn(async move {
            // Whoever waits for an answer hears of the loss from the client.
            let _ = driver.await;
        });
        drop(drivers);
        Ok(Connection {
            client,
            prepared: Mutex::default(),
            schema: self.schema.clone(),
            pooled: self.address.pooled,
            is_open: AtomicBool::new(false),
            is_outdated: AtomicBool::new(false),
        })
    }
}

/// A connection on loan; it goes back when this is dropped.
#[derive(Debug)]
pub(super) struct Lent<'a> {
    connection: Option<Connection>,
    pool: &'a Pool,
    _permit: SemaphorePermit<'a>,
}

impl std::ops::Deref for Lent<'_> {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        self.connection.as_ref().expect("it is lent until it is dropped")
    }
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        // One in whose transaction somebody has stopped in the middle is closed: the next statement would be part of it.
        if let Some(connection) = self.connection.take().filter(Connection::is_good) {
            held(&self.pool.idle).push(connection);
        }
    }
}
