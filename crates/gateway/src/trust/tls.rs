//! What connections are encrypted with.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use switchboard_server::http::tls::{Pem, Settings, Tls};
use switchboard_server::shutdown::Tasks;

use super::self_signed;
use crate::config::{self, Config, Own, Store};

/// How often the certificate that we have made is looked at.
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// What connections are encrypted with, and what of it clients must be told.
#[derive(Debug)]
pub(crate) struct Encryption {
    pub(crate) tls: Arc<Tls>,
    /// The certificate that nobody vouches for, if it is one.
    pub(crate) to_trust: Option<ToTrust>,
}

/// A certificate of our own making.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToTrust {
    /// It is in this file.
    File(PathBuf),
    /// It is nowhere; this is its fingerprint.
    Fingerprint(String),
}

/// Reads or makes what connections are encrypted with, and goes on looking whether it has changed.
///
/// # Errors
///
/// If a file cannot be read or written.
pub(crate) fn encryption(config: &Config, tasks: &Tasks) -> anyhow::Result<Option<Encryption>> {
    let Some(tls) = &config.tls else {
        return Ok(None);
    };
    let encryption = match (&tls.own, &config.store) {
        (Own::Files { certificate, key }, _) => {
            let (certificate, key) = (Pem::File(certificate.clone()), Pem::File(key.clone()));
            Encryption::load(tls, certificate, key, None)?
        }
        (Own::SelfSigned, Store::Memory) => {
            let (certificate, key) = self_signed::make(&names(config))?;
            let mut made = Encryption::load(tls, Pem::Text(certificate), Pem::Text(key), None)?;
            let fingerprint = made.tls.certificate().fingerprint().to_owned();
            made.to_trust = Some(ToTrust::Fingerprint(fingerprint));
            made
        }
        (Own::SelfSigned, Store::Sqlite(options)) => {
            let kept = self_signed::Kept::new(&options.dir, names(config));
            kept.renew()?;
            let to_trust = Some(ToTrust::File(kept.certificate.clone()));
            let (certificate, key) = (kept.certificate.clone(), kept.key.clone());
            keep_good(kept, tasks);
            Encryption::load(tls, Pem::File(certificate), Pem::File(key), to_trust)?
        }
    };
    encryption.tls.watch(tasks);
    Ok(Some(encryption))
}

impl Encryption {
    fn load(
        config: &config::Tls,
        certificate: Pem,
        key: Pem,
        to_trust: Option<ToTrust>,
    ) -> anyhow::Result<Self> {
        let settings = Settings {
            certificate,
            key,
            clients: config.clients.clone(),
        };
        let tls = Tls::load(settings).context("connections cannot be encrypted")?;
        let tls = Arc::new(tls);
        Ok(Self { tls, to_trust })
    }
}

/// A server may run for longer than its certificate is good.
fn keep_good(kept: self_signed::Kept, tasks: &Tasks) {
    let stopping = tasks.stopping().clone();
    tasks.spawn(async move {
        loop {
            tokio::select! {
                () = stopping.cancelled() => return,
                () = tokio::time::sleep(DAY) => {}
            }
            if let Err(error) = kept.renew() {
                tracing::warn!(
                    error = format!("{error:#}"),
                    "could not renew the self-signed certificate"
                );
            }
        }
    });
}

/// Where clients may reach us, as far as we know.
fn names(config: &Config) -> Vec<String> {
    let mut names = ["localhost", "127.0.0.1", "::1"]
        .map(str::to_owned)
        .to_vec();
    let ip = config.listen.ip();
    let listen = (!ip.is_unspecified()).then(|| ip.to_string());
    let public = config.public_url.as_deref();
    let public = public.and_then(|url| url::Url::parse(url).ok());
    let public = public.and_then(|url| {
        let host = url.host_str()?;
        Some(host.trim_matches(['[', ']']).to_owned())
    });
    for name in listen.into_iter().chain(public) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}
