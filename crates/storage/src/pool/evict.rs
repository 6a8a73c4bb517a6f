//! Where free frames come from: the free list, then clean pages the policy lets go, then pages that are written on the spot.
//!
//! # Invariants
//! V1. A frame in the free list holds no page and is in neither the page table nor the LRU list. A thread that was misled by
//!     the page table may latch it for a moment; it sees that the frame holds no page and lets go.
//! V2. Frames above `used` were never touched and cost no memory.
//! V3. The cleaner keeps frames free ahead of demand. A thread that finds none evicts by itself, and writes pages by itself
//!     only when no clean page can go.

use super::counters::bump;
use super::frame::{Exclusive, FrameNo, Frames, NIL};
use super::policy::Policy;
use super::{BufferPool, PoolError};
use base::PageId;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A thread in need looks at this many frames from the old end before it looks at all.
const SCAN_SHORT: usize = 100;
/// Sweeps of the cleaner let go of the LRU mutex after this many frames.
const YIELD_EVERY: usize = 32;
/// Pages a thread in need writes at once.
const FLUSH_IN_NEED: usize = 16;
const NAP: Duration = Duration::from_millis(5);

/// The free list.
pub(super) struct FreeFrames {
    recycled: Mutex<Vec<FrameNo>>,
    len: AtomicUsize,
    used: AtomicU32,
    count: u32,
    /// Signalled when a frame is freed while somebody waits.
    freed: Condvar,
    /// Wakes the cleaner.
    low: Mutex<bool>,
    is_low: AtomicBool,
    pub(super) call_cleaner: Condvar,
}

impl FreeFrames {
    pub(super) fn new(count: u32) -> Self {
        Self {
            recycled: Mutex::default(),
            len: AtomicUsize::new(0),
            used: AtomicU32::new(0),
            count,
            freed: Condvar::new(),
            low: Mutex::new(false),
            is_low: AtomicBool::new(false),
            call_cleaner: Condvar::new(),
        }
    }

    /// Frames that were ever used: `1..=used`.
    pub(super) fn used(&self) -> FrameNo {
        self.used.load(Ordering::Acquire)
    }

    pub(super) fn len(&self) -> usize {
        self.len.load(Ordering::Relaxed) + (self.count - self.used()) as usize
    }

    fn list(&self) -> MutexGuard<'_, Vec<FrameNo>> {
        self.recycled.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn pop(&self) -> Option<FrameNo> {
        let mut list = self.list();
        if let Some(no) = list.pop() {
            self.len.store(list.len(), Ordering::Relaxed);
            return Some(no);
        }
        let used = self.used();
        if used == self.count {
            return None;
        }
        self.used.store(used + 1, Ordering::Release);
        Some(used + 1)
    }

    fn push(&self, no: FrameNo) {
        let mut list = self.list();
        list.push(no);
        self.len.store(list.len(), Ordering::Relaxed);
        drop(list);
        self.freed.notify_one();
    }

    /// Waits a moment for a frame to be freed.
    fn nap(&self) {
        let list = self.list();
        if list.is_empty() {
            drop(self.freed.wait_timeout(list, NAP));
        }
    }

    /// Asks the cleaner for frames; cheap when it was asked already.
    fn ask(&self) {
        if !self.is_low.swap(true, Ordering::AcqRel) {
            *self.low.lock().unwrap_or_else(PoisonError::into_inner) = true;
            self.call_cleaner.notify_all();
        }
    }

    /// The cleaner sleeps until asked, or for `most`; returns whether it was asked.
    pub(super) fn wait_for_call(&self, most: Duration) -> bool {
        let low = self.low.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut low, _) = self
            .call_cleaner
            .wait_timeout_while(low, most, |low| !*low)
            .unwrap_or_else(PoisonError::into_inner);
        self.is_low.store(false, Ordering::Release);
        std::mem::replace(&mut *low, false)
    }

    /// Ends the cleaner's sleep at once.
    pub(super) fn wake_cleaner(&self) {
        *self.low.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.call_cleaner.notify_all();
    }
}

/// What a sweep from the old end found.
#[derive(Default)]
pub(super) struct Swept {
    pub(super) freed: usize,
    pub(super) scanned: usize,
    /// Dirty pages on the way, as candidates for a flush.
    pub(super) dirty: Vec<(PageId, FrameNo)>,
}

/// How far a sweep goes.
pub(super) struct SweepLimit {
    /// Stops when so many frames were freed,
    pub(super) free: usize,
    /// or so many were looked at,
    pub(super) scan: usize,
    /// or so many dirty ones were seen (0 = dirty ones are only skipped).
    pub(super) dirty: usize,
    /// Lets others at the list in between.
    pub(super) yields: bool,
}

