//! Where certificate and key come from, and whose clients are asked for theirs.

use std::borrow::Cow;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::version::{TLS12, TLS13};
use rustls::{RootCertStore, ServerConfig};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};

use super::Current;
use crate::net::Certificate;

/// What a connection can speak once it is encrypted, the better one first.
const PROTOCOLS: [&[u8]; 2] = [b"h2", b"http/1.1"];

/// What connections are encrypted with.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Our certificate; those that vouch for it follow.
    pub certificate: Pem,
    /// Its key.
    pub key: Pem,
    /// Whose certificates are asked for; `None`: nobody's.
    pub clients: Option<Clients>,
}

/// Clients who have certificates.
#[derive(Debug, Clone)]
pub struct Clients {
    /// Who has issued them.
    pub authorities: Pem,
    /// Whether others are turned away.
    pub required: bool,
}

/// Text in PEM form.
#[derive(Clone, PartialEq, Eq)]
pub enum Pem {
    /// In a file, which is read again when it changes.
    File(PathBuf),
    /// Here.
    Text(String),
}

/// What cannot be used, and why.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    /// Which part it is.
    pub part: Part,
    /// Whether the file cannot be read at all.
    pub is_unreadable: bool,
    message: String,
}

/// A part of the settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Our certificate.
    Certificate,
    /// Its key.
    Key,
    /// Who issues certificates to clients.
    Authorities,
}

impl Settings {
    /// Reads all of it.
    pub(super) fn read(&self) -> Result<Current, Error> {
        let chain = self.certificate.certificates(Part::Certificate)?;
        let leaf = chain.first().map(Certificate::read);
        let certificate = match leaf {
            Some(Ok(certificate)) => Arc::new(certificate),
            _ => {
                return Err(self
                    .certificate
                    .wrong(Part::Certificate, "is no certificate"));
            }
        };
        let key = self.key.read(Part::Key)?;
        let key = PrivateKeyDer::from_pem_slice(&key).map_err(|_| {
            let message = "has no private key in PEM form that is not encrypted";
            self.key.wrong(Part::Key, message)
        })?;
        let provider = Arc::new(aws_lc_rs::default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&[&TLS13, &TLS12])
            .map_err(|error| self.key.wrong(Part::Key, error))?;
        let builder = match &self.clients {
            None => builder.with_no_client_auth(),
            Some(clients) => builder.with_client_cert_verifier(clients.verifier(provider)?),
        };
        let config = builder.with_single_cert(chain, key);
        let mut config = config.map_err(|error| match error {
            rustls::Error::InconsistentKeys(_) => {
                let message = format!("is not the key of {}", self.certificate);
                self.key.wrong(Part::Key, message)
            }
            other => self.key.wrong(Part::Key, other),
        })?;
        config.alpn_protocols = PROTOCOLS.map(<[u8]>::to_vec).to_vec();
        if self.clients.is_some() {
            // A session that is taken up again would bring along a certificate that nobody has looked at since.
            config.session_storage = Arc::new(NoServerSessionStorage {});
            config.send_tls13_tickets = 0;
        }
        Ok(Current {
            config: Arc::new(config),
            certificate,
        })
    }

    /// All files it is read from.
    pub(super) fn files(&self) -> impl Iterator<Item = &Path> {
        let clients = self.clients.as_ref().map(|clients| &clients.authorities);
        let all = [&self.certificate, &self.key].into_iter().chain(clients);
        all.filter_map(|pem| match pem {
            Pem::File(path) => Some(path.as_path()),
            Pem::Text(_) => None,
        })
    }
}

impl Clients {
    fn verifier(
        &self,
        provider: Arc<CryptoProvider>,
    ) -> Result<Arc<dyn ClientCertVerifier>, Error> {
        let part = Part::Authorities;
        let mut roots = RootCertStore::empty();
        for root in self.authorities.certificates(part)? {
            let added = roots.add(root);
            added.map_err(|_| self.authorities.wrong(part, "has what is no certificate"))?;
        }
        let builder = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
        let builder = if self.required {
            builder
        } else {
            builder.allow_unauthenticated()
        };
        let verifier = builder.build();
        verifier.map_err(|error| self.authorities.wrong(part, error))
    }
}

impl Pem {
    fn read(&self, part: Part) -> Result<Cow<'_, [u8]>, Error> {
        match self {
            Self::Text(text) => Ok(Cow::Borrowed(text.as_bytes())),
            Self::File(path) => std::fs::read(path).map(Cow::Owned).map_err(|error| Error {
                is_unreadable: true,
                ..self.wrong(part, format!("cannot be read: {error}"))
            }),
        }
    }

    fn certificates(&self, part: Part) -> Result<Vec<CertificateDer<'static>>, Error> {
        let text = self.read(part)?;
        let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
        match all {
            Ok(all) if !all.is_empty() => Ok(all),
            _ => Err(self.wrong(part, "has no certificate in PEM form")),
        }
    }

    fn wrong(&self, part: Part, what: impl fmt::Display) -> Error {
        Error {
            part,
            is_unreadable: false,
            message: format!("{self} {what}"),
        }
    }
}

impl fmt::Display for Pem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Text(_) => f.write_str("the text"),
        }
    }
}

impl fmt::Debug for Pem {
    /// Without the text: it may be a key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => f.debug_tuple("File").field(path).finish(),
            Self::Text(_) => f.write_str("Text(***)"),
        }
    }
}
