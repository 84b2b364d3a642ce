//! Files that only their owner can read, there completely or not at all.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use uuid::Uuid;

/// Makes a file. One that is there stays.
///
/// # Errors
///
/// If it is there, or cannot be written.
pub(crate) fn make(file: &Path, text: &str) -> io::Result<()> {
    let beside = written_beside(file, text)?;
    let linked = match fs::hard_link(&beside, file) {
        // There are disks without links. Then it is not there at once, but it is made by one process only.
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => write_new(file, text),
        linked => linked,
    };
    fs::remove_file(&beside)?;
    linked?;
    keep_name(file)
}

/// Refuses a file that everyone on this machine can use. One that a group can use is taken with a warning: orchestrators
/// open volumes to a group, and would do so again.
///
/// # Errors
///
/// If others than its owner and group can read or write it; the error says what to do.
pub(crate) fn require_private(file: &Path) -> io::Result<()> {
    let mode = fs::metadata(file)?.permissions().mode() & 0o777;
    let shown = file.display();
    if mode & 0o007 != 0 {
        let message = format!(
            "everyone on this machine can use it (mode {mode:04o}): run `chmod 600 {shown}`, or replace the key if it \
             may have been read"
        );
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, message));
    }
    if mode & 0o070 != 0 {
        let mode = format!("{mode:04o}");
        tracing::warn!(file = %shown, mode, "key file is accessible to its group: chmod 600 restricts it to its owner");
    }
    Ok(())
}

/// Writes a file in the place of the one that is there.
///
/// # Errors
///
/// If it cannot be written.
pub(crate) fn replace(file: &Path, text: &str) -> io::Result<()> {
    let beside = written_beside(file, text)?;
    fs::rename(&beside, file)?;
    keep_name(file)
}

/// The text in a file of its own: of two processes each has one, also if they have the same number in containers of
/// their own.
fn written_beside(file: &Path, text: &str) -> io::Result<PathBuf> {
    let mut beside = OsString::from(file);
    beside.push(format!(".{}.new", Uuid::new_v4().simple()));
    let beside = PathBuf::from(beside);
    write_new(&beside, text)?;
    Ok(beside)
}

fn write_new(file: &Path, text: &str) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    let mut new = options.open(file)?;
    new.write_all(text.as_bytes())?;
    new.sync_all()
}

/// Its name survives a crash, too.
fn keep_name(file: &Path) -> io::Result<()> {
    let folder = file
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_made_is_never_made_again_and_what_is_replaced_is() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("key.pem");
        make(&file, "first").unwrap();
        let error = make(&file, "second").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read_to_string(&file).unwrap(), "first");
        replace(&file, "third").unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "third");
        let mode = fs::metadata(&file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_key_that_everyone_can_use_is_refused_with_what_to_do() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("secret.key");
        make(&file, "key").unwrap();
        for (mode, is_private) in [
            (0o600, true),
            (0o400, true),
            (0o640, true),
            (0o660, true),
            (0o644, false),
            (0o604, false),
            (0o602, false),
        ] {
            fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
            match require_private(&file) {
                Ok(()) => assert!(is_private, "{mode:o}"),
                Err(error) => {
                    assert!(!is_private, "{mode:o}");
                    let advice = format!("chmod 600 {}", file.display());
                    assert!(error.to_string().contains(&advice), "{error}");
                }
            }
        }
    }
}
