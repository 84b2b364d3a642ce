//! The keys that sign, and the one that seals. Those that are not there yet are made.

use std::path::Path;
use std::sync::Arc;
use std::{fs, io};

use anyhow::Context;
use switchboard_agents::openclaw::Device;
use switchboard_server::auth::method::Algorithm;
use switchboard_server::egress::{SealingKey, load_or_create_key};
use switchboard_server::files;
use switchboard_server::sign::{Signer, SigningKey};

use crate::config::{self, Config, Store};

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
    let key = match &config.store {
        Store::Memory => SealingKey::generate(),
        Store::Sqlite(options) => load_or_create_key(&options.dir)?,
    };
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
