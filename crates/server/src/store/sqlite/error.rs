//! What SQLite's errors mean to the callers of a store.

use rusqlite::ErrorCode;

use crate::store::Error;

impl From<rusqlite::Error> for Error {
    fn from(error: rusqlite::Error) -> Self {
        let rusqlite::Error::SqliteFailure(failure, _) = &error else {
            return Self::Damaged(error.to_string());
        };
        let why = match failure.code {
            ErrorCode::DiskFull => "the disk is full",
            ErrorCode::ReadOnly => "the database is read-only",
            ErrorCode::PermissionDenied | ErrorCode::AuthorizationForStatementDenied => {
                "the database may not be accessed"
            }
            ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => {
                "the database is locked by another process"
            }
            ErrorCode::FileLockingProtocolFailed => "the database cannot be locked",
            ErrorCode::SystemIoFailure => "the disk does not answer",
            ErrorCode::CannotOpen => "the database cannot be opened",
            ErrorCode::OutOfMemory => "out of memory",
            ErrorCode::OperationInterrupted | ErrorCode::OperationAborted => {
                "the operation was interrupted"
            }
            _ => return Self::Damaged(error.to_string()),
        };
        Self::Unavailable(format!("{why} ({error})"))
    }
}
