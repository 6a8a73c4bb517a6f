//! Locking of rows and gaps by reads and writes.
//!
//! # Invariants
//! K1. A lock is asked for while the leaf of its key is latched; a wait begins after every latch and stripe is released.
//! K2. After a wait the row is looked for again: it may have changed, moved or gone.
//! K3. innodb_snapshot_isolation is checked once, when the lock is granted, against the version that the leaf then has.

use std::sync::Arc;

use base::{IndexId, TrxId};
use smallvec::SmallVec;

use super::{RowError, Strength, WaitMode};
use crate::lock::{LockKey, LockMode, OnConflict, Owner, Requested, Wait};
use crate::trx::{Fate, Isolation, Work};

/// How a request under a latch ended.
#[derive(Debug)]
pub(crate) enum RowLock {
    /// Held; `new` when it was not held before.
    Held { new: bool },
    /// Queued: release the latches and `wait`.
    MustWait(Wait),
    /// SKIP LOCKED: somebody else has it.
    Skip,
}

/// Locks that the latest read has added; READ COMMITTED gives them back for rows that do not match.
#[derive(Debug, Default)]
pub(crate) struct LatestLocks(SmallVec<[(IndexId, Vec<u8>, LockMode); 2]>);

impl LatestLocks {
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

impl Work<'_> {
    /// The active transaction, other than this one, that made a version.
    pub(crate) fn other_writer(&self, trx: TrxId) -> Option<TrxId> {
        let other = trx != self.t.id && self.kernel.trxs.table().fate(trx).is_active();
        other.then_some(trx)
    }

    fn owner_of(&self, trx: TrxId) -> Option<Arc<Owner>> {
        match self.kernel.trxs.table().fate(trx) {
            Fate::Active { slot: Some(slot) } => {
                use crate::lock::Owners;
                self.kernel.trxs.slots().owner(slot)
            }
            _ => None,
        }
    }

    /// Asks for a lock under the latch of its leaf. `writer` is the active transaction whose change locks the entry implicitly.
    pub(crate) fn request(
        &mut self,
        at: LockKey<'_>,
        mode: LockMode,
        writer: Option<TrxId>,
        wait: WaitMode,
    ) -> Result<RowLock, RowError> {
        self.t.use_newest();
        let holder = writer.and_then(|trx| Some((self.owner_of(trx)?, trx)));
        let implicit = holder.as_ref().map(|(owner, trx)| (owner, *trx));
        let on_conflict = if wait == WaitMode::Wait { OnConflict::Queue } else { OnConflict::Refuse };
        let owner = self.t.slot.owner();
        match self.kernel.locks.request(at, owner, mode, implicit, on_conflict) {
            Requested::Granted { new } => Ok(RowLock::Held { new }),
            Requested::Wait(wait) => Ok(RowLock::MustWait(wait)),
            Requested::Refused if wait == WaitMode::SkipLocked => Ok(RowLock::Skip),
            Requested::Refused => Err(RowError::NoWait),
        }
    }

    /// Same for a read whose lock may be given back row by row.
    pub(crate) fn request_read(
        &mut self,
        at: LockKey<'_>,
        mode: LockMode,
        writer: Option<TrxId>,
        wait: WaitMode,
    ) -> Result<RowLock, RowError> {
        let lock = self.request(at, mode, writer, wait)?;
        if let (RowLock::Held { new: true }, Some(key)) = (&lock, at.key)
            && self.t.options.isolation <= Isolation::ReadCommitted
        {
            self.t.latest_locks.0.push((at.index, key.to_vec(), mode));
        }
        Ok(lock)
    }

    /// Gives back what the latest read has locked.
    pub(crate) fn unlock_latest(&mut self) {
        for (index, key, mode) in std::mem::take(&mut self.t.latest_locks.0) {
            self.kernel.locks.release(LockKey::entry(index, &key), self.t.slot.owner(), mode);
        }
    }

    /// Locks the gap before an entry, or the end of the index. Never waits (M2).
    pub(crate) fn lock_gap(&mut self, at: LockKey<'_>, strength: Strength) -> Result<(), RowError> {
        self.request(at, LockMode::gap(strength), None, WaitMode::Wait).map(|_| ())
    }

    /// Sleeps until the request is granted or fails. No latch may be held.
    pub(crate) fn wait(&mut self, wait: Wait) -> Result<(), RowError> {
        let timeout = self.t.options.lock_wait_timeout;
        self.t.events.waited = true;
        Ok(self.kernel.locks.wait(self.t.slot.owner(), wait, timeout)?)
    }

    /// May this transaction change a key that is explicitly locked by others? Takes the lock itself when somebody has one.
    pub(crate) fn lock_for_change(
        &mut self,
        at: LockKey<'_>,
        writer: Option<TrxId>,
    ) -> Result<Option<Wait>, RowError> {
        if writer.is_none() && !self.kernel.locks.may_be_locked(at) {
            return Ok(None);
        }
        match self.request(at, LockMode::record(Strength::Exclusive), writer, WaitMode::Wait)? {
            RowLock::MustWait(wait) => Ok(Some(wait)),
            _ => Ok(None),
        }
    }

    /// May a new entry be put before `successor`? `None` when it may, else what to wait for.
    pub(crate) fn may_insert_before(&mut self, successor: LockKey<'_>) -> Result<Option<Wait>, RowError> {
        if !self.kernel.locks.may_be_locked(successor) {
            return Ok(None);
        }
        match self.request(successor, LockMode::INSERT_INTENTION, None, WaitMode::Wait)? {
            RowLock::MustWait(wait) => Ok(Some(wait)),
            _ => Ok(None),
        }
    }

    /// K3. `trx` made the version that has just been locked; it is not active any more, or it is this transaction.
    pub(crate) fn check_snapshot(&self, trx: TrxId) -> Result<(), RowError> {
        let options = &self.t.options;
        if !options.snapshot_isolation || options.isolation < Isolation::RepeatableRead {
            return Ok(());
        }
        match self.t.view() {
            Some(view) if !view.sees(trx, self.t.id, &self.kernel.trxs) => Err(RowError::SnapshotChanged),
            _ => Ok(()),
        }
    }
}

/// The key of a gap: the next key, or the end of the index.
pub(crate) fn gap_key(index: IndexId, next: Option<&[u8]>) -> LockKey<'_> {
    LockKey { index, key: next }
}
