//! The only place that orders commit, GTID and visibility.
//!
//! With the binary log in files of its own a commit with events takes another way: [`mod@file`].
//!
//! # Steps of a commit
//! 1. Enter the order (only a commit that gets a GTID): take the next sequence number of its domain.
//! 2. Append the commit record; in the same step the transaction table and purge's queue learn of it. At the head of a segment
//!    and every innodb_binlog_state_interval bytes a record of the GTID state goes first.
//! 3. Leave the order; release row locks, read view and slot.
//! 4. Wait as `innodb_flush_log_at_trx_commit` says.
//!
//! # Invariants
//! C1. The order of commit records in the log is the order of GTIDs of a domain (L4): both are taken in step 1-2 under one mutex,
//!     which is held for the copy of one short record and never for I/O.
//! C2. A transaction that wrote nothing appends nothing and takes no mutex.
//! C3. [`GtidPositions`] never names a GTID whose record is not in the log.
//! C4. At most one commit with a GTID stands in a segment before its first state record, and that record then says the state
//!     before this commit. So a state record is exact: it holds the commits below the LSN that it names.
//! C5. A transaction whose events were all rolled back, or that has none, gets no GTID.
//!
//! # Crash
//! Before 2: the transaction is a loser and is rolled back by recovery. After 2 and before 4 ends: it is there or not, but never
//! a later commit without an earlier one; nobody has been told yet. After 4: it is there.
#![forbid(unsafe_code)]

mod file;
mod file_start;
mod positions;
mod xa;

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use base::{Gtid, Lsn};
use binlog::Feed;
use env::Clock;
use log::{Appended, Log, LogFailed, RotateError};
use log_format::record::{Commit, GtidState, Record, commit_flags};
use storage::trx::{CommitParts, Trx};

use crate::file::{FileLog, Want};
pub use file::FileOptions;
pub use file_start::{FileStart, Found};
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
    /// The connection.
    pub thread_id: u32,
    /// What the session says of the group: of `log_format::record::commit_flags`.
    pub flags: u8,
}

/// What became of a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Done {
    pub gtid: Option<Gtid>,
    /// End of the commit record; none when nothing had to be written.
    pub end: Option<Lsn>,
    /// The commit record itself; none when nothing had to be written.
    pub record: Option<Lsn>,
    /// End of the group in the binary log's file (`binlog_file::virtual_lsn`), when it is in files of its own.
    pub place: Option<Lsn>,
}

/// A commit that did not reach the log, or did and nobody knows whether it is on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommitError {
    /// The record was not written; the transaction is gone (recovery rolls it back if the log has stopped).
    NotWritten(LogFailed),
    /// The record is in the log's memory, and the log has stopped before it was durable.
    Unknown(LogFailed),
    /// Its group did not get into the binary log's file. Whether the transaction is gone or is decided by the next start, the text says.
    File(Arc<str>),
    /// Its group is larger than max_binlog_cache_size; the transaction is gone.
    CacheFull,
    /// The disk has no room for its group, or for the next file; nothing has changed. The file's name.
    NoRoom(Arc<str>),
}

impl CommitError {
    pub(crate) fn file(why: &str) -> Self {
        Self::File(why.into())
    }

    pub(crate) fn disk(e: &env::DiskError) -> Self {
        if e.is_full() { Self::NoRoom(e.path.as_str().into()) } else { Self::File(e.to_string().into()) }
    }
}

impl fmt::Display for CommitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotWritten(why) => write!(f, "not committed: {why}"),
            Self::Unknown(why) => write!(f, "the outcome of the commit is unknown: {why}"),
            Self::File(why) => write!(f, "not committed: {why}"),
            Self::CacheFull => f.write_str("not committed: the binary log's cache is full"),
            Self::NoRoom(path) => write!(f, "the disk has no room for '{path}'"),
        }
    }
}

impl std::error::Error for CommitError {}

