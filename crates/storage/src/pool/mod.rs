//! The buffer pool: pages in memory, found without a lock, read under one latch word.
//!
//! A hot read is: one lookup in the page table, one atomic add on the frame's latch, the check that the frame holds the
//! page, and one atomic subtraction. Nothing else that is shared is written (L8).
//!
//! # Parts
//! `frame` memory and descriptors, `state` flags and rec_lsns, `latch`, `table` page id to frame, `policy` which pages stay (`touch` what a hit notes, `lru` and `fifo` the
//! two policies), `evict` where free frames come
//! from, `flush` how changes get to the files; beside them `space` (files), `doublewrite` (torn pages), `cleaner` (the thread).
//!
//! # Invariants
//! M1. A page is in at most one frame. Who loads it holds that frame's exclusive latch from before the page table names the
//!     frame until the bytes are checked; so one thread reads and all others wait for it.
//! M2. What a guard shows passed its checksum and id check when it was read, or was made by `create`.
//! M3. A dirty page leaves memory only through `flush` (or with its dropped space).
//! M4. After a failed sync, a failed log or a panic in the middle of a change nothing is written any more (L7); pages in memory can still be read.
//!
//! # Lock order
//! flush mutex > latch (tried, never waited for, under the flush mutex) > LRU mutex > latch (tried only) > page table shard
//! > free list. Callers order latches among themselves: parent before child, left before right, never the same page twice.

mod counters;
mod error;
mod evict;
mod fifo;
mod flush;
mod frame;
mod ghost;
mod guard;
mod latch;
mod list;
mod lru;
pub(crate) mod page;
mod policy;
mod state;
mod table;
#[cfg(test)]
mod tests;
mod touch;

/// What `latch` and `state` are built on; the model tests build it on shuttle's.
mod sync {
    pub(super) use std::hint::spin_loop as spin_hint;
    pub(super) use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
    pub(super) use std::sync::{Condvar, Mutex};
    pub(super) const SPINS: u32 = 64;
}

pub use counters::PoolCounters;
pub use error::{PoolError, WalBarrier};
pub use guard::{PageRead, PageWrite};
pub use policy::Replacement;

use crate::doublewrite::Doublewrite;
use crate::space::{self, Spaces};
use base::{Lsn, PageId, SpaceId};
use counters::{Counting, bump};
use env::{Caching, Clock, Disk};
use evict::FreeFrames;
use flush::Flusher;
use frame::{Exclusive, Frames};
use policy::Policy;
use state::{FRESH, IN_LRU};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;
use table::PageTable;
use touch::AccessClock;

/// Settings of a pool.
#[derive(Debug, Clone)]
pub struct PoolConfig {
    /// `innodb_buffer_pool_size` / 16 KiB.
    pub frames: usize,
    /// Which pages stay.
    pub replacement: Replacement,
    /// `innodb_old_blocks_pct`.
    pub old_blocks_pct: usize,
    /// `innodb_old_blocks_time`.
    pub old_blocks_time_ms: u64,
    /// `innodb_lru_scan_depth`: frames the cleaner keeps free, and how deep it looks for them.
    pub lru_scan_depth: usize,
    /// `innodb_io_capacity`: pages a second the cleaner writes when nothing presses.
    pub io_capacity: usize,
    /// `innodb_log_file_size`: the cleaner keeps the oldest change in memory younger than this many bytes of log.
    pub checkpoint_age_max: u64,
    /// `innodb_max_dirty_pages_pct`.
    pub max_dirty_pages_pct: usize,
    /// `innodb_doublewrite`.
    pub doublewrite: bool,
    /// `innodb_flush_method`: O_DIRECT or not.
    pub caching: Caching,
    /// `innodb_open_files`.
    pub open_files: usize,
    /// How long a request waits when every frame is latched.
    pub free_frame_timeout: Duration,
}

