//! The row interface: what the SQL layer and the replica's applier ask of the engine.
//!
//! All calls are methods of [`Trx`](crate::trx::Trx) and take an open [`Table`](crate::table::Table):
//!
//! - `insert(&table, body)`, `update(&table, &row, new_body)`, `delete(&table, &row)`, and `modify`, which finds, locks
//!   and changes one row by its unique key in one descent;
//! - `get` for a full key of a unique index, `scan` for ranges; both consistent or locking.
//!
//! A *body* is a row in the packing of `row_format`, all stored columns, overflow columns included in place: callers never
//! see overflow pages. A *key* is memcmp-ordered bytes from `row_format::key`.
//!
//! # Errors and what has happened when one is returned
//! - [`RowError::Deadlock`] and [`RowError::SnapshotChanged`]: the caller must roll back the whole transaction.
//! - everything else: the failed call has changed nothing or the caller rolls back the statement
//!   (`Trx::rollback_statement`); which of the two need not be known, because rolling back nothing is free.

mod auto_increment;
mod bulk;
mod check;
mod delete;
mod entries;
mod estimate;
mod images;
mod insert;
mod keys;
mod lock_row;
mod log_walk;
mod online;
mod overflow;
mod read;
mod scan;
mod secondary;
#[cfg(all(test, not(feature = "shuttle")))]
mod tests;
mod undo;
mod update;
mod version;

pub use bulk::{BulkLoad, LoadError};
pub use check::CheckReport;
pub use keys::{clustered_key, clustered_part, secondary_key};
pub(crate) use lock_row::LatestLocks;
pub use online::OnlineBuild;
pub(crate) use overflow::chains as overflow_chains;
pub use scan::Scan;
pub(crate) use undo::{entry_is_needed, free_chains, remove_entry};
pub(crate) use version::read_record;

use std::fmt;
use std::ops::Bound;

use base::Corruption;
use page_format::SplicesBuf;

use crate::lock::LockError;
pub use crate::lock::Strength;
use crate::mtr::StoreError;
use crate::pool::PoolError;

/// How a read sees and locks rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadMode {
    /// By the transaction's isolation level and read view; takes no locks.
    Consistent,
    /// The newest version, locked.
    Locking { strength: Strength, wait: WaitMode },
}

/// What a locking read does when another transaction is in the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitMode {
    /// Up to `innodb_lock_wait_timeout`.
    Wait,
    NoWait,
    SkipLocked,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    Forward,
    Backward,
}

/// A range of encoded keys. A bound may be a prefix of a full key: an included prefix takes in every key that begins
/// with it, an excluded prefix leaves all of them out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyRange {
    pub lower: Bound<Vec<u8>>,
    pub upper: Bound<Vec<u8>>,
}

impl KeyRange {
    pub fn all() -> Self {
        Self { lower: Bound::Unbounded, upper: Bound::Unbounded }
    }
    /// Every key that begins with `prefix`: an equality on the leading columns.
    pub fn prefix(prefix: &[u8]) -> Self {
        Self { lower: Bound::Included(prefix.to_vec()), upper: Bound::Included(prefix.to_vec()) }
    }
}

/// One row handed out by a read: reuse it for the next one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RowBuf {
    /// Clustered key.
    pub key: Vec<u8>,
    /// Row body; when a covering read of a secondary index was asked for, columns outside the index are NULL.
    pub body: Vec<u8>,
}

impl RowBuf {
    pub fn new() -> Self {
        Self::default()
    }
    pub fn clear(&mut self) {
        self.key.clear();
        self.body.clear();
    }
}

