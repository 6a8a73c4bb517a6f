//! What transactions stand on: directory lock, control file, pages and log, recovered or made new. The order and what a crash
//! leaves are told in [`crate::engine`].

use std::sync::Arc;

use base::{IndexId, Lsn, SpaceId, TableId, TrxId};
use env::{Caching, Clock, Disk, OpenMode};
use log::{FrameStart, Log, LogConfig};
use log_format::record::NextIds;

use crate::btree::{self, Tree, TreeKind};
use crate::checkpoint::{self, Facts};
use crate::engine::barrier::LogBarrier;
use crate::engine::control::{ControlBlock, ControlFile};
use crate::engine::{
    DICTIONARY_INDEX, DICTIONARY_ROOT, DICTIONARY_SPACE, EngineConfig, EngineError, FIRST_USER_ID,
    StartReport,
};
use crate::mtr::Store;
use crate::pool::BufferPool;
use crate::recovery::{Recovered, recover};

const LOCK: &str = "morse.lock";
const MARK: &str = "morse.initializing";

/// Everything below the transactions.
pub(crate) struct Ground {
    pub(crate) log: Arc<Log>,
    pub(crate) pool: Arc<BufferPool>,
    pub(crate) control: ControlFile,
    pub(crate) report: StartReport,
    /// Holds the directory for this process.
    pub(crate) directory: Box<dyn Send + Sync>,
}

type Parts = (Arc<Log>, Arc<BufferPool>, ControlFile, StartReport);

impl Ground {
    /// Opens the data directory, or makes a new one when it is empty.
    pub(crate) fn open(
        config: &EngineConfig,
        disk: &Arc<dyn Disk>,
        clock: &Arc<dyn Clock>,
    ) -> Result<Self, EngineError> {
        let directory = disk.lock(LOCK)?;
        let (log, pool, control, report) = if ControlFile::exists(&**disk)? {
            existing(config, disk, clock)?
        } else {
            clear_unfinished(&**disk)?;
            new(config, disk, clock)?
        };
        if disk.exists(MARK)? {
            disk.remove(MARK)?;
            disk.sync_dir("")?;
        }
        log.set_flush_policy(config.flush_policy);
        Ok(Self { log, pool, control, report, directory })
    }
}

fn log_config(config: &EngineConfig, server_uuid: [u8; 16], clock: &Arc<dyn Clock>) -> LogConfig {
    LogConfig {
        ring_size: config.log_ring_size.next_power_of_two(),
        segment_size: config.log_segment_size,
        server_id: config.server_id,
        server_uuid,
        clock: Arc::clone(clock),
        pipeline: config.log_pipeline,
    }
}

fn open_pool(
    config: &EngineConfig,
    disk: &Arc<dyn Disk>,
    clock: &Arc<dyn Clock>,
    barrier: &Arc<LogBarrier>,
) -> Result<Arc<BufferPool>, EngineError> {
    let mut pool = config.pool.clone();
    pool.checkpoint_age_max = config.checkpoint_age;
    Ok(BufferPool::open(Arc::clone(disk), pool, Arc::clone(barrier) as _, Arc::clone(clock))?)
}

fn existing(
    config: &EngineConfig,
    disk: &Arc<dyn Disk>,
    clock: &Arc<dyn Clock>,
) -> Result<Parts, EngineError> {
    let control = ControlFile::open(&**disk)?;
    let block = *control.current();
    let barrier = Arc::new(LogBarrier::default());
    let pool = open_pool(config, disk, clock, &barrier)?;
    let log_config = log_config(config, block.server_uuid, clock);
    let (log, mut recovered) =
        recover(Arc::clone(disk), log_config, &block, &pool, &barrier, config.background)?;
    barrier.set(&log);
    // The number of a space that was dropped before its first record must not come back either.
    let last = pool.spaces()?.last().copied().unwrap_or_default();
    recovered.next.space = recovered.next.space.max(SpaceId(last.0 + 1));
    let repaired_pages = pool.repaired().len();
    // Until its first checkpoint a server works behind the clean one of the shutdown before.
    let was_clean = block.clean && recovered.records_since_checkpoint == 0;
    let report = StartReport { is_new: false, was_clean, recovered, repaired_pages };
    Ok((log, pool, control, report))
}