impl From<RotateError> for CommitError {
    fn from(e: RotateError) -> Self {
        match e {
            RotateError::Failed(why) => Self::NotWritten(why),
            RotateError::NoFile(e) => Self::disk(&e),
        }
    }
}

/// Semi-synchronous replication, as the order of commits sees it.
pub trait CommitGate: Send + Sync {
    /// Commits are not looked at now.
    fn is_open(&self) -> bool;
    /// A commit record of an event group comes at or above `next`. Called in the order of commits, [`Self::written`] follows.
    fn announce(&self, next: Lsn);
    /// What came of it; none when it was not written.
    fn written(&self, written: Option<Written>);
    /// The files of the binary log are gone, places in them begin anew.
    fn begins_anew(&self);
}

/// A commit record of an event group, and the place that a replica acknowledges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Written {
    pub record: Appended,
    /// The record's end, or the end of the group in the binary log's file (`binlog_file::virtual_lsn`).
    pub place: Lsn,
}

/// Commits transactions of one server, in one order.
pub struct Committer {
    log: Arc<Log>,
    clock: Arc<dyn Clock>,
    order: Mutex<Order>,
    feed: Arc<Feed>,
    gate: OnceLock<Arc<dyn CommitGate>>,
    /// innodb_binlog_state_interval
    state_interval: AtomicU64,
    /// The binary log, when it is in files of its own.
    file: OnceLock<FileLog>,
}

/// What the order of commits protects.
#[derive(Debug)]
struct Order {
    positions: GtidPositions,
    /// The last state record.
    state_at: Lsn,
    /// Lowest record that commits of this segment, and of the one before as long as no state record stands in this one, refer to.
    needs: Lsn,
}

/// MariaDB's default of innodb_binlog_state_interval.
const STATE_INTERVAL: u64 = 2 << 20;

impl fmt::Debug for Committer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Committer").field("order", &*self.order()).finish_non_exhaustive()
    }
}

impl Committer {
    /// `positions` is what recovery found.
    pub fn new(log: Arc<Log>, clock: Arc<dyn Clock>, positions: GtidPositions) -> Self {
        let feed = Arc::new(Feed::new(log.durable_lsn()));
        let order = Order { positions, state_at: Lsn::NONE, needs: Lsn::NONE };
        let (gate, state_interval) = (OnceLock::new(), AtomicU64::new(STATE_INTERVAL));
        Self { log, clock, order: Mutex::new(order), feed, gate, state_interval, file: OnceLock::new() }
    }

    fn order(&self) -> MutexGuard<'_, Order> {
        // Positions change by one assignment each, so a panic elsewhere leaves them whole.
        self.order.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The GTID positions of everything committed so far.
    pub fn positions(&self) -> GtidPositions {
        self.order().positions.clone()
    }

    /// What recovery found of commits in the last segment: the lowest record that they refer to.
    pub fn keep_for_commits(&self, needs: Lsn) {
        self.order().needs = needs;
        self.feed.keep_from(needs);
    }

    /// The same as a record says it, exact for an LSN: for checkpoints.
    pub fn state(&self) -> GtidState {
        let order = self.order();
        // No commit with a GTID is under way: all below are in the positions, none above.
        let at = self.log.reserved_lsn();
        GtidState { at, needs: order.needs, replaces: false, gtids: order.positions.state() }
    }

    /// RESET MASTER, SET GLOBAL gtid_binlog_state: from a new segment on the binary log is empty and begins with this state. Durable when
    /// it returns; answers where the binary log begins now.
    pub fn replace_positions(&self, positions: GtidPositions) -> Result<Lsn, CommitError> {
        self.log.rotate()?;
        let mut order = self.order();
        order.positions = positions;
        order.needs = Lsn::NONE;
        let appended = self.append_state(&mut order, Lsn::NONE, true).map_err(CommitError::NotWritten)?;
        drop(order);
        self.log.wait_durable(appended.end).map_err(CommitError::Unknown)?;
        Ok(appended.start)
    }

