//! Making a backup.

use std::ffi::OsString;
use std::fs::{self, FileType};
use std::io;
use std::path::{Path, PathBuf};

use super::error::{BackupError, at};
use super::manifest::{Manifest, SkippedEntry};
use super::staging::{self, Staging};
use super::{BackupReport, DATA, StopFlag, copy, problems_in};
use crate::clock;
use crate::store::access::SqliteAccess;
use crate::store::sqlite::snapshot::Snapshot;
use crate::store::sqlite::{journal, open};
use crate::store::{Error, files};

/// Copies a data directory to `target`, which must not exist, beside a running server or without one. Blocks.
///
/// Everything that was acknowledged before the call is in the backup, of the stores in directories below, too.
///
/// # Errors
///
/// If something is in the way, the data directory is damaged, or a file cannot be read or written. Then there is no
/// `target`.
pub fn create(dir: &Path, target: &Path, stop: &StopFlag) -> Result<BackupReport, BackupError> {
    let dir = dir.canonicalize().map_err(at("read", dir))?;
    let target = require_free(&dir, target)?;
    let created = clock::now().to_string();
    // Before anything is written: while this waits there is nothing to remove.
    let snapshot = take_snapshot(&dir, stop)?;
    let staging = Staging::beside(&target).map_err(at("write to", parent(&target)))?;
    let data = staging.path().join(DATA);
    staging::make_private_dir(&data).map_err(at("make", &data))?;
    let mut copying = Copying {
        manifest: Manifest::new(created, &dir),
        dir: &dir,
        data: &data,
        stop,
    };
    copying.copy_store("", snapshot)?;
    let mut manifest = copying.manifest;
    manifest.files.sort_by(|a, b| a.path.cmp(&b.path));
    manifest.write_to(staging.path())?;
    stop.check()?;
    staging.publish().map_err(at("write", &target))?;
    staging::sync_name(&target)?;
    Ok(BackupReport {
        path: target,
        manifest,
    })
}

fn take_snapshot(dir: &Path, stop: &StopFlag) -> Result<Snapshot, BackupError> {
    Snapshot::take(dir, || stop.check_store()).map_err(|error| stopped_or(error, stop))
}

/// A store that was asked to stop says so in its own words.
fn stopped_or(error: Error, stop: &StopFlag) -> BackupError {
    stop.check().err().unwrap_or(BackupError::Store(error))
}

/// A data directory on its way into a backup.
struct Copying<'a> {
    dir: &'a Path,
    data: &'a Path,
    stop: &'a StopFlag,
    manifest: Manifest,
}

impl Copying<'_> {
    /// Copies the store in the directory `below`, the files beside it, and the stores in directories below that one,
    /// which `switchboard wrap` makes: each has a server and so a snapshot of its own.
    fn copy_store(&mut self, below: &str, snapshot: Snapshot) -> Result<(), BackupError> {
        let to = self.data.join(below);
        self.manifest.server_running |= snapshot.is_in_use();
        let written = snapshot.write_to(&to, || self.stop.check_store());
        written.map_err(|error| stopped_or(error, self.stop))?;
        // The server's log can shrink again while the copy is checked.
        drop(snapshot);
        // After the databases: the key that a secret in there is sealed with was made before.
        let mut others = OtherFiles::default();
        others.find(self.dir, below, true)?;
        require_sound(self.dir, self.data, below)?;
        for entry in fs::read_dir(&to).map_err(at("read", &to))? {
            let name = entry.map_err(at("read", &to))?.file_name();
            let name = below_with(below, &name.to_string_lossy());
            let described = copy::describe(self.data, &name, self.stop)?;
            self.manifest.files.push(described);
        }
        others.files.iter().try_for_each(|name| self.copy(name))?;
        self.manifest.skipped.append(&mut others.skipped);
        for store in others.stores {
            let snapshot = take_snapshot(&self.dir.join(&store), self.stop)?;
            let to = self.data.join(&store);
            files::make_dir(&to).map_err(at("make", &to))?;
            self.copy_store(&store, snapshot)?;
        }
        Ok(())
    }

    fn copy(&mut self, name: &str) -> Result<(), BackupError> {
        let path = self.dir.join(name);
        let file = match copy::open_regular(&path) {
            // Files that are replaced have another name for a moment.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            opened => opened.map_err(at("read", &path))?,
        };
        staging::make_dirs_above(self.data, name).map_err(at("write", self.data))?;
        let copied = copy::copy(file, self.dir, self.data, name, self.stop)?;
        self.manifest.files.push(copied);
        Ok(())
    }
}

