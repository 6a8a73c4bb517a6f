//! Point reads: one row by the full key of a unique index, consistent or locking.
//!
//! A consistent read copies the newest version while its leaf is latched; if that is not the visible one, it goes back through
//! the log afterwards, without the latch. A locking read sees the newest version, once it is locked.

use std::sync::Arc;

use base::TrxId;
use page_format::LeafRecord;

use super::keys::clustered_part;
use super::lock_row::{RowLock, gap_key};
use super::secondary::{at_equal, whole_has_entry};
use super::version::{Version, step_back};
use super::{ReadMode, RowBuf, RowError, Strength, WaitMode, overflow};
use crate::btree::{LeafRead, Seek};
use crate::kernel::Kernel;
use crate::lock::{LockKey, LockMode};
use crate::table::Table;
use crate::trx::{Isolation, ReadView, Trx, Work};

impl Trx {
    /// Full-key lookup on a unique index; false when no row is there for this mode. For a secondary index `key` is the index's own
    /// columns.
    pub fn get(
        &mut self,
        table: &Arc<Table>,
        index: usize,
        key: &[u8],
        mode: ReadMode,
        out: &mut RowBuf,
    ) -> Result<bool, RowError> {
        let mut work = self.work();
        if mode == ReadMode::Consistent {
            work.prepare_view();
            work.check_definition(table, index)?;
        }
        match mode {
            ReadMode::Consistent if index == 0 => work.get_clustered(table, key, out),
            ReadMode::Consistent => work.get_by_entry(table, index, key, out),
            ReadMode::Locking { strength, wait } => work.get_locked(table, index, key, strength, wait, out),
        }
    }

    /// READ COMMITTED gives back the lock of a row that did not match: what the latest `get` or `Scan::next` has locked.
    pub fn unlock_row(&mut self, _table: &Arc<Table>, _row: &RowBuf) {
        self.work().unlock_latest();
    }
}

/// The visible one of a row's versions, as far as the leaf's can tell.
pub(crate) enum Seen {
    /// The version on the leaf.
    This,
    /// Nothing: the version on the leaf is visible and deleted.
    Deleted,
    /// An older one, or none.
    Older,
}

/// `view` is none under READ UNCOMMITTED.
pub(crate) fn judge(kernel: &Kernel, view: Option<&ReadView>, own: TrxId, record: &LeafRecord<'_>) -> Seen {
    match view {
        Some(view) if !view.sees(record.trx, own, &kernel.trxs) => Seen::Older,
        _ if record.is_deleted() => Seen::Deleted,
        _ => Seen::This,
    }
}

/// Goes back from a version that is not visible to the one that is. `version` and `stored` become it; false when there is none or
/// it is deleted.
///
/// That the first version is not visible was found under its page's latch and is not asked again: its transaction may have rolled back
/// since. Then the version is gone from the page, and "rolled back" in the transaction table no longer means that it may be read.
/// The same holds for earlier versions of that transaction. Below them is what others had committed.
pub(crate) fn go_back(
    kernel: &Kernel,
    view: &ReadView,
    own: TrxId,
    key: &[u8],
    version: &mut Version,
    stored: &mut Vec<u8>,
) -> Result<bool, RowError> {
    let mut buffer = Vec::new();
    loop {
        let unseen = version.trx;
        if !step_back(kernel, key, version, stored, &mut buffer)? {
            return Ok(false);
        }
        if version.trx != unseen && view.sees(version.trx, own, &kernel.trxs) {
            return Ok(!version.is_deleted());
        }
    }
}

