//! Frames: 16 KiB of memory each, and a 64-byte descriptor that says what it holds.
//!
//! ```text
//! descriptor: latch u32 | flags u32 | page id + 1 u64 | rec_lsn u64 | flushing rec_lsn u64 |
//!             access time u16 | hash next u32 | LRU previous u32 | LRU next u32
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
//! F4. DIRTY: changed since the last copy for writing; `rec_lsn` is at or below the first change since that copy.
//!     FLUSHING: a copy is on its way to the file; `flushing_rec_lsn` stands for what it holds. FLUSHING has one owner, the
//!     holder of the flush mutex. A frame is evicted only with both clear.
//! F5. A rec_lsn is at every moment in one of the two words. It moves forward in the order they are read, and back only in
//!     `cancel_flush`, which raises the count of cancelled flushes in between; so a reader that saw the same count
//!     before and after has missed nothing.

use super::latch::{Latch, WaitTable};
use base::{Lsn, PAGE_SIZE, PageId};
use env::AlignedBuf;
use std::ops::Deref;
use std::sync::atomic::{AtomicU16, AtomicU32, AtomicU64, Ordering};

/// Number of a frame; 0 = none.
pub(super) type FrameNo = u32;
pub(super) const NIL: FrameNo = 0;

pub(super) const OLD: u32 = 1;
pub(super) const PROMOTE: u32 = 1 << 1;
pub(super) const IN_LRU: u32 = 1 << 2;
pub(super) const DIRTY: u32 = 1 << 3;
pub(super) const FLUSHING: u32 = 1 << 4;
/// Bits 16 to 31 count cancelled flushes (F5).
const CANCELLED: u32 = 1 << 16;

/// What a frame holds. All zero bytes are a free frame.
#[repr(C, align(64))]
pub(super) struct Frame {
    latch: Latch,
    flags: AtomicU32,
    /// Page id + 1; 0 = no page.
    id: AtomicU64,
    rec_lsn: AtomicU64,
    flushing_rec_lsn: AtomicU64,
    access_time: AtomicU16,
    pub(super) hash_next: AtomicU32,
    pub(super) lru_previous: AtomicU32,
    pub(super) lru_next: AtomicU32,
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

    #[inline]
    pub(super) fn flags(&self) -> u32 {
        self.flags.load(Ordering::Relaxed)
    }

    pub(super) fn set_flags(&self, flags: u32) -> u32 {
        self.flags.fetch_or(flags, Ordering::AcqRel)
    }

    pub(super) fn clear_flags(&self, flags: u32) -> u32 {
        self.flags.fetch_and(!flags, Ordering::AcqRel)
    }

    pub(super) fn is_dirty(&self) -> bool {
        self.flags.load(Ordering::Acquire) & (DIRTY | FLUSHING) != 0
    }

    /// Clock of the first access or of the last promotion; 0 = never accessed.
    #[inline]
    pub(super) fn access_time(&self) -> u16 {
        self.access_time.load(Ordering::Relaxed)
    }

    #[inline]
    pub(super) fn set_access_time(&self, time: u16) {
        self.access_time.store(time, Ordering::Relaxed);
    }

    /// Lowest LSN a checkpoint must keep for this page; `None` when it is clean (F5).
    pub(super) fn oldest_rec_lsn(&self) -> Option<Lsn> {
        loop {
            let cancelled = self.flags.load(Ordering::Acquire) / CANCELLED;
            let rec = self.rec_lsn.load(Ordering::Acquire);
            let flushing = self.flushing_rec_lsn.load(Ordering::Acquire);
            if self.flags.load(Ordering::Acquire) / CANCELLED == cancelled {
                return [rec, flushing].into_iter().filter(|lsn| *lsn != 0).min().map(Lsn);
            }
        }
    }

    /// The first change since the last copy.
    pub(super) fn rec_lsn(&self) -> Option<Lsn> {
        match self.rec_lsn.load(Ordering::Acquire) {
            0 => None,
            lsn => Some(Lsn(lsn)),
        }
    }

    /// Whether the page was clean before. Needs the exclusive latch.
    pub(super) fn mark_dirty(&self, rec_lsn: Lsn) -> bool {
        debug_assert!(!rec_lsn.is_none(), "LSN 0 cannot be the first change of a page");
        if self.rec_lsn.load(Ordering::Relaxed) == 0 {
            // A failed write may put an older value back at the same time; that one stays.
            let _ = self.rec_lsn.compare_exchange(0, rec_lsn.0, Ordering::AcqRel, Ordering::Relaxed);
        }
        self.flags() & DIRTY == 0 && self.set_flags(DIRTY) & (DIRTY | FLUSHING) == 0
    }