/// The absolute path of a backup that can be made.
fn require_free(dir: &Path, target: &Path) -> Result<PathBuf, BackupError> {
    let shown = target.display();
    let refused = |why: String| Err(BackupError::Refused(why));
    let Some(name) = target.file_name() else {
        return refused(format!("{shown} is not the name of a new directory"));
    };
    if fs::symlink_metadata(target).is_ok() {
        return refused(format!(
            "{shown} exists, and backups never overwrite anything: choose a new name, such as one with the date"
        ));
    }
    let above = match target.parent() {
        Some(above) if !above.as_os_str().is_empty() => above,
        _ => Path::new("."),
    };
    let above = above.canonicalize().map_err(|error| {
        BackupError::Refused(format!(
            "{} cannot be used for backups ({error}): make that directory first",
            above.display()
        ))
    })?;
    if above.starts_with(dir) {
        return refused(format!(
            "{shown} is inside the data directory, so that each backup would hold the one before: choose a directory \
             elsewhere, at best on another disk"
        ));
    }
    Ok(above.join(name))
}

/// A backup that could not be used is none.
fn require_sound(dir: &Path, data: &Path, below: &str) -> Result<(), BackupError> {
    let problems = problems_in(data, below.as_ref())?;
    if problems.is_empty() {
        return Ok(());
    }
    Err(BackupError::Damaged(format!(
        "{} is damaged, and no backup was made. Keep the backups you have, and see `switchboard store check`:\n  {}",
        dir.display(),
        problems.join("\n  ")
    )))
}

fn parent(path: &Path) -> &Path {
    path.parent().unwrap_or(path)
}

/// What is in the directory of a store beside the databases and their journal.
#[derive(Debug, Default)]
struct OtherFiles {
    files: Vec<String>,
    /// Directories below with a store of their own.
    stores: Vec<String>,
    skipped: Vec<SkippedEntry>,
}

impl OtherFiles {
    /// Adds what is in the directory `below`, and in those in it. `is_store` if its databases are copied already.
    fn find(&mut self, dir: &Path, below: &str, is_store: bool) -> Result<(), BackupError> {
        let here = dir.join(below);
        let entries = match entries(&here) {
            // Removed since it was listed.
            Err(error) if error.kind() == io::ErrorKind::NotFound && !below.is_empty() => {
                return Ok(());
            }
            entries => entries.map_err(at("read", &here))?,
        };
        if !is_store && entries.iter().any(is_database) {
            self.stores.push(below.to_owned());
            return Ok(());
        }
        for (name, kind) in entries {
            let Some(name) = name.to_str() else {
                let name = below_with(below, &name.to_string_lossy());
                self.skip(&name, "its name is not UTF-8");
                continue;
            };
            if is_store && is_of_the_store(name) || is_draft(name) {
                continue;
            }
            let relative = below_with(below, name);
            if kind.is_file() {
                self.files.push(relative);
            } else if kind.is_dir() {
                // A disk of its own has this, and only its administrator may look inside.
                if !(below.is_empty() && name == super::restore::LOST_AND_FOUND) {
                    self.find(dir, &relative, false)?;
                }
            } else if kind.is_symlink() {
                self.skip(&relative, "a symbolic link; back up what it leads to");
            } else {
                self.skip(&relative, "not a regular file");
            }
        }
        Ok(())
    }

    fn skip(&mut self, path: &str, reason: &str) {
        self.skipped.push(SkippedEntry {
            path: path.to_owned(),
            reason: reason.to_owned(),
        });
    }
}

/// The names in a directory with what they are, but for files that vanish meanwhile.
fn entries(dir: &Path) -> io::Result<Vec<(OsString, FileType)>> {
    let mut entries = Vec::new();
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        match entry.file_type() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            kind => entries.push((entry.file_name(), kind?)),
        }
    }
    Ok(entries)
}

fn is_database((name, kind): &(OsString, FileType)) -> bool {
    kind.is_file() && (name == open::DATABASE || name == SqliteAccess::FILE)
}

fn below_with(below: &str, name: &str) -> String {
    if below.is_empty() {
        name.to_owned()
    } else {
        format!("{below}/{name}")
    }
}

/// What a snapshot has, or what belongs to the process that runs.
fn is_of_the_store(name: &str) -> bool {
    let is_of_database = |database: &str| {
        name.strip_prefix(database)
            .is_some_and(|rest| matches!(rest, "" | "-wal" | "-shm" | "-journal"))
    };
    is_of_database(open::DATABASE)
        || is_of_database(SqliteAccess::FILE)
        || journal::NAMES.contains(&name)
        || name == open::LOCK
}

/// A file that is just being written, to be renamed in a moment, or that a crash has left.
fn is_draft(name: &str) -> bool {
    let draft = name.strip_prefix('.').and_then(|n| n.strip_suffix(".new"));
    draft.is_some_and(|id| id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_that_is_removed_after_it_was_listed_is_left_out() {
        let dir = tempfile::tempdir().unwrap();
        let mut found = OtherFiles::default();
        found.find(dir.path(), "removed", false).unwrap();
        assert!(found.files.is_empty() && found.stores.is_empty());
        let missing = dir.path().join("missing");
        assert!(found.find(&missing, "", true).is_err());
    }
}
