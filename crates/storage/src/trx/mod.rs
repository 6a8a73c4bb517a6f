//! Transactions: ids, the table of their fates, snapshots, and the handle that row operations are called on.

use std::sync::Arc;
use std::time::Duration;

use base::{Lsn, TrxId};

use crate::row::{Change, Direction, KeyRange, Modified, ReadMode, RowBuf, RowError, WaitMode};
use crate::table::Table;

/// The four isolation levels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Isolation {
    ReadUncommitted,
    ReadCommitted,
    #[default]
    RepeatableRead,
    /// The caller asks for locking shared reads where SERIALIZABLE wants them (plain reads when autocommit is off).
    Serializable,
}

/// What a transaction writes into the log beside what recovery needs; set per statement or per transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LogOptions {
    /// Row records become replication events (sql_log_bin, not a temporary table, not a cascade).
    pub replicate: bool,
    /// Records of updates and deletes carry the whole body before (binlog_row_image FULL and the binlog on).
    pub full_image: bool,
}

/// Settings of a transaction.
#[derive(Debug, Clone, Copy)]
pub struct TrxOptions {
    pub isolation: Isolation,
    pub lock_wait_timeout: Duration,
    /// innodb_snapshot_isolation.
    pub snapshot_isolation: bool,
    pub log: LogOptions,
}

impl Default for TrxOptions {
    fn default() -> Self {
        Self {
            isolation: Isolation::RepeatableRead,
            lock_wait_timeout: Duration::from_secs(50),
            snapshot_isolation: true,
            log: LogOptions::default(),
        }
    }
}

/// A point in a transaction to roll back to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Savepoint {
    pub(crate) last: Lsn,
}

/// A running transaction. Not `Sync`: one session's thread uses it at a time.
#[derive(Debug)]
pub struct Trx {
    options: TrxOptions,
}

fn not_built() -> RowError {
    RowError::Storage("row operations are not built yet".to_owned())
}

impl Trx {
    pub fn options(&self) -> &TrxOptions {
        &self.options
    }
    pub fn set_options(&mut self, options: TrxOptions) {
        self.options = options;
    }
    /// `None` before the first write.
    pub fn id(&self) -> Option<TrxId> {
        None
    }

    /// A statement begins: the point `rollback_statement` goes back to; READ COMMITTED takes a fresh view at its first read.
    pub fn start_statement(&mut self) {}
    pub fn rollback_statement(&mut self) -> Result<(), RowError> {
        Err(not_built())
    }
    /// Takes the read view now: START TRANSACTION WITH CONSISTENT SNAPSHOT.
    pub fn take_snapshot(&mut self) {}
    pub fn savepoint(&self) -> Savepoint {
        Savepoint { last: Lsn::NONE }
    }
    pub fn rollback_to(&mut self, _savepoint: Savepoint) -> Result<(), RowError> {
        Err(not_built())
    }
    /// Undoes everything and ends the transaction.
    pub fn rollback(self) -> Result<(), RowError> {
        Err(not_built())
    }

    /// Inserts a row. On a duplicate key the row in the way is locked and named by the error's index;
    /// find it with `get` in a locking mode.
    pub fn insert(&mut self, _table: &Arc<Table>, _body: &[u8]) -> Result<(), RowError> {
        Err(not_built())
    }
    /// Replaces the body of a row that this transaction has read in a locking exclusive mode.
    pub fn update(&mut self, _table: &Arc<Table>, _row: &RowBuf, _new_body: &[u8]) -> Result<(), RowError> {
        Err(not_built())
    }
    /// Deletes a row that this transaction has read in a locking exclusive mode.
    pub fn delete(&mut self, _table: &Arc<Table>, _row: &RowBuf) -> Result<(), RowError> {
        Err(not_built())
    }
    /// Finds a row by the full key of the clustered index, locks it, and does with it what `decide` says, in one descent.
    /// `decide` sees the newest body and writes the new one; it runs under the leaf's latch, so it must be short and
    /// must not call the engine, and it may be called more than once.
    pub fn modify(
        &mut self,
        _table: &Arc<Table>,
        _key: &[u8],
        _wait: WaitMode,
        _decide: &mut dyn FnMut(&[u8], &mut Vec<u8>) -> Change,
    ) -> Result<Modified, RowError> {
        Err(not_built())
    }

    /// Full-key lookup on a unique index; false when no row is there for this mode.
    pub fn get(
        &mut self,
        _table: &Arc<Table>,
        _index: usize,
        _key: &[u8],
        _mode: ReadMode,
        _out: &mut RowBuf,
    ) -> Result<bool, RowError> {
        Err(not_built())
    }
    /// A scan; rows come from `Scan::next`.
    pub fn scan(
        &mut self,
        table: &Arc<Table>,
        index: usize,
        range: KeyRange,
        direction: Direction,
        mode: ReadMode,
    ) -> Scan {
        Scan { table: Arc::clone(table), index, range, direction, mode }
    }
    /// READ COMMITTED gives back the lock of a row that did not match, the one the scan or `get` handed out last.
    pub fn unlock_row(&mut self, _table: &Arc<Table>, _row: &RowBuf) {}
}

/// A running scan. Holds no latch between calls.
#[derive(Debug)]
pub struct Scan {
    table: Arc<Table>,
    index: usize,
    range: KeyRange,
    direction: Direction,
    mode: ReadMode,
}

impl Scan {
    /// Columns outside the index are not needed: rows may come from secondary entries alone.
    #[must_use]
    pub fn covering(self, _covering: bool) -> Self {
        self
    }
    /// How many rows the caller expects to take (LIMIT); bounds what is read ahead.
    #[must_use]
    pub fn expect_rows(self, _rows: u64) -> Self {
        self
    }
    /// The next row, false at the end.
    pub fn next(&mut self, _trx: &mut Trx, _out: &mut RowBuf) -> Result<bool, RowError> {
        let _ = (&self.table, self.index, &self.range, self.direction, self.mode);
        Err(not_built())
    }
}
