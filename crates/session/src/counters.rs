//! Status counters: each connection counts alone, SHOW STATUS adds them up.
//!
//! # Invariants
//! C1. Only the connection's own thread writes its [`Counters`], so an increment is a load and a store, never a locked
//!     instruction; other threads only read.
//! C2. A connection's counts are added to the server's totals when it ends, under the registry's lock, so that a sum over
//!     totals and living connections counts everything once.

use std::sync::atomic::{AtomicU64, Ordering};

macro_rules! counters {
    ($($id:ident = $name:literal;)*) => {
        /// One counter.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[repr(u16)]
        pub enum Counter { $(#[doc = $name] $id),* }
        /// Names in SHOW STATUS, by counter.
        pub(crate) const NAMES: &[&str] = &[$($name),*];
    };
}

counters! {
    AbortedClients = "Aborted_clients";
    AbortedConnects = "Aborted_connects";
    BytesReceived = "Bytes_received";
    BytesSent = "Bytes_sent";
    ComAdminCommands = "Com_admin_commands";
    ComAlterDb = "Com_alter_db";
    ComAlterTable = "Com_alter_table";
    ComAnalyze = "Com_analyze";
    ComBegin = "Com_begin";
    ComChangeDb = "Com_change_db";
    ComCheck = "Com_check";
    ComChecksum = "Com_checksum";
    ComCommit = "Com_commit";
    ComCreateDb = "Com_create_db";
    ComCreateIndex = "Com_create_index";
    ComCreateTable = "Com_create_table";
    ComDeallocSql = "Com_dealloc_sql";
    ComDelete = "Com_delete";
    ComDo = "Com_do";
    ComDropDb = "Com_drop_db";
    ComDropIndex = "Com_drop_index";
    ComDropTable = "Com_drop_table";
    ComExecuteSql = "Com_execute_sql";
    ComFlush = "Com_flush";
    ComInsert = "Com_insert";
    ComInsertSelect = "Com_insert_select";
    ComKill = "Com_kill";
    ComOptimize = "Com_optimize";
    ComPrepareSql = "Com_prepare_sql";
    ComReleaseSavepoint = "Com_release_savepoint";
    ComRenameTable = "Com_rename_table";
    ComReplace = "Com_replace";
    ComReplaceSelect = "Com_replace_select";
    ComRollback = "Com_rollback";
    ComRollbackToSavepoint = "Com_rollback_to_savepoint";
    ComSavepoint = "Com_savepoint";
    ComSelect = "Com_select";
    ComSetOption = "Com_set_option";
    ComShowBinlogStatus = "Com_show_binlog_status";
    ComShowBinlogs = "Com_show_binlogs";
    ComShowCharsets = "Com_show_charsets";
    ComShowCollations = "Com_show_collations";
    ComShowCreateDb = "Com_show_create_db";
    ComShowCreateTable = "Com_show_create_table";
    ComShowDatabases = "Com_show_databases";
    ComShowEngineStatus = "Com_show_engine_status";
    ComShowErrors = "Com_show_errors";
    ComShowEvents = "Com_show_events";
    ComShowFields = "Com_show_fields";
    ComShowGrants = "Com_show_grants";
    ComShowKeys = "Com_show_keys";
    ComShowOpenTables = "Com_show_open_tables";
    ComShowPlugins = "Com_show_plugins";
    ComShowPrivileges = "Com_show_privileges";
    ComShowProcesslist = "Com_show_processlist";
    ComShowStatus = "Com_show_status";
    ComShowStorageEngines = "Com_show_storage_engines";
    ComShowTableStatus = "Com_show_table_status";
    ComShowTables = "Com_show_tables";
    ComShowTriggers = "Com_show_triggers";
    ComShowVariables = "Com_show_variables";
    ComShowWarnings = "Com_show_warnings";
    ComStmtClose = "Com_stmt_close";
    ComStmtExecute = "Com_stmt_execute";
    ComStmtFetch = "Com_stmt_fetch";
    ComStmtPrepare = "Com_stmt_prepare";
    ComStmtReprepare = "Com_stmt_reprepare";
    ComStmtReset = "Com_stmt_reset";
    ComStmtSendLongData = "Com_stmt_send_long_data";
    ComTruncate = "Com_truncate";
    ComUpdate = "Com_update";
    Connections = "Connections";
    CreatedTmpDiskTables = "Created_tmp_disk_tables";
    CreatedTmpFiles = "Created_tmp_files";
    CreatedTmpTables = "Created_tmp_tables";
    HandlerCommit = "Handler_commit";
    HandlerDelete = "Handler_delete";
    HandlerReadFirst = "Handler_read_first";
    HandlerReadKey = "Handler_read_key";
    HandlerReadLast = "Handler_read_last";
    HandlerReadNext = "Handler_read_next";
    HandlerReadPrev = "Handler_read_prev";
    HandlerReadRetry = "Handler_read_retry";
    HandlerReadRnd = "Handler_read_rnd";
    HandlerReadRndDeleted = "Handler_read_rnd_deleted";
    HandlerReadRndNext = "Handler_read_rnd_next";
    HandlerRollback = "Handler_rollback";
    HandlerSavepoint = "Handler_savepoint";
    HandlerSavepointRollback = "Handler_savepoint_rollback";
    HandlerUpdate = "Handler_update";
    HandlerWrite = "Handler_write";
    Queries = "Queries";
    Questions = "Questions";
    RowsRead = "Rows_read";
    RowsSent = "Rows_sent";
    SlowQueries = "Slow_queries";
    SortMergePasses = "Sort_merge_passes";
    SortPriorityQueueSorts = "Sort_priority_queue_sorts";
    SortRange = "Sort_range";
    SortRows = "Sort_rows";
    SortScan = "Sort_scan";
}

/// How many there are.
pub(crate) const COUNT: usize = NAMES.len();

/// The counts of one connection, or the totals of those that have ended.
#[derive(Debug)]
pub struct Counters([AtomicU64; COUNT]);

impl Counters {
    pub fn new() -> Self {
        Self([const { AtomicU64::new(0) }; COUNT])
    }
    /// By the owning thread only (C1).
    #[inline]
    pub fn add(&self, counter: Counter, n: u64) {
        let c = &self.0[counter as usize];
        c.store(c.load(Ordering::Relaxed).wrapping_add(n), Ordering::Relaxed);
    }
    #[inline]
    pub fn count(&self, counter: Counter) {
        self.add(counter, 1);
    }
    pub fn get(&self, counter: Counter) -> u64 {
        self.0[counter as usize].load(Ordering::Relaxed)
    }
    /// Adds another's counts; the caller keeps others from adding to `self` at the same time.
    pub fn absorb(&self, other: &Self) {
        for (mine, theirs) in self.0.iter().zip(&other.0) {
            let sum = mine.load(Ordering::Relaxed).wrapping_add(theirs.load(Ordering::Relaxed));
            mine.store(sum, Ordering::Relaxed);
        }
    }
    /// All values, in the order of [`NAMES`].
    pub fn values(&self) -> impl Iterator<Item = u64> {
        self.0.iter().map(|c| c.load(Ordering::Relaxed))
    }
    /// FLUSH STATUS.
    pub fn reset(&self) {
        self.0.iter().for_each(|c| c.store(0, Ordering::Relaxed));
    }
}

impl Default for Counters {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_an_ended_connection_are_kept() {
        let (total, one) = (Counters::new(), Counters::new());
        one.count(Counter::ComSelect);
        one.add(Counter::BytesSent, 10);
        total.absorb(&one);
        total.absorb(&one);
        assert_eq!((total.get(Counter::ComSelect), total.get(Counter::BytesSent)), (2, 20));
        assert!(NAMES.is_sorted());
    }
}
