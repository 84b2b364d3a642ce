//! Making a backup.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::error::{BackupError, at};
use super::manifest::{Manifest, SkippedEntry};
use super::staging::{self, Staging};
use super::{BackupReport, DATA, StopFlag, copy};
use crate::clock;
use crate::store::access::SqliteAccess;
use crate::store::sqlite::snapshot::Snapshot;
use crate::store::sqlite::{self, journal, open};

/// Copies a data directory to `target`, which must not exist, beside a running server or without one. Blocks.
///
/// Everything that was acknowledged before the call is in the backup.
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
    let stopped = |error| stop.check().err().unwrap_or(BackupError::Store(error));
    let snapshot = Snapshot::take(&dir, || stop.check_store()).map_err(stopped)?;
    let staging = Staging::beside(&target).map_err(at("write to", parent(&target)))?;
    let data = staging.path().join(DATA);
    staging::make_private_dir(&data).map_err(at("make", &data))?;
    let mut manifest = Manifest::new(created, &dir, snapshot.is_in_use());
    let written = snapshot.write_to(&data, || stop.check_store());
    written.map_err(stopped)?;
    // The server's log can shrink again while the copy is checked.
    drop(snapshot);
    // After the databases: the key that a secret in there is sealed with was made before.
    let mut others = OtherFiles::default();
    others.find(&dir, "")?;
    require_sound(&dir, &data)?;
    for entry in fs::read_dir(&data).map_err(at("read", &data))? {
        let name = entry.map_err(at("read", &data))?.file_name();
        let name = name.to_string_lossy();
        manifest.files.push(copy::describe(&data, &name, stop)?);
    }
    for name in &others.files {
        let path = dir.join(name);
        let file = match copy::open_regular(&path) {
            // Files that are replaced have another name for a moment.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            opened => opened.map_err(at("read", &path))?,
        };
        staging::make_dirs_above(&data, name).map_err(at("write", &data))?;
        manifest
            .files
            .push(copy::copy(file, &dir, &data, name, stop)?);
    }
    manifest.files.sort_by(|a, b| a.path.cmp(&b.path));
    manifest.skipped = others.skipped;
    manifest.write_to(staging.path())?;
    stop.check()?;
    staging.publish().map_err(at("write", &target))?;
    Ok(BackupReport {
        path: target,
        manifest,
    })
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
fn require_sound(dir: &Path, data: &Path) -> Result<(), BackupError> {
    let report = sqlite::check_files(data)?;
    let problems = report.files.iter().flat_map(|file| {
        let problems = file.problems.iter();
        problems.map(|problem| format!("{}: {problem}", file.name))
    });
    let problems: Vec<String> = problems.collect();
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

/// What is in a data directory beside the databases and their journal.
#[derive(Debug, Default)]
struct OtherFiles {
    files: Vec<String>,
    skipped: Vec<SkippedEntry>,
}

impl OtherFiles {
    /// Adds what is in the directory `below`, and in those in it.
    fn find(&mut self, dir: &Path, below: &str) -> Result<(), BackupError> {
        let here = dir.join(below);
        for entry in fs::read_dir(&here).map_err(at("read", &here))? {
            let entry = entry.map_err(at("read", &here))?;
            let path = entry.path();
            let kind = match entry.file_type() {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                kind => kind.map_err(at("read", &path))?,
            };
            let name = entry.file_name();
            let Some(name) = name.to_str() else {
                self.skip(
                    &below_with(below, &name.to_string_lossy()),
                    "its name is not UTF-8",
                );
                continue;
            };
            if below.is_empty() && is_of_the_store(name) || is_draft(name) {
                continue;
            }
            let relative = below_with(below, name);
            if kind.is_file() {
                self.files.push(relative);
            } else if kind.is_dir() {
                // A disk of its own has this, and only its administrator may look inside.
                if !(below.is_empty() && name == super::restore::LOST_AND_FOUND) {
                    self.find(dir, &relative)?;
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
