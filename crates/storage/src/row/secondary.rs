//! Entries of secondary indexes: insert, unmark, delete-mark, and uniqueness.
//!
//! # Uniqueness
//! Entries with equal index columns stand side by side, told apart by the clustered key. An insert has the leaf of its entry
//! latched exclusively. If both neighbours are on this leaf and have other columns, there is no equal and nobody can put one
//! there meanwhile. Else the equals are looked for under a stripe: a mutex chosen by the columns' hash, which every insert of equal
//! columns that does not have its neighbours on its leaf takes. (If one insert sees foreign neighbours on its leaf, the place of
//! every equal is on that same leaf, so the latch does for both.)
//!
//! An equal that is live, or that an active transaction has delete-marked, is locked: shared next-key (exclusive for REPLACE and the
//! like), after waiting for the active one. If it is live then, it is a duplicate.
//!
//! # Locking order
//! Stripe, leaf of the secondary index, leaf of the clustered index. Nobody asks for a secondary leaf with a clustered one latched.

use base::TrxId;
use log_format::record::{Record, SecIndex};
use page_format::{PageOp, SLOT_SIZE, record_flags};

use super::delete::missing_entry;
use super::insert::Attempt;
use super::keys::{KEY_SIZE_MAX, clustered_part, has_null, secondary_key};
use super::lock_row::{RowLock, gap_key};
use super::read::unfold;
use super::version::{Version, step_back};
use super::{RowError, Strength, WaitMode};
use crate::btree::{LeafRead, LeafWrite, Seek};
use crate::lock::{LockKey, LockMode, Wait};
use crate::table::{Table, TableSpec};
use crate::trx::Work;

/// A new entry: its key, and how many bytes of it are the columns that must be unique, if they must.
#[derive(Clone, Copy)]
struct Entry<'a> {
    index: usize,
    key: &'a [u8],
    unique: Option<&'a [u8]>,
    on_duplicate: Strength,
}