impl PoolConfig {
    /// MariaDB's defaults for a pool of this many frames.
    pub fn with_frames(frames: usize) -> Self {
        Self {
            frames,
            replacement: Replacement::S3Fifo,
            old_blocks_pct: 37,
            old_blocks_time_ms: 1000,
            lru_scan_depth: 1536,
            io_capacity: 200,
            checkpoint_age_max: 96 << 20,
            max_dirty_pages_pct: 90,
            doublewrite: true,
            caching: Caching::Direct,
            open_files: 2000,
            free_frame_timeout: Duration::from_secs(10),
        }
    }
}

/// Why a page is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AccessHint {
    Normal,
    /// A pass over a whole table or space: these touches do not count for keeping the page.
    Scan,
}

/// A page that is in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResidentPage {
    pub id: PageId,
    /// From where its changes are not in the data file; None when they are.
    pub rec_lsn: Option<Lsn>,
}

/// The pool.
pub struct BufferPool {
    config: PoolConfig,
    frames: Frames,
    table: PageTable,
    clock: AccessClock,
    lru: Mutex<Policy>,
    free: FreeFrames,
    counting: Counting,
    spaces: Spaces,
    flusher: Mutex<Flusher>,
    /// Oldest rec_lsn among pages written to files that are not synced since; `u64::MAX` = none.
    unsynced_rec_lsn: AtomicU64,
    barrier: Arc<dyn WalBarrier>,
    time: Arc<dyn Clock>,
    stopped: OnceLock<String>,
    repaired: Vec<PageId>,
}

/// How a missing page gets into its frame.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Load {
    Read,
    /// `is_fresh`: its place in the file was never written.
    Create {
        is_fresh: bool,
    },
}

impl BufferPool {
    /// Opens the data files' directory and the doublewrite, and repairs torn pages before anybody can read one.
    pub fn open(
        disk: Arc<dyn Disk>,
        config: PoolConfig,
        barrier: Arc<dyn WalBarrier>,
        time: Arc<dyn Clock>,
    ) -> Result<Arc<Self>, PoolError> {
        let spaces = Spaces::open(disk.clone(), config.caching, config.open_files)?;
        // Also with the doublewrite off: the last run may have used it.
        let (doublewrite, repaired) = Doublewrite::open(&*disk, config.caching, &spaces)?;
        let frames = Frames::new(config.frames);
        let clock = AccessClock::new(config.old_blocks_time_ms);
        clock.refresh(time.monotonic());
        Ok(Arc::new(Self {
            table: PageTable::new(config.frames),
            lru: Mutex::new(Policy::new(config.replacement, config.frames, config.old_blocks_pct, &clock)),
            clock,
            free: FreeFrames::new(frames.count()),
            frames,
            counting: Counting::new(),
            spaces,
            flusher: Mutex::new(Flusher::new(config.doublewrite.then_some(doublewrite))),
            unsynced_rec_lsn: AtomicU64::new(u64::MAX),
            barrier,
            time,
            stopped: OnceLock::new(),
            repaired,
            config,
        }))
    }

    pub fn config(&self) -> &PoolConfig {
        &self.config
    }

    /// Pages the doublewrite repaired at start.
    pub fn repaired(&self) -> &[PageId] {
        &self.repaired
    }

    /// Redo has ended: files that are opened from now on hold no writes of the process before.
    pub(crate) fn started(&self) {
        self.spaces.started();
    }

