//! What the PostgreSQL server can do: one row a statement, each its own transaction, from one client and from many.

use tokio::task::JoinSet;
use tokio_postgres::Client;

use super::Sample;
use crate::commands::bench::measure::rate;
use crate::commands::bench::work::payload;
use crate::outcome::Error;
use crate::scratch::failed;
use crate::time::Stopwatch;

pub const INSERT_1: &str = "insert_1";
pub const INSERT_32: &str = "insert_32";

/// Samples every limit once, in a table that the schema has for it. `clients` are connected already.
pub async fn sample(clients: Vec<Client>, schema: &str, n: usize) -> Result<Vec<Sample>, Error> {
    let Some(first) = clients.first() else { return Ok(Vec::new()) };
    let table = format!(
        "create schema if not exists {schema}; drop table if exists {schema}.bare; \
         create table {schema}.bare (id bigint generated always as identity primary key, body text)"
    );
    first.batch_execute(&table).await.map_err(failed)?;
    let many = clients.len();
    let text = format!("insert into {schema}.bare (body) values ($1)");
    let mut clients = clients;
    let alone = clients.pop().into_iter().collect();
    let (one, alone) = inserts(alone, &text, n).await?;
    clients.extend(alone);
    let (all, _) = inserts(clients, &text, n.div_ceil(4)).await?;
    Ok(vec![
        Sample { name: INSERT_1, callers: 1, batch: 1, n, rate: one },
        Sample { name: INSERT_32, callers: many, batch: 1, n: many * n.div_ceil(4), rate: all },
    ])
}

/// Inserts a second of all clients together, each with so many.
async fn inserts(clients: Vec<Client>, text: &str, each: usize) -> Result<(f64, Vec<Client>), Error> {
    let mut ready = Vec::new();
    for client in clients {
        let insert = client.prepare(text).await.map_err(failed)?;
        ready.push((client, insert));
    }
    let (mut tasks, count) = (JoinSet::new(), ready.len());
    let watch = Stopwatch::start();
    for (client, insert) in ready {
        tasks.spawn(async move {
            for number in 0..each {
                client.execute(&insert, &[&payload(number)]).await.map_err(failed)?;
            }
            Ok::<_, Error>(client)
        });
    }
    let mut clients = Vec::new();
    while let Some(ended) = tasks.join_next().await {
        clients.push(ended.expect("a client does not panic")?);
    }
    Ok((rate(each * count, watch.elapsed()), clients))
}
