//! Rollback: of a statement, to a savepoint, of everything, and of what a crash left.
//!
//! The transaction's chain is walked backwards; each change is undone on the page where its key is now, by a `RowUndo` record that
//! names the undone one and the next to undo. Secondary entries come before their row in this order.
//!
//! # Invariants
//! U1. A compensation is never undone: the walk jumps over it to `undo_next`. So a crash during rollback continues where it was.
//! U2. A row record is undone only while the row's roll LSN is the record's; a secondary record while the entry's flag is what it
//!     made it. Doing it twice does nothing.
//! U3. What an undo brings back and no snapshot can need, because purge has passed the transaction that had deleted it, is
//!     removed instead: purge will not come again.

use base::{Corruption, Lsn, TableId};
use log::Appended;
use log_format::record::{Overflow, Record, RowDelete, RowInsert, RowUndo, RowUpdate, SecIndex, row_flags};
use page_format::{PageOp, SplicesBuf, Stamp, record_flags};

use super::auto_increment::save_before_removal;
use super::lock_row::gap_key;
use super::read::unfold;
use super::secondary::version_has_entry;
use super::version::{Version, body_of_delete, read_record, step_back};
use super::{RowError, overflow};
use crate::btree::overflow::{free_value, undo_chunk};
use crate::btree::{LeafWrite, Seek};
use crate::kernel::Kernel;
use crate::table::{Table, TableSource, is_current};
use crate::trx::{Fate, Savepoint, Trx, Work};
use std::sync::Arc;

impl Trx {
    /// Undoes what was done after the savepoint. Locks stay.
    pub fn rollback_to(&mut self, savepoint: Savepoint) -> Result<(), RowError> {
        self.work().undo_to(savepoint.last, None)
    }

    /// Undoes everything and ends the transaction.
    pub fn rollback(mut self) -> Result<(), RowError> {
        self.undo_everything(None)
    }

    /// The same for a transaction that recovery has taken up: its tables are found by their ids.
    pub fn rollback_with(mut self, tables: &dyn TableSource) -> Result<(), RowError> {
        self.undo_everything(Some(tables))
    }

    pub(crate) fn undo_everything(&mut self, tables: Option<&dyn TableSource>) -> Result<(), RowError> {
        self.work().undo_records(Lsn::NONE, tables)?;
        Ok(self.finish_rollback()?)
    }
}

/// One record being undone.
#[derive(Clone, Copy)]
struct Step {
    /// The record.
    lsn: Lsn,
    /// The one before it in the chain.
    next: Lsn,
    /// How far the rollback goes: records up to here stay.
    target: Lsn,
}

impl<'k> Work<'k> {
    /// Undoes the transaction's records above `target`, newest first.
    pub(crate) fn undo_to(&mut self, target: Lsn, tables: Option<&dyn TableSource>) -> Result<(), RowError> {
        let leads_to = self.undo_records(target, tables)?;
        self.rolled_back_to(target, leads_to)
    }

    /// The same without what readers of the log need of a transaction that goes on; answers where the newest record leads.
    fn undo_records(&mut self, target: Lsn, tables: Option<&dyn TableSource>) -> Result<Lsn, RowError> {
        let mut at = self.t.last;
        let (mut newest, mut leads_to) = (at, at);
        let mut buffer = Vec::new();
        while at > target {
            read_record(self.kernel, at, &mut buffer)?;
            let record = Record::decode(at, &buffer)?;
            if record.trx() != Some(self.t.id) {
                return Err(
                    Corruption::new(format_args!("record at {at}"), "trx id", self.t.id, "another").into()
                );
            }
            let step = Step { lsn: at, next: record.previous(), target };
            match &record {
                Record::RowInsert(insert) => self.undo_insert(step, insert, tables)?,
                Record::RowUpdate(update) => self.undo_update(step, update, tables)?,
                Record::RowDelete(delete) => self.undo_delete(step, delete, tables)?,
                Record::SecIndex(entry) => self.undo_entry(step, entry, tables)?,
                Record::Overflow(chunk) => self.undo_overflow(step, chunk)?,
                // Compensations lead to what is still to be undone; the others change nothing.
                _ => {}
            }
            at = step.next;
            if self.t.last > newest {
                (newest, leads_to) = (self.t.last, at);
            }
        }
        Ok(leads_to)
    }