    /// Writes the state into the file that was begun, so that the files before may go; from now on it names the domains of `without`
    /// no more. Durable when it returns.
    pub fn write_state(&self, without: &[u32]) -> Result<(), LogFailed> {
        let mut order = self.order();
        let kept = order.positions.state().into_iter().filter(|g| !without.contains(&g.domain_id));
        order.positions = GtidPositions::from_gtids(kept.collect::<Vec<_>>());
        let appended = self.append_state(&mut order, Lsn::NONE, false)?;
        drop(order);
        self.log.wait_durable(appended.end)
    }

    /// Who is told of commits before they can be durable; once, at the start.
    pub fn set_gate(&self, gate: Arc<dyn CommitGate>) {
        // A second one is a mistake that tests would see: commits keep to the first.
        let _ = self.gate.set(gate);
    }

    fn closed_gate(&self) -> Option<&Arc<dyn CommitGate>> {
        self.gate.get().filter(|gate| !gate.is_open())
    }

    /// Where commits that are event groups are told, for readers of the log's end.
    pub fn feed(&self) -> &Arc<Feed> {
        &self.feed
    }

    pub fn set_state_interval(&self, bytes: u64) {
        self.state_interval.store(bytes, Ordering::Relaxed);
    }

    /// C4.
    fn state_is_due(&self, order: &Order) -> bool {
        let next = self.log.reserved_lsn();
        order.state_at < self.log.segment_from()
            || next.0.saturating_sub(order.state_at.0) >= self.state_interval.load(Ordering::Relaxed)
    }

    fn append_state(&self, order: &mut Order, at: Lsn, replaces: bool) -> Result<Appended, LogFailed> {
        let heads = order.state_at < self.log.segment_from();
        let state = GtidState { at, needs: order.needs, replaces, gtids: order.positions.state() };
        let record = Record::GtidState(state);
        let appended = self.log.append(|lsn, out| record.encode(lsn, out))?;
        order.state_at = appended.start;
        if heads {
            order.needs = Lsn::NONE;
        }
        Ok(appended)
    }

    /// Commits and waits as the flush policy says, with a binary log in files as sync_binlog says.
    pub fn commit(&self, trx: Trx, numbering: Option<Numbering>) -> Result<Done, CommitError> {
        if let Some((file, numbering)) = self.file_for(&trx, numbering) {
            return self.commit_by_file(file, trx, numbering);
        }
        self.commit_without_waiting(trx, numbering).and_then(|done| self.waited(done))
    }

    /// The files, if the transaction's group belongs there.
    fn file_for(&self, trx: &Trx, numbering: Option<Numbering>) -> Option<(&FileLog, Numbering)> {
        let file = self.file.get()?;
        numbering.filter(|_| trx.commit_parts().is_some_and(|parts| parts.has_events)).map(|n| (file, n))
    }

    fn commit_by_file(&self, file: &FileLog, trx: Trx, numbering: Numbering) -> Result<Done, CommitError> {
        let outcome = self.commit_in_file(file, trx, numbering, &Want::Commit);
        if let Some(trx) = outcome.trx.filter(|trx| !trx.is_prepared()) {
            // A log that has stopped cannot undo; recovery will.
            let _ = trx.rollback();
        }
        outcome.done
    }

    /// Waits as the flush policy says.
    fn waited(&self, done: Done) -> Result<Done, CommitError> {
        if let Some(end) = done.end {
            self.log.wait_commit(end).map_err(CommitError::Unknown)?;
        }
        Ok(done)
    }

