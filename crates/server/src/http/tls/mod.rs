//! Encrypted connections: TLS 1.2 and 1.3, with certificates that can change while we serve.
//!
//! - `settings`: where certificate and key come from, and whose clients are asked for theirs.
//! - `watch`: files that change are read again.
//!
//! `http::serve` accepts connections with it; everything behind it sees `Encrypted` only.

mod settings;
mod watch;

use std::fmt;
use std::io;
use std::sync::Arc;

use parking_lot::RwLock;
use rustls::{CertificateError, ServerConfig};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::net::{Certificate, Encrypted};

pub use settings::{Clients, Error, Part, Pem, Settings};

/// Encrypts connections.
pub struct Tls {
    settings: Settings,
    /// What the files were when they were first read.
    first: Vec<watch::Stamp>,
    current: RwLock<Current>,
}

/// What new connections get.
#[derive(Clone)]
struct Current {
    config: Arc<ServerConfig>,
    certificate: Arc<Certificate>,
}

impl Tls {
    /// Reads certificate and key.
    ///
    /// # Errors
    ///
    /// If one of them cannot be read, or they do not fit.
    pub fn load(settings: Settings) -> Result<Self, Error> {
        let first = watch::stamps(&settings);
        let current = RwLock::new(settings.read()?);
        Ok(Self {
            settings,
            first,
            current,
        })
    }

    /// The certificate that new connections are shown.
    #[must_use]
    pub fn certificate(&self) -> Arc<Certificate> {
        self.current().certificate
    }

    /// Shakes hands with a client.
    pub(super) async fn accept<S>(&self, stream: S) -> io::Result<(TlsStream<S>, Encrypted)>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let acceptor = TlsAcceptor::from(self.current().config);
        let stream = acceptor.accept(stream).await?;
        let chain = stream.get_ref().1.peer_certificates();
        let certificate = chain
            .and_then(|chain| chain.first())
            .and_then(|leaf| Certificate::read(leaf).ok());
        Ok((stream, Encrypted { certificate }))
    }

    fn current(&self) -> Current {
        self.current.read().clone()
    }

    fn replace(&self, new: Current) {
        let mut current = self.current.write();
        *current = new;
    }
}

/// Why a handshake failed, if it was for the certificate of the client.
pub(super) fn refused_certificate(error: &io::Error) -> Option<&'static str> {
    let rustls::Error::InvalidCertificate(cause) = error.get_ref()?.downcast_ref()? else {
        return None;
    };
    Some(match cause {
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => "Expired",
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => "NotYet",
        CertificateError::Revoked => "Revoked",
        CertificateError::UnknownIssuer => "UnknownIssuer",
        _ => "Invalid",
    })
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls")
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}