/// Makes log, dictionary space, dictionary tree and, last, the control file.
fn new(config: &EngineConfig, disk: &Arc<dyn Disk>, clock: &Arc<dyn Clock>) -> Result<Parts, EngineError> {
    disk.open(MARK, OpenMode::Create, Caching::Buffered)?;
    disk.sync_dir("")?;
    let server_uuid = new_uuid();
    let barrier = Arc::new(LogBarrier::default());
    let pool = open_pool(config, disk, clock, &barrier)?;
    let log = Log::create(Arc::clone(disk), log_config(config, server_uuid, clock))?;
    barrier.set(&log);
    let begin = log.frame_start_before(Lsn(0));
    pool.create_space(DICTIONARY_SPACE)?;
    let store = Store::new(Arc::clone(&pool), Arc::clone(&log));
    btree::create_space(&store, DICTIONARY_SPACE)?;
    let tree = Tree::create(&store, DICTIONARY_SPACE, DICTIONARY_INDEX, TreeKind::Clustered)?;
    assert_eq!(tree.root(), DICTIONARY_ROOT, "the first page of a space is the one after its header");
    pool.flush_all()?;
    let recovered = Recovered { purge_position: begin.lsn, next: first_ids(), ..Recovered::default() };
    let control = first_checkpoint(disk, &log, &pool, server_uuid, begin, &recovered)?;
    let report = StartReport { is_new: true, was_clean: true, recovered, repaired_pages: 0 };
    Ok((log, pool, control, report))
}

fn first_ids() -> NextIds {
    NextIds { trx: TrxId(1), table: TableId(FIRST_USER_ID), index: IndexId(FIRST_USER_ID), space: SpaceId(1) }
}

/// The control file appears with a checkpoint that stands for the whole (short) log.
fn first_checkpoint(
    disk: &Arc<dyn Disk>,
    log: &Arc<Log>,
    pool: &Arc<BufferPool>,
    server_uuid: [u8; 16],
    begin: FrameStart,
    recovered: &Recovered,
) -> Result<ControlFile, EngineError> {
    let redo_start = log.reserved_lsn();
    let facts = Facts {
        next: recovered.next,
        purge_position: begin.lsn,
        needed_log: begin.lsn,
        binlog: begin.lsn,
        ..Default::default()
    };
    let checkpoint = checkpoint::append(log, redo_start, &facts)?;
    debug_assert!(pool.oldest_rec_lsn().is_none(), "everything was flushed");
    let block = ControlBlock {
        sequence: 1,
        server_uuid,
        checkpoint,
        scan_start: begin,
        redo_start,
        durable: log.durable_lsn(),
        clean: false,
    };
    Ok(ControlFile::create(&**disk, block)?)
}

/// A random UUID, version 4.
fn new_uuid() -> [u8; 16] {
    let mut uuid = [0; 16];
    env::random::entropy(&mut uuid);
    uuid[6] = uuid[6] & 0x0f | 0x40;
    uuid[8] = uuid[8] & 0x3f | 0x80;
    uuid
}

/// Removes what an interrupted first start left; refuses files that are somebody's data.
fn clear_unfinished(disk: &dyn Disk) -> Result<(), EngineError> {
    let mut left = Vec::new();
    for directory in ["log", "spaces"] {
        if disk.exists(directory)? {
            left.extend(disk.list(directory)?.into_iter().map(|name| format!("{directory}/{name}")));
        }
    }
    if left.is_empty() {
        return Ok(());
    }
    if !disk.exists(MARK)? {
        return Err(EngineError::Directory(format!(
            "the data directory has no control file but holds '{}': restore morse.control, or start in an empty directory",
            left[0]
        )));
    }
    left.iter().try_for_each(|path| disk.remove(path))?;
    Ok(())
}
