//! The engine: pages, log, transactions and their background threads, opened from one data directory.
//!
//! # Files
//! `morse.control` control file · `log/` segments · `spaces/` data files · `doublewrite.morse` · `morse.lock`
//!
//! # Start
//! 1. Lock the directory. 2. Read the control file, or make a new directory. 3. Repair torn pages, scan the log, redo ([`recovery`]).
//! 4. Take up the transactions without an outcome: their rows are locked by their ids again. From here on reads are right.
//! 5. The caller reads the dictionary, names the spaces that are in use ([`Engine::remove_orphan_spaces`]) and gives a
//!    [`TableSource`] ([`Engine::start`]): the background threads begin, losers are rolled back, purge goes on.
//!
//! # Making a new directory
//! `morse.initializing` is made first and removed last, the control file is the last but one. A crash in between leaves the mark
//! without a control file: everything is made anew. Log or data files without a control file and without the mark are
//! somebody's data, and are refused.
//!
//! # Locking order
//! checkpointer > pool and log, each with its own. Nothing here is taken with a latch held.
//!
//! [`recovery`]: crate::recovery

mod background;
pub(crate) mod barrier;
mod config;
pub mod control;
mod error;
pub(crate) mod ground;
mod spaces;
#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};
use std::time::Duration;

use base::{IndexId, Lsn, SpaceId, TableId, TrxId};
use env::{Clock, Disk};
use log::Log;
use log_format::record::{ActiveTrx, GtidState, NextIds, TrxState};

pub use config::{
    DICTIONARY_INDEX, DICTIONARY_ROOT, DICTIONARY_SPACE, EngineConfig, FIRST_USER_ID, Shutdown, StartReport,
};
pub use error::EngineError;

use crate::checkpoint::{Checkpointer, Facts};
use crate::kernel::{Kernel, PurgeQueue};
use crate::mtr::Store;
use crate::pool::BufferPool;
use crate::purge::Purge;
use crate::recovery::{Committed, Loser, OwnedXid, Recovered};
use crate::table::{Table, TableSource, TableSpec};
use crate::trx::{CommittedTrx, Trx, TrxOptions};
use background::Background;
use ground::Ground;

/// One open data directory.
pub struct Engine {
    kernel: Arc<Kernel>,
    clock: Arc<dyn Clock>,
    config: EngineConfig,
    server_uuid: [u8; 16],
    report: StartReport,
    checkpointer: Checkpointer,
    next_table: AtomicU64,
    next_index: AtomicU64,
    next_space: AtomicU32,
    /// Open tables, for rollback and purge before the caller has a source of its own.
    tables: RwLock<hashbrown::HashMap<TableId, Arc<Table>>>,
    /// What `start` takes up: transactions without an outcome, and the commits that purge has not seen.
    unfinished: Mutex<Option<(Losers, PurgeQueue)>>,
    /// Prepared transactions of before the start, until the caller takes them.
    prepared: Mutex<Vec<(OwnedXid, Trx)>>,
    /// The same of those that the binary log's files decide about.
    pending: Mutex<Vec<(OwnedXid, Trx)>>,
    purge: Mutex<Option<Purge>>,
    background: Mutex<Option<Background>>,
    hooks: Hooks,
    /// Holds the directory for this process.
    _directory: Box<dyn Send + Sync>,
}

/// What rooms above contribute to a checkpoint.
#[derive(Default)]
struct Hooks {
    gtids: OnceLock<Box<dyn Fn() -> GtidState + Send + Sync>>,
    extension: OnceLock<Box<dyn Fn() -> Vec<u8> + Send + Sync>>,
    keep_log: OnceLock<Box<dyn Fn() -> Lsn + Send + Sync>>,
}

impl Engine {
    /// Opens the data directory, or makes a new one when it is empty.
    pub fn open(
        config: EngineConfig,
        disk: Arc<dyn Disk>,
        clock: Arc<dyn Clock>,
    ) -> Result<Arc<Self>, EngineError> {
        let ground = Ground::open(&config, &disk, &clock)?;
        Self::assemble(config, clock, ground).map(Arc::new)
    }

