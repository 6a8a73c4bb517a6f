//! Transactions: ids, the table of their fates, snapshots, and the handle that row operations are called on.
//!
//! - [`TrxTable`]: trx id -> fate; `slots`: running transactions as others see them; [`ReadView`]: what a reader sees;
//! - [`TrxSystem`]: all of these together;
//! - [`Trx`]: one running transaction. Row operations are added to it in `crate::row`.
//!
//! # A transaction's course
//! It has a slot from its beginning, an id from its first write. Its records are chained backwards in the log (`last`).
//! `commit_with` appends the commit record; in the same step, before anybody can see the record as complete, the commit LSN is
//! in the table and the transaction in the purge queue. Then locks are released; durability is waited for by the caller.
//! A transaction that is dropped without an end is rolled back, a prepared one (XA, or pending) is left as a crash would leave it.

mod events;
mod pace;
mod prepared;
mod slots;
mod system;
mod table;
mod view;

use prepared::Prepared;
pub use slots::{ActiveTrx, Slot, Slots};
pub use system::{CommittedTrx, TrxSystem};
pub use table::{Fate, TrxTable};
pub use view::ReadView;

use std::sync::Arc;
use std::time::Duration;

use base::{Lsn, TrxId};
use log::{Appended, LogFailed};
use log_format::record::{Abort, Commit, Record};

use self::events::Events;
pub(crate) use self::events::Marked;
pub use self::events::StatementText;
use self::pace::Pace;
use crate::kernel::Kernel;
use crate::lock::Owner;
use crate::row::{LatestLocks, RowError, Scratch};
use crate::table::Table;

/// The four isolation levels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Isolation {
    ReadUncommitted,
    ReadCommitted,
    #[default]
    RepeatableRead,
    /// The caller asks for locking shared reads where SERIALIZABLE wants them (plain reads when autocommit is off).
    Serializable,
}

impl Isolation {
    /// Whether scans lock gaps.
    pub fn locks_gaps(self) -> bool {
        self >= Self::RepeatableRead
    }
}

/// What a transaction writes into the log beside what recovery needs; set per statement or per transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LogOptions {
    /// Row records become replication events (sql_log_bin, not a temporary table, not a cascade).
    pub replicate: bool,
    /// Records of updates and deletes carry what events need of the body before, by the image of `event_options`.
    pub full_image: bool,
    /// How the events shall look: of `log_format::record::event_options`.
    pub event_options: u8,
    /// The group is made by this server before the commit: texts of statements need not be in the log.
    pub texts_in_memory: bool,
}

/// Settings of a transaction.
#[derive(Debug, Clone, Copy)]
pub struct TrxOptions {
    pub isolation: Isolation,
    pub lock_wait_timeout: Duration,
    /// innodb_snapshot_isolation.
    pub snapshot_isolation: bool,
    pub log: LogOptions,
}

impl Default for TrxOptions {
    fn default() -> Self {
        Self {
            isolation: Isolation::RepeatableRead,
            lock_wait_timeout: Duration::from_secs(50),
            snapshot_isolation: true,
            log: LogOptions::default(),
        }
    }
}

/// A point in a transaction to roll back to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Savepoint {
    pub(crate) last: Lsn,
}

/// Fields of the commit record that the transaction knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommitParts {
    pub trx: TrxId,
    pub first: Lsn,
    pub last: Lsn,
    /// Its newest Extents record, if any.
    pub extents: Lsn,
    /// The lowest record that its events are made of: it is kept as long as the commit record is.
    pub needs: Lsn,
    /// It is an event group.
    pub has_events: bool,
    /// It has waited for a row lock.
    pub waited: bool,
    /// It is prepared (XA).
    pub prepared: bool,
}

/// A running transaction. One session's thread uses it at a time.
pub struct Trx {
    pub(crate) kernel: Arc<Kernel>,
    pub(crate) state: State,
}

