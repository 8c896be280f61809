//! TLS to the server: `sslmode` and `sslrootcert`, with the meanings that libpq gives them.
//!
//! | `sslmode` | encrypted | the server's certificate |
//! |---|---|---|
//! | `disable` | never | |
//! | `prefer` | if both can | is not judged |
//! | `require` | always | is not judged, unless `sslrootcert` is given: then as `verify-ca` |
//! | `verify-ca` | always | leads to a root |
//! | `verify-full` | always | leads to a root and names the host |
//!
//! Roots are those in `sslrootcert`, else the machine's; they are read once, when an address is. A Unix socket is never encrypted.
//! Every connection to a server is made by [`Tls::connect`].

mod binding;
mod fault;
mod stream;
mod trust;

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use percent_encoding::percent_decode_str;
use rustls::ClientConfig;
use tokio_postgres::config::{ChannelBinding, Host, SslMode, SslNegotiation};
use tokio_postgres::{Client, Config, Connection, Socket};

use super::OpenError;
use crate::Error;
use stream::{Connector, Encrypted};

/// What moves the bytes of a connection.
pub(super) type Driver = Connection<Socket, Encrypted>;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Mode {
    Disable,
    Prefer,
    Require,
    VerifyCa,
    VerifyFull,
}

impl Mode {
    const ALL: [Mode; 5] = [Mode::Disable, Mode::Prefer, Mode::Require, Mode::VerifyCa, Mode::VerifyFull];

    fn word(self) -> &'static str {
        match self {
            Mode::Disable => "disable",
            Mode::Prefer => "prefer",
            Mode::Require => "require",
            Mode::VerifyCa => "verify-ca",
            Mode::VerifyFull => "verify-full",
        }
    }

    pub fn parse(word: &str) -> Result<Mode, OpenError> {
        Mode::ALL.into_iter().find(|mode| mode.word() == word).ok_or_else(|| {
            let words = Mode::ALL.map(Mode::word).join(", ");
            OpenError::Address(format!("sslmode={word}: it is one of {words}"))
        })
    }
}

/// Whom a certificate has to lead to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Roots {
    /// Whoever this machine trusts.
    System,
    File(PathBuf),
}

impl Roots {
    /// The value of `sslrootcert`, as it stands in a URL.
    pub fn parse(value: &str) -> Result<Roots, OpenError> {
        if value == "system" {
            return Ok(Roots::System);
        }
        let path = percent_decode_str(value).decode_utf8();
        let path = path.map_err(|_| OpenError::Address(format!("sslrootcert={value} is not UTF-8")))?;
        Ok(Roots::File(PathBuf::from(&*path)))
    }
}

/// How connections to one server are encrypted.
#[derive(Clone, Debug)]
pub(super) struct Tls {
    mode: Mode,
    /// None: a certificate is not judged.
    roots: Option<Roots>,
    config: Arc<ClientConfig>,
}

impl Tls {
    /// What a URL says: either may be missing. Reads the roots.
    pub fn new(mode: Option<Mode>, roots: Option<Roots>) -> Result<Tls, OpenError> {
        let (mode, roots) = match (mode, roots) {
            (Some(Mode::Disable), _) => (Mode::Disable, None),
            (None, Some(Roots::System)) => (Mode::VerifyFull, Some(Roots::System)),
            (None | Some(Mode::Prefer), Some(_)) => {
                let why = "sslrootcert needs sslmode=verify-full or verify-ca: with prefer nothing may be encrypted";
                return Err(OpenError::Address(why.to_string()));
            }
            (Some(Mode::Require), Some(Roots::System)) => {
                let why = "sslrootcert=system needs sslmode=verify-full: for some other name anybody gets a certificate";
                return Err(OpenError::Address(why.to_string()));
            }
            (None | Some(Mode::Prefer), None) => (Mode::Prefer, None),
            (Some(Mode::Require), file) => (Mode::Require, file),
            (Some(mode @ (Mode::VerifyCa | Mode::VerifyFull)), roots) => {
                (mode, Some(roots.unwrap_or(Roots::System)))
            }
        };
        let config = Arc::new(trust::config(mode, roots.as_ref())?);
        Ok(Tls { mode, roots, config })
    }

