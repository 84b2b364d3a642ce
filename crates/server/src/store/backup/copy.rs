//! Copying single files: complete, synced, with their digest, and never through a link.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use switchboard_keys::Sha256;

use super::StopFlag;
use super::error::{BackupError, at};
use super::manifest::FileEntry;

/// How much is read at once.
const BUFFER: usize = 256 * 1024;
/// How often a file that is replaced while it is opened is opened again.
const OPEN_ATTEMPTS: usize = 100;

/// Writes a new file that only its owner can read.
pub(super) fn write_new(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = create_new(path)?;
    file.write_all(content)?;
    file.sync_all()
}

fn create_new(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    options.open(path)
}

/// Opens a regular file for reading. A link that takes its place meanwhile is refused.
pub(super) fn open_regular(path: &Path) -> io::Result<File> {
    for _ in 0..OPEN_ATTEMPTS {
        let named = fs::symlink_metadata(path)?;
        if !named.is_file() {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "not a regular file",
            ));
        }
        let file = File::open(path)?;
        let opened = file.metadata()?;
        // Another file if the server has replaced it by a rename between the two calls, and that one is as good.
        if (named.dev(), named.ino()) == (opened.dev(), opened.ino()) {
            return Ok(file);
        }
    }
    Err(io::Error::other("replaced each time it was opened"))
}

/// Describes the file `name` in `dir`.
pub(super) fn describe(dir: &Path, name: &str, stop: &StopFlag) -> Result<FileEntry, BackupError> {
    let path = dir.join(name);
    let mut file = open_regular(&path).map_err(at("read", &path))?;
    read_through(&mut file, &path, stop, |_| Ok(())).map(|read| read.entry(name))
}

/// Copies the file `name` from one directory to another, with its permissions, and says what was copied.
pub(super) fn copy(
    mut source: File,
    from: &Path,
    to: &Path,
    name: &str,
    stop: &StopFlag,
) -> Result<FileEntry, BackupError> {
    let path = to.join(name);
    let mut copy = create_new(&path).map_err(at("write", &path))?;
    let from = from.join(name);
    let write = |piece: &[u8]| copy.write_all(piece).map_err(at("write", &path));
    let read = read_through(&mut source, &from, stop, write)?;
    let permissions = fs::Permissions::from_mode(read.mode);
    let synced = copy
        .set_permissions(permissions)
        .and_then(|()| copy.sync_all());
    synced.map_err(at("write", &path))?;
    Ok(read.entry(name))
}

/// What a file turned out to be.
struct ReadFile {
    size: u64,
    sha256: String,
    mode: u32,
}

impl ReadFile {
    fn entry(self, name: &str) -> FileEntry {
        FileEntry {
            path: name.to_owned(),
            size: self.size,
            sha256: self.sha256,
            mode: format!("{:04o}", self.mode),
        }
    }
}

fn read_through(
    file: &mut File,
    path: &Path,
    stop: &StopFlag,
    mut each: impl FnMut(&[u8]) -> Result<(), BackupError>,
) -> Result<ReadFile, BackupError> {
    let mode = file.metadata().map_err(at("read", path))?.mode() & 0o777;
    let mut digest = Sha256::default();
    let mut size = 0;
    let mut buffer = vec![0; BUFFER];
    loop {
        stop.check()?;
        let length = match file.read(&mut buffer) {
            Ok(0) => break,
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(at("read", path)(error)),
        };
        let piece = &buffer[..length];
        digest.update(piece);
        each(piece)?;
        size += u64::try_from(length).unwrap_or(u64::MAX);
    }
    Ok(ReadFile {
        size,
        sha256: digest.finish_hex(),
        mode,
    })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[test]
    fn a_file_that_is_replaced_all_the_time_can_be_opened() {
        let dir = tempfile::tempdir().unwrap();
        let (path, draft) = (dir.path().join("file"), dir.path().join("draft"));
        fs::write(&path, "content").unwrap();
        let is_done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_done.load(Ordering::Relaxed) {
                    fs::write(&draft, "content").unwrap();
                    fs::rename(&draft, &path).unwrap();
                }
            });
            let failed = (0..20_000).find_map(|_| open_regular(&path).err());
            is_done.store(true, Ordering::Relaxed);
            assert!(failed.is_none(), "{failed:?}");
        });
    }
}
