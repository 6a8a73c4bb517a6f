//! The flags of a frame, and from where on the log is needed for its page.
//!
//! ```text
//! bit 0 OLD  1 PROMOTE  2 IN_LRU  3 DIRTY  4 FLUSHING  5..6 uses (S3-FIFO)  7 FRESH  8 SCANNED
//! 16..31 count of cancelled flushes
//! ```
//!
//! # Invariants
//! C1. DIRTY: changed since the last copy for writing; `rec_lsn` is at or below the first change since that copy.
//!     FLUSHING: a copy is on its way to the file; `flushing_rec_lsn` stands for what it holds. FLUSHING has one owner, the
//!     holder of the flush mutex. A frame is evicted only with both clear.
//! C2. A rec_lsn is at every moment in one of the two words. It moves forward in the order they are read, and back only in
//!     `cancel_flush`, which raises the count of cancelled flushes in between; so a reader that saw the same count
//!     before and after has missed nothing.
//!
//! This file is compiled a second time over shuttle's atomics by the model tests, hence `super::sync`.

use super::sync::{AtomicU32, AtomicU64, Ordering};
use base::Lsn;

pub(super) const OLD: u32 = 1;
pub(super) const PROMOTE: u32 = 1 << 1;
pub(super) const IN_LRU: u32 = 1 << 2;
pub(super) const DIRTY: u32 = 1 << 3;
pub(super) const FLUSHING: u32 = 1 << 4;
/// The page's place in its file was never written.
pub(super) const FRESH: u32 = 1 << 7;
/// Loaded by a scan; with PROMOTE somebody else has asked for it since (S3-FIFO).
pub(super) const SCANNED: u32 = 1 << 8;
/// How often the page was used since it was last moved, 0 to 3.
pub(super) const USES: u32 = 3 << USES_SHIFT;
pub(super) const USES_MAX: u32 = 3;
const USES_SHIFT: u32 = 5;
const CANCELLED: u32 = 1 << 16;

/// The uses among the flags.
#[inline]
pub(super) fn uses(flags: u32) -> u32 {
    (flags & USES) >> USES_SHIFT
}

/// All zero bytes are a clean frame outside the LRU list.
#[repr(C)]
#[derive(Default)]
pub(super) struct State {
    flags: AtomicU32,
    rec_lsn: AtomicU64,
    flushing_rec_lsn: AtomicU64,
}

impl State {
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

    /// Counts a use; lost when the flags change at the same time.
    pub(super) fn add_use(&self, flags: u32) {
        debug_assert!(uses(flags) < USES_MAX);
        let more = flags + (1 << USES_SHIFT);
        let _ = self.flags.compare_exchange(flags, more, Ordering::AcqRel, Ordering::Relaxed);
    }

    /// One use less, if there is one. Under the policy's mutex, so only `add_use` runs beside it.
    pub(super) fn take_use(&self) {
        if uses(self.flags()) > 0 {
            self.flags.fetch_sub(1 << USES_SHIFT, Ordering::AcqRel);
        }
    }

    pub(super) fn clear_uses(&self) {
        self.clear_flags(USES);
    }

    pub(super) fn is_dirty(&self) -> bool {
        self.flags.load(Ordering::Acquire) & (DIRTY | FLUSHING) != 0
    }

    /// Lowest LSN a checkpoint must keep for this page; `None` when it is clean (C2).
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

    /// DIRTY becomes FLUSHING; also says whether the page was FRESH, which it is no longer. Needs the shared latch and the flush mutex; the caller copies the page before it unlatches.
    pub(super) fn start_flush(&self) -> Option<(Lsn, bool)> {
        if self.flags.load(Ordering::Acquire) & (DIRTY | FLUSHING) != DIRTY {
            return None;
        }
        let rec = self.rec_lsn.load(Ordering::Acquire);
        self.flushing_rec_lsn.store(rec, Ordering::Release);
        self.rec_lsn.store(0, Ordering::Release);
        self.flags.fetch_xor(DIRTY | FLUSHING, Ordering::AcqRel);
        Some((Lsn(rec), self.clear_flags(FRESH) & FRESH != 0))
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
