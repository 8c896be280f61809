//! A backup by PostgreSQL's own `pg_dump`: one snapshot of the schema, taken while it is in use.

use std::ffi::OsString;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::Command;

use tokio_postgres::config::Host;

use super::OpenError;
use super::url::Address;
use crate::Error;

/// Writes a dump that `pg_restore` reads. The file appears whole or not at all, and replaces nothing.
pub fn backup(url: &str, to: &Path) -> Result<(), OpenError> {
    let failed = |why: String| OpenError::Database(Error::Unavailable(why));
    let address = Address::parse(url)?;
    if to.exists() {
        let why = format!("{} exists already; name another file", to.display());
        return Err(OpenError::Database(Error::Statement(why)));
    }
    let mut draft: OsString = to.as_os_str().to_owned();
    draft.push(format!(".{}.part", std::process::id()));
    // A copy of everything is its owner's alone; `pg_dump` writes into a file that it finds.
    let _ = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft);
    let mut dump = Command::new("pg_dump");
    dump.args(["--format=custom", "--no-password", "--no-owner"]).arg("--schema").arg(&address.schema);
    dump.arg("--file").arg(&draft);
    for (option, value) in connection(&address) {
        dump.arg(option).arg(value);
    }
    dump.envs(address.tls.environment(&address.config));
    // Not as an argument: those can be seen by everyone on the machine.
    if let Some(password) = address.config.get_password() {
        dump.env("PGPASSWORD", String::from_utf8_lossy(password).as_ref());
    }
    let ended = dump.output().map_err(|error| {
        failed(format!("pg_dump can not be run ({error}); install PostgreSQL's client programs"))
    })?;
    let done = match ended.status.success() {
        true => std::fs::File::open(&draft)
            .and_then(|file| file.sync_all())
            .and_then(|()| std::fs::hard_link(&draft, to))
            .map_err(|error| failed(format!("the backup {}: {error}", to.display()))),
        false => Err(failed(format!("pg_dump said: {}", String::from_utf8_lossy(&ended.stderr).trim()))),
    };
    // What is left of it has a name that says what it is.
    let _ = std::fs::remove_file(&draft);
    done
}

/// The options that lead `pg_dump` to the same database.
fn connection(address: &Address) -> Vec<(&'static str, OsString)> {
    let config = &address.config;
    let mut options: Vec<(&'static str, OsString)> = Vec::new();
    match config.get_hosts().first() {
        Some(Host::Tcp(host)) => options.push(("--host", host.into())),
        Some(Host::Unix(folder)) => options.push(("--host", folder.into())),
        None => {}
    }
    options.extend(config.get_ports().first().map(|port| ("--port", port.to_string().into())));
    options.extend(config.get_user().map(|user| ("--username", user.into())));
    options.extend(config.get_dbname().map(|name| ("--dbname", name.into())));
    options
}
