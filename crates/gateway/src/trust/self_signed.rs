//! A certificate of our own making, for machines where nobody has a better one.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use rcgen::{CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, KeyPair};
use switchboard_server::clock;
use switchboard_server::files;
use switchboard_server::http::tls::{Pem, Settings, Tls};
use switchboard_server::net::Age;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// How long a certificate is good: not all clients take those that are good for longer.
const GOOD_FOR: Duration = Duration::from_secs(365 * 24 * 60 * 60);
/// How long before its end it is replaced.
const RENEWED_BEFORE: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// A certificate and its key, in the data directory.
#[derive(Debug)]
pub(super) struct Kept {
    pub(super) certificate: PathBuf,
    pub(super) key: PathBuf,
    names: Vec<String>,
}

impl Kept {
    pub(super) fn new(dir: &Path, names: Vec<String>) -> Self {
        Self {
            certificate: dir.join("dev-cert.pem"),
            key: dir.join("dev-key.pem"),
            names,
        }
    }

    /// Makes a new one if there is none that is good for all names and for long enough. Clients may trust the one that
    /// is there: without need it stays.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub(super) fn renew(&self) -> anyhow::Result<()> {
        if self.is_good() {
            return Ok(());
        }
        let (certificate, key) = make(&self.names)?;
        write(&self.key, &key)?;
        write(&self.certificate, &certificate)
    }

    fn is_good(&self) -> bool {
        let settings = Settings {
            certificate: Pem::File(self.certificate.clone()),
            key: Pem::File(self.key.clone()),
            clients: None,
        };
        let Ok(tls) = Tls::load(settings) else {
            return false;
        };
        let certificate = tls.certificate();
        let good = |moment| certificate.age_at(moment) == Age::Good;
        good(clock::now())
            && good(clock::after_now(RENEWED_BEFORE))
            && self.names.iter().all(|name| certificate.is_for(name))
    }
}

/// A certificate for these names, and its key.
pub(super) fn make(names: &[String]) -> anyhow::Result<(String, String)> {
    let mut params = CertificateParams::new(names).context("no certificate for these names")?;
    let begin = u64::try_from(clock::now().as_micros() / 1_000_000).unwrap_or_default();
    let begin = rcgen::date_time_ymd(1970, 1, 1) + Duration::from_secs(begin);
    // Clocks differ.
    params.not_before = begin - DAY;
    params.not_after = begin + GOOD_FOR;
    params.distinguished_name = DistinguishedName::new();
    let name = "Switchboard, self-signed";
    params.distinguished_name.push(DnType::CommonName, name);
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    let key = KeyPair::generate()?;
    let certificate = params.self_signed(&key)?;
    Ok((certificate.pem(), key.serialize_pem()))
}

fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    files::replace(path, text).with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn it_stays_until_it_is_needed_no_longer() {
        let dir = tempfile::tempdir().unwrap();
        let names = |all: &[&str]| all.iter().map(|&name| name.to_owned()).collect();
        let kept = Kept::new(dir.path(), names(&["localhost", "127.0.0.1", "::1"]));
        kept.renew().unwrap();
        let read = || {
            let read = |path| fs::read_to_string(path).unwrap();
            (read(&kept.certificate), read(&kept.key))
        };
        let first = read();
        kept.renew().unwrap();
        assert_eq!(read(), first, "it is good");

        let more = Kept::new(dir.path(), names(&["localhost", "agents.example"]));
        more.renew().unwrap();
        let second = read();
        assert_ne!(second, first, "a name was missing");
        more.renew().unwrap();
        assert_eq!(read(), second);

        fs::write(&kept.key, &first.1).unwrap();
        more.renew().unwrap();
        assert_ne!(read().0, second.0, "the key did not fit");

        let mut params = CertificateParams::new(more.names.clone()).unwrap();
        params.not_after = rcgen::date_time_ymd(2020, 1, 1);
        let key = KeyPair::generate().unwrap();
        let old = params.self_signed(&key).unwrap().pem();
        fs::write(&kept.certificate, &old).unwrap();
        fs::write(&kept.key, key.serialize_pem()).unwrap();
        more.renew().unwrap();
        assert_ne!(read().0, old, "it had expired");
    }

    #[test]
    fn nobody_else_can_read_it() {
        use std::os::unix::fs::PermissionsExt;

        let dir = tempfile::tempdir().unwrap();
        let kept = Kept::new(dir.path(), vec!["localhost".to_owned()]);
        kept.renew().unwrap();
        for path in [&kept.certificate, &kept.key] {
            let mode = fs::metadata(path).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{}", path.display());
        }
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
    }
}
