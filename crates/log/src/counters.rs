//! Statistics of the log since the start; all only grow.

use std::sync::atomic::{AtomicU64, Ordering};

#[derive(Debug, Default)]
pub struct LogCounters {
    /// Bytes handed to the device as part of the stream (`Innodb_os_log_written`).
    pub bytes_written: AtomicU64,
    /// Writes of frames (`Innodb_log_writes`).
    pub writes: AtomicU64,
    /// Syncs of the stream (`Innodb_os_log_fsyncs`).
    pub syncs: AtomicU64,
    /// Appends that waited because the ring was full (`Innodb_log_waits`).
    pub waits: AtomicU64,
    /// Waits for durability that a frame of another thread covered.
    pub followers: AtomicU64,
    /// Bytes of zeros written ahead of the tail, and the syncs of them; nobody waits for these.
    pub bytes_zeroed: AtomicU64,
    pub zero_syncs: AtomicU64,
    /// Records read back: from the ring, and from segments.
    pub ring_reads: AtomicU64,
    pub file_reads: AtomicU64,
}

pub(crate) fn add(counter: &AtomicU64, n: u64) {
    counter.fetch_add(n, Ordering::Relaxed);
}
