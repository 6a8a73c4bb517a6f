//! What stands behind all sessions: engine, catalog, commit order. The sessions' only door to them.

use std::sync::Arc;

use base::{IndexId, PageNo, SpaceId, TableId};
use binlog::Binlog;
use binlog_file::Files;
use catalog::mdl::Locks;
use catalog::{Catalog, DictionaryEngine, Snapshot, TableHandle};
use charset::Collation;
use client_error::{ClientError, connection as error};
use commit::{Committer, FileStart, Found, GtidPositions};
use env::{Clock, Disk};
use log::FlushPolicy;
use storage::btree::TreeKind;
pub use storage::engine::EngineError;
use storage::engine::{Engine, EngineConfig, Shutdown};
use storage::kernel::Kernel;
use storage::pool::PoolError;
use storage::recovery::Recovered;
use storage::row::{KeyRange, RowError};
use storage::table::{Table, TableSpec};
use storage::trx::{Trx, TrxOptions};

use crate::event_log::{EventLog, FileDoor, file_options};
use crate::server::{FoundDatabase, Server};
use crate::variables::{GlobalVariables, Setting, Var};

/// Bytes of a page, the unit of innodb_buffer_pool_size.
const PAGE: u64 = base::PAGE_SIZE as u64;

/// Engine, catalog and commit order of one server.
pub struct Backend {
    pub(crate) engine: Arc<Engine>,
    pub(crate) kernel: Arc<Kernel>,
    pub(crate) committer: Arc<Committer>,
    pub(crate) binlog: EventLog,
    pub(crate) catalog: Arc<Catalog>,
    /// What the start has to say, for the error log.
    pub(crate) notes: Vec<String>,
}

