//! Why there is no connection, as far as it is about TLS, and what to do.

use std::error::Error as StdError;
use std::fmt;
use std::io;

use rustls::CertificateError;
use tokio_postgres::Error as Cause;
use tokio_postgres::error::SqlState;

use super::{Mode, Roots};
use crate::Error;
use crate::postgres::fault;

/// What the driver says, and it alone knows.
const NO_TLS: &str = "server does not support TLS";
const NOT_BOUND: &str = "server did not use channel binding";

/// The connector's own, which comes back in the driver's error.
#[derive(Debug)]
pub(super) enum Fault {
    /// The host can not stand in a certificate.
    NoName(String),
    Handshake(io::Error),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::NoName(host) => write!(f, "`{host}` is no name that a certificate could have"),
            Fault::Handshake(why) => why.fmt(f),
        }
    }
}

impl StdError for Fault {}

/// Could it go well without TLS? A server that has rules for connections refuses some with TLS, and some without.
pub(super) fn may_be_of_tls(cause: &Cause) -> bool {
    cause.source().is_some_and(|source| source.is::<Fault>())
        || cause.code() == Some(&SqlState::INVALID_AUTHORIZATION_SPECIFICATION)
}

pub(super) fn of(cause: &Cause, mode: Mode, roots: Option<&Roots>) -> Error {
    let Some(source) = cause.source() else { return fault::of(cause) };
    if let Some(fault) = source.downcast_ref::<Fault>() {
        return Error::Unavailable(format!("no TLS with the server: {}", advice(fault, roots)));
    }
    match source.to_string().as_str() {
        NO_TLS => Error::Unavailable(format!(
            "the server has no TLS, and sslmode={} asks for it: set `ssl = on` there, or use sslmode=prefer",
            mode.word()
        )),
        NOT_BOUND => Error::Unavailable(
            "channel_binding=require needs TLS, a password by scram-sha-256 and a certificate that is signed with a SHA-2: \
             see to that at the server, or use channel_binding=prefer"
                .to_string(),
        ),
        _ => fault::of(cause),
    }
}

fn advice(fault: &Fault, roots: Option<&Roots>) -> String {
    let Fault::Handshake(why) = fault else { return fault.to_string() };
    let inner = why.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    let Some(rustls::Error::InvalidCertificate(why)) = inner else { return why.to_string() };
    match why {
        CertificateError::UnknownIssuer | CertificateError::BadSignature => match roots {
            Some(Roots::File(path)) => format!(
                "its certificate is not trusted, for nobody in sslrootcert={} has signed it; name the file of who has",
                path.display()
            ),
            Some(Roots::System) | None => {
                "its certificate is not trusted, for nobody whom this machine trusts has \
                                           signed it; name the file of who has: sslrootcert=FILE"
                    .to_string()
            }
        },
        CertificateError::NotValidForNameContext { expected, presented } => format!(
            "its certificate is for another host ({}), not for {}; connect by a name that it has, or use \
             sslmode=verify-ca",
            presented.join(", "),
            expected.to_str()
        ),
        CertificateError::ExpiredContext { .. } | CertificateError::Expired => {
            format!("its certificate has expired ({why}); give it a new one")
        }
        _ => format!(
            "its certificate can not be used ({why}); it has to be of version 3, with the host as an alternative name, and \
             no authority itself"
        ),
    }
}
