//! Certificates: whom to trust, and who we are.

use std::time::Duration;

use crate::error::{Error, Kind};

/// How long a connection may take to come about.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);

/// Whom to trust, and who we are.
#[derive(Debug, Clone, Default)]
pub struct Tls {
    pub(crate) roots: Vec<Vec<u8>>,
    pub(crate) identity: Option<Identity>,
    pub(crate) insecure: bool,
}

/// A client certificate with its key.
#[derive(Clone)]
pub(crate) struct Identity(Vec<u8>);

impl Tls {
    /// The system's roots, and no certificate of our own.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Trusts these certificates (PEM) beside the system's.
    #[must_use]
    pub fn trust(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.roots.push(pem.into());
        self
    }

    /// Shows a certificate to agents that ask for one: certificate and key, both PEM.
    #[must_use]
    pub fn identity(mut self, certificate: &[u8], key: &[u8]) -> Self {
        let mut both = certificate.to_vec();
        both.push(b'\n');
        both.extend_from_slice(key);
        self.identity = Some(Identity(both));
        self
    }

    /// Takes any certificate. For tests on one's own machine.
    #[must_use]
    pub fn insecure(mut self) -> Self {
        self.insecure = true;
        self
    }
}

impl Tls {
    /// A client by these rules, which follows no redirect by itself.
    pub(super) fn client(&self, builder: reqwest::ClientBuilder) -> Result<reqwest::Client, Error> {
        let mut builder = builder
            .redirect(reqwest::redirect::Policy::none())
            .referer(false)
            .connect_timeout(CONNECT_TIMEOUT)
            .user_agent(concat!("switchboard/", env!("CARGO_PKG_VERSION")));
        for pem in &self.roots {
            let roots = reqwest::Certificate::from_pem_bundle(pem).map_err(not_a_certificate)?;
            if roots.is_empty() {
                let message = "there is no certificate in the PEM that was given";
                return Err(Error::new(Kind::Reference, message));
            }
            builder = builder.tls_certs_merge(roots);
        }
        if let Some(Identity(pem)) = &self.identity {
            let identity = reqwest::Identity::from_pem(pem).map_err(not_a_certificate)?;
            builder = builder.identity(identity);
        }
        if self.insecure {
            builder = builder.tls_danger_accept_invalid_certs(true);
        }
        builder.build().map_err(not_a_certificate)
    }
}

impl std::fmt::Debug for Identity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("***")
    }
}

fn not_a_certificate(error: reqwest::Error) -> Error {
    let message = format!("a certificate or key cannot be used: {error}");
    Error::new(Kind::Reference, message).because(error)
}