    /// DIRTY becomes FLUSHING. Needs the shared latch and the flush mutex; the caller copies the page before it unlatches.
    pub(super) fn start_flush(&self) -> Option<Lsn> {
        if self.flags.load(Ordering::Acquire) & (DIRTY | FLUSHING) != DIRTY {
            return None;
        }
        let rec = self.rec_lsn.load(Ordering::Acquire);
        self.flushing_rec_lsn.store(rec, Ordering::Release);
        self.rec_lsn.store(0, Ordering::Release);
        self.flags.fetch_xor(DIRTY | FLUSHING, Ordering::AcqRel);
        Some(Lsn(rec))
    }

    /// The copy is in the file. Whether the page is clean now.
    pub(super) fn end_flush(&self) -> bool {
        self.flushing_rec_lsn.store(0, Ordering::Release);
        self.clear_flags(FLUSHING) & DIRTY == 0
    }

    /// The page is thrown away with its changes; whether it had any. Needs the exclusive latch, and no flush on its way.
    pub(super) fn forget_changes(&self) -> bool {
        debug_assert!(self.flags() & FLUSHING == 0, "a page was thrown away on its way to the file");
        self.rec_lsn.store(0, Ordering::Release);
        self.clear_flags(DIRTY) & DIRTY != 0
    }

    /// The copy did not get to the file: the page is dirty as before.
    pub(super) fn cancel_flush(&self) {
        let old = self.flushing_rec_lsn.load(Ordering::Relaxed);
        let mut rec = self.rec_lsn.load(Ordering::Relaxed);
        loop {
            let merged = if rec == 0 { old } else { rec.min(old) };
            match self.rec_lsn.compare_exchange(rec, merged, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => break,
                Err(now) => rec = now,
            }
        }
        self.flags.fetch_add(CANCELLED, Ordering::AcqRel);
        self.flushing_rec_lsn.store(0, Ordering::Release);
        self.set_flags(DIRTY);
        self.clear_flags(FLUSHING);
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
    fn a_change_during_a_flush_keeps_its_own_rec_lsn() {
        let frames = Frames::new(2);
        let frame = frames.get(1);
        assert!(frame.mark_dirty(Lsn(100)));
        assert!(!frame.mark_dirty(Lsn(150)));
        assert_eq!(frame.oldest_rec_lsn(), Some(Lsn(100)));
        assert_eq!(frame.start_flush(), Some(Lsn(100)));
        assert_eq!(frame.start_flush(), None, "one flush at a time");
        assert!(!frame.mark_dirty(Lsn(200)), "still counted as dirty");
        assert_eq!(frame.oldest_rec_lsn(), Some(Lsn(100)));
        assert!(!frame.end_flush());
        assert_eq!(frame.oldest_rec_lsn(), Some(Lsn(200)));
        assert_eq!(frame.start_flush(), Some(Lsn(200)));
        assert!(frame.end_flush());
        assert_eq!(frame.oldest_rec_lsn(), None);
    }

    #[test]
    fn a_failed_flush_gives_the_older_rec_lsn_back() {
        let frames = Frames::new(2);
        let frame = frames.get(2);
        frame.mark_dirty(Lsn(100));
        frame.start_flush();
        frame.mark_dirty(Lsn(200));
        frame.cancel_flush();
        assert_eq!(frame.oldest_rec_lsn(), Some(Lsn(100)));
        frame.start_flush();
        frame.cancel_flush();
        assert_eq!(frame.oldest_rec_lsn(), Some(Lsn(100)));
        assert!(frame.is_dirty());
    }

    /// A checkpoint must not miss a value that moves back and forth, however the steps fall together.
    #[test]
    fn a_rec_lsn_is_never_invisible_while_flushes_start_and_fail() {
        let frames = Frames::new(1);
        let frame = frames.get(1);
        frame.mark_dirty(Lsn(100));
        let done = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    assert_eq!(frame.oldest_rec_lsn(), Some(Lsn(100)));
                }
            });
            for lsn in 200..200_200 {
                frame.start_flush();
                frame.mark_dirty(Lsn(lsn));
                frame.cancel_flush();
            }
            done.store(true, Ordering::Relaxed);
        });
    }

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