impl BufferPool {
    /// A frame that holds no page, latched.
    pub(super) fn take_free(&self) -> Result<Exclusive<'_>, PoolError> {
        if self.free.len() < self.free_target() / 2 {
            self.free.ask();
        }
        if let Some(no) = self.free.pop() {
            return Ok(self.frames.lock_exclusive(no));
        }
        self.take_in_need()
    }

    /// Frames the cleaner keeps free: `innodb_lru_scan_depth`, and a sixteenth of a small pool at most.
    pub(super) fn free_target(&self) -> usize {
        self.config.lru_scan_depth.min(self.config.frames / 16)
    }

    #[cold]
    fn take_in_need(&self) -> Result<Exclusive<'_>, PoolError> {
        let mut waited = Duration::ZERO;
        let limit = |scan, dirty| SweepLimit { free: 1, scan, dirty, yields: false };
        loop {
            let mut swept = self.sweep(&limit(SCAN_SHORT, 0));
            if swept.freed == 0 {
                swept = self.sweep(&limit(usize::MAX, FLUSH_IN_NEED));
            }
            if let Some(no) = self.free.pop() {
                return Ok(self.frames.lock_exclusive(no));
            }
            if swept.freed > 0 {
                continue; // Somebody else was quicker.
            }
            bump(&self.counting.wait_free);
            if swept.dirty.is_empty() {
                if waited >= self.config.free_frame_timeout {
                    return Err(PoolError::NoFreeFrame);
                }
                self.free.nap();
                waited += NAP;
            } else {
                self.flush_in_need(swept.dirty)?;
            }
        }
    }

    /// Writes the pages, unless frames became free while this thread waited for its turn.
    fn flush_in_need(&self, candidates: Vec<(PageId, FrameNo)>) -> Result<(), PoolError> {
        let mut flusher = self.flusher();
        if self.free.len() > 0 {
            return Ok(());
        }
        self.flush_batch(&mut flusher, candidates).map(drop)
    }

    /// Returns a frame that holds no page to the free list.
    pub(super) fn give_back(&self, page: Exclusive<'_>) {
        debug_assert!(page.frame().page_id().is_none());
        let no = page.frame_no();
        drop(page);
        self.free.push(no);
    }

    /// Goes through the frames in the policy's order: pages that proved themselves move to the head, clean ones are evicted.
    pub(super) fn sweep(&self, limit: &SweepLimit) -> Swept {
        let mut swept = Swept::default();
        let mut lru = self.lru();
        // S3-FIFO may have to pass a page once for each of its uses.
        let scan = limit.scan.min(4 * lru.len());
        let mut place = lru.start(&self.frames);
        while place.no != NIL && swept.freed < limit.free && swept.scanned < scan {
            swept.scanned += 1;
            let no = place.no;
            if !lru.make_young_if_needed(&self.frames, no, &self.clock, true, false) {
                if self.evict(&mut lru, no) {
                    swept.freed += 1;
                } else if limit.dirty > 0 && self.frames.get(no).is_dirty() {
                    swept.dirty.extend(self.frames.get(no).page_id().map(|id| (id, no)));
                    if swept.dirty.len() >= limit.dirty {
                        break;
                    }
                }
            }
            place = lru.advance(&self.frames, place);
            if limit.yields && swept.scanned.is_multiple_of(YIELD_EVERY) {
                lru.leave(&place);
                drop(lru);
                lru = self.lru();
                place = lru.come_back(&self.frames, &place);
            }
        }
        swept
    }

    /// Frees the frame if its page is clean and nobody has it.
    fn evict(&self, lru: &mut Policy, no: FrameNo) -> bool {
        let Some(page) = self.frames.try_exclusive(no) else { return false };
        // Asked under the latch: now nobody can change it.
        if page.frame().is_dirty() {
            return false;
        }
        let Some(id) = page.frame().page_id() else { return false };
        lru.evict(&self.frames, no, id);
        self.unmap(&page, id);
        self.give_back(page);
        bump(&self.counting.evicted);
        true
    }

    /// One round of the cleaner for free frames: evicts, and writes what stands in the way. Returns pages written.
    pub(crate) fn refill_free(&self) -> Result<usize, PoolError> {
        let target = self.free_target();
        let mut written = 0;
        // A second round evicts what the first has written.
        for _ in 0..2 {
            let missing = target.saturating_sub(self.free.len());
            if missing == 0 {
                break;
            }
            let scan = self.config.lru_scan_depth.max(missing);
            let swept = self.sweep(&SweepLimit { free: missing, scan, dirty: missing, yields: true });
            if swept.dirty.is_empty() {
                break;
            }
            written += self.flush_candidates(swept.dirty)?.len();
        }
        Ok(written)
    }
}

/// The order in which a batch is written: neighbours together.
pub(super) fn sort_for_writing(candidates: &mut Vec<(PageId, FrameNo)>, frames: &Frames) {
    candidates.retain(|(id, no)| frames.get(*no).holds(*id));
    candidates.sort_unstable();
    candidates.dedup();
}
