//! Frames: 16 KiB of memory each, and a 64-byte descriptor that says what it holds.
//!
//! ```text
//! descriptor: latch u32, pad | flags u32, pad | rec_lsn u64 | flushing rec_lsn u64 | page id + 1 u64 |
//!             access time u16 | loads stamp u32 | hash next u32 | LRU previous u32 | LRU next u32
//! ```
//!
//! Frames are numbered from 1; 0 is "none" in every link. Both arrays are anonymous memory: a frame that was never used
//! costs nothing.
//!
//! # Invariants
//! F1. The bytes of frame n are read only under its latch (shared or exclusive) and written only under its exclusive latch.
//!     The guards of this file are the only way to the bytes.
//! F2. The page id changes only under the exclusive latch. So who finds the id it wants after latching has the right page.
//! F3. `hash_next` changes only under the shard mutex of the page table, LRU links and OLD only under the LRU mutex.

use super::latch::{Latch, WaitTable};
use super::state::State;
use base::{PAGE_SIZE, PageId};
use env::AlignedBuf;
use std::ops::Deref;
use std::sync::atomic::{AtomicU16, AtomicU32, AtomicU64, Ordering};

/// Number of a frame; 0 = none.
pub(super) type FrameNo = u32;
pub(super) const NIL: FrameNo = 0;

/// What a frame holds. All zero bytes are a free frame.
#[repr(C, align(64))]
pub(super) struct Frame {
    latch: Latch,
    state: State,
    /// Page id + 1; 0 = no page.
    id: AtomicU64,
    access_time: AtomicU16,
    loads_stamp: AtomicU32,
    pub(super) hash_next: AtomicU32,
    pub(super) lru_previous: AtomicU32,
    pub(super) lru_next: AtomicU32,
}

impl Deref for Frame {
    type Target = State;
    #[inline]
    fn deref(&self) -> &State {
        &self.state
    }
}

impl Frame {
    pub(super) fn page_id(&self) -> Option<PageId> {
        match self.id.load(Ordering::Relaxed) {
            0 => None,
            id => Some(PageId::from_u64(id - 1)),
        }
    }

    #[inline]
    pub(super) fn holds(&self, id: PageId) -> bool {
        self.id.load(Ordering::Relaxed) == id.to_u64() + 1
    }

    /// Clock of the first access or of the last promotion; 0 = never accessed.
    #[inline]
    pub(super) fn access_time(&self) -> u16 {
        self.access_time.load(Ordering::Relaxed)
    }

    /// Loads of pages at the last use that counted (S3-FIFO).
    #[inline]
    pub(super) fn loads_stamp(&self) -> u32 {
        self.loads_stamp.load(Ordering::Relaxed)
    }

    pub(super) fn set_loads_stamp(&self, loads: u32) {
        self.loads_stamp.store(loads, Ordering::Relaxed);
    }

    #[inline]
    pub(super) fn set_access_time(&self, time: u16) {
        self.access_time.store(time, Ordering::Relaxed);
    }
}

/// All frames of a pool and the table where waiters for their latches park.
pub(super) struct Frames {
    descriptors: AlignedBuf,
    memory: AlignedBuf,
    count: u32,
    table: WaitTable,
}

impl Frames {
    pub(super) fn new(count: usize) -> Self {
        assert!(count > 0 && count < u32::MAX as usize / 8, "a pool of {count} frames");
        Self {
            descriptors: AlignedBuf::zeroed((count + 1) * size_of::<Frame>()),
            memory: AlignedBuf::zeroed(count * PAGE_SIZE),
            count: count as u32,
            table: WaitTable::new(64),
        }
    }

    pub(super) fn count(&self) -> u32 {
        self.count
    }

    #[inline]
    pub(super) fn get(&self, no: FrameNo) -> &Frame {
        debug_assert!(no <= self.count, "frame {no} of {}", self.count);
        // The number may come from a racing read of a link; links hold only numbers of frames, this is a guard against bugs.
        let no = no.min(self.count) as usize;
        // SAFETY: `descriptors` holds `count + 1` descriptors, mapped at a page boundary; all of `Frame` is atomics, for
        // which zero bytes are valid and shared access is enough.
        unsafe { &*self.descriptors.as_ptr().cast::<Frame>().add(no) }
    }

    fn bytes(&self, no: FrameNo) -> *mut [u8; PAGE_SIZE] {
        assert!(no != NIL && no <= self.count, "frame {no} of {}", self.count);
        // SAFETY: `no - 1 < count`, so the address is inside the mapping.
        unsafe { self.memory.as_ptr().add((no as usize - 1) * PAGE_SIZE).cast() }
    }