    /// Commits and waits until the commit is durable, whatever the flush policy: a definition outlives any crash.
    pub fn commit_definition(&self, trx: Trx, numbering: Option<Numbering>) -> Result<Done, CommitError> {
        let done = match self.file_for(&trx, numbering) {
            Some((file, numbering)) => self.commit_by_file(file, trx, numbering)?,
            None => self.commit_without_waiting(trx, numbering)?,
        };
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
            return Ok(Done { end: reads_below, ..Done::default() });
        };
        let time = self.now();
        let (gtid, committed) = self.numbered(numbering, &parts, |numbered, tell| {
            let committed = trx.commit_with_then(|lsn, out| encode(&parts, time, numbered, lsn, out), tell);
            committed.map(|done| (done.record(), done)).map_err(|(_, failed)| failed)
        })?;
        Ok(Done::of(gtid, committed.release()))
    }

    /// Microseconds since 1970.
    pub fn now_micros(&self) -> u64 {
        self.now()
    }

    fn now(&self) -> u64 {
        self.clock.wall().as_micros() as u64
    }

    /// Appends the record of a commit or of a prepared transaction, with the next GTID if it has events and is to be numbered.
    /// `append` says where the record stands, and tells readers of the log's end before the record is ready.
    fn numbered<T>(
        &self,
        numbering: Option<Numbering>,
        parts: &CommitParts,
        append: impl FnOnce(
            Option<(Gtid, Numbering)>,
            &dyn Fn(Appended),
        ) -> Result<(Option<Appended>, T), LogFailed>,
    ) -> Result<(Option<Gtid>, T), CommitError> {
        let Some(numbering) = numbering.filter(|_| parts.has_events) else {
            return Ok((None, append(None, &|_| ()).map_err(CommitError::NotWritten)?.1));
        };
        let mut order = self.order();
        if self.state_is_due(&order) {
            self.append_state(&mut order, Lsn::NONE, false).map_err(CommitError::NotWritten)?;
        }
        let gtid = order.positions.next(numbering);
        let tell = |record: Appended| self.feed.push(record.start);
        let gate = self.closed_gate();
        if let Some(gate) = gate {
            gate.announce(self.log.reserved_lsn());
        }
        let outcome = append(Some((gtid, numbering)), &tell);
        if let Some(gate) = gate {
            let record = outcome.as_ref().ok().and_then(|(record, _)| *record);
            gate.written(record.map(|record| Written { record, place: record.end }));
        }
        let (record, appended) = outcome.map_err(CommitError::NotWritten)?;
        self.note(&mut order, parts, gtid, record);
        drop(order);
        self.feed.wake();
        Ok((Some(gtid), appended))
    }

    /// A commit with a GTID is in the log: the rest of the critical section.
    fn note(&self, order: &mut Order, parts: &CommitParts, gtid: Gtid, record: Option<Appended>) {
        let Some(record) = record else { return };
        if order.state_at < self.log.segment_from() && self.log.segment_from() <= record.start {
            // The segment ended in between. A log that takes no more has no more commits either.
            let _ = self.append_state(order, record.start, false);
        }
        order.positions.advance(gtid);
        if order.needs.is_none() || parts.needs < order.needs {
            order.needs = parts.needs;
        }
        self.feed.keep_from(order.needs);
    }
}

impl Done {
    fn of(gtid: Option<Gtid>, record: Option<Appended>) -> Self {
        Self { gtid, end: record.map(|r| r.end), record: record.map(|r| r.start), place: None }
    }
}

/// What a commit record or a Prepare record says of its group.
fn flags_of(parts: &CommitParts, numbered: Option<(Gtid, Numbering)>) -> u8 {
    let mut flags = numbered.map_or(0, |(_, numbering)| numbering.flags);
    if parts.waited {
        flags |= commit_flags::WAITED;
    }
    if parts.prepared {
        flags |= commit_flags::XA;
    }
    flags
}

fn encode(parts: &CommitParts, time: u64, numbered: Option<(Gtid, Numbering)>, lsn: Lsn, out: &mut Vec<u8>) {
    let flags = flags_of(parts, numbered);
    let commit = Commit {
        trx: parts.trx,
        first: parts.first,
        last: parts.last,
        extents: parts.extents,
        time,
        flags,
        gtid: numbered.map(|(gtid, _)| gtid),
        thread_id: numbered.map_or(0, |(_, numbering)| numbering.thread_id),
    };
    Record::Commit(commit).encode(lsn, out);
}