    /// Latches a page for reading; waits for its latch.
    #[inline]
    pub fn read(&self, id: PageId, hint: AccessHint) -> Result<PageRead<'_>, PoolError> {
        self.counting.read_request();
        loop {
            if let Some(no) = self.table.find(&self.frames, id) {
                let page = self.frames.lock_shared(no);
                if page.frame().holds(id) {
                    self.touch(page.frame(), hint);
                    return Ok(PageRead::new(page, id));
                }
            } else if let Some(page) = self.load(id, Load::Read, hint)? {
                self.touch(page.frame(), hint);
                return Ok(PageRead::new(page.downgrade(), id));
            }
        }
    }

    /// Latches a page for writing; waits for its latch.
    pub fn write(&self, id: PageId, hint: AccessHint) -> Result<PageWrite<'_>, PoolError> {
        self.counting.read_request();
        self.latch_for_writing(id, hint, Load::Read)
    }

    /// As [`BufferPool::read`], `None` instead of waiting for the latch. May read the page from its file.
    pub fn try_read(&self, id: PageId) -> Result<Option<PageRead<'_>>, PoolError> {
        self.counting.read_request();
        loop {
            if let Some(no) = self.table.find(&self.frames, id) {
                let Some(page) = self.frames.try_shared(no) else { return Ok(None) };
                if page.frame().holds(id) {
                    self.touch(page.frame(), AccessHint::Normal);
                    return Ok(Some(PageRead::new(page, id)));
                }
            } else if let Some(page) = self.load(id, Load::Read, AccessHint::Normal)? {
                self.touch(page.frame(), AccessHint::Normal);
                return Ok(Some(PageRead::new(page.downgrade(), id)));
            }
        }
    }

    /// As [`BufferPool::write`], `None` instead of waiting for the latch. May read the page from its file.
    pub fn try_write(&self, id: PageId) -> Result<Option<PageWrite<'_>>, PoolError> {
        self.counting.read_request();
        loop {
            if let Some(no) = self.table.find(&self.frames, id) {
                let Some(page) = self.frames.try_exclusive(no) else { return Ok(None) };
                if page.frame().holds(id) {
                    self.touch(page.frame(), AccessHint::Normal);
                    return Ok(Some(PageWrite::new(page, id, self)));
                }
            } else if let Some(page) = self.load(id, Load::Read, AccessHint::Normal)? {
                self.touch(page.frame(), AccessHint::Normal);
                return Ok(Some(PageWrite::new(page, id, self)));
            }
        }
    }

    /// Latches a page that is about to be formatted: its file has room for it (here is where a full volume shows), nothing is
    /// read, a page that was not in memory is all zeros. The caller formats it before it lets go.
    pub fn create(&self, id: PageId) -> Result<PageWrite<'_>, PoolError> {
        let is_fresh = space::reserve_for(&self.spaces, id)?;
        bump(&self.counting.created);
        self.latch_for_writing(id, AccessHint::Normal, Load::Create { is_fresh })
    }

    fn latch_for_writing(&self, id: PageId, hint: AccessHint, how: Load) -> Result<PageWrite<'_>, PoolError> {
        loop {
            let page = match self.table.find(&self.frames, id) {
                Some(no) => self.frames.lock_exclusive(no),
                None => match self.load(id, how, hint)? {
                    Some(page) => page,
                    None => continue,
                },
            };
            if page.frame().holds(id) {
                self.touch(page.frame(), hint);
                return Ok(PageWrite::new(page, id, self));
            }
        }
    }

    #[inline]
    fn touch(&self, frame: &frame::Frame, hint: AccessHint) {
        match hint {
            AccessHint::Normal => self.clock.touch(frame),
            AccessHint::Scan => self.clock.touch_by_scan(frame),
        }
    }

    /// Brings a page into a frame and returns it latched; `None` when it is there already (M1).
    #[cold]
    fn load(&self, id: PageId, how: Load, hint: AccessHint) -> Result<Option<Exclusive<'_>>, PoolError> {
        if self.table.lock(id).find(&self.frames, id).is_some() {
            return Ok(None);
        }
        let mut page = self.take_free()?;
        let bucket = self.table.lock(id);
        if bucket.find(&self.frames, id).is_some() {
            drop(bucket);
            self.give_back(page);
            return Ok(None);
        }
        page.frame().clear_flags(FRESH);
        page.set_page_id(Some(id));
        bucket.insert(&self.frames, page.frame_no());
        drop(bucket);
        let filled = match how {
            Load::Read => self.read_from_file(id, &mut page),
            Load::Create { is_fresh } => {
                page.bytes_mut().fill(0);
                if is_fresh {
                    page.frame().set_flags(FRESH);
                }
                Ok(())
            }
        };
        if let Err(error) = filled {
            self.unmap(&page, id);
            self.give_back(page);
            return Err(error);
        }
        let by_scan = hint == AccessHint::Scan;
        self.lru().insert_new(&self.frames, page.frame_no(), id, by_scan, &self.clock);
        Ok(Some(page))
    }

    fn read_from_file(&self, id: PageId, page: &mut Exclusive<'_>) -> Result<(), PoolError> {
        bump(&self.counting.reads);
        let bytes = page.bytes_mut();
        let inside = self.spaces.get(id.space)?.read(id.no, bytes)?;
        if !inside || page::is_zero(bytes) {
            return Err(PoolError::Missing(id));
        }
        Ok(page::verify(bytes, id).map_err(|e| e.within(space::path(id.space)))?)
    }

    /// Takes the page out of the page table; its frame is nobody's then.
    fn unmap(&self, page: &Exclusive<'_>, id: PageId) {
        self.table.lock(id).remove(&self.frames, page.frame_no());
        page.set_page_id(None);
    }

    fn lru(&self) -> MutexGuard<'_, Policy> {
        self.lru.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes the file of a new space.
    pub fn create_space(&self, space: SpaceId) -> Result<(), PoolError> {
        self.spaces.create(space)
    }

    /// Spaces that have a file, in order.
    pub fn spaces(&self) -> Result<Vec<SpaceId>, PoolError> {
        Ok(self.spaces.list()?)
    }

    /// Pages the space's file has room for.
    pub fn space_pages(&self, space: SpaceId) -> Result<u64, PoolError> {
        Ok(self.spaces.get(space)?.pages())
    }

    /// Removes a space: its file, and its pages from memory, dirty or not. Nobody may use the space any more; the caller
    /// holds no latch.
    pub fn drop_space(&self, space: SpaceId) -> Result<(), PoolError> {
        // Nothing of the space is on its way to the file while this is held, so latches are only tried.
        let mut flusher = self.flusher();
        let removed = self.spaces.remove(space);
        flusher.space_removed(space);
        for no in 1..=self.free.used() {
            while self.frames.get(no).page_id().is_some_and(|id| id.space == space) {
                let Some(page) = self.frames.try_exclusive(no) else {
                    std::thread::yield_now();
                    continue;
                };
                if let Some(id) = page.frame().page_id().filter(|id| id.space == space) {
                    self.discard_latched(page, id);
                }
            }
        }
        Ok(removed?)
    }

    /// Forgets a page that is clean and not latched; returns whether it did.
    pub fn discard(&self, id: PageId) -> bool {
        let Some(no) = self.table.lock(id).find(&self.frames, id) else { return false };
        let Some(page) = self.frames.try_exclusive(no) else { return false };
        if !page.frame().holds(id) || page.frame().is_dirty() {
            return false;
        }
        self.discard_latched(page, id);
        true
    }

    fn discard_latched(&self, page: Exclusive<'_>, id: PageId) {
        if page.frame().forget_changes() {
            self.counting.dirty.fetch_sub(1, Ordering::Relaxed);
        }
        {
            let mut lru = self.lru();
            if page.frame().flags() & IN_LRU != 0 {
                lru.remove(&self.frames, page.frame_no());
            }
        }
        self.unmap(&page, id);
        self.give_back(page);
    }

    /// The lowest LSN from which the log is needed to redo what is not durable in the data files; `None` = nothing.
    ///
    /// A checkpoint first reads the log's reserved LSN, then calls this, and starts redo at the lower of the two: a change
    /// that is not seen here is logged at or above that reserved LSN. Call [`BufferPool::sync_files`] before, or pages that
    /// were written but not synced hold the answer back.
    pub fn oldest_rec_lsn(&self) -> Option<Lsn> {
        let mut oldest = u64::MAX;
        for no in 1..=self.free.used() {
            if let Some(lsn) = self.frames.get(no).oldest_rec_lsn() {
                oldest = oldest.min(lsn.0);
            }
        }
        // After the frames: a flush moves its value from the frame to here.
        oldest = oldest.min(self.unsynced_rec_lsn.load(Ordering::Acquire));
        (oldest != u64::MAX).then_some(Lsn(oldest))
    }

    /// Whether the page is in memory now.
    pub fn contains(&self, id: PageId) -> bool {
        self.table.lock(id).find(&self.frames, id).is_some()
    }

    /// Pages of a space that are in memory now.
    pub fn resident_pages(&self, space: SpaceId) -> usize {
        let holds = |no: &u32| self.frames.get(*no).page_id().is_some_and(|id| id.space == space);
        (1..=self.free.used()).filter(holds).count()
    }

    /// What is in memory now, for information_schema: a look at each frame, not a picture of one moment.
    pub fn list_pages(&self) -> Vec<ResidentPage> {
        let look = |no| {
            let frame = self.frames.get(no);
            Some(ResidentPage { id: frame.page_id()?, rec_lsn: frame.oldest_rec_lsn() })
        };
        (1..=self.free.used()).filter_map(look).collect()
    }

    /// Takes the time for the access clock; the cleaner does it once a second.
    pub fn tick(&self) {
        self.clock.refresh(self.time.monotonic());
    }

    /// The clock this pool was given.
    pub(crate) fn clock(&self) -> &dyn Clock {
        &*self.time
    }

    pub(crate) fn log_end(&self) -> Lsn {
        self.barrier.reserved_lsn()
    }

    pub(crate) fn dirty_pages(&self) -> usize {
        self.counting.dirty.load(Ordering::Relaxed) as usize
    }

    /// The cleaner sleeps here, until frames get scarce (then the answer is true) or for `most`.
    pub(crate) fn wait_for_call(&self, most: Duration) -> bool {
        self.free.wait_for_call(most)
    }

    pub(crate) fn wake_cleaner(&self) {
        self.free.wake_cleaner();
    }

    /// Sets `innodb_old_blocks_time`.
    pub fn set_old_blocks_time(&self, millis: u64) {
        self.clock.set_threshold(millis);
    }

    /// Sets `innodb_old_blocks_pct`.
    pub fn set_old_blocks_pct(&self, pct: usize) {
        self.lru().set_old_pct(&self.frames, pct, &self.clock);
    }

    /// A reading of all counters.
    pub fn counters(&self) -> PoolCounters {
        let (data, old, lru) = {
            let lru = self.lru();
            (lru.len() as u64, lru.old_len() as u64, lru.counters)
        };
        let total = u64::from(self.frames.count());
        let free = self.free.len() as u64;
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        PoolCounters {
            read_requests: self.counting.read_requests(),
            reads: load(&self.counting.reads),
            write_requests: self.counting.write_requests(),
            pages_flushed: load(&self.counting.written),
            wait_free: load(&self.counting.wait_free),
            pages_total: total,
            pages_free: free,
            pages_data: data,
            pages_dirty: load(&self.counting.dirty),
            pages_old: old,
            pages_misc: total.saturating_sub(data + free),
            pages_made_young: lru.made_young,
            pages_made_not_young: lru.made_not_young,
            pages_created: load(&self.counting.created),
            pages_evicted: load(&self.counting.evicted),
            doublewrite_batches: load(&self.counting.doublewrite_batches),
            doublewrite_bytes: load(&self.counting.doublewrite_bytes),
            file_syncs: load(&self.counting.file_syncs),
        }
    }
}
