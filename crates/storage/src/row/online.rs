//! Building secondary indexes beside writers: CREATE INDEX, ALTER TABLE ... ADD INDEX.
//!
//! # Course
//! 1. Nobody has uncommitted changes in the table (its name is locked exclusively for a moment): a read view is taken. From here on
//!    others write, and know nothing of the new index.
//! 2. The entries of all rows that the view sees are sorted and built bottom up, each index in a tree that only this build knows.
//! 3. Catching up: a newer view is taken, and the log between the two tells the keys that changed. Each such row is looked up in both
//!    views; its entries before are taken out, its entries now are put in. Then the trees hold what the newer view sees. This is
//!    repeated until little is left, and a last time with the name locked exclusively again.
//!
//! # Invariants
//! 1. After each round the trees hold exactly the entries of the rows that `view` sees, live. So rollbacks need no care: what did not
//!    commit was never looked at.
//! 2. A changed key whose transaction the newer view does not see is kept for the next round: its record will not be read again.
//! 3. Every view is a committed state, in which a unique index has no duplicates; inside a round there may be some, for a moment. So
//!    keys that had an equal beside them are looked at when the round is complete.
//! 4. A read view older than the last one must not use the index (`IndexSpec::since`).
//!
//! # Crash
//! At any step the trees are in spaces without a dictionary entry, which go at the next start. All changes of them are redo only.

use std::sync::Arc;

use base::{Lsn, TrxId};
use log_format::record::Record;
use page_format::{PageOp, SLOT_SIZE};

use super::bulk::{LoadError, SORT_BYTES};
use super::entries::{self, Entries, Stopped};
use super::keys::{KEY_SIZE_MAX, clustered_part, has_null, secondary_key};
use super::log_walk::LogWalk;
use super::{Direction, KeyRange, ReadMode, RowBuf, RowError};
use crate::btree::Seek;
use crate::kernel::Kernel;
use crate::table::Table;
use crate::trx::{Fate, Isolation, Trx, TrxOptions};

/// Bytes of changed keys that are gathered before they are worked through.
const BATCH_BYTES: usize = 8 << 20;

/// A key that some record changed, and whose transaction may not be settled.
struct Changed {
    trx: TrxId,
    key: Vec<u8>,
}

/// A build in progress. Dropped, it leaves trees that nobody names.
pub struct OnlineBuild {
    kernel: Arc<Kernel>,
    /// The table with its new indexes; nobody else has this one.
    table: Arc<Table>,
    /// Positions of the new indexes.
    indexes: Vec<usize>,
    /// What the trees hold.
    view: Trx,
    walk: LogWalk,
    waiting: Vec<Changed>,
    /// Entries that had an equal beside them when they came in: index, own columns.
    suspects: Vec<(usize, Vec<u8>)>,
}

fn newest_view(kernel: &Arc<Kernel>) -> (Trx, Lsn) {
    let mut view = kernel.begin(TrxOptions { isolation: Isolation::RepeatableRead, ..TrxOptions::default() });
    view.state.use_newest();
    let lsn = view.take_snapshot();
    (view, lsn)
}

impl OnlineBuild {
    /// Step 1. `table` is the table as it will be, with empty trees at `indexes`.
    pub fn begin(kernel: &Arc<Kernel>, table: &Arc<Table>, indexes: Vec<usize>) -> Self {
        let (view, lsn) = newest_view(kernel);
        Self {
            kernel: Arc::clone(kernel),
            table: Arc::clone(table),
            indexes,
            view,
            walk: LogWalk::from(&kernel.store.log, lsn),
            waiting: Vec::new(),
            suspects: Vec::new(),
        }
    }

