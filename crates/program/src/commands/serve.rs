//! `tenure serve`: the service on a socket, with the engine's loops and the workers of the systems inside.

mod systems;

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use tenure::Tenure;
use tenure_core::lifecycle::parse::parse;
use tenure_core::lifecycle::shipped;
use tenure_core::lifecycle::tables::Tables;
use tenure_databases::sqlite::side::{self, Server};
use tenure_databases::url::Url;
use tenure_server::{Access as AccessLog, App, Form, Open, router, serve};
use tenure_systems::tickets;
use tokio::net::{TcpListener, lookup_host};
use tokio::signal::unix::{SignalKind, signal};

use super::todo::desk::settings;
use crate::cli::Serve;
use crate::database::{self, Access};
use crate::outcome::{Error, Outcome};
use crate::output::{Output, STRONG, styled};
use crate::source::{Source, expand};
use systems::Systems;

pub fn run(arguments: &Serve, output: &mut Output) -> Result<Outcome, Error> {
    let place = database::parse(&arguments.db.url, Access::MayCreate)?;
    let tables = tables(&arguments.lifecycles)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(run_on(arguments, place, tables, output))
}

async fn run_on(
    arguments: &Serve,
    place: Url,
    tables: Tables,
    output: &mut Output,
) -> Result<Outcome, Error> {
    let file = match &place {
        Url::Sqlite(path) => Some(path.clone()),
        Url::Memory | Url::Postgres(_) => None,
    };
    if let Some(server) = file.as_deref().map(side::read).transpose().ok().flatten().flatten() {
        return Err(Error::Served { url: place.to_string(), address: server.address, pid: server.pid });
    }
    let listener = listen(&arguments.listen).await?;
    let address = listener.local_addr()?;
    // Before the database is opened, so that a signal that comes meanwhile is heard afterwards.
    let stop = stop()?;
    let systems = Systems::of(arguments, &place)?;
    let builder = tickets::known(Tenure::builder(&arguments.db.url));
    let tenure = builder.lifecycles(tables).name("server").open().await?;
    let open = if address.ip().is_loopback() { Open::WhileNoToken } else { Open::Never };
    let mut app = systems.served_by(App::new(tenure.clone(), open).await?);
    app = app.with_todos(settings(&arguments.guarded));
    if let Some(form) = &arguments.log {
        let form = if form == "json" { Form::Json } else { Form::Human };
        app = app.logging(AccessLog::new(form, io::stderr()));
    }
    if open == Open::Never && !app.has_tokens().await? {
        return Err(Error::NoTokens { address: address.to_string(), url: arguments.db.url.clone() });
    }
    let working = systems.start(arguments, &tenure, &place).await?;
    let note = Advertised::at(file, address)?;
    greet(arguments, &place, address, &app, output).await?;
    serve(listener, router(app), stop, arguments.grace).await?;
    working.drain().await;
    drop(note);
    output.line("stopped; everything that was answered is kept")?;
    Ok(Outcome::Done)
}

/// The shipped lifecycles, and those of the folders given.
fn tables(folders: &[String]) -> Result<Tables, Error> {
    let mut tables = shipped::tables();
    for file in expand(folders) {
        let source = Source::read(&file?)?;
        match parse(&source.text) {
            Ok(table) => drop(tables.add(table)),
            Err(mut faults) => {
                let (file, others) = (source.file, faults.len() - 1);
                return Err(Error::Faulty { file, first: faults.remove(0), others });
            }
        }
    }
    Ok(tables)
}

async fn listen(address: &str) -> Result<TcpListener, Error> {
    let failed = |why: io::Error| Error::Listen { address: address.to_string(), why };
    let mut found: Vec<SocketAddr> = lookup_host(address).await.map_err(failed)?.collect();
    found.dedup();
    TcpListener::bind(&found[..]).await.map_err(failed)
}

/// Done when the process is told to end.
fn stop() -> io::Result<impl Future<Output = ()>> {
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}

/// The note beside a SQLite file that tells commands where its server is. Dropped, it is taken away.
struct Advertised(Option<(PathBuf, Server)>);

impl Advertised {
    fn at(file: Option<PathBuf>, address: SocketAddr) -> Result<Advertised, Error> {
        let Some(file) = file else { return Ok(Advertised(None)) };
        let server = Server::here(format!("http://{address}"));
        side::advertise(&file, &server)?;
        Ok(Advertised(Some((file, server))))
    }
}

impl Drop for Advertised {
    fn drop(&mut self) {
        if let Some((file, server)) = &self.0 {
            // A note that stays is known to be stale: its process is gone.
            let _ = side::withdraw(file, server);
        }
    }
}

async fn greet(
    arguments: &Serve,
    place: &Url,
    address: SocketAddr,
    app: &App,
    output: &mut Output,
) -> Result<(), Error> {
    let durable = match place {
        Url::Memory => "nothing is kept: all of it is gone with this process",
        Url::Sqlite(_) => "an answer is on the disk before it is given (WAL, synchronous = FULL)",
        Url::Postgres(_) => {
            "an answer is committed before it is given; `tenure doctor` looks at the server's settings"
        }
    };
    let closed = app.has_tokens().await?;
    let door = match (address.ip().is_loopback(), closed) {
        (_, true) => "a token is needed: Authorization: Bearer …",
        (true, false) => {
            "open to everybody on this machine, until `tenure token create` makes the first token"
        }
        (false, false) => unreachable!("such an address is refused without tokens"),
    };
    let url = &arguments.db.url;
    let db = if matches!(place, Url::Postgres(_)) { " --db …".to_string() } else { format!(" --db {url}") };
    output.line(format_args!("{} {}", styled(STRONG, "tenure"), env!("CARGO_PKG_VERSION")))?;
    output.line(format_args!("  listening  http://{address}"))?;
    output.line(format_args!("  database   {place}"))?;
    output.line(format_args!("  durable    {durable}"))?;
    output.line(format_args!("  access     {door}"))?;
    output.line("try")?;
    output.line(format_args!(
        "  curl -s http://{address}/v1/items -H 'content-type: application/json' -d '{{\"kind\":\"job\",\"payload\":{{\"to\":\"Ada\"}}}}'"
    ))?;
    output.line(format_args!("  tenure work job{db} -- cat"))?;
    output.line(format_args!("  tenure item list{db}"))?;
    Ok(())
}
