//! What a certificate says: whose it is, and for how long.

use std::time::Duration;

use rustls_pki_types::{CertificateDer, ServerName, UnixTime};
use switchboard_keys::sha256_hex;
use switchboard_types::model::Timestamp;
use webpki::{EndEntityCert, KeyUsage};

/// A certificate, ours or a client's.
#[derive(Debug, Clone)]
pub struct Certificate {
    der: CertificateDer<'static>,
    names: Vec<String>,
}

/// Whether a certificate is good at some moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Age {
    /// It will be good.
    NotYet,
    /// It is good.
    Good,
    /// It was good.
    Expired,
}

impl Certificate {
    /// # Errors
    ///
    /// If it is none.
    pub(crate) fn read(der: &CertificateDer<'_>) -> Result<Self, webpki::Error> {
        let read = EndEntityCert::try_from(der)?;
        // None that could be taken for a fingerprint.
        let uris = read.valid_uri_names().map(str::to_owned);
        let uris = uris.filter(|uri| !uri.to_ascii_lowercase().starts_with("sha256:"));
        let hosts = read.valid_dns_names().map(str::to_ascii_lowercase);
        let fingerprint = format!("sha256:{}", sha256_hex(der));
        let names = uris.chain(hosts).chain([fingerprint]).collect();
        Ok(Self {
            der: der.clone().into_owned(),
            names,
        })
    }

    /// Whose it is: URIs, then host names in lower case, then [`Certificate::fingerprint`].
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }

    /// `sha256:` and the digest of the certificate, in hexadecimal.
    #[must_use]
    pub fn fingerprint(&self) -> &str {
        self.names.last().map_or("", String::as_str)
    }

    /// Whether a server at that host or address may show it.
    #[must_use]
    pub fn is_for(&self, host: &str) -> bool {
        let (Ok(host), Ok(read)) = (
            ServerName::try_from(host),
            EndEntityCert::try_from(&self.der),
        ) else {
            return false;
        };
        read.verify_is_valid_for_subject_name(&host).is_ok()
    }

    /// Whether it is good at that moment.
    #[must_use]
    pub fn age_at(&self, moment: Timestamp) -> Age {
        let seconds = u64::try_from(moment.as_micros() / 1_000_000).unwrap_or(0);
        let time = UnixTime::since_unix_epoch(Duration::from_secs(seconds));
        let Ok(read) = EndEntityCert::try_from(&self.der) else {
            return Age::Expired;
        };
        // Nobody vouches for it here; but its dates are looked at first.
        let usage = KeyUsage::server_auth();
        match read.verify_for_usage(&[], &[], &[], time, usage, None, None) {
            Err(webpki::Error::CertExpired { .. }) => Age::Expired,
            Err(webpki::Error::CertNotValidYet { .. }) => Age::NotYet,
            _ => Age::Good,
        }
    }
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, KeyPair, SanType};

    use super::*;

    fn certificate(names: Vec<SanType>) -> Certificate {
        let mut params = CertificateParams::default();
        params.subject_alt_names = names;
        params.not_before = rcgen::date_time_ymd(2026, 1, 1);
        params.not_after = rcgen::date_time_ymd(2026, 2, 1);
        let key = KeyPair::generate().unwrap();
        Certificate::read(params.self_signed(&key).unwrap().der()).unwrap()
    }

    fn at(text: &str) -> Timestamp {
        Timestamp::parse(text).unwrap()
    }

    #[test]
    fn it_says_whose_it_is_uris_first() {
        let names = vec![
            SanType::DnsName("Agents.Example".try_into().unwrap()),
            SanType::URI("spiffe://corp/Robot".try_into().unwrap()),
            SanType::IpAddress([127, 0, 0, 1].into()),
            SanType::Rfc822Name("me@corp.example".try_into().unwrap()),
        ];
        let read = certificate(names);
        let names: Vec<&str> = read.names().collect();
        assert_eq!(names[..2], ["spiffe://corp/Robot", "agents.example"]);
        assert_eq!(names[2..], [read.fingerprint()]);
        assert_eq!(read.fingerprint().len(), "sha256:".len() + 64);
        for (host, is_for) in [
            ("agents.example", true),
            ("127.0.0.1", true),
            ("127.0.0.2", false),
            ("other.example", false),
            ("not a host", false),
        ] {
            assert_eq!(read.is_for(host), is_for, "{host}");
        }
    }

    #[test]
    fn it_is_good_for_a_time() {
        let read = certificate(Vec::new());
        for (moment, age) in [
            ("2025-12-31T23:59:59Z", Age::NotYet),
            ("2026-01-01T00:00:00Z", Age::Good),
            ("2026-02-01T00:00:00Z", Age::Good),
            ("2026-02-01T00:00:01Z", Age::Expired),
        ] {
            assert_eq!(read.age_at(at(moment)), age, "{moment}");
        }
    }

    #[test]
    fn what_is_no_certificate_has_no_names() {
        assert!(Certificate::read(&CertificateDer::from(vec![0x30, 0x03, 1, 2, 3])).is_err());
        assert!(Certificate::read(&CertificateDer::from(Vec::new())).is_err());
    }
}