    #[inline]
    pub(super) fn lock_shared(&self, no: FrameNo) -> Shared<'_> {
        self.get(no).latch.lock_shared(&self.table);
        Shared { frames: self, no, bytes: self.bytes(no) }
    }

    #[inline]
    pub(super) fn try_shared(&self, no: FrameNo) -> Option<Shared<'_>> {
        let latched = self.get(no).latch.try_shared(&self.table);
        latched.then(|| Shared { frames: self, no, bytes: self.bytes(no) })
    }

    pub(super) fn lock_exclusive(&self, no: FrameNo) -> Exclusive<'_> {
        self.get(no).latch.lock_exclusive(&self.table);
        Exclusive { frames: self, no, bytes: self.bytes(no) }
    }

    pub(super) fn try_exclusive(&self, no: FrameNo) -> Option<Exclusive<'_>> {
        let latched = self.get(no).latch.try_exclusive();
        latched.then(|| Exclusive { frames: self, no, bytes: self.bytes(no) })
    }
}

/// A frame latched for reading.
pub(super) struct Shared<'f> {
    frames: &'f Frames,
    no: FrameNo,
    bytes: *const [u8; PAGE_SIZE],
}

// SAFETY: F1, any number of threads may read the bytes while the latch is held; the latch knows no owner.
unsafe impl Send for Shared<'_> {}
// SAFETY: as above.
unsafe impl Sync for Shared<'_> {}

impl Shared<'_> {
    #[inline]
    pub(super) fn frame(&self) -> &Frame {
        self.frames.get(self.no)
    }
}

impl Deref for Shared<'_> {
    type Target = [u8; PAGE_SIZE];
    #[inline]
    fn deref(&self) -> &[u8; PAGE_SIZE] {
        // SAFETY: F1, this value holds the shared latch.
        unsafe { &*self.bytes }
    }
}

impl Drop for Shared<'_> {
    #[inline]
    fn drop(&mut self) {
        self.frame().latch.unlock_shared(&self.frames.table);
    }
}

/// A frame latched for writing.
pub(super) struct Exclusive<'f> {
    frames: &'f Frames,
    no: FrameNo,
    bytes: *mut [u8; PAGE_SIZE],
}

// SAFETY: F1, the bytes belong to this value while the latch is held; the latch knows no owner.
unsafe impl Send for Exclusive<'_> {}
// SAFETY: shared access to this value only reads the bytes.
unsafe impl Sync for Exclusive<'_> {}

impl<'f> Exclusive<'f> {
    pub(super) fn frame_no(&self) -> FrameNo {
        self.no
    }

    #[inline]
    pub(super) fn frame(&self) -> &'f Frame {
        self.frames.get(self.no)
    }

    #[inline]
    pub(super) fn bytes_mut(&mut self) -> &mut [u8; PAGE_SIZE] {
        // SAFETY: F1, this value holds the exclusive latch and is borrowed exclusively.
        unsafe { &mut *self.bytes }
    }

    pub(super) fn set_page_id(&self, id: Option<PageId>) {
        self.frame().id.store(id.map_or(0, |id| id.to_u64() + 1), Ordering::Relaxed);
    }

    /// Becomes a reader; no writer gets in between.
    pub(super) fn downgrade(self) -> Shared<'f> {
        let this = std::mem::ManuallyDrop::new(self);
        this.frame().latch.downgrade(&this.frames.table);
        Shared { frames: this.frames, no: this.no, bytes: this.bytes }
    }
}

impl Deref for Exclusive<'_> {
    type Target = [u8; PAGE_SIZE];
    #[inline]
    fn deref(&self) -> &[u8; PAGE_SIZE] {
        // SAFETY: F1, this value holds the exclusive latch.
        unsafe { &*self.bytes }
    }
}

impl Drop for Exclusive<'_> {
    fn drop(&mut self) {
        self.frame().latch.unlock_exclusive(&self.frames.table);
    }
}

const _: () = assert!(size_of::<Frame>() == 64, "a descriptor is one cache line");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_downgraded_writer_reads_what_it_wrote_and_keeps_writers_out() {
        let frames = Frames::new(1);
        let mut exclusive = frames.lock_exclusive(1);
        exclusive.bytes_mut()[5] = 7;
        assert!(frames.try_shared(1).is_none());
        let shared = exclusive.downgrade();
        assert_eq!(shared[5], 7);
        assert!(frames.try_exclusive(1).is_none());
        assert!(frames.try_shared(1).is_some());
        drop(shared);
        assert!(frames.try_exclusive(1).is_some());
    }
}
