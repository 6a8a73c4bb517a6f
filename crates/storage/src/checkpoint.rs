//! Checkpoints: where the next recovery begins, and how much log is kept.
//!
//! A checkpoint writes no pages; the page cleaner does that by the age of their changes. It records how far they have got:
//!
//! 1. `candidate` = the log's reserved LSN; wait (a few instructions of others) until the log is ready up to it.
//! 2. Sync the data files, then redo start = the lower of `candidate` and the oldest change that is not durable in a file.
//! 3. Ask for the facts: active transactions, ids, purge position, GTIDs.
//! 4. Append the Checkpoint record and wait until it is durable.
//! 5. Write the control block. 6. Let go of the log that nobody needs.
//!
//! # Invariants
//! K1. A page that becomes dirty after 2 looked has its record at or above `candidate`: it was marked before its record was appended.
//! K2. A commit below `candidate` is in the transaction table before 3 (the ready LSN waited for its publication). A transaction that
//!     is active at 3 is in the record; one that ends after 3 has its outcome in the log above `candidate`.
//! K3. The log is kept from the scan start, for active transactions back to their first record, and as far as anybody else says:
//!     for the newest block and for the one before, so that either will do (C2).
//!
//! # A crash
//! Before 5: the older block counts, its log is there; the Checkpoint record that no block names is not asked about transactions.
//! Between 5 and 6: some log too much is kept.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use base::Lsn;
use log::{FrameStart, Log};
use log_format::record::{ActiveTrx, Checkpoint, GtidState, NextIds, Record};

use crate::engine::EngineError;
use crate::engine::control::{ControlBlock, ControlFile};
use crate::pool::BufferPool;

/// What a checkpoint records beside the pages.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    pub(crate) active: Vec<ActiveTrx>,
    /// Lowest Prepare record of the active ones: the names of branches are there alone.
    pub(crate) oldest_prepare: Option<Lsn>,
    pub(crate) next: NextIds,
    pub(crate) purge_position: Lsn,
    pub(crate) gtids: GtidState,
    pub(crate) extension: Vec<u8>,
    /// Lowest LSN that snapshots, rollback and purge still read.
    pub(crate) needed_log: Lsn,
    /// Lowest LSN that the binary log keeps.
    pub(crate) binlog: Lsn,
}

/// Takes checkpoints, one at a time.
pub(crate) struct Checkpointer {
    log: Arc<Log>,
    pool: Arc<BufferPool>,
    control: Mutex<ControlFile>,
    /// Reserved LSN after the last checkpoint: equal as long as nothing has happened since.
    quiet_at: AtomicU64,
    redo_start: AtomicU64,
    /// What the newest block needs of the log, and the one before; log that neither needs may go. 0 after a start.
    kept_from: AtomicU64,
    kept_before: AtomicU64,
    taken: AtomicU64,
}

impl Checkpointer {
    pub(crate) fn new(log: Arc<Log>, pool: Arc<BufferPool>, control: ControlFile) -> Self {
        let redo_start = control.current().redo_start.0;
        Self {
            log,
            pool,
            control: Mutex::new(control),
            quiet_at: AtomicU64::new(0),
            redo_start: AtomicU64::new(redo_start),
            kept_from: AtomicU64::new(0),
            kept_before: AtomicU64::new(0),
            taken: AtomicU64::new(0),
        }
    }

    /// Redo start of the newest checkpoint.
    pub(crate) fn redo_start(&self) -> Lsn {
        Lsn(self.redo_start.load(Ordering::Relaxed))
    }
    /// Bytes of log since the last checkpoint ended.
    pub(crate) fn log_since(&self) -> u64 {
        self.log.reserved_lsn().0.saturating_sub(self.quiet_at.load(Ordering::Relaxed))
    }
    pub(crate) fn taken(&self) -> u64 {
        self.taken.load(Ordering::Relaxed)
    }