    fn assemble(config: EngineConfig, clock: Arc<dyn Clock>, ground: Ground) -> Result<Self, EngineError> {
        let Ground { log, pool, control, mut report, directory } = ground;
        let next = report.recovered.next;
        let store = Store::new(Arc::clone(&pool), Arc::clone(&log));
        let (kernel, queue) = Kernel::new(store, Arc::clone(&clock), next.trx.max(TrxId(1)));
        let (losers, prepared, pending) = adopt(&kernel, &mut report.recovered);
        Ok(Self {
            server_uuid: control.current().server_uuid,
            kernel,
            clock,
            config,
            checkpointer: Checkpointer::new(log, pool, control),
            next_table: AtomicU64::new(next.table.0.max(FIRST_USER_ID)),
            next_index: AtomicU64::new(next.index.0.max(FIRST_USER_ID)),
            next_space: AtomicU32::new(next.space.0.max(1)),
            tables: RwLock::default(),
            unfinished: Mutex::new(Some((losers, queue))),
            prepared: Mutex::new(prepared),
            pending: Mutex::new(pending),
            purge: Mutex::new(None),
            background: Mutex::new(None),
            hooks: Hooks::default(),
            report,
            _directory: directory,
        })
    }

    pub fn kernel(&self) -> &Arc<Kernel> {
        &self.kernel
    }
    pub fn store(&self) -> &Store {
        &self.kernel.store
    }
    pub fn log(&self) -> &Arc<Log> {
        &self.kernel.store.log
    }
    pub fn pool(&self) -> &Arc<BufferPool> {
        &self.kernel.store.pool
    }
    pub fn config(&self) -> &EngineConfig {
        &self.config
    }
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }
    pub fn server_uuid(&self) -> [u8; 16] {
        self.server_uuid
    }
    pub fn report(&self) -> &StartReport {
        &self.report
    }

    /// Begins a transaction.
    pub fn begin(&self, options: TrxOptions) -> Trx {
        self.kernel.begin(options)
    }

    /// Runtime state of a table; the same as long as it is open.
    pub fn open_table(&self, spec: TableSpec) -> Arc<Table> {
        let id = spec.id;
        let table = Table::new(spec);
        self.id_is_used(id);
        let mut tables = self.tables.write().unwrap_or_else(PoisonError::into_inner);
        for part in table.partitions() {
            self.id_is_used(part.spec().id);
            tables.insert(part.spec().id, Arc::clone(part));
        }
        if table.partitions().is_empty() {
            tables.insert(id, Arc::clone(&table));
        }
        drop(tables);
        table
    }
    /// Forgets a table: it was dropped, or another version of it has been opened.
    pub fn close_table(&self, id: TableId) {
        self.tables.write().unwrap_or_else(PoisonError::into_inner).remove(&id);
    }

    /// A table that was made before a crash may have no record with its id in the log: its rows were loaded as pages, or it has none.
    /// Nobody else gets the id, or rollback and purge would look for the rows of one in the trees of the other.
    fn id_is_used(&self, id: TableId) {
        self.next_table.fetch_max(id.0 + 1, Ordering::Relaxed);
    }

    pub fn new_table_id(&self) -> TableId {
        TableId(self.next_table.fetch_add(1, Ordering::Relaxed))
    }
    pub fn new_index_id(&self) -> IndexId {
        IndexId(self.next_index.fetch_add(1, Ordering::Relaxed))
    }

    /// GTID state for checkpoints; set once, before `start`.
    pub fn set_gtid_source(&self, source: impl Fn() -> GtidState + Send + Sync + 'static) {
        assert!(self.hooks.gtids.set(Box::new(source)).is_ok(), "the GTID source is set once");
    }
    /// Bytes that the checkpoint carries for the caller; `report().recovered.extension` gives them back.
    pub fn set_checkpoint_extension(&self, source: impl Fn() -> Vec<u8> + Send + Sync + 'static) {
        assert!(self.hooks.extension.set(Box::new(source)).is_ok(), "the extension source is set once");
    }
    /// Lowest LSN that dump threads and retention still want; the log is kept from there. Set once.
    pub fn set_log_keeper(&self, keeper: impl Fn() -> Lsn + Send + Sync + 'static) {
        assert!(self.hooks.keep_log.set(Box::new(keeper)).is_ok(), "the log keeper is set once");
    }

    /// Takes a checkpoint now; returns its redo start.
    pub fn checkpoint(&self) -> Result<Lsn, EngineError> {
        self.checkpointer.take(&|| self.facts(), false)
    }

    /// Takes a checkpoint when enough log was written since the last one, or anything at all while a segment waits for it to go.
    pub fn checkpoint_if_due(&self) -> Result<(), EngineError> {
        let waits = self.checkpointer.held_by_older_block(self.kept_log()) >= self.config.log_segment_size;
        let due = if waits { 1 } else { (self.config.checkpoint_age / 8).clamp(1 << 20, 64 << 20) };
        if self.checkpointer.log_since() >= due {
            self.checkpoint()?;
        }
        Ok(())
    }

    /// Checkpoints taken since the start, and bytes of log that recovery would redo from the newest.
    pub fn checkpoint_state(&self) -> (u64, u64) {
        let age = self.log().reserved_lsn().0.saturating_sub(self.checkpointer.redo_start().0);
        (self.checkpointer.taken(), age)
    }

    fn facts(&self) -> Facts {
        let active = self.kernel.trxs.active_transactions();
        let oldest_prepare = active.iter().map(|t| t.prepare).filter(|prepare| !prepare.is_none()).min();
        let active = active.into_iter().map(|t| {
            let state = if t.prepare.is_none() { TrxState::Active } else { TrxState::Prepared };
            ActiveTrx { trx: t.id, first: t.first, last: t.last, state }
        });
        let needed = self.kernel.needed_log();
        Facts {
            active: active.collect(),
            oldest_prepare,
            next: NextIds {
                trx: self.kernel.trxs.table().next_id(),
                table: TableId(self.next_table.load(Ordering::Relaxed)),
                index: IndexId(self.next_index.load(Ordering::Relaxed)),
                space: SpaceId(self.next_space.load(Ordering::Relaxed)),
            },
            purge_position: self.kernel.purge_position(),
            gtids: match self.hooks.gtids.get() {
                Some(source) => source(),
                None => GtidState { gtids: self.report.recovered.gtids.clone(), ..GtidState::default() },
            },
            extension: match self.hooks.extension.get() {
                Some(source) => source(),
                None => self.report.recovered.extension.clone(),
            },
            needed_log: needed,
            binlog: self.kept_log(),
        }
    }

    /// Lowest LSN that the binary log keeps.
    fn kept_log(&self) -> Lsn {
        self.hooks.keep_log.get().map_or(Lsn::MAX, |keeper| keeper())
    }

    /// Lets go of log that the keeper has given up, now: PURGE BINARY LOGS. The next checkpoint would do it too.
    pub fn release_log(&self) {
        let _one_at_a_time = self.checkpointer.hold();
        self.checkpointer.release(self.kept_log());
    }

    /// Begins the background work: rollback of losers, purge, page cleaner, checkpoints, the log's tick.
    pub fn start(self: &Arc<Self>, source: Arc<dyn TableSource>) -> Result<(), EngineError> {
        background::start(self, source)
    }

    /// XA transactions that were prepared and undecided at the last end of the server; the caller takes them once.
    pub fn take_prepared(&self) -> Vec<(OwnedXid, Trx)> {
        std::mem::take(&mut *self.prepared.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The same for those that are not decided after all.
    pub fn return_prepared(&self, branches: Vec<(OwnedXid, Trx)>) {
        self.prepared.lock().unwrap_or_else(PoisonError::into_inner).extend(branches);
    }

    /// Transactions about which the binary log's files decide; the caller takes them once, before [`Self::start`].
    pub fn take_pending(&self) -> Vec<(OwnedXid, Trx)> {
        std::mem::take(&mut *self.pending.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Decided: they have not happened. [`Self::start`] rolls them back with the others.
    pub fn add_losers(&self, trxs: Vec<Trx>) {
        let mut unfinished = self.unfinished.lock().unwrap_or_else(PoisonError::into_inner);
        let (losers, _) = unfinished.as_mut().expect("before the start");
        losers.0.extend(trxs);
    }

    /// One round of purge, at most so many transactions; returns how many it was. The purge thread calls it.
    pub fn purge_some(&self, transactions_max: usize) -> Result<usize, EngineError> {
        let mut purge = self.purge.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *purge {
            Some(purge) => Ok(purge.run(transactions_max).map_err(EngineError::Row)?.transactions),
            None => Ok(0),
        }
    }

    /// What went wrong in background threads since the last call, for the server's error log.
    pub fn take_background_errors(&self) -> Vec<String> {
        self.background().as_ref().map(Background::take_errors).unwrap_or_default()
    }

    /// Stops. No transaction may run; those that do are losers of the next start.
    pub fn shutdown(&self, how: Shutdown) -> Result<(), EngineError> {
        if how == Shutdown::Slow {
            self.wait_for_purge();
        }
        let background = self.background().take();
        if let Some(background) = background {
            background.stop(|| self.log().wake());
        }
        if how != Shutdown::LogOnly {
            // What has nothing left for purge need not be scanned by the next start.
            self.log().wait_durable(self.log().ready_lsn())?;
            self.purge_some(0)?;
        }
        // Its table source may hold this engine.
        drop(self.purge.lock().unwrap_or_else(PoisonError::into_inner).take());
        if how != Shutdown::LogOnly {
            self.pool().flush_all()?;
            let idle = self.kernel.trxs.active_transactions().is_empty();
            self.checkpointer.take(&|| self.facts(), idle)?;
        }
        self.log().shutdown()?;
        Ok(())
    }

    /// Waits until purge has come to what was committed when this was called, or cannot go on.
    fn wait_for_purge(&self) {
        let until = self.log().durable_lsn();
        while self.background().is_some() && self.kernel.purge_position() < until && !self.is_stopped() {
            self.clock.sleep(Duration::from_millis(10));
        }
    }

    fn background(&self) -> MutexGuard<'_, Option<Background>> {
        self.background.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The log has failed: nothing can be written any more.
    pub fn is_stopped(&self) -> bool {
        self.log().failure().is_some()
    }
}

impl TableSource for Engine {
    fn table(&self, id: TableId) -> Option<Arc<Table>> {
        self.tables.read().unwrap_or_else(PoisonError::into_inner).get(&id).cloned()
    }
    fn table_of_index(&self, id: IndexId) -> Option<Arc<Table>> {
        let tables = self.tables.read().unwrap_or_else(PoisonError::into_inner);
        tables.values().find(|table| table.spec().indexes.iter().any(|index| index.id == id)).cloned()
    }
}

/// Transactions that were undecided at the crash. Those that are not rolled back before the engine goes are left to the next start.
struct Losers(Vec<Trx>);

impl Losers {
    /// Rolls them back one by one; the first error stops, and leaves that one locked.
    fn roll_back(mut self, tables: &dyn TableSource) -> Result<(), EngineError> {
        while let Some(trx) = self.0.pop() {
            trx.rollback_with(tables).map_err(EngineError::Row)?;
        }
        Ok(())
    }
}

impl Drop for Losers {
    fn drop(&mut self) {
        self.0.drain(..).for_each(Trx::abandon);
    }
}

type Branches = Vec<(OwnedXid, Trx)>;

/// Hands what the scan found to the transaction system; returns the transactions that have to be rolled back, those that their user
/// decides about, and those that files do.
fn adopt(kernel: &Arc<Kernel>, recovered: &mut Recovered) -> (Losers, Branches, Branches) {
    kernel.set_purge_position(recovered.purge_position);
    let (mut losers, mut prepared, mut pending) = (Vec::new(), Vec::new(), Vec::new());
    for found in &recovered.losers {
        let Loser { id, first, last, .. } = *found;
        match &found.prepared {
            Some(branch) if branch.pending => {
                pending.push((branch.xid.clone(), kernel.adopt_prepared(found, branch)));
            }
            Some(branch) => prepared.push((branch.xid.clone(), kernel.adopt_prepared(found, branch))),
            None => losers.push(kernel.adopt(id, first, last)),
        }
    }
    for done in std::mem::take(&mut recovered.committed) {
        let Committed { id, commit, first, last } = done;
        // Whether it left garbage is not known any more: purge finds out.
        kernel.adopt_committed(CommittedTrx { commit, id, first, last, leaves_garbage: true });
    }
    // There are no snapshots yet: everything that has committed is visible to all.
    kernel.trxs.advance();
    (Losers(losers), prepared, pending)
}
