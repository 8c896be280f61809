//! rustls, as the driver wants it.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::Socket;
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_rustls::TlsConnector;

use super::binding;
use super::fault::Fault;

#[derive(Clone)]
pub(super) struct Connector {
    config: Arc<ClientConfig>,
    /// Empty for a Unix socket, where nobody asks for it.
    host: String,
}

impl Connector {
    pub fn new(config: Arc<ClientConfig>) -> Connector {
        Connector { config, host: String::new() }
    }
}

impl MakeTlsConnect<Socket> for Connector {
    type Stream = Encrypted;
    type TlsConnect = Connector;
    type Error = Fault;

    fn make_tls_connect(&mut self, host: &str) -> Result<Connector, Fault> {
        Ok(Connector { config: self.config.clone(), host: host.to_string() })
    }
}

impl TlsConnect<Socket> for Connector {
    type Stream = Encrypted;
    type Error = Fault;
    type Future = Pin<Box<dyn Future<Output = Result<Encrypted, Fault>> + Send>>;

    fn connect(self, socket: Socket) -> Self::Future {
        Box::pin(async move {
            let name = ServerName::try_from(self.host.clone()).map_err(|_| Fault::NoName(self.host))?;
            let stream = TlsConnector::from(self.config).connect(name, socket).await;
            stream.map(Encrypted).map_err(Fault::Handshake)
        })
    }
}

/// An encrypted connection.
#[derive(Debug)]
pub struct Encrypted(tokio_rustls::client::TlsStream<Socket>);

impl TlsStream for Encrypted {
    fn channel_binding(&self) -> ChannelBinding {
        let certificate = self.0.get_ref().1.peer_certificates().and_then(<[_]>::first);
        match certificate.and_then(|certificate| binding::end_point(certificate)) {
            Some(hash) => ChannelBinding::tls_server_end_point(hash),
            None => ChannelBinding::none(),
        }
    }
}

impl AsyncRead for Encrypted {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, into)
    }
}

impl AsyncWrite for Encrypted {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}
