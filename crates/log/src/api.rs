//! Types and signatures of the log; its construction is refused until the ring and the writer have landed.

use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use base::{Corruption, Lsn};
use env::{Disk, DiskError};
use log_format::frame::FrameStart;

/// What a log is made with.
#[derive(Debug, Clone)]
pub struct LogConfig {
    /// Bytes of the in-memory ring, a power of two from 64 KiB to 1 GiB. A record may be a quarter of it at most.
    pub ring_size: usize,
    /// A segment ends at the first frame end past this size.
    pub segment_size: u64,
    pub server_id: u32,
    pub server_uuid: [u8; 16],
    /// Unix seconds, stamped into new segments.
    pub now: fn() -> u64,
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

/// Statistics since the start; all only grow.
#[derive(Debug, Default)]
pub struct LogCounters {
    /// Bytes handed to the device: frames, segment headers, and nothing else.
    pub bytes_written: AtomicU64,
    /// Writes of frames.
    pub writes: AtomicU64,
    /// Syncs that a commit or the once-a-second flush waited for.
    pub syncs: AtomicU64,
    /// Appends that waited because the ring was full.
    pub waits: AtomicU64,
    /// Bytes of zeros written ahead of the tail.
    pub bytes_zeroed: AtomicU64,
}

/// Takes one record (its LSN, its bytes) during the scan at start-up.
pub type Visit<'a> = &'a mut dyn FnMut(Lsn, &[u8]) -> Result<(), Corruption>;

/// The log.
pub struct Log {
    unbuilt: Infallible,
}

impl Log {
    /// Makes the first segment in an empty data directory.
    pub fn create(_disk: Arc<dyn Disk>, _config: LogConfig) -> Result<Arc<Self>, LogError> {
        Err(LogError::Config("the log writer is not built yet"))
    }

    /// Scans frames from `from` (a frame start that a checkpoint stored), hands every whole record to `visit` in order,
    /// then is ready to append. Refuses when acknowledged bytes are damaged (core.md 1.4).
    pub fn open(
        _disk: Arc<dyn Disk>,
        _config: LogConfig,
        _from: FrameStart,
        _known_durable: Lsn,
        _visit: Visit<'_>,
    ) -> Result<Arc<Self>, LogError> {
        Err(LogError::Config("the log writer is not built yet"))
    }

    /// Appends one record. `build` writes the whole record, envelope included, for the given start LSN into an empty
    /// buffer; it is called again when the reservation loses a race. Blocks only when the ring is full of unwritten bytes.
    pub fn append(&self, build: impl FnMut(Lsn, &mut Vec<u8>)) -> Result<Appended, LogFailed> {
        self.append_then(build, |_| ())
    }

    /// Same; `publish` runs after the reservation and before the ready LSN can pass the record.
    pub fn append_then(
        &self,
        _build: impl FnMut(Lsn, &mut Vec<u8>),
        _publish: impl FnOnce(Appended),
    ) -> Result<Appended, LogFailed> {
        match self.unbuilt {}
    }

    /// End of the reserved stream: the next record starts here or after a header placed here.
    pub fn reserved_lsn(&self) -> Lsn {
        match self.unbuilt {}
    }
    /// Everything below is completely in the ring (or written).
    pub fn ready_lsn(&self) -> Lsn {
        match self.unbuilt {}
    }
    /// Everything below is written to the file.
    pub fn written_lsn(&self) -> Lsn {
        match self.unbuilt {}
    }
    /// Everything below survives a crash. Always a frame end: a record is durable when its first byte is below.
    pub fn durable_lsn(&self) -> Lsn {
        match self.unbuilt {}
    }

    /// Waits until the stream below `end` is durable; group commit.
    pub fn wait_durable(&self, _end: Lsn) -> Result<(), LogFailed> {
        match self.unbuilt {}
    }
    /// Waits as the flush policy wants it for a commit record that ends at `end`.
    pub fn wait_commit(&self, _end: Lsn) -> Result<(), LogFailed> {
        match self.unbuilt {}
    }

    pub fn flush_policy(&self) -> FlushPolicy {
        match self.unbuilt {}
    }
    pub fn set_flush_policy(&self, _policy: FlushPolicy) {
        match self.unbuilt {}
    }

    /// Reads the record at `lsn`, envelope included, into `out` (cleared first), from the ring or a segment.
    pub fn read(&self, _lsn: Lsn, _out: &mut Vec<u8>) -> Result<(), LogReadError> {
        match self.unbuilt {}
    }

    /// A frame start at or before the record at `lsn`, from which a scan meets it.
    pub fn frame_start_before(&self, _lsn: Lsn) -> FrameStart {
        match self.unbuilt {}
    }

    /// Declares that nothing below `lsn` will be read again; whole segments below go.
    pub fn retain_from(&self, _lsn: Lsn) {
        match self.unbuilt {}
    }
    /// Kept segments, oldest first; the last is the current one.
    pub fn segments(&self) -> Vec<SegmentInfo> {
        match self.unbuilt {}
    }
    /// Ends the current segment now (FLUSH BINARY LOGS); returns the new one's number.
    pub fn rotate(&self) -> Result<u64, LogFailed> {
        match self.unbuilt {}
    }

    /// The disk is full and the log lives on its reserve: new changes must be refused (rollback, commit and checkpoint
    /// may go on) until this is false again.
    pub fn space_is_low(&self) -> bool {
        match self.unbuilt {}
    }

    pub fn counters(&self) -> &LogCounters {
        match self.unbuilt {}
    }
    /// Records appended (`Innodb_log_write_requests`).
    pub fn appends(&self) -> u64 {
        match self.unbuilt {}
    }
    /// Largest record that `append` takes.
    pub fn record_size_max(&self) -> usize {
        match self.unbuilt {}
    }

    /// The once-a-second work of a background thread: write and sync for policies 0 and 2, prepare file space ahead.
    pub fn tick(&self) {
        match self.unbuilt {}
    }
    /// Makes everything durable and refuses later appends.
    pub fn shutdown(&self) -> Result<(), LogFailed> {
        match self.unbuilt {}
    }
}
