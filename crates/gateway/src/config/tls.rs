//! Encrypted connections: certificate and key, and whose clients are asked for theirs.

use std::path::PathBuf;

use switchboard_server::clock;
use switchboard_server::http::tls::{self, Clients, Part, Pem};
use switchboard_server::net::Age;

use super::auth::MethodKind;
use super::flags::Flags;
use super::load::Check;
use super::problem::Place;
use super::raw::{self, ClientCertificates};
use super::yaml::Step::Key;
use super::{Config, Method};

/// Encrypted connections.
#[derive(Debug, Clone)]
pub struct Tls {
    /// Our certificate.
    pub own: Own,
    /// Whose certificates are asked for.
    pub clients: Option<Clients>,
}

/// Our certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Own {
    /// In files that someone else keeps.
    Files {
        /// The certificate.
        certificate: PathBuf,
        /// Its key.
        key: PathBuf,
    },
    /// Made by ourselves.
    SelfSigned,
}

impl Check<'_> {
    pub(super) fn tls(&mut self, raw: Option<raw::Tls>, flags: &Flags) -> Option<Tls> {
        if raw.is_none() && !flags.self_signed {
            return None;
        }
        let raw = raw.unwrap_or_default();
        let clients = self.clients(&raw);
        if flags.self_signed {
            let own = Own::SelfSigned;
            return Some(Tls { own, clients });
        }
        let (Some(certificate), Some(key)) = (&raw.cert_file, &raw.key_file) else {
            if !self.is_damaged(&[Key("tls")]) {
                let missing = match raw.cert_file {
                    None => "cert_file",
                    Some(_) => "key_file",
                };
                let hint = format!("add `{missing}`, or try `--tls self-signed`");
                self.wrong(&[Key("tls")], format!("there is no {missing}"), Some(hint));
            }
            return None;
        };
        let (certificate, key) = (self.base.join(certificate), self.base.join(key));
        self.fits(tls::Settings {
            certificate: Pem::File(certificate.clone()),
            key: Pem::File(key.clone()),
            clients: clients.clone(),
        });
        self.doubt_open_key(&[Key("tls"), Key("key_file")], &key);
        let own = Own::Files { certificate, key };
        Some(Tls { own, clients })
    }

    fn clients(&mut self, raw: &raw::Tls) -> Option<Clients> {
        use ClientCertificates::{Off, Optional, Required};

        let required = match (&raw.client_ca_file, raw.client_certificates) {
            (_, Some(Off)) | (None, None) => return None,
            (_, Some(Required)) => true,
            (_, Some(Optional)) | (Some(_), None) => false,
        };
        let Some(file) = &raw.client_ca_file else {
            if !self.is_damaged(&[Key("tls")]) {
                let message = "client certificates cannot be checked".to_owned();
                let hint = "add `client_ca_file`".to_owned();
                self.wrong(
                    &[Key("tls"), Key("client_certificates")],
                    message,
                    Some(hint),
                );
            }
            return None;
        };
        Some(Clients {
            authorities: Pem::File(self.base.join(file)),
            required,
        })
    }

    /// Reads all files, as the server is going to.
    fn fits(&mut self, settings: tls::Settings) {
        match tls::Tls::load(settings) {
            Err(error) => {
                let key = match error.part {
                    Part::Certificate => "cert_file",
                    Part::Key => "key_file",
                    Part::Authorities => "client_ca_file",
                };
                let hint = "the path is relative to the configuration file".to_owned();
                let hint = error.is_unreadable.then_some(hint);
                self.wrong(&[Key("tls"), Key(key)], error.to_string(), hint);
            }
            Ok(tls) => {
                let message = match tls.certificate().age_at(clock::now()) {
                    Age::Good => return,
                    Age::Expired => "the certificate has expired",
                    Age::NotYet => "the certificate is not valid yet",
                };
                let hint = "clients are going to refuse it: put a new one in its place".to_owned();
                let at = [Key("tls"), Key("cert_file")];
                self.doubt(&at, message.to_owned(), Some(hint));
            }
        }
    }

    /// Callers who are known by their certificates must be asked for them.
    pub(super) fn certificates_are_asked_for(&mut self, methods: &[Method], tls: Option<&Tls>) {
        if tls.is_some_and(|tls| tls.clients.is_some()) || self.is_damaged(&[Key("tls")]) {
            return;
        }
        let off = self
            .tree
            .get("tls")
            .and_then(|tls| tls.get("client_ca_file"));
        let hint = match off {
            Some(_) => "set `tls.client_certificates` to `optional` or `required`",
            None => "add `tls.client_ca_file`",
        };
        for method in methods {
            if matches!(method.kind, MethodKind::Certificate(_)) {
                let at = [Key("auth"), Key("methods"), Key(&method.name), Key("mtls")];
                let message = "client certificates cannot be checked".to_owned();
                self.wrong(&at, message, Some(hint.to_owned()));
            }
        }
    }

    /// Credentials should not cross a network for everyone to read.
    pub(super) fn credentials_are_hidden(&mut self, config: &Config, flags: &Flags) {
        let asks = |agent: &super::Agent| agent.access.iter().any(|way| !way.is_empty());
        let public = config.public_url.as_deref().unwrap_or_default();
        if config.listen.ip().is_loopback()
            || config.tls.is_some()
            || public.starts_with("https:")
            || !config.agents.iter().chain(&config.discover).any(asks)
        {
            return;
        }
        let message = "credentials cross the network unencrypted".to_owned();
        let hint = "set `tls`, or `public_url: https://…` behind a proxy that encrypts".to_owned();
        self.doubt(&[Key("listen")], message, Some(hint));
        if let (Some(_), Some(doubt)) = (flags.listen, self.doubts.last_mut()) {
            doubt.place = Place::Flag("--listen");
            doubt.path.clear();
        }
    }

    /// Behind a proxy that is not believed all callers have one address: then one who fails too often fails for all.
    pub(super) fn callers_are_told_apart(&mut self, config: &Config) {
        let public = config.public_url.as_deref().unwrap_or_default();
        let guessed = |method: &Method| matches!(method.kind, MethodKind::Basic(_));
        if public.starts_with("https:")
            && config.tls.is_none()
            && config.trust_forwarded.is_empty()
            && config.methods.iter().any(guessed)
        {
            let message = "callers behind a proxy share its address: one client's failed logins would lock out all others";
            let hint = "name the proxy in `trust_forwarded`".to_owned();
            self.doubt(&[Key("public_url")], message.to_owned(), Some(hint));
        }
    }
}
