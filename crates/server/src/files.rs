//! Files that are there completely or not at all, and never written through a link: secrets that only their owner can
//! read, and what a caller saves.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use uuid::Uuid;

/// The permissions of secrets.
const OWNER_ONLY: u32 = 0o600;
/// The permissions of everything else, before the umask.
const EVERYONE: u32 = 0o666;

/// Makes a file. One that is there stays.
///
/// # Errors
///
/// If it is there, or cannot be written.
pub fn make(file: &Path, text: &str) -> io::Result<()> {
    make_with(file, text.as_bytes(), OWNER_ONLY)
}

/// Refuses a file that everyone on this machine can use. One that a group can use is taken with a warning: orchestrators
/// open volumes to a group, and would do so again.
///
/// # Errors
///
/// If others than its owner and group can read or write it; the error says what to do.
pub fn require_private(file: &Path) -> io::Result<()> {
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
pub fn replace(file: &Path, text: &str) -> io::Result<()> {
    replace_with(file, text.as_bytes(), OWNER_ONLY)
}

/// Saves a file that others may read as far as the umask lets them. One that is there, or a link of that name, is
/// replaced only if `overwrite` says so; what a link leads to is never touched.
///
/// # Errors
///
/// If it is there, or cannot be written.
pub fn save(file: &Path, content: &[u8], overwrite: bool) -> io::Result<()> {
    if overwrite {
        replace_with(file, content, EVERYONE)
    } else {
        make_with(file, content, EVERYONE)
    }
}

fn make_with(file: &Path, content: &[u8], mode: u32) -> io::Result<()> {
    let draft = draft(file, content, mode)?;
    let linked = match fs::hard_link(&draft, file) {
        // There are disks without links. Then it is not there at once, but it is made by one process only.
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            write_new(file, content, mode)
        }
        linked => linked,
    };
    fs::remove_file(&draft)?;
    linked?;
    keep_name(file)
}

fn replace_with(file: &Path, content: &[u8], mode: u32) -> io::Result<()> {
    let draft = draft(file, content, mode)?;
    // Puts it in the place of the name, be that a file or a link.
    if let Err(error) = fs::rename(&draft, file) {
        drop(fs::remove_file(&draft));
        return Err(error);
    }
    keep_name(file)
}

/// The content in a file beside it: of two processes each has one, also if they have the same number in containers of
/// their own. Its name is short, so that it fits wherever the file's does.
fn draft(file: &Path, content: &[u8], mode: u32) -> io::Result<PathBuf> {
    let draft = file.with_file_name(format!(".{}.new", Uuid::new_v4().simple()));
    match write_new(&draft, content, mode) {
        Ok(()) => Ok(draft),
        Err(error) => {
            drop(fs::remove_file(&draft));
            Err(error)
        }
    }
}

fn write_new(file: &Path, content: &[u8], mode: u32) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(mode);
    let mut new = options.open(file)?;
    new.write_all(content)?;
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
    fn nothing_is_written_through_a_link() {
        let dir = tempfile::tempdir().unwrap();
        let outside = dir.path().join("outside");
        fs::write(&outside, "precious").unwrap();
        let inside = dir.path().join("inside");
        fs::create_dir(&inside).unwrap();
        let link = inside.join("report.txt");
        for target in [outside.clone(), dir.path().join("not-there-yet")] {
            std::os::unix::fs::symlink(&target, &link).unwrap();
            let error = save(&link, b"new", false).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
            save(&link, b"new", true).unwrap();
            assert!(!fs::symlink_metadata(&link).unwrap().is_symlink());
            assert_eq!(fs::read_to_string(&link).unwrap(), "new");
            fs::remove_file(&link).unwrap();
        }
        assert_eq!(fs::read_to_string(&outside).unwrap(), "precious");
        assert!(!dir.path().join("not-there-yet").exists());
        assert_eq!(fs::read_dir(&inside).unwrap().count(), 0, "no draft stays");
    }

    #[test]
    fn a_save_that_fails_leaves_nothing_behind() {
        let dir = tempfile::tempdir().unwrap();
        let taken = dir.path().join("taken");
        fs::create_dir(&taken).unwrap();
        save(&taken, b"new", true).unwrap_err();
        save(&taken, b"new", false).unwrap_err();
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
