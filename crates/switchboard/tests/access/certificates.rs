//! What callers show before they say anything: client certificates, good and bad.

use std::time::Duration;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, SanType};

use crate::credentials::Quality;
use crate::world::World;

/// One who issues certificates, to servers and to callers.
pub(crate) struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    pub(crate) fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        Self(CertifiedIssuer::self_signed(params, key).unwrap())
    }

    /// A certificate with that name, and its key.
    fn issue(&self, name: SanType) -> (String, String) {
        let mut params = CertificateParams::default();
        params.subject_alt_names = vec![name];
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.0).unwrap();
        (certificate.pem(), key.serialize_pem())
    }

    /// The files of a server that asks its callers for certificates.
    pub(crate) fn files(&self) -> [(&'static str, Vec<u8>); 3] {
        let (certificate, key) = self.issue(SanType::IpAddress([127, 0, 0, 1].into()));
        [
            ("ca.pem", self.0.pem().into()),
            ("cert.pem", certificate.into()),
            ("key.pem", key.into()),
        ]
    }

    /// Clients of both kinds of HTTP that trust the server. Certificates know no scopes, and those that are expired or
    /// of another authority make no connection.
    pub(crate) fn clients(&self, quality: Quality) -> Option<[reqwest::Client; 2]> {
        let name = match quality {
            Quality::None => None,
            Quality::Wrong => Some("spiffe://other/alice"),
            Quality::Insufficient | Quality::Right => Some("spiffe://corp/alice"),
            Quality::Expired | Quality::Foreign => return None,
        };
        let identity = name.map(|name| {
            let (certificate, key) = self.issue(SanType::URI(name.try_into().unwrap()));
            reqwest::Identity::from_pem(format!("{certificate}{key}").as_bytes()).unwrap()
        });
        let client = || {
            let root = reqwest::Certificate::from_pem(self.0.pem().as_bytes());
            let client = reqwest::Client::builder().tls_certs_only([root.unwrap()]);
            let client = client.timeout(Duration::from_secs(20));
            match &identity {
                Some(identity) => client.identity(identity.clone()),
                None => client,
            }
        };
        let http2 = client().http2_prior_knowledge();
        Some([client().build().unwrap(), http2.build().unwrap()])
    }
}

impl World {
    /// From now on callers show that on every connection; false if there is no such thing.
    pub(crate) fn show_certificate(&mut self, authority: &Authority, quality: Quality) -> bool {
        let Some([http, http2]) = authority.clients(quality) else {
            return false;
        };
        (self.server.http, self.http2) = (http, http2);
        true
    }
}
