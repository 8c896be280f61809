//! Whether a server's certificate is believed.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{verify_server_cert_signed_by_trust_anchor, verify_server_name};
use rustls::crypto::{CryptoProvider, WebPkiSupportedAlgorithms, ring};
use rustls::crypto::{verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

use super::{Mode, Roots};
use crate::postgres::OpenError;
use crate::regular_file;

/// The certificates of all authorities that a system trusts are a quarter of a megabyte.
const ROOTS_BYTES_MAX: usize = 4 << 20;

/// What the server is told to speak, as libpq tells it.
const PROTOCOL: &[u8] = b"postgresql";

pub(super) fn config(mode: Mode, roots: Option<&Roots>) -> Result<ClientConfig, OpenError> {
    let provider: Arc<CryptoProvider> = Arc::new(ring::default_provider());
    let judge = Judge {
        roots: roots.map(read).transpose()?,
        names: if mode == Mode::VerifyFull { Names::Checked } else { Names::Any },
        algorithms: provider.signature_verification_algorithms,
    };
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("the provider has what these versions need")
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(judge))
        .with_no_client_auth();
    config.alpn_protocols = vec![PROTOCOL.to_vec()];
    Ok(config)
}

fn read(roots: &Roots) -> Result<RootCertStore, OpenError> {
    let mut store = RootCertStore::empty();
    match roots {
        Roots::System => {
            store.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            if store.is_empty() {
                let why = "this machine trusts no certificate: install ca-certificates, or name a file with sslrootcert=FILE";
                return Err(OpenError::Roots(why.to_string()));
            }
        }
        Roots::File(path) => {
            let shown = path.display();
            let text = regular_file::read(path, ROOTS_BYTES_MAX)
                .map_err(|why| OpenError::Roots(format!("sslrootcert={shown} can not be read: {why}")))?;
            store.add_parsable_certificates(CertificateDer::pem_slice_iter(&text).flatten());
            if store.is_empty() {
                let why = format!(
                    "sslrootcert={shown} has no certificate in it: it wants those of authorities, as PEM"
                );
                return Err(OpenError::Roots(why));
            }
        }
    }
    Ok(store)
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Names {
    Any,
    Checked,
}

/// The server proves in any case that the certificate is its own: a login may be bound to it.
#[derive(Debug)]
struct Judge {
    /// None: anybody's certificate will do.
    roots: Option<RootCertStore>,
    names: Names,
    algorithms: WebPkiSupportedAlgorithms,
}

impl ServerCertVerifier for Judge {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        _ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if let Some(roots) = &self.roots {
            let certificate = ParsedCertificate::try_from(certificate)?;
            verify_server_cert_signed_by_trust_anchor(
                &certificate,
                roots,
                between,
                now,
                self.algorithms.all,
            )?;
            match self.names {
                Names::Checked => verify_server_name(&certificate, name)?,
                Names::Any => {}
            }
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signed, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}
