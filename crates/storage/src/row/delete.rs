//! Deleting a row: the clustered record is delete-marked, then its entry in each secondary index. Purge removes them.

use std::sync::Arc;

use base::Corruption;
use log_format::record::{Record, RowDelete, row_flags};
use page_format::{PageOp, Stamp};

use super::images::Needs;
use super::update::kept_chains;
use super::version::Version;
use super::{RowBuf, RowError};
use crate::btree::LeafWrite;
use crate::table::Table;
use crate::trx::{Marked, Savepoint, Trx, Work};

impl Trx {
    /// Deletes a row that this transaction has read in a locking exclusive mode.
    pub fn delete(&mut self, table: &Arc<Table>, row: &RowBuf) -> Result<(), RowError> {
        self.pace()?;
        self.work().delete(table, row, 0)?;
        self.annotate()
    }
}

impl Work<'_> {
    pub(super) fn delete(&mut self, table: &Arc<Table>, row: &RowBuf, log_flags: u8) -> Result<(), RowError> {
        self.begin_change(table)?;
        let before = Savepoint { last: self.t.last };
        let result = self.delete_everywhere(table, row, log_flags);
        self.undo_failed(before, result)
    }

    /// What a failed operation has done is undone, unless the whole transaction will be.
    pub(super) fn undo_failed<T>(
        &mut self,
        before: Savepoint,
        result: Result<T, RowError>,
    ) -> Result<T, RowError> {
        if let Err(error) = &result
            && !error.ends_transaction()
        {
            self.undo_to(before.last, None)?;
        }
        result
    }

    fn delete_everywhere(&mut self, table: &Arc<Table>, row: &RowBuf, log_flags: u8) -> Result<(), RowError> {
        self.give_newest_layout(table, row)?;
        self.remember_auto_increment(table, &row.body)?;
        {
            let mut leaf = table.clustered().write(&self.kernel.store, &row.key)?;
            let old = self.own_row(&leaf)?;
            if old.has_overflow() && self.replicates(table) {
                let stored = leaf.record()?.body.to_vec();
                drop(leaf);
                let needs = self.needs_of_removal(table, log_flags);
                self.log_long_values(table, &kept_chains(table, old, &stored, &row.body)?, &needs, None)?;
                leaf = table.clustered().write(&self.kernel.store, &row.key)?;
            }
            self.log_delete(table, &mut leaf, &row.key, old, log_flags)?;
        }
        self.mark_entries(table, &row.body, &row.key)?;
        table.count_rows(-1);
        Ok(())
    }

    /// The live row at the leaf's position, which this transaction must have locked.
    pub(super) fn own_row(&self, leaf: &LeafWrite<'_>) -> Result<Version, RowError> {
        if !leaf.exact() {
            return Err(RowError::RowGone);
        }
        let old = Version::of(&leaf.record()?);
        if old.is_deleted() || self.other_writer(old.trx).is_some() {
            return Err(RowError::RowGone);
        }
        Ok(old)
    }

    /// What the event needs of a row that is deleted, or moves to another key.
    fn needs_of_removal(&self, table: &Table, log_flags: u8) -> Needs {
        if log_flags & row_flags::KEY_UPDATE == 0 {
            self.needs_of_delete(table)
        } else {
            self.needs_of_update(table)
        }
    }

    pub(super) fn log_delete(
        &mut self,
        table: &Table,
        leaf: &mut LeafWrite<'_>,
        key: &[u8],
        old: Version,
        log_flags: u8,
    ) -> Result<(), RowError> {
        let about = match log_flags & row_flags::KEY_UPDATE {
            0 => Marked::Deleted,
            _ => Marked::Written,
        };
        let mark = self.row_mark(table, about)?;
        let (trx, previous) = (self.t.id, self.t.last);
        let mut flags = log_flags | mark.flags;
        if old.has_overflow() {
            flags |= row_flags::OVERFLOW_BEFORE;
        }
        let mut body = std::mem::take(&mut self.t.scratch.body);
        body.clear();
        let needs = self.needs_of_removal(table, log_flags);
        let mut scratch = std::mem::take(&mut self.t.scratch.context);
        let old_body = leaf.record()?.body;
        let context = match &needs {
            // A body with references to long values is short, and stays whole.
            Needs::Columns(columns) if !old.has_overflow() => {
                let context = scratch.of_delete(table.spec(), columns, old_body)?;
                (context.len() * 2 <= old_body.len()).then_some(context)
            }
            _ => None,
        };
        let full = context.is_none() && !matches!(needs, Needs::Nothing);
        if full {
            body.extend_from_slice(old_body);
        }
        let op = PageOp::MarkRow { slot: leaf.slot(), deleted: true, stamp: Stamp::Own(trx) };
        let version = self.previous_version(table, old);
        let (id, table_version) = (table.spec().id, table.spec().version);
        let record = leaf.log(op, |part| {
            let before = full.then_some(&body[..]);
            Record::RowDelete(RowDelete {
                trx,
                previous,
                table: id,
                table_version,
                announce: mark.announce(),
                flags,
                part,
                version,
                key,
                before,
                context,
            })
        })?;
        self.t.scratch.context = scratch;
        self.row_appended(table, mark, record);
        self.t.leaves_garbage = true;
        self.t.scratch.body = body;
        Ok(())
    }

    /// Delete-marks the row's entry in every secondary index.
    pub(super) fn mark_entries(&mut self, table: &Table, body: &[u8], key: &[u8]) -> Result<(), RowError> {
        for index in 1..table.spec().indexes.len() {
            let mut entry = std::mem::take(&mut self.t.scratch.old_key);
            entry.clear();
            super::keys::secondary_key(table.spec(), index, body, key, &mut entry)?;
            let marked = self.mark_entry(table, index, &entry);
            self.t.scratch.old_key = entry;
            marked?;
        }
        Ok(())
    }
}

/// An index entry that a row must have is not there.
#[cold]
pub(super) fn missing_entry(table: &Table, index: usize) -> RowError {
    let place = format!("table {}, index {}", table.spec().name, table.spec().indexes[index].name);
    Corruption::new(place, "index entry of a row", "a live one", "none").into()
}