/// What changes while a transaction runs.
pub(crate) struct State {
    pub(crate) slot: Arc<Slot>,
    pub(crate) options: TrxOptions,
    /// 0 before the first write.
    pub(crate) id: TrxId,
    first: Lsn,
    pub(crate) last: Lsn,
    statement_start: Lsn,
    view: Option<ReadView>,
    /// It has locked or written, so its next view takes the newest commits.
    newest: bool,
    /// It has left something for purge.
    pub(crate) leaves_garbage: bool,
    /// Tables it has changed, for rollback.
    pub(crate) tables: Vec<Arc<Table>>,
    /// Locks that the last read has added, for `unlock_row`.
    pub(crate) latest_locks: LatestLocks,
    pub(crate) scratch: Scratch,
    pub(crate) pace: Pace,
    /// What it has said that its rollback may take of the log.
    owes: u64,
    pub(crate) events: Events,
    prepared: Option<Prepared>,
    /// The binary log's files decide what becomes of it.
    pending: bool,
    ended: bool,
    released: bool,
}

/// A transaction at work: the shared part and its own part apart, so that a latch held in the one does not borrow the other.
pub(crate) struct Work<'k> {
    pub(crate) kernel: &'k Kernel,
    pub(crate) t: &'k mut State,
}

impl Kernel {
    /// Begins a transaction. Its slot and read view cost nobody else anything.
    pub fn begin(self: &Arc<Self>, options: TrxOptions) -> Trx {
        let slot = self.trxs.slots().take(options.isolation.locks_gaps());
        Trx { kernel: Arc::clone(self), state: State::new(slot, options) }
    }

    /// Recovery: takes up a transaction that had no outcome at the crash. Its rows are locked by its id again; roll it back
    /// with `Trx::rollback_with`, or keep it (prepared).
    pub fn adopt(self: &Arc<Self>, id: TrxId, first: Lsn, last: Lsn) -> Trx {
        let mut trx = self.begin(TrxOptions::default());
        let t = &mut trx.state;
        self.trxs.table().resurrect(id, t.slot.number());
        t.slot.begin_writing(id, first);
        t.slot.set_last(last);
        (t.id, t.first, t.last) = (id, first, last);
        t.leaves_garbage = true;
        trx
    }

    /// Recovery: a transaction had committed at `done.commit`, at or above the checkpoint's purge position.
    pub fn adopt_committed(&self, done: CommittedTrx) {
        self.trxs.adopt_committed(done);
    }
}

impl State {
    fn new(slot: Arc<Slot>, options: TrxOptions) -> Self {
        Self {
            slot,
            options,
            id: TrxId(0),
            first: Lsn::NONE,
            last: Lsn::NONE,
            statement_start: Lsn::NONE,
            view: None,
            newest: false,
            leaves_garbage: false,
            tables: Vec::new(),
            latest_locks: LatestLocks::default(),
            scratch: Scratch::default(),
            pace: Pace::default(),
            owes: 0,
            events: Events::default(),
            prepared: None,
            pending: false,
            ended: false,
            released: false,
        }
    }

    pub(crate) fn locks_gaps(&self) -> bool {
        self.options.isolation.locks_gaps()
    }
    pub(crate) fn use_newest(&mut self) {
        self.newest = true;
    }
    pub(crate) fn view(&self) -> Option<&ReadView> {
        self.view.as_ref()
    }

    /// A record of this transaction has been appended; call it while the latches of the changed pages are held.
    pub(crate) fn appended(&mut self, record: Appended) {
        if self.first.is_none() {
            self.first = record.start;
        }
        self.last = record.start;
        self.slot.set_last(record.start);
        self.slot.owner().add_weight(record.end - record.start);
    }
}

impl Work<'_> {
    /// Makes sure that the transaction has an id, before its first record.
    pub(crate) fn ensure_id(&mut self) -> TrxId {
        let t = &mut *self.t;
        if t.id.0 == 0 {
            t.newest = true;
            t.id = self.kernel.trxs.table().start(t.slot.number());
            t.slot.begin_writing(t.id, self.kernel.store.log.reserved_lsn());
        }
        t.id
    }

    /// The read view, taken now if there is none.
    pub(crate) fn view(&mut self) -> &ReadView {
        let t = &mut *self.t;
        t.view.get_or_insert_with(|| self.kernel.trxs.take_view(&t.slot, t.newest))
    }
}

