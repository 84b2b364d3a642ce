//! The keys that sign, and the one that seals. Those that are not there yet are made.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use switchboard_server::auth::method::Algorithm;
use switchboard_server::push::SealingKey;
use switchboard_server::sign::{Signer, SigningKey};

use crate::config::{self, Config, Store};

/// The key for secrets, in the data directory.
const SECRET_KEY: &str = "secret.key";

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
    write_private(&listed.file, &key.to_pem())
        .with_context(|| format!("cannot make the key {}", listed.file.display()))?;
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

/// The key in a file, which is made if it is not there.
fn kept(file: &Path) -> io::Result<String> {
    match fs::read_to_string(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let text = SealingKey::fresh();
            write_private(file, &format!("{text}\n"))?;
            Ok(text)
        }
        read => read,
    }
}

/// Makes a file that only its owner can read. It is there completely or not at all, and stays.
fn write_private(file: &Path, text: &str) -> io::Result<()> {
    let beside = file.with_added_extension("new");
    match fs::remove_file(&beside) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut options = OpenOptions::new();
    let mut new = options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&beside)?;
    new.write_all(text.as_bytes())?;
    new.sync_all()?;
    fs::rename(&beside, file)?;
    let folder = file
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_key_is_made_once_and_for_its_owner_only() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join(SECRET_KEY);
        // What a crash left behind is in nobody's way.
        fs::write(dir.path().join("secret.key.new"), "half").unwrap();
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