    /// Keeps checkpoints away meanwhile.
    pub(crate) fn hold(&self) -> impl Sized + '_ {
        self.control()
    }

    fn control(&self) -> MutexGuard<'_, ControlFile> {
        self.control.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a checkpoint; `clean` says that nothing is left to do and nothing more will be done. Returns its redo start.
    pub(crate) fn take(&self, facts: &dyn Fn() -> Facts, clean: bool) -> Result<Lsn, EngineError> {
        let mut control = self.control();
        self.pool.sync_files()?;
        if clean {
            // Ends the frame, so that the next start scans the Checkpoint record alone.
            self.log.wait_durable(self.log.ready_lsn())?;
        }
        let candidate = self.log.reserved_lsn();
        let unchanged = candidate.0 == self.quiet_at.load(Ordering::Relaxed);
        let oldest = self.pool.oldest_rec_lsn();
        if unchanged && oldest.is_none() && control.current().clean == clean {
            return Ok(self.redo_start());
        }
        while self.log.ready_lsn() < candidate {
            std::thread::yield_now();
        }
        let redo_start = self.pool.oldest_rec_lsn().map_or(candidate, |oldest| oldest.min(candidate));
        let facts = facts();
        let scan_start = self.scan_start(redo_start, &facts);
        let checkpoint = append(&self.log, redo_start, &facts)?;
        let durable = self.log.durable_lsn();
        let block = ControlBlock { checkpoint, redo_start, clean, scan_start, durable, ..*control.current() };
        control.write(block)?;
        self.redo_start.store(redo_start.0, Ordering::Relaxed);
        self.quiet_at.store(self.log.reserved_lsn().0, Ordering::Relaxed);
        self.taken.fetch_add(1, Ordering::Relaxed);
        let keep = keep_from(scan_start.lsn, &facts);
        let before = self.kept_from.swap(keep.0, Ordering::Relaxed);
        self.kept_before.store(before, Ordering::Relaxed);
        self.release(facts.binlog);
        Ok(redo_start)
    }

    /// Bytes of log that only the older control block still needs; the next checkpoint lets them go. `binlog`: what the binary log keeps.
    pub(crate) fn held_by_older_block(&self, binlog: Lsn) -> u64 {
        let newest = Lsn(self.kept_from.load(Ordering::Relaxed)).min(binlog);
        let older = Lsn(self.kept_before.load(Ordering::Relaxed)).min(binlog);
        newest.0.saturating_sub(older.0)
    }

    /// Lets go of log that neither recovery nor the binary log needs, which keeps it from `binlog` on.
    pub(crate) fn release(&self, binlog: Lsn) {
        let kept = self.kept_from.load(Ordering::Relaxed).min(self.kept_before.load(Ordering::Relaxed));
        self.log.retain_from(Lsn(kept).min(binlog));
    }

    /// Asked before the Checkpoint record is appended: the frame that is being filled is known exactly, older ones sparsely.
    fn scan_start(&self, redo_start: Lsn, facts: &Facts) -> FrameStart {
        let wanted = redo_start.min(facts.purge_position);
        self.log.frame_start_before(facts.oldest_prepare.map_or(wanted, |prepare| prepare.min(wanted)))
    }
}

/// K3.
fn keep_from(scan: Lsn, facts: &Facts) -> Lsn {
    let active = facts.active.iter().map(|trx| trx.first).filter(|first| !first.is_none());
    active.fold(scan.min(facts.needed_log), Lsn::min)
}

/// Appends the Checkpoint record and waits until it is durable; returns its LSN.
pub(crate) fn append(log: &Log, redo_start: Lsn, facts: &Facts) -> Result<Lsn, EngineError> {
    // A link points below its record. A position that is lower by a byte means the same.
    let below = |lsn: Lsn, position: Lsn| position.min(Lsn(lsn.0 - 1));
    let record = |lsn| {
        Record::Checkpoint(Checkpoint {
            redo_start: below(lsn, redo_start),
            purge_position: below(lsn, facts.purge_position),
            next: facts.next,
            active: facts.active.clone(),
            gtids: facts.gtids.clone(),
            extension: &facts.extension,
        })
    };
    let appended = log.append(|lsn, out| record(lsn).encode(lsn, out))?;
    log.wait_durable(appended.end)?;
    Ok(appended.start)
}
