//! The one door to disk, network, clock, threads and randomness; real and simulated.
//!
//! # Invariants
//! E1. No other crate touches `std::fs`, sockets of `std`, `Instant`, `SystemTime`, `thread::spawn` or random numbers. IP addresses
//!     are values and may be named anywhere.
//! E2. Sync calls go through libc's `fsync`/`fdatasync`, so that they can be counted and slowed from outside.
//! E3. An error of a sync is returned once and never retried here; the caller must stop writing (L7).

pub mod clock;
pub mod files;
pub mod hangup;
pub mod host;
pub mod net;
pub mod random;
pub mod signal;
pub mod thread;

mod aligned;
mod mount;
mod os;
mod reclaim;
mod sim;

pub use aligned::{ALIGNMENT, AlignedBuf};
pub use clock::{Clock, ManualClock, RealClock, Stopwatch};
pub use mount::MountedDisk;
pub use os::OsDisk;
pub use random::Random;
pub use sim::{Fault, Operation, Rule, SimDisk};

use std::fmt;
use std::sync::Arc;

/// Result of a disk call; the error names the operation and the path.
pub type DiskResult<T> = Result<T, DiskError>;

/// A failed disk call.
#[derive(Debug)]
pub struct DiskError {
    pub operation: &'static str,
    pub path: String,
    pub source: std::io::Error,
}

impl DiskError {
    pub fn new(operation: &'static str, path: &str, source: std::io::Error) -> Self {
        Self { operation, path: path.to_owned(), source }
    }
    /// The volume has no room; nothing is lost and the call may be tried again later.
    pub fn is_full(&self) -> bool {
        matches!(self.source.kind(), std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded)
    }
    pub fn is_missing(&self) -> bool {
        self.source.kind() == std::io::ErrorKind::NotFound
    }
}

impl fmt::Display for DiskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of '{}' failed: {}", self.operation, self.path, self.source)
    }
}

impl std::error::Error for DiskError {}

/// How [`Disk::open`] treats a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenMode {
    /// Must exist.
    Existing,
    /// Made when missing.
    Create,
    /// Must not exist.
    CreateNew,
}

/// Whether reads and writes pass the operating system's cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Caching {
    Buffered,
    /// O_DIRECT where the file system has it (else buffered): buffers, offsets and lengths are 4 KiB aligned.
    Direct,
}

/// Relative, no empty parts, no `.` or `..` inside; `""` and `.` name the root itself.
fn is_clean(path: &str) -> bool {
    path.is_empty() || path == "." || path.split('/').all(|part| !matches!(part, "" | "." | ".."))
}

/// A directory tree of files. Paths are relative to the data directory, with `/` between parts.
pub trait Disk: Send + Sync {
    fn open(&self, path: &str, mode: OpenMode, caching: Caching) -> DiskResult<Arc<dyn File>>;
    fn exists(&self, path: &str) -> DiskResult<bool>;
    /// Makes one directory; it may exist already.
    fn create_dir(&self, path: &str) -> DiskResult<()>;
    /// Names in a directory, sorted.
    fn list(&self, path: &str) -> DiskResult<Vec<String>>;
    /// Replaces `to` if it exists; atomic, durable after `sync_dir` of both parents.
    fn rename(&self, from: &str, to: &str) -> DiskResult<()>;
    /// Removes a file or an empty directory.
    fn remove(&self, path: &str) -> DiskResult<()>;
    /// Makes creations, renames and removals inside `path` durable.
    fn sync_dir(&self, path: &str) -> DiskResult<()>;
    /// Takes the data directory for this process; the guard gives it back. Fails when another process has it.
    fn lock(&self, path: &str) -> DiskResult<Box<dyn Send + Sync>>;
    /// Free bytes of the volume.
    fn free_space(&self) -> DiskResult<u64>;
}

/// One open file; all calls are positional and may run in parallel.
pub trait File: Send + Sync {
    /// Fills `buf` from `offset`; an end of file before that is an error of kind `UnexpectedEof`.
    fn read_at(&self, buf: &mut [u8], offset: u64) -> DiskResult<()>;
    fn write_at(&self, buf: &[u8], offset: u64) -> DiskResult<()>;
    /// fdatasync: what was written is durable, and so is the length.
    fn sync_data(&self) -> DiskResult<()>;
    fn len(&self) -> DiskResult<u64>;
    fn is_empty(&self) -> DiskResult<bool> {
        Ok(self.len()? == 0)
    }
    fn set_len(&self, len: u64) -> DiskResult<()>;
    /// Reserves blocks for `[offset, offset + len)`; reads there give zeros until written. Grows the file if needed.
    fn allocate(&self, offset: u64, len: u64) -> DiskResult<()>;
}

#[cfg(test)]
mod tests;
