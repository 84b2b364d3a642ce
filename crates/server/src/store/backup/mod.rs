//! Backup and restore of a data directory.
//!
//! A backup is a directory: `data` with the files, `manifest.json` with the size and SHA-256 of each, and
//! `manifest.sha256` with the digest of the manifest. It is written beside its name and renamed at the end, so that what
//! has the name is complete. What of the databases is copied is decided in `sqlite/snapshot.rs`; everything else in the
//! data directory is copied file by file. A directory below that has databases of its own, as `switchboard wrap` makes
//! them, is copied as a store of its own.
//!
//! The commands `switchboard backup` and `switchboard restore` are a thin layer on this.

mod copy;
mod create;
mod error;
mod manifest;
mod restore;
mod staging;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

pub use create::create;
pub use error::BackupError;
pub use manifest::{FileEntry, Manifest, SkippedEntry};
pub use restore::restore;

use crate::store::{Error, sqlite};

/// The files of a data directory in a backup.
const DATA: &str = "data";

/// What was written: a backup, or a data directory from one.
#[derive(Debug)]
pub struct BackupReport {
    /// Where it is.
    pub path: PathBuf,
    /// What it consists of.
    pub manifest: Manifest,
}

/// Asks a backup or restore that runs on another thread to stop; it then removes what it has written.
#[derive(Debug, Default)]
pub struct StopFlag(AtomicBool);

impl StopFlag {
    /// Asks it to stop soon.
    pub fn stop(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn check(&self) -> Result<(), BackupError> {
        if self.0.load(Ordering::Relaxed) {
            return Err(BackupError::Stopped);
        }
        Ok(())
    }

    fn check_store(&self) -> Result<(), Error> {
        self.check()
            .map_err(|stopped| Error::Unavailable(stopped.to_string()))
    }
}

/// What is wrong with the databases and the journal in the directory `below`, by the paths of the files in `dir`.
fn problems_in(dir: &Path, below: &Path) -> Result<Vec<String>, Error> {
    let report = sqlite::check_files(&dir.join(below))?;
    let problems = report.files.iter().flat_map(|file| {
        let path = below.join(file.name);
        let problems = file.problems.iter();
        problems.map(move |problem| format!("{}: {problem}", path.display()))
    });
    Ok(problems.collect())
}
