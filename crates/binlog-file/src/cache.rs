//! One transaction's event group until it stands in a file: in memory up to binlog_cache_size, behind that in a file of its own.
//!
//! # Layout of a cache file
//! ```text
//! reserved, for the head of a binlog file and a padded GTID event | events between the GTID event and the last one | last event
//! ```
//! So that a large one can become the next file of the binary log by a rename: only its reserved part is still to be written. It is
//! synced as it grows: bytes that waited in the file system's cache for its commit would go to the disk before every other commit's sync.
//!
//! # Crash
//! Cache files of before a start are removed.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use binlog::{EventSink, SinkClosed};
use env::{Caching, Disk, DiskError, DiskResult, File, OpenMode};
use event_format::{Checksum, Header};

use crate::head;
use crate::names::CACHE_DIRECTORY;

/// Bytes that are gathered for one write of a cache file at least.
const GATHER_MIN: usize = 64 << 10;

/// Bytes of a large group between two syncs of its file.
const SYNC_EVERY: u64 = 16 << 20;

/// How much a group may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheLimits {
    /// binlog_cache_size
    pub memory: usize,
    /// max_binlog_cache_size
    pub most: u64,
    /// GTIDs in the state, for the reserved part.
    pub gtids: usize,
    /// binlog_large_commit_threshold
    pub large: u64,
}

impl CacheLimits {
    pub(crate) fn unbounded() -> Self {
        Self { memory: 1 << 20, most: u64::MAX, gtids: 0, large: u64::MAX }
    }
}

/// See the module.
pub struct Cache {
    disk: Arc<dyn Disk>,
    limits: CacheLimits,
    pub(crate) checksum: Checksum,
    /// The GTID event.
    pub(crate) first: Vec<u8>,
    /// Events behind it that are not in the file.
    pub(crate) memory: Vec<u8>,
    pub(crate) spill: Option<Spill>,
    /// The last event.
    pub(crate) last: Vec<u8>,
    /// Why the group is not whole.
    trouble: Option<Trouble>,
}

enum Trouble {
    Full,
    Disk(DiskError),
}

/// A cache file.
pub(crate) struct Spill {
    disk: Arc<dyn Disk>,
    pub(crate) file: Arc<dyn File>,
    pub(crate) path: String,
    /// Bytes reserved in front.
    pub(crate) reserved: u64,
    /// Bytes of events behind them.
    pub(crate) len: u64,
    /// Those of them that are synced.
    synced: u64,
    /// It has become a file of the binary log.
    pub(crate) is_adopted: bool,
}

impl Drop for Spill {
    fn drop(&mut self) {
        if !self.is_adopted {
            // What stays goes at the next start.
            let _ = self.disk.remove(&self.path);
        }
    }
}

static NEXT: AtomicU64 = AtomicU64::new(1);

/// Removes what was left of before the start, and makes the directory.
pub(crate) fn clean(disk: &dyn Disk) -> DiskResult<()> {
    disk.create_dir(CACHE_DIRECTORY)?;
    for name in disk.list(CACHE_DIRECTORY)? {
        disk.remove(&format!("{CACHE_DIRECTORY}/{name}"))?;
    }
    Ok(())
}

impl Cache {
    pub(crate) fn new(disk: Arc<dyn Disk>, limits: CacheLimits, checksum: Checksum) -> Self {
        let (first, memory, last) = (Vec::new(), Vec::new(), Vec::new());
        Self { disk, limits, checksum, first, memory, spill: None, last, trouble: None }
    }

    /// Bytes of all events but the first.
    pub fn body_len(&self) -> u64 {
        self.spill.as_ref().map_or(0, |s| s.len) + (self.memory.len() + self.last.len()) as u64
    }

    /// Whether it outgrew its memory.
    pub fn is_on_disk(&self) -> bool {
        self.spill.is_some()
    }

    /// It outgrew max_binlog_cache_size.
    pub fn is_full(&self) -> bool {
        matches!(self.trouble, Some(Trouble::Full))
    }

