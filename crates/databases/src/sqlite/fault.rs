//! What can go wrong in here, and what a caller is told of it.
//!
//! SQLite's codes fall into three sorts: the file can not be written or reached now ([`Error::Unavailable`]), the
//! statement was refused ([`Error::Statement`]), or the file is damaged, after which nothing is written any more.

use rusqlite::ErrorCode;
use tenure_core::id::ItemId;

use crate::Error;
use crate::row::Damaged;

/// Why a step of a transaction did not work.
#[derive(Debug)]
pub(super) enum Fault {
    Sql(rusqlite::Error),
    /// One item's row can not be read. The others can.
    Item(ItemId, Damaged),
    /// Something other than an item can not be read.
    Row(Damaged),
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Fault {
        Fault::Sql(error)
    }
}

impl From<Damaged> for Fault {
    fn from(damaged: Damaged) -> Fault {
        Fault::Row(damaged)
    }
}

impl From<Fault> for Error {
    fn from(fault: Fault) -> Error {
        match fault {
            Fault::Sql(error) => error_of(&error),
            Fault::Item(item, damaged) => Error::Statement(format!("item {item}: {damaged}")),
            Fault::Row(damaged) => Error::Statement(damaged.to_string()),
        }
    }
}

/// The file itself is broken: whatever else is written to it may be lost or break more.
pub(super) fn is_damage(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase))
}

pub(super) const DAMAGED: &str =
    "the database file is damaged and nothing is written to it any more: restore the last backup";

/// What a caller is told.
pub(super) fn error_of(error: &rusqlite::Error) -> Error {
    let Some(code) = error.sqlite_error_code() else {
        return Error::Statement(error.to_string());
    };
    match code {
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::FileLockingProtocolFailed => {
            Error::Locked(format!("the database file is busy: another process is writing to it ({error})"))
        }
        ErrorCode::DiskFull => {
            Error::Unavailable(format!("no space is left for the database file ({error})"))
        }
        ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => {
            Error::Unavailable(format!("{DAMAGED} ({error})"))
        }
        ErrorCode::SystemIoFailure
        | ErrorCode::CannotOpen
        | ErrorCode::ReadOnly
        | ErrorCode::PermissionDenied
        | ErrorCode::OutOfMemory
        | ErrorCode::OperationInterrupted => {
            Error::Unavailable(format!("the database file can not be read or written ({error})"))
        }
        ErrorCode::ConstraintViolation
        | ErrorCode::TypeMismatch
        | ErrorCode::TooBig
        | ErrorCode::SchemaChanged
        | ErrorCode::OperationAborted
        | ErrorCode::InternalMalfunction
        | ErrorCode::NotFound
        | ErrorCode::ApiMisuse
        | ErrorCode::NoLargeFileSupport
        | ErrorCode::AuthorizationForStatementDenied
        | ErrorCode::ParameterOutOfRange
        | ErrorCode::Unknown => Error::Statement(error.to_string()),
        // rusqlite may learn new codes.
        _ => Error::Statement(error.to_string()),
    }
}