    /// Tells the driver, which knows only whether to encrypt.
    pub fn set(&self, config: &mut Config) -> Result<(), OpenError> {
        // The driver encrypts for a name alone. An address is one, too.
        if config.get_hosts().is_empty() {
            for address in config.get_hostaddrs().to_vec() {
                config.host(address.to_string());
            }
        }
        let is_socket = |host: &Host| matches!(host, Host::Unix(_));
        let only_sockets = !config.get_hosts().is_empty() && config.get_hosts().iter().all(is_socket);
        config.ssl_mode(match self.mode {
            _ if only_sockets => SslMode::Disable,
            Mode::Disable => SslMode::Disable,
            Mode::Prefer => SslMode::Prefer,
            Mode::Require | Mode::VerifyCa | Mode::VerifyFull => SslMode::Require,
        });
        if config.get_ssl_negotiation() == SslNegotiation::Direct && self.mode == Mode::Prefer {
            let why = "sslnegotiation=direct needs sslmode=require, verify-ca or verify-full";
            return Err(OpenError::Address(why.to_string()));
        }
        Ok(())
    }

    /// A connection. Where TLS is but preferred and comes to nothing, or the server has no rule for it, one without.
    pub async fn connect(&self, config: &Config) -> Result<(Client, Driver), Error> {
        let connector = Connector::new(self.config.clone());
        let cause = match config.connect(connector.clone()).await {
            Ok(connected) => return Ok(connected),
            Err(cause) => cause,
        };
        if config.get_ssl_mode() == SslMode::Prefer && fault::may_be_of_tls(&cause) {
            let mut plain = config.clone();
            plain.ssl_mode(SslMode::Disable);
            if let Ok(connected) = plain.connect(connector).await {
                return Ok(connected);
            }
        }
        Err(fault::of(&cause, self.mode, self.roots.as_ref()))
    }

    /// The same for a program that uses libpq, as variables of its environment.
    pub fn environment(&self, config: &Config) -> Vec<(&'static str, OsString)> {
        let (mode, roots) = match &self.roots {
            // libpq trusts the machine's roots with nothing less.
            Some(Roots::System) => (Mode::VerifyFull, "system".into()),
            Some(Roots::File(path)) => (self.mode, path.clone().into_os_string()),
            None => (self.mode, OsString::new()),
        };
        let binding = match config.get_channel_binding() {
            ChannelBinding::Disable => "disable",
            ChannelBinding::Require => "require",
            _ => "prefer",
        };
        vec![
            ("PGSSLMODE", mode.word().into()),
            ("PGSSLROOTCERT", roots),
            ("PGCHANNELBINDING", binding.into()),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(mode: Option<Mode>, roots: Option<Roots>) -> String {
        Tls::new(mode, roots).expect_err("it is refused").to_string()
    }

    #[test]
    fn an_unknown_mode_is_answered_with_those_there_are() {
        let why = Mode::parse("on").unwrap_err().to_string();
        assert!(
            why.ends_with("sslmode=on: it is one of disable, prefer, require, verify-ca, verify-full"),
            "{why}"
        );
    }

    #[test]
    fn roots_are_not_taken_by_a_mode_that_might_not_look_at_them() {
        let file = Roots::parse("some%2Froot.pem").unwrap();
        assert_eq!(file, Roots::File("some/root.pem".into()));
        for mode in [None, Some(Mode::Prefer)] {
            assert!(refused(mode, Some(file.clone())).contains("sslmode=verify-full"));
        }
        assert!(refused(Some(Mode::Require), Some(Roots::System)).contains("sslmode=verify-full"));
    }

    #[test]
    fn roots_that_can_not_be_read_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("root.pem");
        let roots = || Some(Roots::File(path.clone()));
        let missing = refused(Some(Mode::VerifyFull), roots());
        assert!(missing.contains("root.pem") && missing.contains("can not be read"), "{missing}");
        std::fs::write(&path, "-----BEGIN NOTHING-----\n").unwrap();
        let empty = refused(Some(Mode::Require), roots());
        assert!(empty.contains("root.pem") && empty.contains("no certificate"), "{empty}");
    }

    #[test]
    fn a_unix_socket_is_never_encrypted_and_an_address_is_a_name() {
        let tls = Tls::new(Some(Mode::Require), None).unwrap();
        let mut socket: Config = "postgres:///work?host=/run/postgresql".parse().unwrap();
        tls.set(&mut socket).unwrap();
        assert_eq!(socket.get_ssl_mode(), SslMode::Disable);
        let mut bare: Config = "hostaddr=127.0.0.1".parse().unwrap();
        tls.set(&mut bare).unwrap();
        assert_eq!(bare.get_hosts(), [Host::Tcp("127.0.0.1".to_string())]);
        assert_eq!(bare.get_ssl_mode(), SslMode::Require);
    }
}
