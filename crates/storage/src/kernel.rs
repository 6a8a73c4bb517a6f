//! What transactions, purge and recovery share: pages and log, the transaction system, the lock table.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use base::{Lsn, TrxId};
use env::Clock;

use crate::lock::{LockTable, Owners};
use crate::mtr::Store;
use crate::trx::{CommittedTrx, Slots, TrxSystem};

/// Mutexes that serialise inserts of one unique secondary key, by hash; see `row::secondary`.
const UNIQUE_STRIPES: usize = 512;

/// One server's engine without its background threads.
pub struct Kernel {
    pub store: Store,
    pub trxs: TrxSystem,
    pub locks: LockTable,
    pub clock: Arc<dyn Clock>,
    unique: Box<[Mutex<()>]>,
    /// Purge has finished every commit below.
    purged: AtomicU64,
    /// The log below is needed by no snapshot, rollback or purge.
    needed_log: AtomicU64,
    /// Log bytes that rolling back the running large transactions may take.
    undo_debt: AtomicU64,
}

/// The commits that purge has to work through; made once, with the kernel.
#[derive(Debug)]
pub struct PurgeQueue(pub(crate) Receiver<CommittedTrx>);

impl Kernel {
    /// `next` is the first trx id to be given out: above everything in pages and log.
    pub fn new(store: Store, clock: Arc<dyn Clock>, next: TrxId) -> (Arc<Self>, PurgeQueue) {
        let slots = Arc::new(Slots::new());
        let locks = LockTable::new(Arc::clone(&clock), Arc::clone(&slots) as Arc<dyn Owners>);
        let (trxs, queue) = TrxSystem::new(Arc::clone(&store.log), slots, next);
        let unique = (0..UNIQUE_STRIPES).map(|_| Mutex::new(())).collect();
        let kernel = Self {
            store,
            trxs,
            locks,
            clock,
            unique,
            purged: AtomicU64::new(0),
            needed_log: AtomicU64::new(0),
            undo_debt: AtomicU64::new(0),
        };
        (Arc::new(kernel), PurgeQueue(queue))
    }

    /// A transaction's rollback may take so many more bytes of log; answers what all of them may take.
    pub(crate) fn owe(&self, bytes: u64) -> u64 {
        self.undo_debt.fetch_add(bytes, Ordering::Relaxed) + bytes
    }

    /// A transaction that owed so much has ended.
    pub(crate) fn settle(&self, bytes: u64) {
        self.undo_debt.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Serialises inserts of equal unique keys. Taken before any latch, never while waiting for a row lock.
    pub(crate) fn unique_stripe(&self, hash: u64) -> MutexGuard<'_, ()> {
        // It guards no data: a panic of another thread has left nothing half done in it.
        self.unique[hash as usize % UNIQUE_STRIPES].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Purge has nothing left to do for commits before this LSN; a checkpoint stores it.
    pub fn purge_position(&self) -> Lsn {
        Lsn(self.purged.load(Ordering::Acquire))
    }
    /// Only purge, and recovery before it starts.
    pub fn set_purge_position(&self, to: Lsn) {
        self.purged.fetch_max(to.0, Ordering::AcqRel);
    }
    /// The log must be kept from here for old versions, rollback and purge; the checkpoint and replicas have needs of their own.
    pub fn needed_log(&self) -> Lsn {
        Lsn(self.needed_log.load(Ordering::Acquire))
    }
    pub(crate) fn set_needed_log(&self, from: Lsn) {
        self.needed_log.fetch_max(from.0, Ordering::AcqRel);
    }
}

impl std::fmt::Debug for Kernel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Kernel").field("trxs", &self.trxs).finish_non_exhaustive()
    }
}
