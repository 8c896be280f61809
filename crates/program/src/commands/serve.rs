//! `tenure serve`: the service on a socket, with the engine's loops and the workers of the systems inside.

mod greeting;
mod systems;

use std::io;
use std::net::SocketAddr;
use std::path::Path;

use tenure::Tenure;
use tenure_core::lifecycle::parse::parse;
use tenure_core::lifecycle::shipped;
use tenure_core::lifecycle::tables::Tables;
use tenure_databases::sqlite::OpenError;
use tenure_databases::sqlite::side::{self, Claimed, Seat, Server};
use tenure_databases::url::Url;
use tenure_server::{Access as AccessLog, App, Form, Open, router, serve};
use tenure_systems::tickets;
use tokio::net::{TcpListener, lookup_host};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;

use super::todo::desk::settings;
use crate::cli::Serve;
use crate::database::{self, Access};
use crate::outcome::{Error, Outcome};
use crate::output::Output;
use crate::source::{Source, expand};
use greeting::Greeting;
use systems::Systems;

pub fn run(arguments: &Serve, output: &mut Output) -> Result<Outcome, Error> {
    let place = database::parse(&arguments.db.url, Access::MayCreate)?;
    let tables = tables(&arguments.lifecycles)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let outcome = runtime.block_on(run_on(arguments, place, tables, output));
    // All that was answered is on the disk: a thread that still reads a file does not keep the process.
    runtime.shutdown_background();
    outcome
}

async fn run_on(
    arguments: &Serve,
    place: Url,
    tables: Tables,
    output: &mut Output,
) -> Result<Outcome, Error> {
    // First of all, and for as long as it lives: of two that start on one file one goes on.
    let mut seat = seat(&place)?;
    let listener = listen(&arguments.listen).await?;
    let address = listener.local_addr()?;
    let open = if address.ip().is_loopback() { Open::WhileNoToken } else { Open::Never };
    // A database that is not there has no token either, and is not made in order to say so.
    if open == Open::Never && matches!(&place, Url::Sqlite(path) if !path.exists()) {
        return Err(Error::NoTokens { address: address.to_string(), url: arguments.db.url.clone() });
    }
    // Before the database is opened, so that a signal that comes meanwhile is heard afterwards.
    let stop = stop()?;
    let systems = Systems::of(arguments, &place)?;
    let files = systems.files();
    let builder = tickets::known(Tenure::builder(&arguments.db.url));
    let tenure = builder.lifecycles(tables).name("server").open().await?;
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
    if let Some(seat) = &mut seat {
        seat.advertise(&Server::here(format!("http://{address}")))?;
    }
    let greeting = Greeting { arguments, place: &place, files, address };
    greeting.say(&app, output).await?;
    // Told to end, everybody is told at once and has the same grace: who asks, and who works here.
    let (tell, told) = oneshot::channel::<()>();
    let stop = async move {
        stop.await;
        drop(tell);
    };
    let ending = async {
        // That it was dropped is what it says.
        let _ = told.await;
        tokio::join!(working.drain(), tenure.close(arguments.grace));
    };
    let (served, ()) = tokio::join!(serve(listener, router(app), stop, arguments.grace), ending);
    served?;
    drop(seat);
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

/// The place of the one server of a SQLite file; commands find the server by the note that it holds. Other databases have none.
fn seat(place: &Url) -> Result<Option<Seat>, Error> {
    let Url::Sqlite(file) = place else { return Ok(None) };
    match side::claim(file) {
        Ok(Claimed::Ours(seat)) => Ok(Some(seat)),
        Ok(Claimed::Theirs(server)) => Err(Error::Served { url: place.to_string(), server }),
        Err(why) if why.kind() == io::ErrorKind::NotFound => {
            let folder = file.parent().unwrap_or(Path::new("")).to_path_buf();
            Err(OpenError::NoFolder(folder).into())
        }
        Err(why) => Err(Error::Unwritable { file: format!("{}.server", file.display()), why }),
    }
}
