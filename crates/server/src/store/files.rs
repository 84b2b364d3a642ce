//! Files and directories that only their owner can read.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::Path;

use super::Error;

/// The error for a file or directory that cannot be used.
pub(super) fn unusable(path: &Path, error: &io::Error) -> Error {
    use io::ErrorKind::{NotADirectory, PermissionDenied, ReadOnlyFilesystem, StorageFull};

    let path = path.display();
    let way_out = match error.kind() {
        PermissionDenied | ReadOnlyFilesystem => "make it writable for this user, or",
        NotADirectory | io::ErrorKind::AlreadyExists => "move the file that is in the way, or",
        StorageFull => "free some space, or",
        _ => "",
    };
    let choose = "choose another data directory with --data";
    let way_out = [way_out, choose].join(" ");
    Error::Unavailable(format!(
        "cannot use {path}: {error}; {}",
        way_out.trim_start()
    ))
}

/// The error for a file of a copy that cannot be written. The way out is not another data directory: that one is only read.
pub(super) fn cannot_write(path: &Path, error: &io::Error) -> Error {
    Error::Unavailable(format!("cannot write {}: {error}", path.display()))
}

/// Marks a data directory that a restore has begun to fill, until it holds everything.
pub(super) const RESTORE_MARKER: &str = "restore.incomplete";

/// Refuses a data directory that a restore has left half filled: with part of the files a server would start, and call
/// the rest lost.
pub(super) fn require_restored(dir: &Path) -> Result<(), Error> {
    if !dir.join(RESTORE_MARKER).exists() {
        return Ok(());
    }
    Err(Error::Unavailable(format!(
        "a restore into {} was interrupted: run `switchboard restore` again, or move it away",
        dir.display()
    )))
}

/// Makes a directory, and those above it, that only its owner can enter.
pub(super) fn make_dir(dir: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(dir)
}

/// Makes the names in a directory survive a loss of power, and the directory itself: the names on the way to it are
/// synced too, whether or not this process has made them. One that was killed may have made them a moment ago.
pub(super) fn sync_names(dir: &Path) -> io::Result<()> {
    let dir = dir.canonicalize()?;
    File::open(&dir)?.sync_all()?;
    for above in dir.ancestors().skip(1) {
        match File::open(above).and_then(|above| above.sync_all()) {
            Ok(()) => {}
            // A directory that we may not read, or on a file system that cannot be synced, is not one that was made
            // for us.
            Err(error) if cannot_be_synced(error.kind()) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn cannot_be_synced(kind: io::ErrorKind) -> bool {
    use io::ErrorKind::{InvalidInput, PermissionDenied, ReadOnlyFilesystem, Unsupported};

    matches!(
        kind,
        InvalidInput | PermissionDenied | ReadOnlyFilesystem | Unsupported
    )
}

/// Opens a file, making it if it is new, that only its owner can read.
pub(super) fn private_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// The same, and takes it from others who could read one that was there before.
pub(super) fn secret_file(path: &Path) -> io::Result<File> {
    let file = private_file(path)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;

        let mut permissions = file.metadata()?.permissions();
        if permissions.mode() & 0o077 != 0 {
            permissions.set_mode(0o600);
            file.set_permissions(permissions)?;
        }
    }
    Ok(file)
}