impl Backend {
    /// Opens the data directory as the variables say, recovers, reads the dictionary and starts the background threads.
    pub fn open(
        variables: &GlobalVariables,
        disk: Arc<dyn Disk>,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, EngineError> {
        Self::open_with(variables, disk, None, clock)
    }

    /// The same with the binary log in files of its own, if there is a door to them.
    pub fn open_with(
        variables: &GlobalVariables,
        disk: Arc<dyn Disk>,
        files: Option<FileDoor>,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, EngineError> {
        let engine = Engine::open(engine_config(variables, files.is_some()), disk, Arc::clone(&clock))?;
        let log = Arc::clone(engine.log());
        let positions = GtidPositions::from_gtids(engine.report().recovered.gtids.iter().copied());
        let committer = Arc::new(Committer::new(log, Arc::clone(&clock), positions));
        committer.set_state_interval(variables.u64(Var::INNODB_BINLOG_STATE_INTERVAL));
        committer.keep_for_commits(engine.report().recovered.binlog_needs);
        let source = Arc::clone(&committer);
        engine.set_gtid_source(move || source.state());
        let one_log = open_binlog(&engine, &committer, variables.u64(Var::LOG_BIN) != 0, files.is_some());
        let mut notes = Vec::new();
        let binlog = match files {
            Some(door) => {
                let opened = open_files(&engine, &committer, &one_log, variables, door, &mut notes);
                EventLog::Files(opened.map_err(EngineError::Directory)?)
            }
            None => {
                leave_files(&engine, &committer, &one_log, &mut notes).map_err(EngineError::Directory)?;
                EventLog::OneLog(one_log)
            }
        };
        let kernel = Arc::clone(engine.kernel());
        let door = Door {
            engine: Arc::clone(&engine),
            kernel: Arc::clone(&kernel),
            committer: Arc::clone(&committer),
        };
        let catalog = Catalog::open(Arc::new(door), Arc::clone(&clock))
            .map_err(|e| EngineError::Directory(format!("the dictionary cannot be read: {e}")))?;
        engine.remove_orphan_spaces(&catalog.used_spaces())?;
        engine.start(Arc::clone(&catalog) as _)?;
        let mut backend = Self { engine, kernel, committer, binlog, catalog, notes };
        let now = clock.wall().as_micros() as u64;
        let is_logged = variables.u64(Var::LOG_BIN) != 0;
        if let Err(e) = crate::two_phase::end_left_open(&backend, is_logged, now) {
            backend.notes.push(format!("The ROLLBACK of an ALTER TABLE is not in the binary log: {e}"));
        }
        Ok(backend)
    }
}

/// Makes the log's segments the binary log: with log_bin they are kept until they are purged, unless it is in files of its own.
fn open_binlog(engine: &Engine, committer: &Committer, log_bin: bool, in_files: bool) -> Arc<Binlog> {
    let recovered = &engine.report().recovered;
    let (log, feed) = (Arc::clone(engine.log()), Arc::clone(committer.feed()));
    let binlog = Arc::new(Binlog::new(log, feed, &recovered.extension, recovered.binlog_starts));
    let (keeper, extension) = (Arc::clone(&binlog), Arc::clone(&binlog));
    engine.set_checkpoint_extension(move || {
        let mut bytes = extension.extension();
        bytes.push(u8::from(in_files));
        bytes
    });
    if log_bin && !in_files {
        engine.set_log_keeper(move || keeper.needed());
    }
    binlog
}

/// Whether the newest commits with GTIDs have their events in files.
fn was_in_files(recovered: &Recovered) -> bool {
    recovered.last_in_file.unwrap_or_else(|| recovered.extension.get(8) == Some(&1))
}

/// The binary log goes on in files: the last one and the engine's log are reconciled, and a new one begins.
fn open_files(
    engine: &Engine,
    committer: &Committer,
    groups: &Arc<Binlog>,
    variables: &GlobalVariables,
    door: FileDoor,
    notes: &mut Vec<String>,
) -> Result<Arc<Files>, String> {
    let files = Files::open(door.disk, door.names).map_err(|e| e.to_string())?;
    let recovered = &engine.report().recovered;
    let found = Found {
        gtids: recovered.gtids.clone(),
        is_in_file: was_in_files(recovered),
        pending: engine.take_pending(),
        prepared: engine.take_prepared(),
    };
    let mut start = FileStart::decide(&files, found)?;
    start.carry_out(&files, engine.log(), committer.now_micros())?;
    notes.append(&mut start.notes);
    engine.add_losers(std::mem::take(&mut start.losers));
    engine.return_prepared(std::mem::take(&mut start.prepared));
    engine.kernel().trxs.decide_in_file();
    keep_definitions(engine);
    let options = file_options(variables);
    let positions = std::mem::take(&mut start.positions);
    committer
        .log_to_files(Arc::clone(&files), Arc::clone(groups), options, positions)
        .map_err(|e| e.to_string())?;
    Ok(files)
}

/// A transaction's group is made when it commits. The definition of a table may stand in the segment before its first record.
fn keep_definitions(engine: &Engine) {
    let (kernel, log) = (Arc::clone(engine.kernel()), Arc::clone(engine.log()));
    engine.set_log_keeper(move || {
        let needed = kernel.needed_log();
        let segments = log.segments();
        let holding = segments.iter().rposition(|s| s.start <= needed);
        holding.map_or(needed, |at| segments[at.saturating_sub(1)].start)
    });
}

/// The binary log is the one log, and may have been in files before: then it begins anew with the state that it had.
fn leave_files(
    engine: &Engine,
    committer: &Committer,
    one_log: &Binlog,
    notes: &mut Vec<String>,
) -> Result<(), String> {
    let recovered = &engine.report().recovered;
    let pending = engine.take_pending();
    if !pending.is_empty() {
        let count = pending.len();
        pending.into_iter().for_each(|(_, trx)| trx.abandon());
        return Err(format!(
            "{count} prepared transactions are decided by the files of the binary log: start once with              --binlog-storage-engine=FILE, and shut down"
        ));
    }
    if was_in_files(recovered) {
        let positions = committer.positions();
        notes.push(format!(
            "the binary log was in files of its own; it goes on in the one log, behind '{}'",
            positions.position_text()
        ));
        let begins = committer.replace_positions(positions).map_err(|e| e.to_string())?;
        one_log.begins_at(begins);
    }
    Ok(())
}

/// The engine as the catalog sees it.
struct Door {
    engine: Arc<Engine>,
    kernel: Arc<Kernel>,
    committer: Arc<Committer>,
}

fn refused(e: impl std::fmt::Display) -> RowError {
    RowError::Storage(e.to_string())
}

fn engine_error(e: EngineError) -> RowError {
    match e {
        EngineError::Pool(PoolError::Disk(e)) | EngineError::Disk(e) if e.is_full() => RowError::Full,
        EngineError::Row(e) => e,
        e => refused(e),
    }
}

impl DictionaryEngine for Door {
    fn begin(&self) -> Trx {
        self.kernel.begin(TrxOptions::default())
    }
    fn commit(&self, trx: Trx) -> Result<(), RowError> {
        self.committer.commit_definition(trx, None).map(|_| ()).map_err(refused)
    }
    fn new_table_id(&self) -> TableId {
        self.engine.new_table_id()
    }
    fn create_space(&self) -> Result<SpaceId, RowError> {
        self.engine.create_space().map_err(engine_error)
    }
    fn create_tree(&self, space: SpaceId, clustered: bool) -> Result<(IndexId, PageNo), RowError> {
        let kind = if clustered { TreeKind::Clustered } else { TreeKind::Secondary };
        self.engine.create_tree(space, kind).map_err(engine_error)
    }
    fn drop_space(&self, space: SpaceId) -> Result<(), RowError> {
        self.engine.drop_space(space).map_err(engine_error)
    }
    fn drop_tree(&self, space: SpaceId, index: IndexId, root: PageNo) -> Result<(), RowError> {
        self.engine.drop_tree(space, index, root).map_err(refused)
    }
    fn open_table(&self, spec: TableSpec) -> Arc<Table> {
        self.engine.open_table(spec)
    }
    fn close_table(&self, id: TableId) {
        self.engine.close_table(id);
    }
    // The optimizer does without what cannot be read now; the statement itself meets the error.
    fn row_estimate(&self, table: &Table, refresh: bool) -> Option<u64> {
        self.kernel.row_estimate(table, refresh).ok()
    }
    fn records_in_range(&self, table: &Table, index: usize, range: &KeyRange) -> Option<u64> {
        self.kernel.records_in_range(table, index, range).ok()
    }
}

fn flush_policy(value: u64) -> FlushPolicy {
    match value {
        0 => FlushPolicy::Lazy,
        2 => FlushPolicy::Write,
        _ => FlushPolicy::Sync,
    }
}

/// Size of a segment of the log when it is not the binary log too.
const SEGMENT_SIZE: u64 = 64 << 20;

fn engine_config(v: &GlobalVariables, in_files: bool) -> EngineConfig {
    let mut config = EngineConfig::with_frames((v.u64(Var::INNODB_BUFFER_POOL_SIZE) / PAGE) as usize);
    config.server_id = v.u64(Var::SERVER_ID) as u32;
    config.log_ring_size = v.u64(Var::INNODB_LOG_BUFFER_SIZE) as usize;
    config.log_segment_size = if in_files { SEGMENT_SIZE } else { v.u64(Var::MAX_BINLOG_SIZE) };
    config.checkpoint_age = v.u64(Var::INNODB_LOG_FILE_SIZE);
    config.flush_policy = flush_policy(v.u64(Var::INNODB_FLUSH_LOG_AT_TRX_COMMIT));
    config.pool.old_blocks_pct = v.u64(Var::INNODB_OLD_BLOCKS_PCT) as usize;
    config.pool.old_blocks_time_ms = v.u64(Var::INNODB_OLD_BLOCKS_TIME);
    config.pool.lru_scan_depth = v.u64(Var::INNODB_LRU_SCAN_DEPTH) as usize;
    config.pool.io_capacity = v.u64(Var::INNODB_IO_CAPACITY) as usize;
    config.pool.doublewrite = v.u64(Var::INNODB_DOUBLEWRITE) != 0;
    config
}

impl Server {
    pub(crate) fn begin(&self, options: TrxOptions) -> Result<Trx, ClientError> {
        Ok(self.backend().engine.begin(options))
    }
    pub(crate) fn committer(&self) -> &Committer {
        &self.backend().committer
    }
    pub(crate) fn locks(&self) -> &Arc<Locks> {
        self.backend().catalog.locks()
    }
    pub(crate) fn catalog(&self) -> Arc<Snapshot> {
        self.backend().catalog.snapshot()
    }
    pub(crate) fn dictionary(&self) -> &Arc<Catalog> {
        &self.backend().catalog
    }
    pub(crate) fn log_bin(&self) -> bool {
        self.variables.u64(Var::LOG_BIN) != 0
    }
    pub(crate) fn gtid_position(&self) -> String {
        self.committer().positions().position_text()
    }
    pub(crate) fn gtid_state(&self) -> String {
        self.committer().positions().state_text()
    }

    pub(crate) fn find_database(&self, name: &str) -> Result<FoundDatabase, ClientError> {
        if let Some(name) = crate::information_schema::schema(name) {
            return Ok(FoundDatabase { name: name.into(), collation: Collation::UTF8MB3_GENERAL_CI });
        }
        let catalog = self.catalog();
        let found = catalog.database(name).ok_or_else(|| error::unknown_database(name))?;
        Ok(FoundDatabase { name: found.def.name.clone(), collation: found.def.collation })
    }

    /// Lets a new global value work.
    pub(crate) fn apply_global(&self, var: Var, setting: &Setting) {
        let engine = &self.backend().engine;
        match var {
            Var::INNODB_FLUSH_LOG_AT_TRX_COMMIT => {
                engine.kernel().trxs.set_flush_policy(flush_policy(setting.as_u64()));
            }
            Var::INNODB_OLD_BLOCKS_PCT => engine.pool().set_old_blocks_pct(setting.as_u64() as usize),
            Var::INNODB_OLD_BLOCKS_TIME => engine.pool().set_old_blocks_time(setting.as_u64()),
            Var::EVENT_SCHEDULER => self.scheduler().set(setting.as_u64() == 1),
            Var::GENERAL_LOG
            | Var::GENERAL_LOG_FILE
            | Var::LOG_SLOW_QUERY
            | Var::LOG_SLOW_QUERY_FILE
            | Var::LOG_OUTPUT => self.renew_query_logs(),
            _ => self.apply_replication_global(var, setting),
        }
    }

    /// The binary log's files, oldest first.
    pub(crate) fn log_files(&self) -> Vec<(String, u64)> {
        let binlog = &self.backend().binlog;
        binlog.files().into_iter().map(|file| (binlog.name(file.number), file.size)).collect()
    }

    /// Bytes of a table's data files.
    pub(crate) fn table_bytes(&self, table: &TableHandle) -> u64 {
        let pool = self.backend().engine.pool();
        // A table that is being dropped has no file any more.
        table.def.spaces().map(|space| pool.space_pages(space).unwrap_or(0) * PAGE).sum()
    }

    /// Bytes of one data file.
    pub(crate) fn space_bytes(&self, space: SpaceId) -> u64 {
        self.backend().engine.pool().space_pages(space).unwrap_or(0) * PAGE
    }

    /// The next AUTO_INCREMENT value of a table that has such a column.
    pub(crate) fn auto_increment(&self, table: &TableHandle) -> Option<u64> {
        table.def.auto_increment()?;
        let trx = self.backend().kernel.begin(TrxOptions::default());
        trx.next_auto_increment(&table.table).ok()
    }

    /// Ends the engine: nothing may use the server any more.
    pub fn close(&self) -> Result<(), EngineError> {
        let how = match self.variables.u64(Var::INNODB_FAST_SHUTDOWN) {
            0 => Shutdown::Slow,
            2 | 3 => Shutdown::LogOnly,
            _ => Shutdown::Fast,
        };
        self.branches().leave_all();
        self.committer().close_files();
        self.backend().engine.shutdown(how)
    }
}
