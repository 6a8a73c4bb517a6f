//! Changing rows: in place when the primary key stays, else as a delete and an insert that are one UPDATE in the event stream.
//!
//! `modify` is the short way for "UPDATE or DELETE by primary key": one descent with the leaf latched exclusively; the row's lock
//! is its trx id, so no lock object is made when the row is changed.

use std::sync::Arc;

use log_format::record::{Before, Record, RowUpdate, row_flags};
use page_format::{PageOp, SplicesBuf, Stamp, record_flags};

use super::images::Needs;
use super::insert::Attempt;
use super::keys::{clustered_key, columns_differ, secondary_key};
use super::lock_row::{RowLock, gap_key};
use super::overflow::{self, Kept};
use super::version::Version;
use super::{Change, Modified, RowBuf, RowError, Strength, WaitMode};
use crate::btree::LeafWrite;
use crate::lock::{LockKey, LockMode};
use crate::table::Table;
use crate::trx::{Marked, Savepoint, Trx, Work};

impl Trx {
    /// Replaces the body of a row that this transaction has read in a locking exclusive mode. A duplicate key leaves the row as
    /// it was and locks the row in the way.
    pub fn update(&mut self, table: &Arc<Table>, row: &RowBuf, new_body: &[u8]) -> Result<(), RowError> {
        self.pace()?;
        self.work().update(table, row, new_body)?;
        self.annotate()
    }

    /// Finds a row by the full key of the clustered index, locks it, and does with it what `decide` says, in one descent.
    /// `decide` sees the newest body and writes the new one. It runs under the leaf's latch: it must be short, must not call the
    /// engine, and may be called more than once. The new body must keep the primary key; rows whose key changes or that have
    /// overflow columns are changed by `get` and `update` inside.
    pub fn modify(
        &mut self,
        table: &Arc<Table>,
        key: &[u8],
        wait: WaitMode,
        decide: &mut dyn FnMut(&[u8], &mut Vec<u8>) -> Change,
    ) -> Result<Modified, RowError> {
        self.pace()?;
        let modified = self.work().modify(table, key, wait, decide)?;
        self.annotate()?;
        Ok(modified)
    }
}

/// What `modify` found on the leaf.
enum Look {
    Missing,
    Kept,
    Deleted(Vec<u8>),
    /// The body before; the new one is in the buffer.
    Updated(Vec<u8>),
    /// The row has overflow columns, grows past its leaf or changes its key: the long way.
    LongWay,
    Skipped,
}

