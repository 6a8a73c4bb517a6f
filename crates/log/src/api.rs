//! What callers of the log give and get: settings, positions, errors.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use base::{Corruption, Lsn};
use env::{Clock, DiskError};

/// What a log is made with.
#[derive(Clone)]
pub struct LogConfig {
    /// Bytes of the in-memory ring, a power of two from 64 KiB to 1 GiB. A record may be a quarter of it at most.
    pub ring_size: usize,
    /// A segment ends at the first frame end past this size.
    pub segment_size: u64,
    pub server_id: u32,
    pub server_uuid: [u8; 16],
    /// Stamps new segments, measures syncs.
    pub clock: Arc<dyn Clock>,
    pub pipeline: Pipeline,
}

/// How syncs of frames overlap (core.md 1.6).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pipeline {
    /// Frames in flight at most, 1 to 16.
    pub frames: usize,
    /// Syncs overlap when one takes at least this long; below, a further sync costs more than it saves.
    pub overlap_from: Duration,
}

impl Default for Pipeline {
    fn default() -> Self {
        Self { frames: 4, overlap_from: Duration::from_micros(500) }
    }
}

impl Pipeline {
    /// Whatever a sync takes.
    pub fn always(frames: usize) -> Self {
        Self { frames, overlap_from: Duration::ZERO }
    }
}

/// When a commit is acknowledged: `innodb_flush_log_at_trx_commit`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FlushPolicy {
    /// 0: at once; written and synced once a second.
    Lazy,
    /// 1: after the sync.
    Sync,
    /// 2: after the write; synced once a second.
    Write,
}

/// Where a record went: `start` names it, `end` is what to wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Appended {
    pub start: Lsn,
    pub end: Lsn,
}

/// A write or sync of the log failed, or the log was shut down. It is final (L7): nothing can be appended or made
/// durable any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogFailed {
    pub reason: Arc<str>,
}

impl fmt::Display for LogFailed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the log has stopped: {}", self.reason)
    }
}

impl std::error::Error for LogFailed {}

/// Why the current segment was not ended.
#[derive(Debug)]
pub enum RotateError {
    /// The next segment's file could not be made; nothing was lost, the current segment goes on.
    NoFile(DiskError),
    Failed(LogFailed),
}

impl fmt::Display for RotateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoFile(e) => write!(f, "the next log segment could not be made: {e}"),
            Self::Failed(e) => e.fmt(f),
        }
    }
}

impl std::error::Error for RotateError {}

impl From<LogFailed> for RotateError {
    fn from(failed: LogFailed) -> Self {
        Self::Failed(failed)
    }
}

/// Why a log could not be created or opened.
#[derive(Debug)]
pub enum LogError {
    Disk(DiskError),
    /// Bytes that had been acknowledged are damaged, or a record does not decode.
    Corrupt(Corruption),
    /// A setting is out of range.
    Config(&'static str),
    Failed(LogFailed),
}

impl fmt::Display for LogError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Disk(e) => e.fmt(f),
            Self::Corrupt(e) => e.fmt(f),
            Self::Config(e) => e.fmt(f),
            Self::Failed(e) => e.fmt(f),
        }
    }
}

impl std::error::Error for LogError {}

impl From<DiskError> for LogError {
    fn from(e: DiskError) -> Self {
        Self::Disk(e)
    }
}

impl From<Corruption> for LogError {
    fn from(e: Corruption) -> Self {
        Self::Corrupt(e)
    }
}

/// Why a record could not be read.
#[derive(Debug)]
pub enum LogReadError {
    /// The LSN is below the retained log or not below the ready LSN.
    OutOfRange {
        lsn: Lsn,
        first: Lsn,
        end: Lsn,
    },
    Corrupt(Corruption),
    Disk(DiskError),
}

impl fmt::Display for LogReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OutOfRange { lsn, first, end } => {
                write!(f, "log position {lsn} is outside the kept log, {first} to {end}")
            }
            Self::Corrupt(e) => e.fmt(f),
            Self::Disk(e) => e.fmt(f),
        }
    }
}

impl std::error::Error for LogReadError {}

/// One segment: the stream from `start` to `end`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SegmentInfo {
    pub number: u64,
    /// Path in the data directory, `log/NNNNNN.seg`.
    pub path: String,
    pub start: Lsn,
    /// Start of the next segment, or what has been written of the current one.
    pub end: Lsn,
    pub created: u64,
}

/// Takes one record (its LSN, its bytes) during the scan at start-up.
pub type Visit<'a> = &'a mut dyn FnMut(Lsn, &[u8]) -> Result<(), Corruption>;
