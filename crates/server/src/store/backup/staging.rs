//! A directory that gets its name when it is complete.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use uuid::Uuid;

use super::error::BackupError;
use crate::store::files;

/// A directory beside the one it will become. Removed when it is dropped before.
#[derive(Debug)]
pub(super) struct Staging {
    path: PathBuf,
    target: PathBuf,
    is_published: bool,
}

impl Staging {
    /// Makes a directory beside `target`, whose parent must exist.
    pub(super) fn beside(target: &Path) -> io::Result<Self> {
        let name = target.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        let suffix = Uuid::new_v4().simple().to_string();
        let name = format!(".{}.partial-{}", name.to_string_lossy(), &suffix[..8]);
        let path = target.with_file_name(name);
        make_private_dir(&path)?;
        Ok(Self {
            path,
            target: target.to_owned(),
            is_published: false,
        })
    }

    /// Where it is until then.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Gives the directory its name, once and for all: all files in it must be synced. The name may be that of an empty
    /// directory and of nothing else; that is what renaming a directory means.
    ///
    /// The name itself is not synced yet: see [`sync_name`].
    pub(super) fn publish(mut self) -> io::Result<()> {
        sync_dirs(&self.path)?;
        fs::rename(&self.path, &self.target)?;
        self.is_published = true;
        Ok(())
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        if !self.is_published {
            drop(fs::remove_dir_all(&self.path));
        }
    }
}

/// Makes the name of a published directory survive a loss of power. If that fails the directory is complete all the same,
/// and the error says so.
pub(super) fn sync_name(target: &Path) -> Result<(), BackupError> {
    let above = target.parent().unwrap_or(Path::new("/"));
    files::sync_names(above).map_err(|error| {
        BackupError::File(format!(
            "{} is complete, but its name could not be synced ({error}): it may be gone after a loss of power",
            target.display()
        ))
    })
}

/// Makes a directory that only its owner can enter.
pub(super) fn make_private_dir(path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o700).create(path)
}

/// Makes the directories above `name` in `dir`.
pub(super) fn make_dirs_above(dir: &Path, name: &str) -> io::Result<()> {
    match dir.join(name).parent() {
        Some(above) => files::make_dir(above),
        None => Ok(()),
    }
}

/// Makes the names in a directory and in those below it survive a loss of power.
pub(super) fn sync_dirs(dir: &Path) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            sync_dirs(&entry.path())?;
        }
    }
    File::open(dir)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_cannot_be_synced_is_reported_as_that() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("gone/backup");
        let error = sync_name(&target).unwrap_err().to_string();
        assert!(error.contains("is complete, but its name"), "{error}");
    }
}
