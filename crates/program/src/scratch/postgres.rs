//! Scratch schemas on a PostgreSQL server.

use tenure_databases::outside::chance;
use tenure_databases::postgres;
use tenure_databases::url::SecretUrl;
use tokio::task::JoinSet;
use tokio_postgres::Client;

use crate::outcome::Error;

#[derive(Debug)]
pub struct Server {
    url: SecretUrl,
    /// How every schema of this command begins; also the name of its connections.
    prefix: String,
    made: usize,
    /// Those that were made and not dropped yet.
    schemas: Vec<String>,
    /// What moves the bytes of our own connections.
    connections: JoinSet<()>,
}

pub fn failed(error: tokio_postgres::Error) -> Error {
    match error.as_db_error() {
        Some(error) => Error::Scratch(error.to_string()),
        None => Error::Scratch(error.to_string()),
    }
}

impl Server {
    pub fn new(url: &SecretUrl, command: &str) -> Server {
        let prefix = format!("tenure_{command}_{:012x}", chance() >> 16);
        Server { url: url.clone(), prefix, made: 0, schemas: Vec::new(), connections: JoinSet::new() }
    }

    /// What our connections call themselves.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// A name for a schema of our own, which is dropped in the end.
    pub fn schema(&mut self, name: &str) -> String {
        let schema = format!("{}_{name}", self.prefix);
        self.schemas.push(schema.clone());
        schema
    }

    pub fn place(&mut self) -> SecretUrl {
        self.made += 1;
        let schema = self.schema(&self.made.to_string());
        with(&with(&theirs(&self.url), "application_name", &self.prefix), "schema", &schema)
    }

    pub async fn clear(&mut self) -> Result<(), Error> {
        while let Some(schema) = self.schemas.last().cloned() {
            self.drop_schema(&schema).await?;
            self.schemas.pop();
        }
        Ok(())
    }

    pub async fn drop_schema(&mut self, schema: &str) -> Result<(), Error> {
        let client = self.connect().await?;
        let drop = format!("set client_min_messages = warning; drop schema if exists {schema} cascade");
        client.batch_execute(&drop).await.map_err(failed)
    }

    /// A connection of our own, beside those of the databases that are measured or tried.
    pub async fn connect(&mut self) -> Result<Client, Error> {
        let (client, connection) = postgres::plain(theirs(&self.url).reveal()).await?;
        self.connections.spawn(connection);
        Ok(client)
    }
}

/// The URL with one more parameter.
pub fn with(url: &SecretUrl, name: &str, value: &str) -> SecretUrl {
    let url = url.reveal();
    let mark = if url.contains('?') { '&' } else { '?' };
    format!("{url}{mark}{name}={value}").into()
}

/// The URL without the parameters that only Tenure knows, and without the name that ours get.
fn theirs(url: &SecretUrl) -> SecretUrl {
    let Some((base, query)) = url.reveal().split_once('?') else { return url.clone() };
    let ours = ["schema=", "pooler=", "connections=", "application_name="];
    let is_ours = |part: &&str| ours.iter().any(|name| part.starts_with(name));
    let theirs: Vec<&str> = query.split('&').filter(|part| !is_ours(part)).collect();
    if theirs.is_empty() { base.into() } else { format!("{base}?{}", theirs.join("&")).into() }
}