    fn table_of(&self, id: TableId, tables: Option<&dyn TableSource>) -> Option<Arc<Table>> {
        let own = self.t.tables.iter().find(|t| t.spec().id == id).cloned();
        own.or_else(|| tables?.table(id))
    }

    fn log_undo(&mut self, leaf: &mut LeafWrite<'_>, step: Step, op: PageOp<'_>) -> Result<(), RowError> {
        let trx = self.t.id;
        let record = leaf
            .log(op, |part| Record::RowUndo(RowUndo { trx, undone: step.lsn, undo_next: step.next, part }))?;
        self.t.appended(record);
        Ok(())
    }

    /// Takes an entry out of its leaf and hands its locks to the next one.
    fn remove_undone(
        &mut self,
        table: &Table,
        index: usize,
        leaf: LeafWrite<'_>,
        key: &[u8],
        step: Step,
    ) -> Result<(), RowError> {
        let kernel = self.kernel;
        remove_entry(kernel, table, index, leaf, key, |leaf, op| self.log_undo(leaf, step, op))
    }

    fn undo_insert(
        &mut self,
        step: Step,
        insert: &RowInsert<'_>,
        tables: Option<&dyn TableSource>,
    ) -> Result<(), RowError> {
        let Some(table) = self.table_of(insert.table, tables) else { return Ok(()) };
        let (kernel, key) = (self.kernel, insert.key());
        let mut leaf = table.clustered().write(&kernel.store, key)?;
        if !is_made_by(&leaf, step.lsn)? {
            return Ok(());
        }
        let new = Version::of(&leaf.record()?);
        if !new.has_overflow() && table.spec().auto_increment.is_some() {
            drop(leaf);
            let mut body = insert.body().to_vec();
            unfold(kernel, &table, Version { roll: step.lsn, ..new }, &mut body)?;
            save_before_removal(kernel, &table, &body)?;
            leaf = table.clustered().write(&kernel.store, key)?;
        }
        let Some(over) = &insert.over else {
            table.count_rows(-1);
            return self.remove_undone(&table, 0, leaf, key, step);
        };
        table.count_rows(-1);
        let had_overflow = insert.flags & row_flags::OVERFLOW_BEFORE != 0;
        if over.version.trx != self.t.id && is_purged(kernel, over.version.trx) {
            self.remove_undone(&table, 0, leaf, key, step)?;
            return match over.body {
                Some(body) if had_overflow => free_chains(kernel, &table, over.version.roll, body),
                _ => Ok(()),
            };
        }
        let mut body = Vec::new();
        match over.body {
            Some(old) => body.extend_from_slice(old),
            None => body_of_delete(kernel, over.version.roll, &mut body)?,
        }
        let flags = record_flags::DELETED | if had_overflow { record_flags::OVERFLOW } else { 0 };
        let stamp = Stamp::Restored { trx: over.version.trx, roll: over.version.roll };
        self.put_back(&table, leaf, key, step, &body, flags, stamp)
    }

    fn undo_update(
        &mut self,
        step: Step,
        update: &RowUpdate<'_>,
        tables: Option<&dyn TableSource>,
    ) -> Result<(), RowError> {
        let Some(table) = self.table_of(update.table, tables) else { return Ok(()) };
        let leaf = table.clustered().write(&self.kernel.store, update.key)?;
        if !is_made_by(&leaf, step.lsn)? {
            return Ok(());
        }
        let mut body = Vec::new();
        update.old_body(leaf.record()?.body, &mut body)?;
        let had_overflow = update.flags & row_flags::OVERFLOW_BEFORE != 0;
        let flags = if had_overflow { record_flags::OVERFLOW } else { 0 };
        let stamp = Stamp::Restored { trx: update.version.trx, roll: update.version.roll };
        self.put_back(&table, leaf, update.key, step, &body, flags, stamp)
    }

