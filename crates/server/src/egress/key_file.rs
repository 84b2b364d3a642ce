//! The key that encrypts the credentials of webhooks, in a file of the data directory.

use std::path::Path;
use std::{fs, io};

use switchboard_keys::SealingKey;

use crate::files;

/// The file of the key in a data directory.
const KEY_FILE: &str = "secret.key";

/// The key of a data directory, which is created if there is none. Only its owner can read it.
///
/// # Errors
///
/// If the file cannot be read or created, does not hold a key, or everyone on this machine can read it; the error names
/// the file.
pub fn load_or_create_key(dir: &Path) -> io::Result<SealingKey> {
    let file = dir.join(KEY_FILE);
    let text = load_or_create(&file).map_err(|error| {
        let message = format!("cannot read or make {}: {error}", file.display());
        io::Error::new(error.kind(), message)
    })?;
    SealingKey::from_base64(&text).ok_or_else(|| {
        let message = format!("{} does not hold a key", file.display());
        io::Error::new(io::ErrorKind::InvalidData, message)
    })
}

fn load_or_create(file: &Path) -> io::Result<String> {
    match load(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let text = SealingKey::fresh();
            match files::make(file, &format!("{text}\n")) {
                // Another process was quicker: its key counts.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => load(file),
                made => made.map(|()| text),
            }
        }
        read => read,
    }
}

/// Reads a key, unless others may have read it.
fn load(file: &Path) -> io::Result<String> {
    files::require_private(file)?;
    fs::read_to_string(file)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_key_is_created_once_and_readable_by_its_owner_only() {
        let dir = tempfile::tempdir().unwrap();
        let sealed = load_or_create_key(dir.path()).unwrap().seal("secret");
        let again = load_or_create_key(dir.path()).unwrap();
        assert_eq!(again.open(&sealed).as_deref(), Some("secret"));
        let file = dir.path().join(KEY_FILE);
        let mode = fs::metadata(&file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_file_without_a_key_is_an_error_that_names_it() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join(KEY_FILE);
        files::make(&file, "no key").unwrap();
        let error = load_or_create_key(dir.path()).unwrap_err().to_string();
        assert_eq!(error, format!("{} does not hold a key", file.display()));
    }
}
