//! What readers of the binary log give and get: places, groups, options, errors.

use std::fmt;
use std::time::Duration;

use base::{Corruption, Gtid};
use env::DiskError;
use event_format::{Checksum, MetadataLevel};

/// A place in the binary log: a segment, which is one file of it, and the offset in its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Position {
    pub segment: u64,
    pub offset: u64,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "segment {}, offset {}", self.segment, self.offset)
    }
}

/// Where a reader begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// With the first group of the oldest file.
    Oldest,
    /// With the first group whose commit record stands at or behind this place, which may lie inside a group.
    At(Position),
    /// With what commits from now on.
    Newest,
}

/// How long `next` may wait for a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    No,
    /// At most so long.
    For(Duration),
}

/// What a reader has come to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// A committed, durable event group. `emit` gives its events, the following `next` passes over it.
    Group(GroupHead),
    /// The reader has left a file behind, and this one comes next: a ROTATE event and the head of a new file.
    Rotated { segment: u64 },
    /// The time has passed, or the reader was interrupted, or the log of a stopped server has ended.
    Nothing,
}

/// The head of an event group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GroupHead {
    pub gtid: Gtid,
    /// Of `log_format::record::commit_flags`.
    pub flags: u8,
    /// When it committed, in microseconds since 1970.
    pub time: u64,
    pub thread_id: u32,
    /// The same for transactions that a replica may apply side by side: all had their row locks at one moment. 0 = none.
    pub commit_id: u64,
    /// Where its commit record stands.
    pub position: Position,
    /// The end of that record: where a reader goes on. Positions of events in the group are this, or 0.
    pub end: Position,
    /// Log bytes between its first record and its end, those of other transactions included: tells small groups from large ones.
    pub span: u64,
}

/// How events are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct EmitOptions {
    pub checksum: Checksum,
    /// ANNOTATE_ROWS events are wanted.
    pub annotate: bool,
    /// `binlog_row_metadata`
    pub metadata: MetadataLevel,
    /// `binlog_row_event_max_size`
    pub row_event_size_max: usize,
}

impl Default for EmitOptions {
    fn default() -> Self {
        Self {
            checksum: Checksum::Crc32,
            annotate: true,
            metadata: MetadataLevel::NoLog,
            row_event_size_max: 8192,
        }
    }
}

/// Takes the events of a group.
pub trait EventSink {
    /// One whole event; `last` is the group's last. An error ends `emit` with [`EmitError::Sink`].
    fn event(&mut self, bytes: &[u8], last: bool) -> Result<(), SinkClosed>;
}

impl<F: FnMut(&[u8], bool) -> Result<(), SinkClosed>> EventSink for F {
    fn event(&mut self, bytes: &[u8], last: bool) -> Result<(), SinkClosed> {
        self(bytes, last)
    }
}

/// Nobody takes events any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SinkClosed;

/// Why the binary log could not be read. The server and other readers go on.
#[derive(Debug)]
pub enum ReadError {
    /// Bytes of the log are damaged; the place names the file.
    Corrupt(Corruption),
    Disk(DiskError),
    /// What is asked for has been purged, or was never there.
    Gone {
        what: String,
    },
    /// The log has stopped: nothing more will become durable.
    Stopped(String),
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Corrupt(e) => e.fmt(f),
            Self::Disk(e) => e.fmt(f),
            Self::Gone { what } => write!(f, "{what} is not in the binary log (any more)"),
            Self::Stopped(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for ReadError {}

impl From<Corruption> for ReadError {
    fn from(e: Corruption) -> Self {
        Self::Corrupt(e)
    }
}

impl From<DiskError> for ReadError {
    fn from(e: DiskError) -> Self {
        Self::Disk(e)
    }
}

/// Why a group's events did not all go out.
#[derive(Debug)]
pub enum EmitError {
    Read(ReadError),
    Sink(SinkClosed),
}

impl<E: Into<ReadError>> From<E> for EmitError {
    fn from(e: E) -> Self {
        Self::Read(e.into())
    }
}

impl From<SinkClosed> for EmitError {
    fn from(e: SinkClosed) -> Self {
        Self::Sink(e)
    }
}

impl fmt::Display for EmitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(e) => e.fmt(f),
            Self::Sink(_) => f.write_str("the reader's connection is closed"),
        }
    }
}

impl std::error::Error for EmitError {}
