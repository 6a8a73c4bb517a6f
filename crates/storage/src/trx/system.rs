//! The transaction system: begins transactions, makes read views, tells purge how far it may go.
//!
//! # Invariants
//! Y1. `limit` is at or below every registered snapshot and every snapshot to come. `announced` is what readers check
//!     against (slots' protocol P1, P2); it may be above a snapshot for a moment, `limit` never is.
//! Y2. Every commit whose record starts below the log's ready LSN is in the transaction table and in the purge queue:
//!     both are done before the ready LSN can pass the record.
//! Y3. The watermark of the table follows `limit`, so "old" means visible to everybody.
//! Y4. Snapshots do not go back when commits begin to wait for their sync: everything that was visible before is announced, and who looks
//!     at the log's end meanwhile looks at the policy again.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};

use base::{Lsn, TrxId};
use log::{FlushPolicy, Log};

use crate::sync::Mutex;

use super::slots::{ActiveTrx, Slot, Slots};
use super::table::TrxTable;
use super::view::ReadView;

/// A committed transaction that purge has to look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct CommittedTrx {
    /// Start of the commit record; the order of purge.
    pub commit: Lsn,
    pub id: TrxId,
    pub first: Lsn,
    pub last: Lsn,
    /// It has delete-marked something or replaced long values; else only the log's retention depends on it.
    pub leaves_garbage: bool,
}

pub struct TrxSystem {
    log: Arc<Log>,
    table: TrxTable,
    slots: Arc<Slots>,
    announced: AtomicU64,
    limit: AtomicU64,
    /// Commits at or above it are not to be seen by plain readers; see [`TrxSystem::ceiling`].
    ceiling: Arc<AtomicU64>,
    /// A commit is durable before its record is in the log: its group stands in a file of the binary log.
    decided_in_file: AtomicBool,
    advancing: Mutex<()>,
    queue: Sender<CommittedTrx>,
}

impl TrxSystem {
    /// A system whose next transaction gets `next`. The receiver belongs to purge.
    pub fn new(log: Arc<Log>, slots: Arc<Slots>, next: TrxId) -> (Self, Receiver<CommittedTrx>) {
        let (queue, receiver) = channel();
        let system = Self {
            log,
            table: TrxTable::new(next),
            slots,
            announced: AtomicU64::new(0),
            limit: AtomicU64::new(0),
            ceiling: Arc::new(AtomicU64::new(u64::MAX)),
            decided_in_file: AtomicBool::new(false),
            advancing: Mutex::new(()),
            queue,
        };
        (system, receiver)
    }

    pub fn table(&self) -> &TrxTable {
        &self.table
    }
    pub fn slots(&self) -> &Arc<Slots> {
        &self.slots
    }

    /// Up to where a new snapshot sees. Plain readers must not see what a crash could lose; who has locked or written goes
    /// on from what the holders of the locks before him have committed.
    fn visible(&self, newest: bool) -> Lsn {
        if newest {
            return self.log.ready_lsn();
        }
        let end = loop {
            let policy = self.log.flush_policy();
            let durable = policy == FlushPolicy::Sync && !self.decided_in_file.load(Ordering::Relaxed);
            let end = if durable { self.log.durable_end() } else { self.log.ready_lsn() };
            // Y4.
            if self.log.flush_policy() == policy {
                break end;
            }
        };
        end.min(Lsn(self.ceiling.load(Ordering::SeqCst)))
    }

    /// Changes what commits wait for. What readers have seen stays visible, and is made durable soon.
    pub fn set_flush_policy(&self, policy: FlushPolicy) {
        self.log.set_flush_policy(policy);
        if policy != FlushPolicy::Sync {
            return;
        }
        let seen = self.log.ready_lsn();
        self.announced.fetch_max(seen.min(Lsn(self.ceiling.load(Ordering::SeqCst))).0, Ordering::SeqCst);
        self.log.ask_durable(seen);
    }

    /// From now on commits with events are decided by files of the binary log: their records need not be durable to be seen.
    pub fn decide_in_file(&self) {
        self.decided_in_file.store(true, Ordering::Relaxed);
    }

    /// Keeps plain readers from what is committed at or above an LSN, although it is durable: semi-synchronous commits that no
    /// replica has acknowledged. A snapshot never goes back, so the ceiling must be lowered before the commit is written.
    pub fn ceiling(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.ceiling)
    }

    /// Registers a snapshot in `slot`.
    pub(crate) fn take_view(&self, slot: &Slot, newest: bool) -> ReadView {
        loop {
            let announced = self.announced.load(Ordering::SeqCst);
            let lsn = self.visible(newest).max(Lsn(announced));
            slot.set_snapshot(lsn);
            if self.announced.load(Ordering::SeqCst) <= lsn.0 {
                return ReadView::new(lsn, self.table.watermark());
            }
        }
    }

    /// What is committed below is in every snapshot, taken or to come.
    pub fn purge_limit(&self) -> Lsn {
        Lsn(self.limit.load(Ordering::SeqCst))
    }

    /// Moves the purge limit and the watermark as far as the snapshots allow; returns the limit. Does nothing while another
    /// thread is at it.
    pub fn advance(&self) -> Lsn {
        if let Ok(_advancing) = self.advancing.try_lock() {
            let wanted = self.slots.oldest_snapshot(self.visible(false));
            self.announced.fetch_max(wanted.0, Ordering::SeqCst);
            // A reader that stored its snapshot without seeing the announcement is found now.
            let limit = self.slots.oldest_snapshot(wanted);
            self.limit.fetch_max(limit.0, Ordering::SeqCst);
            self.table.advance(self.purge_limit());
        }
        self.purge_limit()
    }

    /// Publishes a commit: to be called by the log between the reservation of the commit record and its readiness.
    pub(crate) fn publish_commit(&self, done: CommittedTrx) {
        self.table.commit(done.id, done.commit);
        // Purge ends last; when it is gone the server is going down and nobody needs the queue.
        let _ = self.queue.send(done);
    }
    /// Recovery: a commit that purge has not finished.
    pub(crate) fn adopt_committed(&self, done: CommittedTrx) {
        self.table.resurrect_committed(done.id, done.commit);
        let _ = self.queue.send(done);
    }
    pub(crate) fn publish_abort(&self, id: TrxId) {
        self.table.roll_back(id);
    }

    /// Writing transactions without an outcome, for a checkpoint. The caller must, in this order: take the reserved LSN as
    /// redo start candidate, wait until the ready LSN has reached it (so every commit below is published), scan the dirty
    /// pages, and call this. A slot's `last` is stored before the latches of the changed pages are released, so a record
    /// below the redo start is in the list or after it in the scan.
    pub fn active_transactions(&self) -> Vec<ActiveTrx> {
        let undecided = |t: &ActiveTrx| self.table.fate(t.id).is_active();
        self.slots.active().into_iter().filter(undecided).collect()
    }
}

impl std::fmt::Debug for TrxSystem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TrxSystem").field("purge_limit", &self.purge_limit()).finish_non_exhaustive()
    }
}
