//! TLS with a server that has it, and with one that has not.

use std::path::PathBuf;
use std::sync::Arc;

use tenure_databases::postgres::{self, OpenError, Options, Postgres};
use tenure_databases::verify;
use tokio_postgres::{Client, NoTls};

use crate::kit::*;
use crate::private::Server;
use crate::schema;

/// A server that speaks TLS, and plain text with whoever asks for it.
struct Tls {
    server: Server,
    /// Its authority, another authority.
    certificates: PathBuf,
}

impl Tls {
    fn start() -> Tls {
        let mut server = Server::start("--serve-tls");
        let certificates = PathBuf::from(server.line());
        Tls { server, certificates }
    }

    fn root(&self, name: &str) -> String {
        self.certificates.join(name).display().to_string()
    }

    /// The URL with parameters. `AUTHORITY` and `ANOTHER` in them stand for files.
    fn url(&self, parameters: &str) -> String {
        let parameters = parameters.replace("AUTHORITY", &self.root("authority.crt"));
        format!("{}?{}", self.server.url, parameters.replace("ANOTHER", &self.root("another.crt")))
    }

    /// The same server by another name.
    fn named(&self, name: &str, parameters: &str) -> String {
        self.url(&format!("hostaddr=127.0.0.1&{parameters}")).replace("@127.0.0.1:", &format!("@{name}:"))
    }

    /// Any program with a connection, and without TLS.
    async fn raw(&self) -> Client {
        let (client, connection) =
            tokio_postgres::connect(&self.server.url, NoTls).await.expect("it is there");
        #[expect(clippy::disallowed_methods, reason = "it ends with its client")]
        tokio::spawn(connection);
        client
    }
}

fn run(test: impl AsyncFnOnce()) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.expect("a runtime").block_on(test());
}

/// Is a connection by this URL encrypted? As the server sees it.
async fn encrypted(url: &str) -> Result<bool, OpenError> {
    let (client, driver) = postgres::plain(url).await?;
    #[expect(clippy::disallowed_methods, reason = "it ends with its client")]
    tokio::spawn(driver);
    let seen = "select ssl from pg_stat_ssl where pid = pg_backend_pid()";
    Ok(client.query_one(seen, &[]).await.expect("it can be asked").get(0))
}

