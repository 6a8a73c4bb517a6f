//! The page table: page id to frame, read without a lock.
//!
//! An array of chain heads (four per frame) and the `hash_next` link in each descriptor. A hot lookup costs one load of the
//! head and one of the descriptor, which the caller is about to latch anyway.
//!
//! # Invariants
//! H1. Chains change only under the shard mutex of their bucket; the exact answer is the one found under that mutex.
//! H2. A reader without the mutex may be led into another chain by a frame that moves. It may then miss its page, or find
//!     a frame that holds another page a moment later; so a miss is repeated under the mutex, a hit is checked after
//!     latching (F2), and a walk ends after a bounded number of steps.
//!
//! Lock order: LRU mutex, then shard mutex. No latch is waited for under a shard mutex.

use super::frame::{FrameNo, Frames, NIL};
use base::PageId;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

const SHARDS: usize = 64;
/// Longer walks are led astray or meet a badly filled chain; the mutex decides.
const STEPS_MAX: usize = 64;

pub(super) struct PageTable {
    heads: Box<[AtomicU32]>,
    /// The hash is shifted right by this to give a bucket.
    shift: u32,
    shards: [Mutex<()>; SHARDS],
}

/// A bucket whose chain cannot change.
pub(super) struct LockedBucket<'t> {
    head: &'t AtomicU32,
    _shard: MutexGuard<'t, ()>,
}

impl PageTable {
    pub(super) fn new(frames: usize) -> Self {
        let buckets = (frames * 4).next_power_of_two().max(SHARDS);
        Self {
            heads: (0..buckets).map(|_| AtomicU32::new(NIL)).collect(),
            shift: 64 - buckets.trailing_zeros(),
            shards: [const { Mutex::new(()) }; SHARDS],
        }
    }

    #[inline]
    fn bucket(&self, id: PageId) -> usize {
        let mixed = id.to_u64().wrapping_mul(0x9E37_79B9_7F4A_7C15);
        ((mixed ^ (mixed >> 32)).wrapping_mul(0xD6E8_FEB8_6659_FD93) >> self.shift) as usize
    }

    /// The frame that probably holds the page; `None` may be wrong too (H2).
    #[inline]
    pub(super) fn find(&self, frames: &Frames, id: PageId) -> Option<FrameNo> {
        let mut no = self.heads[self.bucket(id)].load(Ordering::Acquire);
        for _ in 0..STEPS_MAX {
            if no == NIL {
                return None;
            }
            let frame = frames.get(no);
            if frame.holds(id) {
                return Some(no);
            }
            no = frame.hash_next.load(Ordering::Acquire);
        }
        None
    }

    pub(super) fn lock(&self, id: PageId) -> LockedBucket<'_> {
        let bucket = self.bucket(id);
        LockedBucket {
            head: &self.heads[bucket],
            _shard: self.shards[bucket % SHARDS].lock().unwrap_or_else(PoisonError::into_inner),
        }
    }
}

impl LockedBucket<'_> {
    pub(super) fn find(&self, frames: &Frames, id: PageId) -> Option<FrameNo> {
        let mut no = self.head.load(Ordering::Relaxed);
        while no != NIL && !frames.get(no).holds(id) {
            no = frames.get(no).hash_next.load(Ordering::Relaxed);
        }
        (no != NIL).then_some(no)
    }

    /// Adds a frame whose page id is set.
    pub(super) fn insert(&self, frames: &Frames, no: FrameNo) {
        frames.get(no).hash_next.store(self.head.load(Ordering::Relaxed), Ordering::Release);
        self.head.store(no, Ordering::Release);
    }

    /// Takes a frame out; its page id is cleared afterwards, by the holder of its exclusive latch.
    pub(super) fn remove(&self, frames: &Frames, no: FrameNo) {
        let next = frames.get(no).hash_next.load(Ordering::Relaxed);
        let mut link = self.head;
        loop {
            let at = link.load(Ordering::Relaxed);
            assert!(at != NIL, "frame {no} is not in the chain of its page");
            if at == no {
                break link.store(next, Ordering::Release);
            }
            link = &frames.get(at).hash_next;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::{PageNo, SpaceId};

    #[test]
    fn pages_are_found_until_they_are_removed() {
        let frames = Frames::new(500);
        let table = PageTable::new(8); // Far too few buckets, so that chains are long.
        let id = |no: u32| PageId::new(SpaceId(no % 7), PageNo(no));
        for no in 1..=500 {
            frames.lock_exclusive(no).set_page_id(Some(id(no)));
            table.lock(id(no)).insert(&frames, no);
        }
        for no in (1..=500).step_by(3) {
            table.lock(id(no)).remove(&frames, no);
            frames.lock_exclusive(no).set_page_id(None);
        }
        for no in 1..=500 {
            let expected = (no % 3 != 1).then_some(no);
            assert_eq!(table.lock(id(no)).find(&frames, id(no)), expected);
            assert_eq!(table.find(&frames, id(no)), expected);
        }
    }

    #[test]
    fn neighbouring_pages_spread_over_the_buckets() {
        let table = PageTable::new(1 << 14);
        let mut used = std::collections::HashSet::new();
        for no in 0..1 << 14 {
            used.insert(table.bucket(PageId::new(SpaceId(3), PageNo(no))));
        }
        assert!(used.len() > 13_000, "{} buckets for 16384 pages", used.len());
    }
}
