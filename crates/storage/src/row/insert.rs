//! Inserting a row: the clustered record first, then an entry in each secondary index.
//!
//! # Order and crash
//! Overflow chunks, clustered record, secondary entries: each a record of its own in the transaction's chain. After a crash or an
//! error whatever there is of them is undone, last one first.
//!
//! # Locks
//! - A live row with the key: it gets a record lock (shared, or exclusive for REPLACE and ON DUPLICATE KEY UPDATE), then it is a
//!   duplicate. A row that another active transaction has written or deleted is waited for first.
//! - A delete-marked row: it is taken over, once no other transaction has it locked.
//! - Nothing: an insert intention on the gap. The new row is locked by its trx id.

use std::sync::Arc;

use base::{Lsn, SpaceId, TrxId};
use log_format::record::{OverDeleted, PreviousVersion, Record, RowDelete, RowInsert, row_flags};
use page_format::{PageOp, SLOT_SIZE, Stamp, clustered_size};

use super::keys::{KEY_SIZE_MAX, clustered_key};
use super::lock_row::{RowLock, gap_key};
use super::version::{Version, read_record};
use super::{RowError, Strength, WaitMode};
use crate::btree::LeafWrite;
use crate::lock::{LockKey, LockMode, Wait};
use crate::table::Table;
use crate::trx::{Marked, Savepoint, Trx, Work};

/// What one attempt at a leaf came to.
pub(super) enum Attempt<T> {
    Done(T),
    /// Wait without latches, then try again.
    Wait(Wait),
    /// The leaf is full: make room, then try again with what is returned.
    NoRoom,
}

/// A row to be inserted.
#[derive(Clone, Copy)]
struct NewRow<'a> {
    key: &'a [u8],
    stored: &'a [u8],
    /// Record flags.
    flags: u8,
    /// Flags of the log record.
    log_flags: u8,
}

impl Trx {
    /// Inserts a row. On a duplicate key nothing of the row stays, and the row in the way is locked shared.
    pub fn insert(&mut self, table: &Arc<Table>, body: &[u8]) -> Result<(), RowError> {
        self.insert_or_lock(table, body, Strength::Shared)
    }

    /// Same; on a duplicate key the row in the way gets a lock of the given strength: exclusive for REPLACE and
    /// INSERT ... ON DUPLICATE KEY UPDATE. Find it with `get` in a locking mode.
    pub fn insert_or_lock(
        &mut self,
        table: &Arc<Table>,
        body: &[u8],
        on_duplicate: Strength,
    ) -> Result<(), RowError> {
        self.pace()?;
        self.work().insert(table, body, on_duplicate, 0)?;
        self.annotate()
    }
}