impl Trx {
    pub(crate) fn work(&mut self) -> Work<'_> {
        Work { kernel: &self.kernel, t: &mut self.state }
    }

    /// Whether the changes that follow are row events of the binary log; answers whether they were so far.
    pub fn set_replicate(&mut self, replicate: bool) -> bool {
        std::mem::replace(&mut self.state.options.log.replicate, replicate)
    }

    pub fn options(&self) -> &TrxOptions {
        &self.state.options
    }
    pub fn set_options(&mut self, options: TrxOptions) {
        self.state.slot.owner().set_locks_gaps(options.isolation.locks_gaps());
        self.state.options = options;
    }
    pub fn set_log_options(&mut self, log: LogOptions) {
        self.state.options.log = log;
    }
    /// `None` before the first write.
    pub fn id(&self) -> Option<TrxId> {
        (self.state.id.0 != 0).then_some(self.state.id)
    }
    pub fn has_written(&self) -> bool {
        !self.state.last.is_none()
    }
    /// Its latest record.
    pub fn last_lsn(&self) -> Lsn {
        self.state.last
    }
    /// For interrupting its lock waits from other threads, and for reports.
    pub fn owner(&self) -> &Arc<Owner> {
        self.state.slot.owner()
    }

    /// A statement begins: the point `rollback_statement` goes back to; READ COMMITTED takes a fresh view at its first read.
    pub fn start_statement(&mut self) {
        let t = &mut self.state;
        t.statement_start = t.last;
        t.events.start_statement();
        if t.options.isolation <= Isolation::ReadCommitted && t.view.take().is_some() {
            t.slot.clear_snapshot();
        }
    }
    pub fn rollback_statement(&mut self) -> Result<(), RowError> {
        self.rollback_to(Savepoint { last: self.state.statement_start })
    }
    pub fn savepoint(&self) -> Savepoint {
        Savepoint { last: self.state.last }
    }

    /// Takes the read view now, if there is none: START TRANSACTION WITH CONSISTENT SNAPSHOT.
    pub fn take_snapshot(&mut self) -> Lsn {
        self.work().view().lsn()
    }
    /// The read view, if one has been taken.
    pub fn view(&self) -> Option<&ReadView> {
        self.state.view.as_ref()
    }
    /// What it has read may not be durable below this LSN; a reply to the client waits for it. None when all is.
    pub fn reads_below(&self) -> Option<Lsn> {
        self.state.view.as_ref().filter(|_| self.state.newest).map(ReadView::lsn)
    }

    /// Appends a record that changes no page (statement text, event, savepoint, prepare) to the transaction's chain. `build`
    /// gets the trx id, the link to the previous record and the record's own LSN.
    pub fn append_chained(
        &mut self,
        mut build: impl FnMut(TrxId, Lsn, Lsn, &mut Vec<u8>),
    ) -> Result<Appended, LogFailed> {
        let id = self.work().ensure_id();
        let last = self.state.last;
        let appended = self.kernel.store.log.append(|lsn, out| build(id, last, lsn, out))?;
        self.state.appended(appended);
        Ok(appended)
    }

    /// What the commit record has to say; `None` when nothing was written and no record is needed.
    pub fn commit_parts(&self) -> Option<CommitParts> {
        let t = &self.state;
        let has_events = t.events.has_any();
        // The rows of a prepared one are the Prepare record's group.
        let needs = if t.prepared.is_some() { t.last } else { t.first };
        let extents = t.events.extents();
        self.has_written().then_some(CommitParts {
            trx: t.id,
            first: t.first,
            last: t.last,
            extents,
            needs,
            has_events,
            waited: t.events.waited,
            prepared: t.prepared.is_some(),
        })
    }

    /// Commits: appends the record that `build` writes (from [`commit_parts`](Self::commit_parts)) and publishes the commit. It
    /// is called inside the commit order's critical section, so the locks are left to [`Committed::release`], and waiting for
    /// durability to the caller.
    pub fn commit_with(
        self,
        build: impl FnMut(Lsn, &mut Vec<u8>),
    ) -> Result<Committed, (Box<Self>, LogFailed)> {
        self.commit_with_then(build, |_| ())
    }

    /// The same; `then` runs before the record can be durable.
    pub fn commit_with_then(
        mut self,
        build: impl FnMut(Lsn, &mut Vec<u8>),
        then: impl FnOnce(Appended),
    ) -> Result<Committed, (Box<Self>, LogFailed)> {
        let t = &self.state;
        if t.last.is_none() {
            if t.id.0 != 0 {
                self.kernel.trxs.publish_abort(t.id);
            }
            self.state.ended = true;
            return Ok(Committed { trx: self, record: None });
        }
        let (id, first, last, leaves_garbage) = (t.id, t.first, t.last, t.leaves_garbage);
        let trxs = &self.kernel.trxs;
        let publish = |record: Appended| {
            trxs.publish_commit(CommittedTrx { commit: record.start, id, first, last, leaves_garbage });
            then(record);
        };
        match self.kernel.store.log.append_then(build, publish) {
            Ok(record) => {
                self.state.ended = true;
                Ok(Committed { trx: self, record: Some(record) })
            }
            Err(failed) => Err((Box::new(self), failed)),
        }
    }

    /// Commits without a GTID: for the engine's own transactions and tests. Returns the record, if one was needed.
    pub fn commit(self) -> Result<Option<Appended>, LogFailed> {
        let parts = self.commit_parts();
        let time = self.kernel.clock.wall().as_micros() as u64;
        let result = self.commit_with(|lsn, out| {
            if let Some(CommitParts { trx, first, last, .. }) = parts {
                let extents = Lsn::NONE;
                let commit = Commit { trx, first, last, extents, time, flags: 0, gtid: None, thread_id: 0 };
                Record::Commit(commit).encode(lsn, out);
            }
        });
        result.map(Committed::release).map_err(|(_, failed)| failed)
    }

    /// Leaves the transaction as a crash would: nothing is undone, its locks stay as long as the process; recovery takes it up
    /// again.
    pub fn abandon(mut self) {
        self.state.ended = true;
        self.state.released = true;
    }

    /// Everything has been undone: writes the end into the log and releases the locks.
    pub(crate) fn finish_rollback(&mut self) -> Result<(), LogFailed> {
        let (trx, last) = (self.state.id, self.state.last);
        let trxs = &self.kernel.trxs;
        if last.is_none() && trx.0 != 0 {
            trxs.publish_abort(trx);
        } else if trx.0 != 0 {
            let record = Record::Abort(Abort { trx, last });
            let publish = |_| trxs.publish_abort(trx);
            self.kernel.store.log.append_then(|lsn, out| record.encode(lsn, out), publish)?;
        }
        self.state.ended = true;
        self.release_slot();
        Ok(())
    }

    fn release_slot(&mut self) {
        if std::mem::replace(&mut self.state.released, true) {
            return;
        }
        self.state.view = None;
        self.kernel.settle(std::mem::take(&mut self.state.owes));
        self.kernel.locks.release_all(self.state.slot.owner());
        self.kernel.trxs.slots().give_back(&self.state.slot);
    }
}

