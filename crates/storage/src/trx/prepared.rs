//! Prepared transactions (XA): undecided, and kept over a restart until their user decides.
//!
//! # Course
//! [`Trx::prepare_with`] appends the Prepare record. Then either a commit as any other, or the decision to roll back
//! ([`Trx::decide_rollback_with`]) and the rollback itself.
//!
//! With the binary log in files of its own, every transaction that has events is prepared so: [`Trx::prepare_pending_with`]. Its record
//! says that a file decides, and names a branch only when the transaction is to be XA PREPAREd.
//!
//! # Crash
//! Before the Prepare record is durable: a loser. After it: adopted with its row locks, by recovery. After the decision to roll back: a
//! loser again, its rollback goes on where it was. A pending one is handed to who knows the files, before any other work.

use base::{Lsn, TableId};
use log::{Appended, LogFailed};
use log_format::record::Record;

use crate::kernel::Kernel;
use crate::recovery::{Branch, Loser};
use crate::row::{RowError, read_record};
use crate::trx::Trx;
use std::sync::Arc;

/// What is known of a prepared transaction.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Prepared {
    /// Its XA PREPARE is an event group.
    logged: bool,
}

impl Trx {
    /// Whether its XA PREPARE is in the binary log.
    pub fn is_logged_as_prepared(&self) -> bool {
        self.state.prepared.is_some_and(|prepared| prepared.logged)
    }

    /// Whether its user has to decide about it.
    pub fn is_prepared(&self) -> bool {
        self.state.prepared.is_some()
    }

    /// Appends the Prepare record that `build` writes (from `commit_parts`), and calls `then` before it is ready: from now on the
    /// transaction outlives its session and a crash. It must have written something. Its row locks stay, its read view goes.
    /// `logged` says that the record is an event group.
    pub fn prepare_with(
        &mut self,
        logged: bool,
        build: impl FnMut(Lsn, &mut Vec<u8>),
        then: impl FnOnce(Appended),
    ) -> Result<Appended, LogFailed> {
        assert!(
            self.has_written() && self.state.prepared.is_none(),
            "what is prepared has changed something, and is prepared once"
        );
        let slot = Arc::clone(&self.state.slot);
        let record = self.kernel.store.log.append_then(build, |record| {
            slot.set_prepared(record.start);
            then(record);
        })?;
        self.state.appended(record);
        self.state.prepared = Some(Prepared { logged });
        self.state.pending = false;
        self.state.events = Default::default();
        self.state.view = None;
        self.state.slot.clear_snapshot();
        Ok(record)
    }

    /// Appends the Prepare record that `build` writes, with the flag IN_FILE: dropped from now on it stays undecided. A commit, XA
    /// PREPARE or [`Trx::withdraw`] follows.
    pub fn prepare_pending_with(
        &mut self,
        build: impl FnMut(Lsn, &mut Vec<u8>),
    ) -> Result<Appended, LogFailed> {
        assert!(self.has_written() && !self.state.pending, "what is pending has changed something, once");
        let slot = Arc::clone(&self.state.slot);
        let record = self.kernel.store.log.append_then(build, |record| slot.set_prepared(record.start))?;
        self.state.appended(record);
        self.state.pending = true;
        Ok(record)
    }

    /// A pending transaction is not in any file and never will be: it is an ordinary running one again.
    pub fn withdraw(&mut self) {
        self.state.slot.clear_prepared();
        self.state.pending = false;
    }

    /// Appends the record that `build` writes, which says that this prepared transaction is rolled back; `rollback` has to follow.
    pub fn decide_rollback_with(
        &mut self,
        build: impl FnMut(Lsn, &mut Vec<u8>),
        then: impl FnOnce(Appended),
    ) -> Result<Appended, LogFailed> {
        let slot = Arc::clone(&self.state.slot);
        let record = self.kernel.store.log.append_then(build, |record| {
            slot.clear_prepared();
            then(record);
        })?;
        (self.state.prepared, self.state.pending) = (None, false);
        Ok(record)
    }

    /// Tables that its records name: all of them are read.
    pub fn tables_in_log(&self) -> Result<Vec<TableId>, RowError> {
        let mut tables = Vec::new();
        let mut at = self.state.last;
        let mut buffer = Vec::new();
        while !at.is_none() {
            read_record(&self.kernel, at, &mut buffer)?;
            let record = Record::decode(at, &buffer)?;
            let table = match &record {
                Record::RowInsert(row) => Some(row.table),
                Record::RowUpdate(row) => Some(row.table),
                Record::RowDelete(row) => Some(row.table),
                _ => None,
            };
            tables.extend(table.filter(|id| !tables.contains(id)));
            at = record.previous();
        }
        Ok(tables)
    }
}

impl Kernel {
    /// Recovery: takes up a prepared transaction.
    pub(crate) fn adopt_prepared(self: &Arc<Self>, found: &Loser, branch: &Branch) -> Trx {
        let mut trx = self.adopt(found.id, found.first, found.last);
        trx.state.slot.set_prepared(branch.record);
        if branch.pending {
            trx.state.pending = true;
        } else {
            trx.state.prepared = Some(Prepared { logged: branch.logged });
        }
        trx
    }
}