    /// Why the file could not be written.
    pub fn take_error(&mut self) -> Option<DiskError> {
        match self.trouble.take() {
            Some(Trouble::Disk(e)) => Some(e),
            other => {
                self.trouble = other;
                None
            }
        }
    }

    /// All of it is in the cache file and durable, so that a rename is left to do. The last event says where it will stand then.
    pub fn make_durable(&mut self) -> DiskResult<()> {
        self.flush()?;
        let Some(spill) = &mut self.spill else { return Ok(()) };
        let at = spill.reserved + spill.len;
        head::place(&mut self.last, at, self.checksum);
        spill.file.write_at(&self.last, at)?;
        spill.file.sync_data()
    }

    /// All events in order; the last one is told so.
    pub(crate) fn events(&self, each: &mut dyn FnMut(&[u8], bool)) -> DiskResult<()> {
        each(&self.first, false);
        if let Some(spill) = &self.spill {
            let (mut at, end) = (spill.reserved, spill.reserved + spill.len);
            let mut event = Vec::new();
            while at < end {
                let mut head = [0; Header::LEN];
                spill.file.read_at(&mut head, at)?;
                event.resize(u32::from_le_bytes([head[9], head[10], head[11], head[12]]) as usize, 0);
                spill.file.read_at(&mut event, at)?;
                each(&event, false);
                at += event.len() as u64;
            }
        }
        let mut rest = &self.memory[..];
        while rest.len() >= Header::LEN {
            let len = u32::from_le_bytes([rest[9], rest[10], rest[11], rest[12]]) as usize;
            each(&rest[..len], false);
            rest = &rest[len..];
        }
        each(&self.last, true);
        Ok(())
    }

    fn flush(&mut self) -> DiskResult<()> {
        if let Some(spill) = &mut self.spill
            && !self.memory.is_empty()
        {
            spill.file.write_at(&self.memory, spill.reserved + spill.len)?;
            spill.len += self.memory.len() as u64;
            self.memory.clear();
            // A quarter of the threshold tells a large group early enough.
            if spill.len >= self.limits.large / 4 {
                env::thread::give_way();
                if spill.len - spill.synced >= SYNC_EVERY {
                    spill.file.sync_data()?;
                    spill.synced = spill.len;
                }
            }
        }
        Ok(())
    }

    fn spill(&mut self) -> DiskResult<()> {
        if self.spill.is_none() {
            let path = format!("{CACHE_DIRECTORY}/ML_{}", NEXT.fetch_add(1, Ordering::Relaxed));
            let file = self.disk.open(&path, OpenMode::CreateNew, Caching::Buffered)?;
            let (disk, reserved) = (Arc::clone(&self.disk), head::reserve(self.limits.gtids));
            self.spill = Some(Spill { disk, file, path, reserved, len: 0, synced: 0, is_adopted: false });
        }
        self.flush()
    }

    fn add(&mut self, bytes: &[u8]) -> Result<(), Trouble> {
        if self.body_len() + bytes.len() as u64 > self.limits.most {
            return Err(Trouble::Full);
        }
        let room = if self.spill.is_some() { self.limits.memory.max(GATHER_MIN) } else { self.limits.memory };
        if self.memory.len() + bytes.len() > room {
            self.spill().map_err(Trouble::Disk)?;
        }
        self.memory.extend_from_slice(bytes);
        Ok(())
    }
}

impl EventSink for Cache {
    fn event(&mut self, bytes: &[u8], last: bool) -> Result<(), SinkClosed> {
        if self.first.is_empty() {
            self.first.extend_from_slice(bytes);
        } else if last {
            self.last.extend_from_slice(bytes);
        } else if let Err(trouble) = self.add(bytes) {
            self.trouble = Some(trouble);
            return Err(SinkClosed);
        }
        Ok(())
    }
}

impl std::fmt::Debug for Cache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cache").field("body_len", &self.body_len()).finish_non_exhaustive()
    }
}
