//! Counters of a pool, with MariaDB's names and meanings.
//!
//! Requests are counted at every access, so each thread has a cache line of its own for them (the first 255 threads; later
//! ones share a line with atomic adds). Everything else is rare enough for plain atomics.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

const SLOTS: usize = 256;
const SHARED_SLOT: usize = SLOTS - 1;
const UNSET: usize = usize::MAX;

/// Bit set = slot taken by a living thread.
static TAKEN: [AtomicU64; SLOTS / 64] = [const { AtomicU64::new(0) }; SLOTS / 64];

thread_local! {
    static SLOT: Cell<usize> = const { Cell::new(UNSET) };
    static SLOT_GUARD: Cell<Option<SlotGuard>> = const { Cell::new(None) };
}

/// Gives the thread's slot back when the thread ends.
struct SlotGuard(usize);

impl Drop for SlotGuard {
    fn drop(&mut self) {
        // What the thread still counts from now on goes to the shared line.
        SLOT.set(SHARED_SLOT);
        TAKEN[self.0 / 64].fetch_and(!(1 << (self.0 % 64)), Ordering::Release);
    }
}

#[cold]
fn claim_slot() -> usize {
    for slot in 0..SHARED_SLOT {
        let bit = 1 << (slot % 64);
        if TAKEN[slot / 64].load(Ordering::Relaxed) & bit == 0
            && TAKEN[slot / 64].fetch_or(bit, Ordering::Acquire) & bit == 0
        {
            SLOT.set(slot);
            SLOT_GUARD.set(Some(SlotGuard(slot)));
            return slot;
        }
    }
    SLOT.set(SHARED_SLOT);
    SHARED_SLOT
}

/// What one thread counts.
#[repr(align(64))]
#[derive(Default)]
struct Line {
    read_requests: AtomicU64,
    write_requests: AtomicU64,
}

/// Counters that are written as the pool works.
pub(super) struct Counting {
    lines: Box<[Line]>,
    pub(super) reads: AtomicU64,
    pub(super) written: AtomicU64,
    pub(super) wait_free: AtomicU64,
    pub(super) created: AtomicU64,
    pub(super) evicted: AtomicU64,
    pub(super) dirty: AtomicU64,
    pub(super) doublewrite_batches: AtomicU64,
    pub(super) doublewrite_bytes: AtomicU64,
    pub(super) file_syncs: AtomicU64,
}

impl Counting {
    pub(super) fn new() -> Self {
        Self {
            lines: (0..SLOTS).map(|_| Line::default()).collect(),
            reads: AtomicU64::new(0),
            written: AtomicU64::new(0),
            wait_free: AtomicU64::new(0),
            created: AtomicU64::new(0),
            evicted: AtomicU64::new(0),
            dirty: AtomicU64::new(0),
            doublewrite_batches: AtomicU64::new(0),
            doublewrite_bytes: AtomicU64::new(0),
            file_syncs: AtomicU64::new(0),
        }
    }

    #[inline]
    pub(super) fn read_request(&self) {
        self.count(|line| &line.read_requests);
    }

    pub(super) fn write_request(&self) {
        self.count(|line| &line.write_requests);
    }

    #[inline]
    fn count(&self, cell: impl Fn(&Line) -> &AtomicU64) {
        let mut slot = SLOT.get();
        if slot == UNSET {
            slot = claim_slot();
        }
        let cell = cell(&self.lines[slot]);
        if slot == SHARED_SLOT {
            cell.fetch_add(1, Ordering::Relaxed);
        } else {
            // Nobody else writes this line.
            cell.store(cell.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        }
    }

    pub(super) fn read_requests(&self) -> u64 {
        self.lines.iter().map(|line| line.read_requests.load(Ordering::Relaxed)).sum()
    }

    pub(super) fn write_requests(&self) -> u64 {
        self.lines.iter().map(|line| line.write_requests.load(Ordering::Relaxed)).sum()
    }
}

/// Adds one, where one cache line for all threads does not matter.
pub(super) fn bump(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

/// A reading of all counters; each field is the status variable `Innodb_buffer_pool_<name>` unless said otherwise.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct PoolCounters {
    /// Page requests, hit or not.
    pub read_requests: u64,
    /// Requests that had to read the page from its file.
    pub reads: u64,
    /// Changes of pages.
    pub write_requests: u64,
    /// Pages written to their files.
    pub pages_flushed: u64,
    /// Times a thread found neither a free nor a clean frame.
    pub wait_free: u64,
    pub pages_total: u64,
    pub pages_free: u64,
    pub pages_data: u64,
    pub pages_dirty: u64,
    /// Pages in the old part of the LRU list.
    pub pages_old: u64,
    /// Frames that hold no page and are not free: being read, created or given back.
    pub pages_misc: u64,
    /// Promotions by sweeps.
    pub pages_made_young: u64,
    /// Visits of sweeps to accessed old pages that had not proved themselves.
    pub pages_made_not_young: u64,
    /// `Innodb_pages_created`.
    pub pages_created: u64,
    /// Pages thrown out to make room.
    pub pages_evicted: u64,
    /// `Innodb_dblwr_writes`: batches written to the doublewrite file.
    pub doublewrite_batches: u64,
    /// Bytes written to the doublewrite file.
    pub doublewrite_bytes: u64,
    /// Syncs of data files and of the doublewrite file.
    pub file_syncs: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_request_is_lost_over_more_threads_than_slots() {
        let counting = Counting::new();
        let gate = std::sync::Barrier::new(300);
        std::thread::scope(|scope| {
            for _ in 0..300 {
                scope.spawn(|| {
                    counting.read_request();
                    gate.wait();
                    for _ in 0..99 {
                        counting.read_request();
                    }
                });
            }
        });
        assert_eq!(counting.read_requests(), 30_000);
        assert_eq!(counting.write_requests(), 0);
    }
}
