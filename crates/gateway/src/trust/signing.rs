//! The keys that sign, and the one that seals. Those that are not there yet are made.

use std::path::Path;
use std::sync::Arc;
use std::{fs, io};

use anyhow::Context;
use switchboard_agents::openclaw::Device;
use switchboard_server::auth::method::Algorithm;
use switchboard_server::egress::SealingKey;
use switchboard_server::sign::{Signer, SigningKey};

use super::files;
use crate::config::{self, Config, Store};

/// The key for secrets, in the data directory.
const SECRET_KEY: &str = "secret.key";

/// The key of the device that OpenClaw gateways know, in the data directory.
const DEVICE_KEY: &str = "openclaw-device.pem";

/// Who signs in our name, if anything is signed.
///
/// # Errors
///
/// If a key is to be made and cannot be.
pub(crate) fn signer(config: &Config) -> anyhow::Result<Option<Arc<Signer>>> {
    let (Some(signing), Some(public_url)) = (&config.signing, &config.public_url) else {
        return Ok(None);
    };
    let mut keys = Vec::new();
    for listed in &signing.keys {
        let key = match &listed.key {
            Some(key) => Arc::clone(key),
            None => Arc::new(made(listed)?),
        };
        tracing::info!(kid = key.kid(), purpose = ?listed.purpose, "signing key");
        keys.push((key, listed.purpose));
    }
    Ok(Signer::new(Arc::clone(public_url), &keys).map(Arc::new))
}

fn made(listed: &config::SigningKey) -> anyhow::Result<SigningKey> {
    let key = SigningKey::generate(Algorithm::Es256)?;
    let cannot = || format!("cannot make the key {}", listed.file.display());
    let key = match files::make(&listed.file, &key.to_pem()) {
        // Another process was quicker: its key counts.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            SigningKey::from_pem(&fs::read(&listed.file)?).with_context(cannot)?
        }
        made => made.map(|()| key).with_context(cannot)?,
    };
    Ok(match &listed.kid {
        Some(kid) => key.with_kid(kid.clone()),
        None => key,
    })
}

/// What the secrets of webhooks are sealed with: the key of the configuration, else the one beside the database. What
/// lasts no longer than the process needs none that does.
///
/// # Errors
///
/// If the key cannot be read or made.
pub(crate) fn seal(config: &Config) -> anyhow::Result<Arc<SealingKey>> {
    if let Some(key) = &config.secret_key {
        return Ok(Arc::clone(key));
    }
    let text = match &config.store {
        Store::Memory => SealingKey::fresh(),
        Store::Sqlite(options) => {
            let file = options.dir.join(SECRET_KEY);
            kept(&file).with_context(|| format!("cannot read or make {}", file.display()))?
        }
    };
    let key = SealingKey::from_base64(&text)
        .with_context(|| format!("{SECRET_KEY} in the data directory holds no key"))?;
    Ok(Arc::new(key))
}

/// Who we are to OpenClaw gateways: a device with a key in the data directory, which their owners approve of once.
///
/// # Errors
///
/// If the key cannot be read or made.
pub(crate) fn device(config: &Config) -> anyhow::Result<Device> {
    let key = match &config.store {
        Store::Memory => SigningKey::generate(Algorithm::EdDsa)?,
        Store::Sqlite(options) => {
            let file = options.dir.join(DEVICE_KEY);
            device_key(&file).with_context(|| format!("cannot read or make {}", file.display()))?
        }
    };
    Device::new(key).with_context(|| format!("{DEVICE_KEY} holds no Ed25519 key"))
}

fn device_key(file: &Path) -> anyhow::Result<SigningKey> {
    if !file.exists() {
        let key = SigningKey::generate(Algorithm::EdDsa)?;
        match files::make(file, &key.to_pem()) {
            // Another process was quicker: its key counts.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => made?,
        }
    }
    files::require_private(file)?;
    Ok(SigningKey::from_pem(&fs::read(file)?)?)
}

/// The key in a file, which is made if it is not there. One that others may have read is refused.
fn kept(file: &Path) -> io::Result<String> {
    match files::require_private(file).and_then(|()| fs::read_to_string(file)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let text = SealingKey::fresh();
            match files::make(file, &format!("{text}\n")) {
                // Another process was quicker: its key counts.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    files::require_private(file)?;
                    fs::read_to_string(file)
                }
                made => made.map(|()| text),
            }
        }
        read => read,
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_key_is_made_once_and_for_its_owner_only() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join(SECRET_KEY);
        let key = kept(&file).unwrap();
        assert_eq!(kept(&file).unwrap().trim(), key);
        let mode = fs::metadata(&file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
        let sealed = SealingKey::from_base64(&key).unwrap().seal("secret");
        let again = SealingKey::from_base64(&kept(&file).unwrap()).unwrap();
        assert_eq!(again.open(&sealed).as_deref(), Some("secret"));
    }
}