async fn refused(url: &str) -> String {
    let why = encrypted(url).await.expect_err("it is refused").to_string();
    let password = url.split(['@', ':']).nth(2).expect("it has a password");
    assert!(!why.contains(password), "a secret is told: {why}");
    why
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Goes {
    Well,
    Badly,
}

/// What a server was told takes effect a moment later. Each look is a connection of now; a few are enough.
async fn becomes(url: &str, goes: Goes) {
    for _ in 0..1_000 {
        let seen = encrypted(url).await;
        if seen.is_ok() == (goes == Goes::Well) {
            return;
        }
    }
    panic!("connecting never goes {goes:?}");
}

/// The words that an error has to have.
fn has(why: &str, words: &[&str]) {
    assert!(words.iter().all(|word| why.contains(word)), "{words:?} in: {why}");
}

#[test]
fn each_mode_is_as_strict_as_it_says() {
    let tls = Tls::start();
    run(async || {
        for (parameters, expected) in [
            ("", true),
            ("sslmode=disable", false),
            ("sslmode=disable&sslrootcert=ANOTHER", false),
            ("sslmode=prefer", true),
            ("sslmode=require", true),
            ("sslmode=require&sslrootcert=AUTHORITY", true),
            ("sslmode=verify-ca&sslrootcert=AUTHORITY", true),
            ("sslmode=verify-full&sslrootcert=AUTHORITY", true),
            ("sslmode=require&channel_binding=require", true),
            ("sslmode=verify-full&sslrootcert=AUTHORITY&channel_binding=require", true),
        ] {
            assert_eq!(encrypted(&tls.url(parameters)).await, Ok(expected), "{parameters}");
        }
        for mode in ["prefer", "require", "verify-ca&sslrootcert=AUTHORITY"] {
            let url = tls.named("elsewhere.example", &format!("sslmode={mode}"));
            assert_eq!(encrypted(&url).await, Ok(true), "the name is not looked at: {mode}");
        }
        let by_name = tls.named("localhost", "sslmode=verify-full&sslrootcert=AUTHORITY");
        assert_eq!(encrypted(&by_name).await, Ok(true));
        // An address without a name is held against the certificate as it is.
        let (login, place) = tls.server.url.split_once("@127.0.0.1:").expect("it is an address");
        let port = place.split('/').next().expect("a port");
        let parameters = format!("hostaddr=127.0.0.1&port={port}&sslmode=verify-full&sslrootcert=AUTHORITY");
        let by_address = tls.url(&parameters).replace(&tls.server.url, &format!("{login}@/tenure"));
        assert_eq!(encrypted(&by_address).await, Ok(true));
    });
}

#[test]
fn what_is_not_trusted_is_refused_with_what_to_do() {
    let tls = Tls::start();
    run(async || {
        let strange = tls.named("elsewhere.example", "sslmode=verify-full&sslrootcert=AUTHORITY");
        has(&refused(&strange).await, &["localhost", "not for elsewhere.example", "sslmode=verify-ca"]);
        for mode in ["require", "verify-ca", "verify-full"] {
            let why = refused(&tls.url(&format!("sslmode={mode}&sslrootcert=ANOTHER"))).await;
            has(&why, &["not trusted", "sslrootcert=", "another.crt"]);
        }
        // Nobody whom a machine trusts has signed it.
        for parameters in ["sslmode=verify-ca", "sslmode=verify-full", "sslrootcert=system"] {
            has(&refused(&tls.url(parameters)).await, &["sslrootcert=FILE"]);
        }
        let missing = refused(&tls.url("sslmode=verify-full&sslrootcert=%2Fno%2Froot.pem")).await;
        has(&missing, &["sslrootcert=/no/root.pem", "can not be read"]);
        let unbound = refused(&tls.url("sslmode=disable&channel_binding=require")).await;
        has(&unbound, &["channel_binding=require needs TLS"]);
    });
}

/// libpq does so, too: what was reached before the server had TLS is reached afterwards.
#[test]
fn preferred_tls_that_comes_to_nothing_is_done_without() {
    let tls = Tls::start();
    run(async || {
        let raw = tls.raw().await;
        let required = tls.url("sslmode=require");
        // A server that speaks no version that we do.
        for version in ["ssl_min_protocol_version = 'TLSv1'", "ssl_max_protocol_version = 'TLSv1.1'"] {
            raw.batch_execute(&format!("alter system set {version}")).await.expect("it may be set");
        }
        raw.batch_execute("select pg_reload_conf()").await.expect("its owner may do everything");
        becomes(&required, Goes::Badly).await;
        assert_eq!(encrypted(&tls.url("sslmode=prefer")).await, Ok(false));
        has(&refused(&required).await, &["no TLS with the server"]);

        raw.batch_execute("alter system reset all").await.expect("it may be set");
        raw.batch_execute("select pg_reload_conf()").await.expect("its owner may do everything");
        becomes(&required, Goes::Well).await;
        // One that takes no connection with TLS.
        let rules = "hostnossl all all 127.0.0.1/32 scram-sha-256";
        let script = format!(
            "create table rules (line text); insert into rules values ('{rules}'); \
             do $$ begin execute format('copy rules to %L', current_setting('hba_file')); end $$; \
             select pg_reload_conf()"
        );
        raw.batch_execute(&script).await.expect("its owner may do everything");
        becomes(&required, Goes::Badly).await;
        assert_eq!(encrypted(&tls.url("sslmode=prefer")).await, Ok(false));
        has(&refused(&required).await, &["28000"]);
    });
}

#[test]
fn a_server_without_tls_is_used_if_it_is_only_preferred() {
    run(async || {
        let with = |parameters: &str| format!("{}?{parameters}", schema::server());
        for parameters in ["", "sslmode=prefer", "sslmode=disable"] {
            assert_eq!(encrypted(&with(parameters)).await, Ok(false), "{parameters}");
        }
        for mode in ["require", "verify-ca", "verify-full"] {
            let why = refused(&with(&format!("sslmode={mode}"))).await;
            has(&why, &["the server has no TLS", mode, "ssl = on", "sslmode=prefer"]);
        }
        has(&refused(&with("channel_binding=require")).await, &["channel_binding=require needs TLS"]);
        let opened = Postgres::connect(&with("sslmode=require"), Options::default()).await;
        assert!(matches!(opened, Err(OpenError::Database(error)) if error.is_retryable()));
    });
}

#[test]
fn work_wake_ups_and_a_backup_go_through_tls() {
    let tls = Tls::start();
    run(async || {
        let url = tls
            .url("sslmode=verify-full&sslrootcert=AUTHORITY&channel_binding=require&application_name=ours");
        let database = Arc::new(open(&url).await);
        let item = created(&database, new("job", "{}")).await;
        let leases = lease(&database, "worker:a/1", "job", 1).await;
        assert_eq!(leases[0].item.id, item);
        let mut listener = database.listen().await.expect("it listens").expect("there is no pooler");
        assert!(ask(&database, commit("worker:a/1", leases[0].execution)).await.is_yes());
        database.tell("job").await.expect("it can be told");
        assert_eq!(listener.next().await.as_deref(), Some("job"));
        let report = verify::database(&*database, None, |_| {}).await.expect("it can be read");
        assert!(report.is_sound() && report.items == 1, "{:?}", report.faults);

        let seen = "select count(*), count(*) filter (where ssl) from pg_stat_activity \
                    join pg_stat_ssl using (pid) where application_name = 'ours'";
        let row = tls.raw().await.query_one(seen, &[]).await.expect("it can be asked");
        let (all, encrypted): (i64, i64) = (row.get(0), row.get(1));
        assert!(all >= 4, "the pool, the catalog, who tells and who listens: {all}");
        assert_eq!(encrypted, all);

        let folder = tempfile::tempdir().expect("a folder");
        postgres::backup(&url, &folder.path().join("backup")).expect("it can be dumped");
        let strange = tls.url("sslmode=verify-full&sslrootcert=ANOTHER");
        let why = postgres::backup(&strange, &folder.path().join("other")).unwrap_err().to_string();
        has(&why, &["pg_dump", "certificate verify failed"]);
    });
}
