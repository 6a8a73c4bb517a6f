//! Prepared transactions (XA): undecided, and kept over a restart until their user decides.
//!
//! # Course
//! [`Trx::prepare_with`] appends the Prepare record. Then either a commit as any other, or the decision to roll back
//! ([`Trx::decide_rollback_with`]) and the rollback itself.
//!
//! # Crash
//! Before the Prepare record is durable: a loser. After it: adopted with its row locks, by recovery. After the decision to roll back: a
//! loser again, its rollback goes on where it was.

use base::{Lsn, TableId};
use log::{Appended, LogFailed};
use log_format::record::Record;

use crate::kernel::Kernel;
use crate::recovery::Loser;
use crate::row::{RowError, read_record};
use crate::trx::Trx;
use std::sync::Arc;

impl Trx {
    /// Whether its user has to decide about it.
    pub fn is_prepared(&self) -> bool {
        self.state.prepared
    }

    /// Appends the Prepare record that `build` writes (from `commit_parts`): from now on the transaction outlives its session and a
    /// crash. It must have written something. Its row locks stay, its read view goes.
    pub fn prepare_with(&mut self, build: impl FnMut(Lsn, &mut Vec<u8>)) -> Result<Appended, LogFailed> {
        assert!(
            self.has_written() && !self.state.prepared,
            "what is prepared has changed something, and is prepared once"
        );
        let slot = Arc::clone(&self.state.slot);
        let record = self.kernel.store.log.append_then(build, |record| slot.set_prepared(record.start))?;
        self.state.appended(record);
        self.state.prepared = true;
        self.state.view = None;
        self.state.slot.clear_snapshot();
        Ok(record)
    }

    /// Appends the record that `build` writes, which says that this prepared transaction is rolled back; `rollback` has to follow.
    pub fn decide_rollback_with(
        &mut self,
        build: impl FnMut(Lsn, &mut Vec<u8>),
    ) -> Result<Appended, LogFailed> {
        let slot = Arc::clone(&self.state.slot);
        let record = self.kernel.store.log.append_then(build, |_| slot.clear_prepared())?;
        self.state.prepared = false;
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
    pub(crate) fn adopt_prepared(self: &Arc<Self>, found: &Loser) -> Trx {
        let mut trx = self.adopt(found.id, found.first, found.last);
        trx.state.slot.set_prepared(found.last);
        trx.state.prepared = true;
        trx
    }
}