impl Work<'_> {
    /// Inserts the entry of a row in one secondary index.
    pub(super) fn insert_entry_of(
        &mut self,
        table: &Table,
        index: usize,
        body: &[u8],
        clustered: &[u8],
        on_duplicate: Strength,
    ) -> Result<(), RowError> {
        let mut key = std::mem::take(&mut self.t.scratch.new_key);
        key.clear();
        let result = secondary_key(table.spec(), index, body, clustered, &mut key)
            .map_err(RowError::from)
            .and_then(|own| {
                if key.len() > KEY_SIZE_MAX {
                    return Err(RowError::KeyTooLong { bytes: key.len() });
                }
                let unique = table.spec().indexes[index].unique && !has_null(table.spec(), index, body)?;
                let unique = unique.then_some(&key[..own]);
                self.insert_entry(table, Entry { index, key: &key, unique, on_duplicate })
            });
        self.t.scratch.new_key = key;
        result
    }

    fn insert_entry(&mut self, table: &Table, entry: Entry<'_>) -> Result<(), RowError> {
        let (kernel, tree) = (self.kernel, table.tree(entry.index));
        let mut leaf = tree.write(&kernel.store, entry.key)?;
        loop {
            // Looked at under each latch: a split or a wait may have brought others near.
            if let Some(own) = entry.unique
                && !neighbours_differ(&leaf, own)?
            {
                drop(leaf);
                return self.insert_unique(table, entry, own);
            }
            match self.put_entry(table, &mut leaf, entry)? {
                Attempt::Done(()) => return Ok(()),
                Attempt::NoRoom => {
                    drop(leaf);
                    leaf = tree.make_room(&kernel.store, entry.key, entry.key.len() + 1 + SLOT_SIZE)?;
                }
                Attempt::Wait(wait) => {
                    drop(leaf);
                    self.wait(wait)?;
                    leaf = tree.write(&kernel.store, entry.key)?;
                }
            }
        }
    }

    /// Under the stripe of the columns: looks for equals, then inserts.
    fn insert_unique(&mut self, table: &Table, entry: Entry<'_>, own: &[u8]) -> Result<(), RowError> {
        let kernel = self.kernel;
        let tree = table.tree(entry.index);
        let hash = stripe_hash(tree.index(), own);
        loop {
            let stripe = kernel.unique_stripe(hash);
            if let Some(wait) = self.find_duplicate(table, entry, own)? {
                drop(stripe);
                self.wait(wait)?;
                continue;
            }
            let mut leaf = tree.write(&kernel.store, entry.key)?;
            let mut attempt = self.put_entry(table, &mut leaf, entry)?;
            while matches!(attempt, Attempt::NoRoom) {
                drop(leaf);
                leaf = tree.make_room(&kernel.store, entry.key, entry.key.len() + 1 + SLOT_SIZE)?;
                attempt = self.put_entry(table, &mut leaf, entry)?;
            }
            drop(leaf);
            drop(stripe);
            match attempt {
                Attempt::Wait(wait) => self.wait(wait)?,
                _ => return Ok(()),
            }
        }
    }

    /// Looks at every entry with equal columns. An error when one is a duplicate, a wait when one may become one.
    fn find_duplicate(
        &mut self,
        table: &Table,
        entry: Entry<'_>,
        own: &[u8],
    ) -> Result<Option<Wait>, RowError> {
        let kernel = self.kernel;
        let mut leaf = table.tree(entry.index).seek(&kernel.store, Seek::AtLeast(own))?;
        while leaf.is_valid() {
            let record = leaf.record()?;
            if !record.key.starts_with(own) {
                break;
            }
            let writer = self.entry_writer(table, entry.index, record.key, leaf.max_trx())?;
            let live = !record.is_deleted();
            if live || writer.is_some() {
                let at = LockKey::entry(table.spec().indexes[entry.index].id, record.key);
                let mode = LockMode::next_key(entry.on_duplicate);
                match self.request(at, mode, writer, WaitMode::Wait)? {
                    RowLock::MustWait(wait) => return Ok(Some(wait)),
                    _ if live => return Err(RowError::DuplicateKey { index: entry.index }),
                    _ => {}
                }
            }
            if !leaf.move_next()? {
                break;
            }
        }
        Ok(None)
    }

    /// Inserts the entry, or unmarks it when it is there, delete-marked.
    fn put_entry(
        &mut self,
        table: &Table,
        leaf: &mut LeafWrite<'_>,
        entry: Entry<'_>,
    ) -> Result<Attempt<()>, RowError> {
        let id = table.spec().indexes[entry.index].id;
        let (trx, slot) = (self.t.id, leaf.slot());
        if leaf.exact() {
            if !leaf.record()?.is_deleted() {
                return Err(missing_entry(table, entry.index));
            }
            if let Some(wait) = self.lock_for_change(LockKey::entry(id, entry.key), None)? {
                return Ok(Attempt::Wait(wait));
            }
            let op = PageOp::MarkKey { slot, deleted: false, trx };
            self.log_entry(table, leaf, entry.index, entry.key, op)?;
            return Ok(Attempt::Done(()));
        }
        if !leaf.has_room(entry.key.len() + 1)? {
            return Ok(Attempt::NoRoom);
        }
        let mut gap = std::mem::take(&mut self.t.scratch.gap);
        let entered = self.enter_gap(id, leaf, &mut gap);
        let result = match entered {
            Ok(Ok(successor)) => {
                let op = PageOp::InsertKey { slot, deleted: false, trx, key: entry.key };
                let done = self.log_entry(table, leaf, entry.index, entry.key, op);
                if let (Ok(()), Some(exists)) = (&done, successor) {
                    self.kernel.locks.inherit_on_insert(gap_key(id, exists.then_some(&gap)), entry.key);
                }
                done.map(Attempt::Done)
            }
            Ok(Err(wait)) => Ok(Attempt::Wait(wait)),
            Err(error) => Err(error),
        };
        self.t.scratch.gap = gap;
        result
    }

    fn log_entry<'a>(
        &mut self,
        table: &Table,
        leaf: &mut LeafWrite<'_>,
        index: usize,
        key: &'a [u8],
        op: PageOp<'a>,
    ) -> Result<(), RowError> {
        let (trx, previous, index) = (self.t.id, self.t.last, table.spec().indexes[index].id);
        let record = leaf.log(op, |part| Record::SecIndex(SecIndex { trx, previous, index, part, key }))?;
        self.t.appended(record);
        Ok(())
    }

    /// Delete-marks a live entry of a row that this transaction has locked.
    pub(super) fn mark_entry(&mut self, table: &Table, index: usize, key: &[u8]) -> Result<(), RowError> {
        let tree = table.tree(index);
        loop {
            let mut leaf = tree.write(&self.kernel.store, key)?;
            if !leaf.exact() || leaf.record()?.is_deleted() {
                return Err(missing_entry(table, index));
            }
            match self.lock_for_change(LockKey::entry(tree.index(), key), None)? {
                Some(wait) => {
                    drop(leaf);
                    self.wait(wait)?;
                }
                None => {
                    let op = PageOp::MarkKey { slot: leaf.slot(), deleted: true, trx: self.t.id };
                    self.log_entry(table, &mut leaf, index, key, op)?;
                    self.t.leaves_garbage = true;
                    return Ok(());
                }
            }
        }
    }

    /// The other active transaction that has inserted, marked or unmarked an entry, if one has. Under the latch of its leaf, whose
    /// max trx id is given: when that one is settled nobody has.
    pub(super) fn entry_writer(
        &mut self,
        table: &Table,
        index: usize,
        entry: &[u8],
        max_trx: TrxId,
    ) -> Result<Option<TrxId>, RowError> {
        let kernel = self.kernel;
        if max_trx < kernel.trxs.table().watermark() {
            return Ok(None);
        }
        let key = clustered_part(entry)?;
        let leaf = table.clustered().seek(&kernel.store, Seek::AtLeast(key))?;
        if !leaf.is_valid() || leaf.key()? != key {
            return Ok(None);
        }
        let record = leaf.record()?;
        let Some(writer) = self.other_writer(record.trx) else { return Ok(None) };
        let (version, body) = (Version::of(&record), record.body.to_vec());
        drop(leaf);
        self.changed_entry(table, index, entry, version, body).map(|changed| changed.then_some(writer))
    }

    /// Did the transaction that made `version` change whether the row has the entry? Compares before and after it.
    fn changed_entry(
        &mut self,
        table: &Table,
        index: usize,
        entry: &[u8],
        mut version: Version,
        mut body: Vec<u8>,
    ) -> Result<bool, RowError> {
        let (kernel, writer) = (self.kernel, version.trx);
        let key = clustered_part(entry)?;
        let now = has_entry(self, table, index, entry, version, &body)?;
        let mut buffer = Vec::new();
        while version.trx == writer {
            if !step_back(kernel, key, &mut version, &mut body, &mut buffer)? {
                return Ok(now);
            }
            // A row that it changed and changed back still has a marked or unmarked entry in between.
            if has_entry(self, table, index, entry, version, &body)? != now {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Does a version of a row have this entry in the index?
pub(crate) fn has_entry(
    work: &Work<'_>,
    table: &Table,
    index: usize,
    entry: &[u8],
    version: Version,
    stored: &[u8],
) -> Result<bool, RowError> {
    version_has_entry(work.kernel, table, index, entry, version, stored)
}

/// Same, without a transaction.
pub(crate) fn version_has_entry(
    kernel: &crate::kernel::Kernel,
    table: &Table,
    index: usize,
    entry: &[u8],
    version: Version,
    stored: &[u8],
) -> Result<bool, RowError> {
    if version.flags & record_flags::DELETED != 0 {
        return Ok(false);
    }
    let spec = table.spec();
    if version.has_overflow() || spec.old_format(version.roll).is_some() {
        let mut body = stored.to_vec();
        unfold(kernel, table, version, &mut body)?;
        return whole_has_entry(spec, index, entry, &body);
    }
    whole_has_entry(spec, index, entry, stored)
}

/// Is this the entry of a row whose body is whole and of the newest layout?
pub(super) fn whole_has_entry(
    spec: &TableSpec,
    index: usize,
    entry: &[u8],
    body: &[u8],
) -> Result<bool, RowError> {
    let mut key = Vec::with_capacity(entry.len());
    secondary_key(spec, index, body, clustered_part(entry)?, &mut key)?;
    Ok(key == entry)
}

/// Are both neighbours of the position on the leaf, and of other columns?
fn neighbours_differ(leaf: &LeafWrite<'_>, own: &[u8]) -> Result<bool, RowError> {
    let (view, slot) = (leaf.view()?, usize::from(leaf.slot()));
    let at_left_end = slot == 0 && view.left() != base::PageNo::NONE;
    let at_right_end = slot == view.slots() && view.right() != base::PageNo::NONE;
    if at_left_end || at_right_end {
        return Ok(false);
    }
    let before = slot > 0 && view.key(slot - 1)?.starts_with(own);
    let after = slot < view.slots() && view.key(slot)?.starts_with(own);
    Ok(!before && !after)
}

fn stripe_hash(index: base::IndexId, own: &[u8]) -> u64 {
    use std::hash::{BuildHasher, Hasher};
    let mut hasher = foldhash::fast::FixedState::with_seed(0x756e_6971_7565).build_hasher();
    hasher.write_u64(index.0);
    hasher.write(own);
    hasher.finish()
}

/// The entry at a cursor belongs to the range of equal columns.
pub(super) fn at_equal(leaf: &LeafRead<'_>, own: &[u8]) -> Result<bool, RowError> {
    Ok(leaf.is_valid() && leaf.key()?.starts_with(own))
}