impl Work<'_> {
    /// 1412 when the transaction's read view is older than the index, or than the table.
    pub(crate) fn check_definition(&self, table: &Table, index: usize) -> Result<(), RowError> {
        match self.t.view() {
            Some(view) if view.lsn() < table.spec().indexes[index].since => Err(RowError::DefinitionChanged),
            _ => Ok(()),
        }
    }

    /// Takes the view that consistent reads need at this isolation level.
    pub(crate) fn prepare_view(&mut self) {
        if self.t.options.isolation != Isolation::ReadUncommitted {
            self.view();
        }
    }

    fn get_clustered(&mut self, table: &Table, key: &[u8], out: &mut RowBuf) -> Result<bool, RowError> {
        out.clear();
        out.key.extend_from_slice(key);
        Ok(self.lookup(table, key, &mut out.body)?.is_some())
    }

    /// The visible version of the row with this clustered key; its whole body goes to `body`.
    pub(crate) fn lookup(
        &mut self,
        table: &Table,
        key: &[u8],
        body: &mut Vec<u8>,
    ) -> Result<Option<Version>, RowError> {
        body.clear();
        self.prepare_view();
        let (kernel, own) = (self.kernel, self.t.id);
        let view = self.t.view();
        let leaf = table.clustered().seek(&kernel.store, Seek::AtLeast(key))?;
        if !leaf.is_valid() {
            return Ok(None);
        }
        let record = leaf.record()?;
        if record.key != key {
            return Ok(None);
        }
        let seen = judge(kernel, view, own, &record);
        if matches!(seen, Seen::Deleted) {
            return Ok(None);
        }
        let mut version = Version::of(&record);
        body.extend_from_slice(record.body);
        drop(leaf);
        if let (Seen::Older, Some(view)) = (seen, view)
            && !go_back(kernel, view, own, key, &mut version, body)?
        {
            body.clear();
            return Ok(None);
        }
        unfold(kernel, table, version, body)?;
        Ok(Some(version))
    }

    /// Consistent read by the columns of a unique secondary index.
    fn get_by_entry(
        &mut self,
        table: &Table,
        index: usize,
        own: &[u8],
        out: &mut RowBuf,
    ) -> Result<bool, RowError> {
        out.clear();
        self.prepare_view();
        let mut entries: Vec<Vec<u8>> = Vec::new();
        {
            let mut leaf = table.tree(index).seek(&self.kernel.store, Seek::AtLeast(own))?;
            while at_equal(&leaf, own)? {
                entries.push(leaf.key()?.to_vec());
                leaf.move_next()?;
            }
        }
        for entry in entries {
            let key = clustered_part(&entry)?;
            if self.lookup_entry(table, index, &entry, key, &mut out.body)? {
                out.key.extend_from_slice(key);
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The row of a secondary entry, if its visible version has the entry.
    pub(crate) fn lookup_entry(
        &mut self,
        table: &Table,
        index: usize,
        entry: &[u8],
        key: &[u8],
        body: &mut Vec<u8>,
    ) -> Result<bool, RowError> {
        if self.lookup(table, key, body)?.is_none() {
            return Ok(false);
        }
        whole_has_entry(table.spec(), index, entry, body)
    }

    /// innodb_snapshot_isolation for a delete-marked entry that a locking read passes: was it the entry of a row in the read view?
    /// Then the row has changed since. No latch may be held.
    pub(crate) fn check_deleted_entry(
        &mut self,
        table: &Table,
        index: usize,
        entry: &[u8],
        max_trx: TrxId,
    ) -> Result<(), RowError> {
        let options = &self.t.options;
        let applies = options.snapshot_isolation && options.isolation >= Isolation::RepeatableRead;
        match self.t.view() {
            Some(view) if applies && max_trx >= view.low() => {}
            _ => return Ok(()),
        }
        let mut body = Vec::new();
        if self.lookup_entry(table, index, entry, clustered_part(entry)?, &mut body)? {
            return Err(RowError::SnapshotChanged);
        }
        Ok(())
    }

    /// Locking read by the full key of a unique index.
    pub(crate) fn get_locked(
        &mut self,
        table: &Arc<Table>,
        index: usize,
        key: &[u8],
        strength: Strength,
        wait: WaitMode,
        out: &mut RowBuf,
    ) -> Result<bool, RowError> {
        self.t.latest_locks.clear();
        if index == 0 {
            let locked = self.lock_clustered(table, key, strength, wait, true, out)?;
            return Ok(locked == RowOf::Found);
        }
        let (kernel, tree) = (self.kernel, table.tree(index));
        'again: loop {
            let mut leaf = tree.seek(&kernel.store, Seek::AtLeast(key))?;
            let mut passed = Vec::new();
            while at_equal(&leaf, key)? {
                match self.lock_equal(table, index, &leaf, strength, wait)? {
                    (RowLock::MustWait(queued), _) => {
                        drop(leaf);
                        self.wait(queued)?;
                        continue 'again;
                    }
                    (RowLock::Skip, _) => return Ok(false),
                    (RowLock::Held { .. }, Some(clustered)) => {
                        let entry = leaf.key()?.to_vec();
                        drop(leaf);
                        match self.lock_row_of(table, index, &entry, &clustered, strength, wait, out)? {
                            RowOf::Found => return Ok(true),
                            RowOf::Skipped => return Ok(false),
                            RowOf::Gone => continue 'again,
                        }
                    }
                    (RowLock::Held { .. }, None) => {
                        passed.push((leaf.key()?.to_vec(), leaf.max_trx()));
                    }
                }
                leaf.move_next()?;
            }
            if self.t.locks_gaps() {
                let next = if leaf.is_valid() { Some(leaf.key()?) } else { None };
                self.lock_gap(gap_key(tree.index(), next), strength)?;
            }
            drop(leaf);
            for (entry, recent) in passed {
                self.check_deleted_entry(table, index, &entry, recent)?;
            }
            return Ok(false);
        }
    }

    /// Locks an entry that equals the key of a unique secondary index; the clustered key comes with a live one.
    fn lock_equal(
        &mut self,
        table: &Table,
        index: usize,
        leaf: &LeafRead<'_>,
        strength: Strength,
        wait: WaitMode,
    ) -> Result<(RowLock, Option<Vec<u8>>), RowError> {
        let record = leaf.record()?;
        let writer = self.entry_writer(table, index, record.key, leaf.max_trx())?;
        let at = LockKey::entry(table.spec().indexes[index].id, record.key);
        if !record.is_deleted() {
            let lock = self.request_read(at, LockMode::record(strength), writer, wait)?;
            return Ok((lock, Some(clustered_part(record.key)?.to_vec())));
        }
        // A deleted entry is passed, with its gap, once its deletion is decided.
        if self.t.locks_gaps() {
            return Ok((self.request(at, LockMode::next_key(strength), writer, wait)?, None));
        }
        if writer.is_some() {
            return Ok((self.request_read(at, LockMode::record(strength), writer, wait)?, None));
        }
        Ok((RowLock::Held { new: false }, None))
    }

    /// Locks the row of a secondary entry that is locked already.
    #[expect(clippy::too_many_arguments, reason = "an entry, and how to lock its row")]
    pub(crate) fn lock_row_of(
        &mut self,
        table: &Arc<Table>,
        index: usize,
        entry: &[u8],
        key: &[u8],
        strength: Strength,
        wait: WaitMode,
        out: &mut RowBuf,
    ) -> Result<RowOf, RowError> {
        let locked = self.lock_clustered(table, key, strength, wait, false, out)?;
        if locked == RowOf::Found && !whole_has_entry(table.spec(), index, entry, &out.body)? {
            return Ok(RowOf::Gone);
        }
        Ok(locked)
    }

    /// Locks the row with this clustered key and reads it; with `gaps`, locks the gap when there is none.
    fn lock_clustered(
        &mut self,
        table: &Arc<Table>,
        key: &[u8],
        strength: Strength,
        wait: WaitMode,
        gaps: bool,
        out: &mut RowBuf,
    ) -> Result<RowOf, RowError> {
        let (kernel, tree) = (self.kernel, table.clustered());
        let gaps = gaps && self.t.locks_gaps();
        out.clear();
        loop {
            let mut leaf = tree.seek(&kernel.store, Seek::AtLeast(key))?;
            let found = leaf.is_valid() && leaf.key()? == key;
            if found {
                let record = leaf.record()?;
                let (version, writer) = (Version::of(&record), self.other_writer(record.trx));
                let extent = if version.is_deleted() && gaps {
                    LockMode::next_key(strength)
                } else {
                    LockMode::record(strength)
                };
                if !version.is_deleted() || writer.is_some() || gaps {
                    match self.request_read(LockKey::entry(tree.index(), key), extent, writer, wait)? {
                        RowLock::MustWait(queued) => {
                            drop(leaf);
                            self.wait(queued)?;
                            continue;
                        }
                        RowLock::Skip => return Ok(RowOf::Skipped),
                        RowLock::Held { .. } => {}
                    }
                }
                self.check_snapshot(version.trx)?;
                if !version.is_deleted() {
                    out.key.extend_from_slice(key);
                    out.body.extend_from_slice(leaf.record()?.body);
                    drop(leaf);
                    unfold(kernel, table, version, &mut out.body)?;
                    return Ok(RowOf::Found);
                }
                leaf.move_next()?;
            }
            if gaps {
                let next = if leaf.is_valid() { Some(leaf.key()?) } else { None };
                self.lock_gap(gap_key(tree.index(), next), strength)?;
            }
            return Ok(RowOf::Gone);
        }
    }
}

/// What became of locking the row that a key or an entry names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RowOf {
    /// It is locked and read.
    Found,
    /// There is none, or it does not have the entry (any more).
    Gone,
    /// Another transaction has locked it, and the read does not wait.
    Skipped,
}

/// Makes a stored body whole, and one of the newest layout.
pub(crate) fn unfold(
    kernel: &Kernel,
    table: &Table,
    version: Version,
    body: &mut Vec<u8>,
) -> Result<(), RowError> {
    let spec = table.spec();
    let old_format = spec.old_format(version.roll);
    if version.has_overflow() {
        let stored = std::mem::take(body);
        overflow::load(kernel, spec.space, spec.shapes_of(version.roll), &stored, true, body)?;
    }
    if let Some(format) = old_format {
        let old = std::mem::take(body);
        format.upgrade(&old, body)?;
    }
    Ok(())
}