/// A transaction whose commit is in the log and visible, and that still holds its locks, until it is released or dropped.
#[derive(Debug)]
pub struct Committed {
    trx: Trx,
    record: Option<Appended>,
}

impl Committed {
    pub fn record(&self) -> Option<Appended> {
        self.record
    }
    /// Releases locks, read view and slot; returns the commit record's place, whose end is what to wait for.
    /// Many locks block nobody from now on and leave the table in the background, so that a commit stays O(1) (L3).
    pub fn release(mut self) -> Option<Appended> {
        const ADVANCE_EVERY: u64 = 64;
        const LOCKS_NOW_MAX: usize = 1000;
        let id = self.trx.state.id.0;
        let kernel = Arc::clone(&self.trx.kernel);
        let record = self.record;
        if self.trx.state.slot.owner().held_count() > LOCKS_NOW_MAX {
            self.release_later();
        } else {
            self.trx.release_slot();
        }
        if id != 0 && id.is_multiple_of(ADVANCE_EVERY) {
            kernel.trxs.advance();
        }
        record
    }

    fn release_later(mut self) {
        const STACK_SIZE: usize = 256 << 10;
        self.trx.state.view = None;
        self.trx.state.slot.owner().stop_blocking();
        // Where no thread can be had, the closure is dropped here, and the locks with it.
        let _ = env::thread::spawn("lock-release", STACK_SIZE, move || drop(self));
    }
}

impl Drop for Trx {
    fn drop(&mut self) {
        if self.state.ended {
            self.release_slot();
        } else if self.state.prepared.is_none() && !self.state.pending {
            // A transaction that cannot be undone keeps its slot and its locks: the log has stopped, recovery undoes it.
            let _ = self.undo_everything(None);
        }
    }
}

impl std::fmt::Debug for Trx {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut out = f.debug_struct("Trx");
        let t = &self.state;
        out.field("id", &t.id).field("last", &t.last).field("options", &t.options);
        out.finish_non_exhaustive()
    }
}
