//! Why an engine could not be opened, or not go on.

use std::fmt;

use base::Corruption;
use env::DiskError;
use log::{LogError, LogFailed, LogReadError};

use crate::engine::control::ControlError;
use crate::mtr::StoreError;
use crate::pool::PoolError;
use crate::row::RowError;

#[derive(Debug)]
pub enum EngineError {
    Disk(DiskError),
    Control(ControlError),
    Log(LogError),
    LogFailed(LogFailed),
    LogRead(LogReadError),
    Pool(PoolError),
    Corrupt(Corruption),
    /// Rollback or purge could not change a row.
    Row(RowError),
    /// The data directory is not one of ours, or not in a state to start from; says what to do.
    Directory(String),
}

impl fmt::Display for EngineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Disk(e) => e.fmt(f),
            Self::Control(e) => e.fmt(f),
            Self::Log(e) => e.fmt(f),
            Self::LogFailed(e) => e.fmt(f),
            Self::LogRead(e) => e.fmt(f),
            Self::Pool(e) => e.fmt(f),
            Self::Corrupt(e) => e.fmt(f),
            Self::Row(e) => e.fmt(f),
            Self::Directory(e) => f.write_str(e),
        }
    }
}

impl std::error::Error for EngineError {}

macro_rules! from {
    ($($error:ident => $variant:ident),*) => {
        $(impl From<$error> for EngineError {
            fn from(e: $error) -> Self {
                Self::$variant(e)
            }
        })*
    };
}

from!(DiskError => Disk, ControlError => Control, LogError => Log, LogFailed => LogFailed, PoolError => Pool, Corruption => Corrupt);

impl From<StoreError> for EngineError {
    fn from(e: StoreError) -> Self {
        match e {
            StoreError::Pool(e) => Self::Pool(e),
            StoreError::Log(e) => Self::LogFailed(e),
            StoreError::LogRead(e) => Self::LogRead(e),
            StoreError::Corrupt(e) => Self::Corrupt(e),
        }
    }
}