impl Work<'_> {
    fn update(&mut self, table: &Arc<Table>, row: &RowBuf, new_body: &[u8]) -> Result<(), RowError> {
        let spec = table.spec();
        let before = Savepoint { last: self.t.last };
        if !spec.has_hidden_key() && columns_differ(spec, 0, &row.body, new_body)? {
            let mut key = Vec::with_capacity(row.key.len());
            clustered_key(spec, new_body, &mut key)?;
            if key != row.key {
                let result = self.update_key(table, row, &key, new_body);
                return self.undo_failed(before, result);
            }
        }
        self.begin_change(table)?;
        let result = self.update_in_place(table, row, new_body);
        self.undo_failed(before, result)
    }

    fn update_key(
        &mut self,
        table: &Arc<Table>,
        row: &RowBuf,
        key: &[u8],
        new_body: &[u8],
    ) -> Result<(), RowError> {
        self.delete(table, row, row_flags::KEY_UPDATE)?;
        self.insert_keyed(table, key, new_body, Strength::Shared, row_flags::KEY_UPDATE)
    }

    fn update_in_place(&mut self, table: &Arc<Table>, row: &RowBuf, new_body: &[u8]) -> Result<(), RowError> {
        self.give_newest_layout(table, row)?;
        self.remember_auto_increment_change(table, &row.body, new_body)?;
        let mut stored = std::mem::take(&mut self.t.scratch.stored);
        stored.clear();
        let result = self.update_clustered(table, row, new_body, &mut stored);
        self.t.scratch.stored = stored;
        result?;
        self.update_entries(table, &row.body, new_body, &row.key)
    }

    /// T4. A row of an older layout, locked by this transaction, gets the newest one by a change of its own, which no replica sees: so
    /// images before and after a change, and the bytes that replace others, are always of one layout.
    pub(super) fn give_newest_layout(&mut self, table: &Arc<Table>, row: &RowBuf) -> Result<(), RowError> {
        if table.spec().formats.is_empty() {
            return Ok(());
        }
        let old = self.own_row(&table.clustered().write(&self.kernel.store, &row.key)?)?;
        if table.spec().old_format(old.roll).is_none() {
            return Ok(());
        }
        let replicate = std::mem::replace(&mut self.t.options.log.replicate, false);
        let changed = self.update_clustered(table, row, &row.body, &mut Vec::new());
        self.t.options.log.replicate = replicate;
        changed
    }

    fn update_clustered(
        &mut self,
        table: &Table,
        row: &RowBuf,
        new_body: &[u8],
        stored: &mut Vec<u8>,
    ) -> Result<(), RowError> {
        let (kernel, tree) = (self.kernel, table.clustered());
        let mut leaf = tree.write(&kernel.store, &row.key)?;
        let old = self.own_row(&leaf)?;
        let flags = if old.has_overflow() {
            let old_stored = leaf.record()?.body.to_vec();
            drop(leaf);
            let kept = kept_chains(table, old, &old_stored, &row.body)?;
            let needs = self.needs_of_update(table);
            self.log_long_values(table, &kept, &needs, Some(new_body))?;
            let flags = self.store_body(table, row.key.len(), new_body, &kept, stored)?;
            self.t.leaves_garbage = true;
            leaf = tree.write(&kernel.store, &row.key)?;
            flags
        } else if page_format::clustered_size(row.key.len(), new_body.len()) > page_format::RECORD_SIZE_MAX {
            drop(leaf);
            let flags = self.store_body(table, row.key.len(), new_body, &[], stored)?;
            leaf = tree.write(&kernel.store, &row.key)?;
            flags
        } else {
            stored.extend_from_slice(new_body);
            0
        };
        loop {
            match self.put_update(table, &mut leaf, &row.key, old, flags, stored)? {
                Attempt::NoRoom => {
                    let growth = stored.len() - leaf.record()?.body.len();
                    drop(leaf);
                    leaf = tree.make_room(&kernel.store, &row.key, growth)?;
                }
                _ => return Ok(()),
            }
        }
    }

    /// Logs and applies the change of a row that is locked by this transaction.
    fn put_update(
        &mut self,
        table: &Table,
        leaf: &mut LeafWrite<'_>,
        key: &[u8],
        old: Version,
        flags: u8,
        stored: &[u8],
    ) -> Result<Attempt<()>, RowError> {
        let old_len = leaf.record()?.body.len();
        if stored.len() > old_len && !leaf.can_grow(stored.len() - old_len)? {
            return Ok(Attempt::NoRoom);
        }
        let mut splices = std::mem::take(&mut self.t.scratch.splices);
        let mut body = std::mem::take(&mut self.t.scratch.body);
        let result = self.log_update(table, leaf, key, old, flags, stored, (&mut splices, &mut body));
        self.t.scratch.splices = splices;
        self.t.scratch.body = body;
        result.map(Attempt::Done)
    }

    #[expect(clippy::too_many_arguments, reason = "one record's fields")]
    fn log_update(
        &mut self,
        table: &Table,
        leaf: &mut LeafWrite<'_>,
        key: &[u8],
        old: Version,
        flags: u8,
        stored: &[u8],
        (splices, body): (&mut SplicesBuf, &mut Vec<u8>),
    ) -> Result<(), RowError> {
        let old_body = leaf.record()?.body;
        splices.diff(old_body, stored);
        // Purge finds the replaced chains of a row with long values in the whole body before.
        let needs = self.needs_of_update(table);
        let mut scratch = std::mem::take(&mut self.t.scratch.context);
        let has_long = old.has_overflow() || flags & record_flags::OVERFLOW != 0;
        let context = match &needs {
            Needs::Columns(columns) if !has_long => {
                let context =
                    scratch.of_update(table.spec(), columns, (old_body, stored), splices.splices())?;
                (context.len() + splices.removed().len() < old_body.len()).then_some(context)
            }
            _ => None,
        };
        let full = match &needs {
            Needs::Nothing => old.has_overflow(),
            _ => context.is_none(),
        };
        if full {
            body.clear();
            body.extend_from_slice(old_body);
        }
        let mark = self.row_mark(table, Marked::Written)?;
        let (trx, previous) = (self.t.id, self.t.last);
        let mut log_flags = mark.flags;
        if old.has_overflow() {
            log_flags |= row_flags::OVERFLOW_BEFORE;
        }
        let version = self.previous_version(table, old);
        let before = if full { Before::Full(body) } else { Before::Removed(splices.removed()) };
        let op = PageOp::UpdateRow {
            slot: leaf.slot(),
            flags,
            stamp: Stamp::Own(trx),
            splices: splices.splices(),
        };
        let (id, table_version) = (table.spec().id, table.spec().version);
        let record = leaf.log(op, |part| {
            Record::RowUpdate(RowUpdate {
                trx,
                previous,
                table: id,
                table_version,
                announce: mark.announce(),
                flags: log_flags,
                part,
                version,
                key,
                before,
                context,
            })
        })?;
        self.t.scratch.context = scratch;
        self.row_appended(table, mark, record);
        Ok(())
    }

    /// Moves the entries of a changed row in the secondary indexes whose columns differ.
    fn update_entries(
        &mut self,
        table: &Table,
        old_body: &[u8],
        new_body: &[u8],
        key: &[u8],
    ) -> Result<(), RowError> {
        for index in 1..table.spec().indexes.len() {
            if columns_differ(table.spec(), index, old_body, new_body)? {
                self.move_entry(table, index, old_body, new_body, key)?;
            }
        }
        Ok(())
    }

    fn move_entry(
        &mut self,
        table: &Table,
        index: usize,
        old_body: &[u8],
        new_body: &[u8],
        key: &[u8],
    ) -> Result<(), RowError> {
        let mut old = std::mem::take(&mut self.t.scratch.old_key);
        let mut new = std::mem::take(&mut self.t.scratch.new_key);
        old.clear();
        new.clear();
        secondary_key(table.spec(), index, old_body, key, &mut old)?;
        secondary_key(table.spec(), index, new_body, key, &mut new)?;
        let same = old == new;
        self.t.scratch.new_key = new;
        // Bytes that differ can have equal weights: then the entry stays.
        let marked = if same { Ok(()) } else { self.mark_entry(table, index, &old) };
        self.t.scratch.old_key = old;
        marked?;
        if same { Ok(()) } else { self.insert_entry_of(table, index, new_body, key, Strength::Shared) }
    }

    fn modify(
        &mut self,
        table: &Arc<Table>,
        key: &[u8],
        wait: WaitMode,
        decide: &mut dyn FnMut(&[u8], &mut Vec<u8>) -> Change,
    ) -> Result<Modified, RowError> {
        let before = Savepoint { last: self.t.last };
        let mut new_body = std::mem::take(&mut self.t.scratch.stored);
        let result = self.modify_found(table, key, wait, decide, &mut new_body);
        self.t.scratch.stored = new_body;
        self.undo_failed(before, result)
    }

    fn modify_found(
        &mut self,
        table: &Arc<Table>,
        key: &[u8],
        wait: WaitMode,
        decide: &mut dyn FnMut(&[u8], &mut Vec<u8>) -> Change,
        new_body: &mut Vec<u8>,
    ) -> Result<Modified, RowError> {
        match self.modify_leaf(table, key, wait, decide, new_body)? {
            Look::Missing | Look::Skipped => Ok(Modified::Missing),
            Look::Kept => Ok(Modified::Kept),
            Look::Deleted(body) => {
                self.mark_entries(table, &body, key)?;
                table.count_rows(-1);
                Ok(Modified::Deleted)
            }
            Look::Updated(old_body) => {
                self.update_entries(table, &old_body, new_body, key)?;
                Ok(Modified::Updated)
            }
            Look::LongWay => self.modify_long(table, key, wait, decide, new_body),
        }
    }

    /// Waits until nobody else has the row, then decides and changes it on its leaf.
    fn modify_leaf(
        &mut self,
        table: &Arc<Table>,
        key: &[u8],
        wait: WaitMode,
        decide: &mut dyn FnMut(&[u8], &mut Vec<u8>) -> Change,
        new_body: &mut Vec<u8>,
    ) -> Result<Look, RowError> {
        let kernel = self.kernel;
        let at = LockKey::entry(table.spec().indexes[0].id, key);
        loop {
            let mut leaf = table.clustered().write(&kernel.store, key)?;
            if !leaf.exact() {
                return self.lock_missing(table, &leaf);
            }
            let old = Version::of(&leaf.record()?);
            let writer = self.other_writer(old.trx);
            if writer.is_some() || kernel.locks.may_be_locked(at) {
                match self.request(at, LockMode::record(Strength::Exclusive), writer, wait)? {
                    RowLock::MustWait(wait) => {
                        drop(leaf);
                        self.wait(wait)?;
                        continue;
                    }
                    RowLock::Skip => return Ok(Look::Skipped),
                    RowLock::Held { .. } => {}
                }
            }
            self.check_snapshot(old.trx)?;
            if old.is_deleted() {
                return self.lock_missing(table, &leaf);
            }
            return self.decide_on_leaf(table, &mut leaf, key, old, decide, new_body);
        }
    }

    fn decide_on_leaf(
        &mut self,
        table: &Arc<Table>,
        leaf: &mut LeafWrite<'_>,
        key: &[u8],
        old: Version,
        decide: &mut dyn FnMut(&[u8], &mut Vec<u8>) -> Change,
        new_body: &mut Vec<u8>,
    ) -> Result<Look, RowError> {
        if old.has_overflow() || table.spec().old_format(old.roll).is_some() {
            return Ok(Look::LongWay);
        }
        new_body.clear();
        let change = decide(leaf.record()?.body, new_body);
        // What the secondary indexes need of the body before; the page changes under it.
        let has_entries = table.spec().indexes.len() > 1;
        let body = leaf.record()?.body;
        match change {
            Change::Keep => {
                if self.t.locks_gaps() {
                    let at = LockKey::entry(table.spec().indexes[0].id, key);
                    self.request(at, LockMode::record(Strength::Exclusive), None, WaitMode::Wait)?;
                }
                Ok(Look::Kept)
            }
            Change::Delete => {
                let body = body.to_vec();
                if self.must_remember_auto_increment(table, &body)? {
                    return Ok(Look::LongWay);
                }
                self.begin_change(table)?;
                self.log_delete(table, leaf, key, old, 0)?;
                Ok(Look::Deleted(body))
            }
            Change::Update => {
                let spec = table.spec();
                let grows = new_body.len().saturating_sub(body.len());
                let fits = page_format::clustered_size(key.len(), new_body.len())
                    <= page_format::RECORD_SIZE_MAX
                    && leaf.can_grow(grows)?;
                let moves = !spec.has_hidden_key() && columns_differ(spec, 0, body, new_body)?;
                if !fits || moves || self.must_remember_auto_increment_change(table, body, new_body)? {
                    return Ok(Look::LongWay);
                }
                let old_body = if has_entries { body.to_vec() } else { Vec::new() };
                self.begin_change(table)?;
                self.put_update(table, leaf, key, old, 0, new_body)?;
                Ok(if has_entries { Look::Updated(old_body) } else { Look::Updated(Vec::new()) })
            }
        }
    }

    /// Nothing live has the key: under REPEATABLE READ the gap is locked, and a delete-marked row with it.
    fn lock_missing(&mut self, table: &Table, leaf: &LeafWrite<'_>) -> Result<Look, RowError> {
        if self.t.locks_gaps() {
            let index = table.spec().indexes[0].id;
            let mut gap = std::mem::take(&mut self.t.scratch.gap);
            let exists = leaf.next_key(&mut gap);
            let locked = exists.map_err(RowError::from).and_then(|exists| {
                if leaf.exact() {
                    let record = LockKey::entry(index, leaf.record()?.key);
                    self.lock_gap(record, Strength::Exclusive)?;
                }
                self.lock_gap(gap_key(index, exists.then_some(&gap)), Strength::Exclusive)
            });
            self.t.scratch.gap = gap;
            locked?;
        }
        Ok(Look::Missing)
    }

    /// The same as `modify` by a locking read and an update.
    fn modify_long(
        &mut self,
        table: &Arc<Table>,
        key: &[u8],
        wait: WaitMode,
        decide: &mut dyn FnMut(&[u8], &mut Vec<u8>) -> Change,
        new_body: &mut Vec<u8>,
    ) -> Result<Modified, RowError> {
        let mut row = RowBuf::new();
        if !self.get_locked(table, 0, key, Strength::Exclusive, wait, &mut row)? {
            return Ok(Modified::Missing);
        }
        new_body.clear();
        match decide(&row.body, new_body) {
            Change::Keep => Ok(Modified::Kept),
            Change::Delete => self.delete(table, &row, 0).map(|()| Modified::Deleted),
            Change::Update => {
                let body = std::mem::take(new_body);
                let updated = self.update(table, &row, &body);
                *new_body = body;
                updated.map(|()| Modified::Updated)
            }
        }
    }
}

/// Chains of a row's old version with their values, cut from the whole old body. Columns are those of the newest layout; a chain whose
/// column has been dropped is not kept.
pub(super) fn kept_chains<'a>(
    table: &'a Table,
    old: Version,
    stored: &[u8],
    old_body: &'a [u8],
) -> Result<Vec<Kept<'a>>, RowError> {
    let spec = table.spec();
    let row = row_format::RowView::new(&spec.layout, old_body)?;
    let format = spec.old_format(old.roll);
    let mut kept = Vec::new();
    for (column, chain) in overflow::chains(spec.shapes_of(old.roll), stored, true)? {
        let Some(column) = format.map_or(Some(column), |f| f.becomes(column)) else { continue };
        if let Some(value) = row.column(column)? {
            kept.push((column, chain, value));
        }
    }
    Ok(kept)
}
