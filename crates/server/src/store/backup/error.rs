//! Why a backup or a restore did not succeed.

use std::io;
use std::path::Path;

use crate::store::Error;

/// Why a backup or a restore did not succeed. What was written until then is removed.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// It was not begun: something is in the way. Says what to do.
    #[error("{0}")]
    Refused(String),
    /// What is to be copied is damaged or incomplete.
    #[error("{0}")]
    Damaged(String),
    /// The databases cannot be read or copied.
    #[error(transparent)]
    Store(#[from] Error),
    /// A file cannot be read or written.
    #[error("{0}")]
    File(String),
    /// It was asked to stop.
    #[error("stopped before it was finished; what was written is removed")]
    Stopped,
}

/// Adds what was done with which file to an error of the system.
pub(super) fn at<'a>(verb: &'a str, path: &'a Path) -> impl Fn(io::Error) -> BackupError + use<'a> {
    move |error| BackupError::File(format!("cannot {verb} {}: {error}", path.display()))
}