impl Work<'_> {
    /// New rows and changes are refused while the log lives on its reserve.
    pub(super) fn begin_change(&mut self, table: &Arc<Table>) -> Result<TrxId, RowError> {
        // Dropping a table makes room: the dictionary may use the log's reserve.
        if table.spec().space != SpaceId(0) && self.kernel.store.log.space_is_low() {
            return Err(RowError::Full);
        }
        if !self.t.tables.iter().any(|t| t.spec().id == table.spec().id) {
            self.t.tables.push(Arc::clone(table));
        }
        Ok(self.ensure_id())
    }

    pub(super) fn insert(
        &mut self,
        table: &Arc<Table>,
        body: &[u8],
        on_duplicate: Strength,
        log_flags: u8,
    ) -> Result<(), RowError> {
        let mut key = std::mem::take(&mut self.t.scratch.key);
        key.clear();
        let keyed = if table.spec().has_hidden_key() {
            self.new_row_id(table, &mut key)
        } else {
            clustered_key(table.spec(), body, &mut key).map_err(RowError::from)
        };
        let result = keyed.and_then(|()| self.insert_keyed(table, &key, body, on_duplicate, log_flags));
        self.t.scratch.key = key;
        result
    }

    /// Inserts with a given clustered key; undoes its own part when it fails.
    pub(super) fn insert_keyed(
        &mut self,
        table: &Arc<Table>,
        key: &[u8],
        body: &[u8],
        on_duplicate: Strength,
        log_flags: u8,
    ) -> Result<(), RowError> {
        if key.len() > KEY_SIZE_MAX {
            return Err(RowError::KeyTooLong { bytes: key.len() });
        }
        self.begin_change(table)?;
        let before = Savepoint { last: self.t.last };
        let mut stored = std::mem::take(&mut self.t.scratch.stored);
        stored.clear();
        let result = self.insert_everywhere(table, key, body, on_duplicate, log_flags, &mut stored);
        self.t.scratch.stored = stored;
        match result {
            Ok(()) => {
                table.count_rows(1);
                Ok(())
            }
            Err(error) => {
                if !error.ends_transaction() {
                    self.undo_to(before.last, None)?;
                }
                Err(error)
            }
        }
    }

    fn insert_everywhere(
        &mut self,
        table: &Arc<Table>,
        key: &[u8],
        body: &[u8],
        on_duplicate: Strength,
        log_flags: u8,
        stored: &mut Vec<u8>,
    ) -> Result<(), RowError> {
        let flags = self.store_body(table, key.len(), body, &[], stored)?;
        let row = NewRow { key, stored, flags, log_flags };
        self.insert_clustered(table, row, on_duplicate)?;
        for index in 1..table.spec().indexes.len() {
            self.insert_entry_of(table, index, body, key, on_duplicate)?;
        }
        Ok(())
    }

    fn insert_clustered(
        &mut self,
        table: &Table,
        row: NewRow<'_>,
        on_duplicate: Strength,
    ) -> Result<(), RowError> {
        let (kernel, tree) = (self.kernel, table.clustered());
        let size = clustered_size(row.key.len(), row.stored.len());
        let mut leaf = tree.write(&kernel.store, row.key)?;
        loop {
            let attempt = if leaf.exact() {
                self.insert_over(table, &mut leaf, row, on_duplicate)?
            } else {
                self.insert_new(table, &mut leaf, row, size)?
            };
            match attempt {
                Attempt::Done(()) => return Ok(()),
                Attempt::Wait(wait) => {
                    drop(leaf);
                    self.wait(wait)?;
                    leaf = tree.write(&kernel.store, row.key)?;
                }
                Attempt::NoRoom => {
                    drop(leaf);
                    leaf = tree.make_room(&kernel.store, row.key, size + SLOT_SIZE)?;
                }
            }
        }
    }

    /// No record has the key.
    fn insert_new(
        &mut self,
        table: &Table,
        leaf: &mut LeafWrite<'_>,
        row: NewRow<'_>,
        size: usize,
    ) -> Result<Attempt<()>, RowError> {
        if !leaf.has_room(size)? {
            return Ok(Attempt::NoRoom);
        }
        let index = table.spec().indexes[0].id;
        let mut gap = std::mem::take(&mut self.t.scratch.gap);
        let gap_found = self.enter_gap(index, leaf, &mut gap);
        let result = match gap_found {
            Ok(Ok(successor)) => {
                let done = self.log_insert(table, leaf, row, None);
                if let (Ok(()), Some(exists)) = (&done, successor) {
                    self.kernel.locks.inherit_on_insert(gap_key(index, exists.then_some(&gap)), row.key);
                }
                done.map(Attempt::Done)
            }
            Ok(Err(wait)) => Ok(Attempt::Wait(wait)),
            Err(error) => Err(error),
        };
        self.t.scratch.gap = gap;
        result
    }

    /// Asks for the gap at the leaf's position. `Ok(None)`: no gap of the index is locked; `Ok(Some(exists))`: the successor, if
    /// it exists, is in `gap`.
    pub(super) fn enter_gap(
        &mut self,
        index: base::IndexId,
        leaf: &LeafWrite<'_>,
        gap: &mut Vec<u8>,
    ) -> Result<Result<Option<bool>, Wait>, RowError> {
        if !self.kernel.locks.gaps_locked(index) {
            return Ok(Ok(None));
        }
        let exists = leaf.next_key(gap)?;
        Ok(match self.may_insert_before(gap_key(index, exists.then_some(gap)))? {
            Some(wait) => Err(wait),
            None => Ok(Some(exists)),
        })
    }

    /// A record with the key is there, live or delete-marked.
    fn insert_over(
        &mut self,
        table: &Table,
        leaf: &mut LeafWrite<'_>,
        row: NewRow<'_>,
        on_duplicate: Strength,
    ) -> Result<Attempt<()>, RowError> {
        let (old, old_len) = {
            let record = leaf.record()?;
            (Version::of(&record), record.body.len())
        };
        let at = LockKey::entry(table.spec().indexes[0].id, row.key);
        let writer = self.other_writer(old.trx);
        if !old.is_deleted() {
            return match self.request(at, LockMode::record(on_duplicate), writer, WaitMode::Wait)? {
                RowLock::MustWait(wait) => Ok(Attempt::Wait(wait)),
                _ => Err(RowError::DuplicateKey { index: 0 }),
            };
        }
        if let Some(wait) = self.lock_for_change(at, writer)? {
            return Ok(Attempt::Wait(wait));
        }
        if row.stored.len() > old_len && !leaf.can_grow(row.stored.len() - old_len)? {
            return Ok(Attempt::NoRoom);
        }
        self.log_insert(table, leaf, row, Some(old)).map(Attempt::Done)
    }

    fn log_insert(
        &mut self,
        table: &Table,
        leaf: &mut LeafWrite<'_>,
        row: NewRow<'_>,
        over: Option<Version>,
    ) -> Result<(), RowError> {
        let mark = self.row_mark(table, Marked::Written)?;
        let (trx, previous, slot) = (self.t.id, self.t.last, leaf.slot());
        let (flags, stamp) = (row.flags, Stamp::Own(trx));
        let mut old_body = std::mem::take(&mut self.t.scratch.body);
        old_body.clear();
        let (mut log_flags, mut over_deleted) = (row.log_flags | mark.flags, None);
        let op = match over {
            None => PageOp::InsertRow { slot, flags, stamp, key: row.key, body: row.stored },
            Some(old) => {
                let keeps = self.keep_deleted_body(old, leaf, &mut old_body)?;
                let body = keeps.then_some(&old_body[..]);
                over_deleted =
                    Some(OverDeleted { version: self.previous_version(table, old), key: row.key, body });
                log_flags |= if old.has_overflow() { row_flags::OVERFLOW_BEFORE } else { 0 };
                PageOp::ReplaceRow { slot, flags, stamp, body: row.stored }
            }
        };
        let (id, version) = (table.spec().id, table.spec().version);
        let record = leaf.log(op, |part| {
            Record::RowInsert(RowInsert {
                trx,
                previous,
                table: id,
                table_version: version,
                announce: mark.announce(),
                flags: log_flags,
                part,
                over: over_deleted,
            })
        })?;
        self.row_appended(table, mark, record);
        self.t.scratch.body = old_body;
        Ok(())
    }

    /// How a record names the version it replaces. What is visible to everybody needs no way behind it.
    /// Where rows have several layouts the LSN says which one (T4).
    pub(super) fn previous_version(&self, table: &Table, old: Version) -> PreviousVersion {
        let needless = self.is_settled(old) && table.spec().formats.is_empty();
        PreviousVersion { trx: old.trx, roll: if needless { Lsn::NONE } else { old.roll } }
    }

    fn is_settled(&self, version: Version) -> bool {
        version.trx < self.kernel.trxs.table().watermark()
    }

    /// Must the insert over a deleted row keep the row's body? Not when nobody can ask for it, nor when the delete's record has it.
    fn keep_deleted_body(
        &mut self,
        old: Version,
        leaf: &LeafWrite<'_>,
        body: &mut Vec<u8>,
    ) -> Result<bool, RowError> {
        if old.has_overflow() {
            // Its chains must be found again, to be given back.
            self.t.leaves_garbage = true;
            body.extend_from_slice(leaf.record()?.body);
            return Ok(true);
        }
        if old.roll.is_none() || self.is_settled(old) {
            return Ok(false);
        }
        let mut buffer = std::mem::take(&mut self.t.scratch.record);
        let read = read_record(self.kernel, old.roll, &mut buffer);
        let has_it = read.is_ok()
            && matches!(
                Record::decode(old.roll, &buffer)?,
                Record::RowDelete(RowDelete { before: Some(_), .. })
            );
        self.t.scratch.record = buffer;
        read?;
        if !has_it {
            body.extend_from_slice(leaf.record()?.body);
        }
        Ok(!has_it)
    }
}