    /// Step 2. `stop` is asked now and then.
    pub fn build(&mut self, stop: &mut dyn FnMut() -> bool) -> Result<(), LoadError> {
        for index in self.indexes.clone() {
            let (table, view) = (&self.table, &mut self.view);
            let mut gather =
                |entries: &mut Entries<'_>, stop: &mut dyn FnMut() -> bool| -> Result<(), RowError> {
                    let mode = ReadMode::Consistent;
                    let mut scan = view.scan(table, 0, KeyRange::all(), Direction::Forward, mode).large();
                    let (mut row, mut count) = (RowBuf::new(), 0u64);
                    while scan.next(view, &mut row)? {
                        entries.offer(&row.body, &row.key)?;
                        count += 1;
                        if count.is_multiple_of(4096) && stop() {
                            return Err(RowError::Interrupted);
                        }
                    }
                    Ok(())
                };
            let what = (table.spec(), index, SORT_BYTES);
            let built = entries::build(&self.kernel.store, table.tree(index), what, &mut gather, stop);
            built.map_err(|stopped| match stopped {
                Stopped::Duplicate(entry) => self.duplicate(index, &entry),
                Stopped::Row(error) => LoadError::Row(error),
            })?;
        }
        Ok(())
    }

    /// Step 3, one round; answers how many changed keys it met. A duplicate is one of the state that the trees are brought to.
    pub fn catch_up(&mut self, stop: &mut dyn FnMut() -> bool) -> Result<usize, LoadError> {
        let (mut newer, to) = newest_view(&self.kernel);
        let log = Arc::clone(&self.kernel.store.log);
        let mut walk = std::mem::replace(&mut self.walk, LogWalk::from(&log, to));
        let (id, mut met) = (self.table.spec().id, 0);
        let mut keys = std::mem::take(&mut self.waiting);
        let mut bytes: usize = keys.iter().map(|c| c.key.len()).sum();
        walk.read_to(&log, to, &mut |lsn, record| {
            let (trx, table, key) = match Record::decode(lsn, record)? {
                Record::RowInsert(r) => (r.trx, r.table, r.key().to_vec()),
                Record::RowUpdate(r) => (r.trx, r.table, r.key.to_vec()),
                Record::RowDelete(r) => (r.trx, r.table, r.key.to_vec()),
                _ => return Ok(()),
            };
            if table != id {
                return Ok(());
            }
            met += 1;
            bytes += key.len() + size_of::<Changed>();
            keys.push(Changed { trx, key });
            if bytes > BATCH_BYTES {
                self.apply(&mut newer, to, &mut keys)?;
                bytes = 0;
                if stop() {
                    return Err(RowError::Interrupted);
                }
            }
            Ok(())
        })?;
        self.apply(&mut newer, to, &mut keys)?;
        self.walk = walk;
        self.view = newer;
        self.check_suspects()?;
        Ok(met)
    }

    /// Brings the entries of changed rows from `view` to `newer`.
    fn apply(&mut self, newer: &mut Trx, to: Lsn, keys: &mut Vec<Changed>) -> Result<(), RowError> {
        keys.sort_unstable_by(|a, b| a.key.cmp(&b.key));
        let mut last: Option<Vec<u8>> = None;
        let (mut old, mut new) = (Vec::new(), Vec::new());
        for changed in keys.drain(..) {
            let seen = match self.kernel.trxs.table().fate(changed.trx) {
                Fate::Active { .. } => false,
                Fate::Committed(commit) => commit < to,
                Fate::RolledBack | Fate::Old => true,
            };
            if !seen {
                self.waiting.push(changed);
                continue;
            }
            if last.as_ref() == Some(&changed.key) {
                continue;
            }
            let before = self.view.work().lookup(&self.table, &changed.key, &mut old)?.is_some();
            let after = newer.work().lookup(&self.table, &changed.key, &mut new)?.is_some();
            self.replace(&changed.key, before.then_some(&old), after.then_some(&new))?;
            last = Some(changed.key);
        }
        Ok(())
    }

    fn replace(&mut self, key: &[u8], old: Option<&Vec<u8>>, new: Option<&Vec<u8>>) -> Result<(), RowError> {
        let table = Arc::clone(&self.table);
        for index in self.indexes.clone() {
            let (mut before, mut after) = (Vec::new(), Vec::new());
            if let Some(body) = old {
                secondary_key(table.spec(), index, body, key, &mut before)?;
            }
            let mut own = 0;
            if let Some(body) = new {
                own = secondary_key(table.spec(), index, body, key, &mut after)?;
                if has_null(table.spec(), index, body)? {
                    own = 0;
                }
            }
            if before == after {
                continue;
            }
            if !before.is_empty() {
                self.remove(index, &before)?;
            }
            if !after.is_empty() {
                self.insert(index, &after, own)?;
            }
        }
        Ok(())
    }

    /// Takes an entry out, if it is there: a round may meet a key twice.
    fn remove(&self, index: usize, entry: &[u8]) -> Result<(), RowError> {
        let (store, tree) = (&self.kernel.store, self.table.tree(index));
        let mut leaf = tree.write(store, entry)?;
        if !leaf.exact() {
            return Ok(());
        }
        leaf.log_system(PageOp::Remove { slot: leaf.slot(), count: 1 })?;
        let sparse = leaf.is_sparse()?;
        drop(leaf);
        if sparse {
            tree.shrink(store, entry)?;
        }
        Ok(())
    }

    /// Puts an entry in, if it is not there. The first `own` bytes must be unique, in a unique index; 0 = nothing must.
    fn insert(&mut self, index: usize, entry: &[u8], own: usize) -> Result<(), RowError> {
        if entry.len() > KEY_SIZE_MAX {
            return Err(RowError::KeyTooLong { bytes: entry.len() });
        }
        let (store, tree) = (&self.kernel.store, self.table.tree(index));
        let mut leaf = tree.write(store, entry)?;
        if leaf.exact() {
            return Ok(());
        }
        if !leaf.has_room(entry.len() + 1)? {
            drop(leaf);
            leaf = tree.make_room(store, entry, entry.len() + 1 + SLOT_SIZE)?;
        }
        let slot = leaf.slot();
        leaf.log_system(PageOp::InsertKey { slot, deleted: false, trx: TrxId(0), key: entry })?;
        drop(leaf);
        if own > 0 && self.table.spec().indexes[index].unique && self.equals(index, &entry[..own])?.len() > 1
        {
            self.suspects.push((index, entry[..own].to_vec()));
        }
        Ok(())
    }

    /// The first two entries with these columns.
    fn equals(&self, index: usize, own: &[u8]) -> Result<Vec<Vec<u8>>, RowError> {
        let mut found = Vec::new();
        let mut leaf = self.table.tree(index).seek(&self.kernel.store, Seek::AtLeast(own))?;
        while leaf.is_valid() && found.len() < 2 && leaf.key()?.starts_with(own) {
            found.push(leaf.key()?.to_vec());
            if !leaf.move_next()? {
                break;
            }
        }
        Ok(found)
    }

    fn check_suspects(&mut self) -> Result<(), LoadError> {
        for (index, own) in std::mem::take(&mut self.suspects) {
            if let [_, second] = &self.equals(index, &own)?[..] {
                return Err(self.duplicate(index, &second.clone()));
            }
        }
        Ok(())
    }

    fn duplicate(&mut self, index: usize, entry: &[u8]) -> LoadError {
        let mut body = Vec::new();
        let found = clustered_part(entry)
            .map_err(RowError::from)
            .and_then(|key| self.view.work().lookup(&self.table, key, &mut body));
        match found {
            Ok(_) => LoadError::Duplicate { index, body },
            Err(e) => LoadError::Row(e),
        }
    }

    /// Read views below this LSN must not use the new indexes.
    pub fn since(&self) -> Lsn {
        self.view.view().map_or(Lsn::NONE, crate::trx::ReadView::lsn)
    }
}
