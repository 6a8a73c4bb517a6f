//! Settings of an engine, how it stops, what its start found.

use base::{IndexId, PageNo, SpaceId};
use log::{FlushPolicy, Pipeline};

use crate::pool::PoolConfig;
use crate::recovery::Recovered;

/// Index and table ids below are the dictionary's.
pub const FIRST_USER_ID: u64 = 16;
/// The dictionary's space, and the tree that a new directory has in it: clustered, empty.
pub const DICTIONARY_SPACE: SpaceId = SpaceId(0);
pub const DICTIONARY_INDEX: IndexId = IndexId(1);
pub const DICTIONARY_ROOT: PageNo = PageNo(1);

/// Settings of an engine.
#[derive(Clone)]
pub struct EngineConfig {
    pub server_id: u32,
    /// `innodb_log_buffer_size`, rounded up to a power of two.
    pub log_ring_size: usize,
    /// `max_binlog_size`.
    pub log_segment_size: u64,
    pub log_pipeline: Pipeline,
    /// `innodb_log_file_size`: bytes of log that recovery may have to read, a target of the page cleaner and of checkpoints.
    pub checkpoint_age: u64,
    pub flush_policy: FlushPolicy,
    pub pool: PoolConfig,
    /// Threads of the engine; tests that drive it by hand say no.
    pub background: bool,
}

impl EngineConfig {
    /// MariaDB's defaults with a pool of this many frames.
    pub fn with_frames(frames: usize) -> Self {
        Self {
            server_id: 1,
            log_ring_size: 16 << 20,
            log_segment_size: 1 << 30,
            log_pipeline: Pipeline::default(),
            checkpoint_age: 96 << 20,
            flush_policy: FlushPolicy::Sync,
            pool: PoolConfig::with_frames(frames),
            background: true,
        }
    }
}

/// How to stop: `innodb_fast_shutdown`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shutdown {
    /// 0: purge finishes first.
    Slow,
    /// 1: pages are written, the next start reads no log.
    Fast,
    /// 2: only the log is made durable; the next start recovers.
    LogOnly,
}

/// What a start found, for the server's log and for the GTID state.
#[derive(Debug, Default)]
pub struct StartReport {
    pub is_new: bool,
    /// The last shutdown was clean.
    pub was_clean: bool,
    pub recovered: Recovered,
    /// Pages that the doublewrite repaired.
    pub repaired_pages: usize,
}
