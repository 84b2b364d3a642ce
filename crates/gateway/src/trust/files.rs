//! Files that only their owner can read, there completely or not at all.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
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
    use std::os::unix::fs::PermissionsExt as _;

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
}