    /// Gives a row its old body again; splits the leaf when it does not fit any more.
    #[expect(clippy::too_many_arguments, reason = "one record's fields")]
    fn put_back<'a>(
        &mut self,
        table: &'a Table,
        mut leaf: LeafWrite<'a>,
        key: &[u8],
        step: Step,
        body: &[u8],
        flags: u8,
        stamp: Stamp,
    ) -> Result<(), RowError>
    where
        'k: 'a,
    {
        let kernel = self.kernel;
        let mut splices = SplicesBuf::new();
        loop {
            let current = leaf.record()?.body;
            let grows = body.len().saturating_sub(current.len());
            if leaf.can_grow(grows)? {
                splices.diff(current, body);
                let op = PageOp::UpdateRow { slot: leaf.slot(), flags, stamp, splices: splices.splices() };
                return self.log_undo(&mut leaf, step, op);
            }
            drop(leaf);
            leaf = table.clustered().make_room(&kernel.store, key, grows)?;
        }
    }

    fn undo_delete(
        &mut self,
        step: Step,
        delete: &RowDelete<'_>,
        tables: Option<&dyn TableSource>,
    ) -> Result<(), RowError> {
        let Some(table) = self.table_of(delete.table, tables) else { return Ok(()) };
        let mut leaf = table.clustered().write(&self.kernel.store, delete.key)?;
        if !is_made_by(&leaf, step.lsn)? {
            return Ok(());
        }
        let stamp = Stamp::Restored { trx: delete.version.trx, roll: delete.version.roll };
        let op = PageOp::MarkRow { slot: leaf.slot(), deleted: false, stamp };
        self.log_undo(&mut leaf, step, op)?;
        table.count_rows(1);
        Ok(())
    }

    fn undo_entry(
        &mut self,
        step: Step,
        entry: &SecIndex<'_>,
        tables: Option<&dyn TableSource>,
    ) -> Result<(), RowError> {
        let own = self.t.tables.iter().find(|t| t.index_position(entry.index).is_some()).cloned();
        let table = own.or_else(|| tables?.table_of_index(entry.index));
        let Some((table, index)) = table.and_then(|t| t.index_position(entry.index).map(|i| (t, i))) else {
            return Ok(());
        };
        let mut leaf = table.tree(index).write(&self.kernel.store, entry.key)?;
        if !leaf.exact() {
            return Ok(());
        }
        let (trx, slot, deleted) = (self.t.id, leaf.slot(), leaf.record()?.is_deleted());
        match entry.part.op {
            PageOp::InsertKey { .. } if !deleted => self.remove_undone(&table, index, leaf, entry.key, step),
            PageOp::MarkKey { deleted: true, .. } if deleted => {
                self.log_undo(&mut leaf, step, PageOp::MarkKey { slot, deleted: false, trx })
            }
            PageOp::MarkKey { deleted: false, .. } if !deleted => {
                // U3. The leaf stays latched, so purge comes either before or after.
                let undone = Some(Undone { trx, above: step.target });
                let needed = entry_is_needed(self.kernel, &table, index, entry.key, undone);
                // What recovery has taken up holds no metadata lock: the definition may have been replaced meanwhile.
                if tables.is_some_and(|tables| !is_current(tables, &table)) {
                    drop(leaf);
                    return self.undo_entry(step, entry, tables);
                }
                if needed? {
                    self.log_undo(&mut leaf, step, PageOp::MarkKey { slot, deleted: true, trx })
                } else {
                    self.remove_undone(&table, index, leaf, entry.key, step)
                }
            }
            _ => Ok(()),
        }
    }

    fn undo_overflow(&mut self, step: Step, chunk: &Overflow<'_>) -> Result<(), RowError> {
        let store = &self.kernel.store;
        let id = chunk.parts[1].page;
        let still_its_own = {
            let read = store.pool.read(id, crate::pool::AccessHint::Normal);
            read.is_ok_and(|page| page_format::header::page_lsn(&page) == step.lsn)
        };
        if still_its_own && crate::btree::is_allocated(store, id)? {
            let start = undo_chunk(store, id, self.t.id, step.lsn, step.next)?;
            self.t.appended(Appended { start, end: start });
        }
        Ok(())
    }
}