/// Why a row operation did not happen.
#[derive(Debug)]
pub enum RowError {
    /// 1062; the position of the index in the table's specification. The row that is in the way is locked.
    DuplicateKey { index: usize },
    /// 1412: the index, or the whole table, is younger than the read view.
    DefinitionChanged,
    /// 1213: chosen as the victim; roll back the transaction.
    Deadlock,
    /// 1205: `innodb_lock_wait_timeout` passed; the statement failed, the transaction lives.
    LockWaitTimeout,
    /// 1205 with NOWAIT: the row is locked.
    NoWait,
    /// 1020: the newest version is not in the read view and innodb_snapshot_isolation is on; roll back.
    SnapshotChanged,
    /// The session was killed or its statement interrupted.
    Interrupted,
    /// 1118: the row does not fit a page even with its long columns moved out.
    RowTooLarge { bytes: usize },
    /// 1467: the AUTO_INCREMENT column has reached its largest value.
    AutoIncrementExhausted,
    /// A key longer than an index entry may be (1071).
    KeyTooLong { bytes: usize },
    /// The row the caller holds is no longer there; only possible for rows that were read without a lock.
    RowGone,
    /// Bytes that cannot be explained.
    Corrupt(Corruption),
    /// 1114: the disk has no room for the change.
    Full,
    /// The buffer pool, the log or the disk refused.
    Storage(String),
}

impl RowError {
    /// True when the whole transaction has to be rolled back, not only the statement.
    pub fn ends_transaction(&self) -> bool {
        matches!(self, Self::Deadlock | Self::SnapshotChanged)
    }
}

impl fmt::Display for RowError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DuplicateKey { index } => write!(f, "duplicate entry in index {index}"),
            Self::DefinitionChanged => write!(f, "table definition has changed, please retry transaction"),
            Self::Deadlock => write!(f, "deadlock found when trying to get lock"),
            Self::LockWaitTimeout => write!(f, "lock wait timeout exceeded"),
            Self::NoWait => write!(f, "the row is locked and NOWAIT is set"),
            Self::SnapshotChanged => write!(f, "record has changed since last read"),
            Self::Interrupted => write!(f, "interrupted"),
            Self::RowTooLarge { bytes } => write!(f, "row of {bytes} bytes does not fit a page"),
            Self::AutoIncrementExhausted => write!(f, "AUTO_INCREMENT has reached its largest value"),
            Self::KeyTooLong { bytes } => write!(f, "key of {bytes} bytes is too long"),
            Self::RowGone => write!(f, "the row is no longer there"),
            Self::Corrupt(found) => found.fmt(f),
            Self::Full => f.write_str("the disk is full"),
            Self::Storage(what) => f.write_str(what),
        }
    }
}

impl std::error::Error for RowError {}

impl From<Corruption> for RowError {
    fn from(found: Corruption) -> Self {
        Self::Corrupt(found)
    }
}

impl From<StoreError> for RowError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Corrupt(found) => Self::Corrupt(found),
            StoreError::Pool(PoolError::Disk(e)) if e.is_full() => Self::Full,
            other => Self::Storage(other.to_string()),
        }
    }
}

impl From<log::LogFailed> for RowError {
    fn from(failed: log::LogFailed) -> Self {
        Self::Storage(failed.to_string())
    }
}

impl From<LockError> for RowError {
    fn from(error: LockError) -> Self {
        match error {
            LockError::Deadlock => Self::Deadlock,
            LockError::Timeout => Self::LockWaitTimeout,
            LockError::Interrupted => Self::Interrupted,
        }
    }
}

/// Buffers of a transaction that operations reuse. Each operation takes what it needs and puts it back.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    /// Clustered key.
    key: Vec<u8>,
    /// Secondary keys.
    old_key: Vec<u8>,
    new_key: Vec<u8>,
    /// Name of a gap.
    gap: Vec<u8>,
    /// Stored bodies.
    body: Vec<u8>,
    stored: Vec<u8>,
    splices: SplicesBuf,
    context: images::ContextScratch,
    /// Log records.
    record: Vec<u8>,
}

/// What `Trx::modify`'s decision makes of the row it is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// Leave the row as it is. It stays locked, except under READ COMMITTED.
    Keep,
    /// Replace the body by the bytes written to the output buffer.
    Update,
    Delete,
}

/// What `Trx::modify` did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Modified {
    /// No row has this key; the gap is locked under REPEATABLE READ.
    Missing,
    Kept,
    Updated,
    Deleted,
}
