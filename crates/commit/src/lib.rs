//! The only place that orders commit, GTID and visibility.
//!
//! # Steps of a commit
//! 1. Enter the order (only a commit that gets a GTID): take the next sequence number of its domain.
//! 2. Append the commit record; in the same step the transaction table and purge's queue learn of it.
//! 3. Leave the order; release row locks, read view and slot.
//! 4. Wait as `innodb_flush_log_at_trx_commit` says.
//!
//! # Invariants
//! C1. The order of commit records in the log is the order of GTIDs of a domain (L4): both are taken in step 1-2 under one mutex,
//!     which is held for the copy of one short record and never for I/O.
//! C2. A transaction that wrote nothing appends nothing and takes no mutex.
//! C3. [`GtidPositions`] never names a GTID whose record is not in the log.
//!
//! # Crash
//! Before 2: the transaction is a loser and is rolled back by recovery. After 2 and before 4 ends: it is there or not, but never
//! a later commit without an earlier one; nobody has been told yet. After 4: it is there.
#![forbid(unsafe_code)]

mod positions;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use base::{Gtid, Lsn};
use env::Clock;
use log::{Log, LogFailed};
use log_format::record::{Commit, Record};
use storage::trx::{CommitParts, Trx};

pub use positions::GtidPositions;

/// How a transaction is numbered; none of it when it is not in the binary log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Numbering {
    /// `gtid_domain_id`
    pub domain_id: u32,
    /// `server_id`
    pub server_id: u32,
    /// `SET gtid_seq_no`: the number to use instead of the next one.
    pub seq_no: Option<u64>,
}

/// What became of a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Done {
    pub gtid: Option<Gtid>,
    /// End of the commit record; none when nothing had to be written.
    pub end: Option<Lsn>,
}

/// A commit that did not reach the log, or did and nobody knows whether it is on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommitError {
    /// The record was not written; the transaction is gone (recovery rolls it back if the log has stopped).
    NotWritten(LogFailed),
    /// The record is in the log's memory, and the log has stopped before it was durable.
    Unknown(LogFailed),
}

impl fmt::Display for CommitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotWritten(why) => write!(f, "not committed: {why}"),
            Self::Unknown(why) => write!(f, "the outcome of the commit is unknown: {why}"),
        }
    }
}

impl std::error::Error for CommitError {}

/// Commits transactions of one server, in one order.
pub struct Committer {
    log: Arc<Log>,
    clock: Arc<dyn Clock>,
    order: Mutex<GtidPositions>,
}

impl fmt::Debug for Committer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Committer").field("positions", &self.order()).finish_non_exhaustive()
    }
}

impl Committer {
    /// `positions` is what recovery found.
    pub fn new(log: Arc<Log>, clock: Arc<dyn Clock>, positions: GtidPositions) -> Self {
        Self { log, clock, order: Mutex::new(positions) }
    }

    fn order(&self) -> MutexGuard<'_, GtidPositions> {
        // Positions change by one assignment each, so a panic elsewhere leaves them whole.
        self.order.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The GTID positions of everything committed so far.
    pub fn positions(&self) -> GtidPositions {
        self.order().clone()
    }
    /// RESET MASTER, SET GLOBAL gtid_binlog_state.
    pub fn set_positions(&self, positions: GtidPositions) {
        *self.order() = positions;
    }

    /// Commits and waits as the flush policy says.
    pub fn commit(&self, trx: Trx, numbering: Option<Numbering>) -> Result<Done, CommitError> {
        let done = self.commit_without_waiting(trx, numbering)?;
        if let Some(end) = done.end {
            self.log.wait_commit(end).map_err(CommitError::Unknown)?;
        }
        Ok(done)
    }

    /// Commits and waits until the commit is durable, whatever the flush policy: a definition outlives any crash.
    pub fn commit_definition(&self, trx: Trx, numbering: Option<Numbering>) -> Result<Done, CommitError> {
        let done = self.commit_without_waiting(trx, numbering)?;
        if let Some(end) = done.end {
            self.log.wait_durable(end).map_err(CommitError::Unknown)?;
        }
        Ok(done)
    }

    /// Steps 1 to 3: committed, visible, not yet waited for.
    pub fn commit_without_waiting(
        &self,
        trx: Trx,
        numbering: Option<Numbering>,
    ) -> Result<Done, CommitError> {
        let Some(parts) = trx.commit_parts() else {
            // What it has read under locks may be newer than what is durable (L5): its end waits for that.
            let reads_below = trx.reads_below();
            trx.commit_with(|_, _| ()).map_err(|(_, e)| CommitError::NotWritten(e))?.release();
            return Ok(Done { gtid: None, end: reads_below });
        };
        let time = self.clock.wall().as_micros() as u64;
        let Some(numbering) = numbering else {
            let committed = trx
                .commit_with(|lsn, out| encode(&parts, time, None, lsn, out))
                .map_err(|(_, e)| CommitError::NotWritten(e))?;
            return Ok(Done { gtid: None, end: committed.release().map(|r| r.end) });
        };
        let mut order = self.order();
        let gtid = order.next(numbering);
        let committed = trx
            .commit_with(|lsn, out| encode(&parts, time, Some(gtid), lsn, out))
            .map_err(|(_, e)| CommitError::NotWritten(e))?;
        order.advance(gtid);
        drop(order);
        Ok(Done { gtid: Some(gtid), end: committed.release().map(|r| r.end) })
    }
}

fn encode(parts: &CommitParts, time: u64, gtid: Option<Gtid>, lsn: Lsn, out: &mut Vec<u8>) {
    let commit = Commit {
        trx: parts.trx,
        first: parts.first,
        last: parts.last,
        extents: Lsn::NONE,
        time,
        flags: 0,
        gtid,
    };
    Record::Commit(commit).encode(lsn, out);
}