/// U2: the row at the leaf's position is the version that the record at `lsn` made.
fn is_made_by(leaf: &LeafWrite<'_>, lsn: Lsn) -> Result<bool, RowError> {
    Ok(leaf.exact() && leaf.record()?.roll == lsn)
}

/// May purge have passed this transaction? Then nobody sees what was before it.
pub(crate) fn is_purged(kernel: &Kernel, trx: base::TrxId) -> bool {
    match kernel.trxs.table().fate(trx) {
        Fate::Committed(commit) => commit < kernel.trxs.purge_limit(),
        Fate::Old | Fate::RolledBack => true,
        Fate::Active { .. } => false,
    }
}

/// Versions that a rollback takes away: those that records of `trx` above an LSN have made. Its older ones stay.
#[derive(Clone, Copy)]
pub(crate) struct Undone {
    pub(crate) trx: base::TrxId,
    pub(crate) above: Lsn,
}

impl Undone {
    fn takes(self, version: Version) -> bool {
        version.trx == self.trx && version.roll > self.above
    }
}

/// Does a version of the row, other than those `undone`, that somebody may still read have this entry?
/// Latches the clustered leaf for a moment; the leaf of the entry may be latched.
pub(crate) fn entry_is_needed(
    kernel: &Kernel,
    table: &Table,
    index: usize,
    entry: &[u8],
    undone: Option<Undone>,
) -> Result<bool, RowError> {
    let key = super::keys::clustered_part(entry)?;
    let (mut version, mut body) = {
        let leaf = table.clustered().seek(&kernel.store, Seek::AtLeast(key))?;
        if !leaf.is_valid() || leaf.key()? != key {
            return Ok(false);
        }
        let record = leaf.record()?;
        (Version::of(&record), record.body.to_vec())
    };
    let mut buffer = Vec::new();
    loop {
        if !undone.is_some_and(|undone| undone.takes(version)) {
            if version_has_entry(kernel, table, index, entry, version, &body)? {
                return Ok(true);
            }
            if is_purged(kernel, version.trx) {
                return Ok(false);
            }
        }
        if version.roll.is_none() || !step_back(kernel, key, &mut version, &mut body, &mut buffer)? {
            return Ok(false);
        }
    }
}

/// Takes the entry at the position out of its leaf by `log`, hands its locks on, and merges the leaf if little is left on it.
pub(crate) fn remove_entry(
    kernel: &Kernel,
    table: &Table,
    index: usize,
    mut leaf: LeafWrite<'_>,
    key: &[u8],
    log: impl FnOnce(&mut LeafWrite<'_>, PageOp<'static>) -> Result<(), RowError>,
) -> Result<(), RowError> {
    let tree = table.tree(index);
    let mut next = Vec::new();
    let locked = kernel.locks.may_be_locked(crate::lock::LockKey::entry(tree.index(), key));
    let exists = locked && leaf.next_key(&mut next)?;
    let slot = leaf.slot();
    log(&mut leaf, PageOp::Remove { slot, count: 1 })?;
    if locked {
        kernel.locks.inherit_on_remove(key, gap_key(tree.index(), exists.then_some(&next)));
    }
    let sparse = leaf.is_sparse()?;
    drop(leaf);
    if sparse {
        tree.shrink(&kernel.store, key)?;
    }
    Ok(())
}

/// Gives back the overflow chains of a stored body, of a version that the record at `roll` made.
pub(crate) fn free_chains(kernel: &Kernel, table: &Table, roll: Lsn, stored: &[u8]) -> Result<(), RowError> {
    let spec = table.spec();
    for (_, chain) in overflow::chains(spec.shapes_of(roll), stored, true)? {
        free_value(&kernel.store, spec.space, chain)?;
    }
    Ok(())
}
