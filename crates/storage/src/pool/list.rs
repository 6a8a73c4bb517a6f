//! Doubly linked lists of frames through the links in their descriptors. A frame is in one list at most; all changes happen
//! under the mutex of the replacement policy.

use super::frame::{FrameNo, Frames, NIL};
use super::state::IN_LRU;
use std::sync::atomic::Ordering;

/// Head is the youngest end, tail the oldest.
#[derive(Debug, Clone, Copy)]
pub(super) struct List {
    pub(super) head: FrameNo,
    pub(super) tail: FrameNo,
    pub(super) len: usize,
}

impl List {
    pub(super) const EMPTY: Self = Self { head: NIL, tail: NIL, len: 0 };

    /// Puts `no` before `next`; `NIL` = at the end.
    pub(super) fn insert(&mut self, frames: &Frames, no: FrameNo, next: FrameNo) {
        let previous = if next == NIL { self.tail } else { before(frames, next) };
        let frame = frames.get(no);
        frame.lru_previous.store(previous, Ordering::Relaxed);
        frame.lru_next.store(next, Ordering::Relaxed);
        match previous {
            NIL => self.head = no,
            previous => frames.get(previous).lru_next.store(no, Ordering::Relaxed),
        }
        match next {
            NIL => self.tail = no,
            next => frames.get(next).lru_previous.store(no, Ordering::Relaxed),
        }
        frame.set_flags(IN_LRU);
        self.len += 1;
    }

    pub(super) fn insert_head(&mut self, frames: &Frames, no: FrameNo) {
        let head = self.head;
        self.insert(frames, no, head);
    }

    pub(super) fn remove(&mut self, frames: &Frames, no: FrameNo) {
        let frame = frames.get(no);
        debug_assert!(frame.flags() & IN_LRU != 0, "frame {no} is in no list");
        let (previous, next) = (before(frames, no), after(frames, no));
        match previous {
            NIL => self.head = next,
            previous => frames.get(previous).lru_next.store(next, Ordering::Relaxed),
        }
        match next {
            NIL => self.tail = previous,
            next => frames.get(next).lru_previous.store(previous, Ordering::Relaxed),
        }
        frame.clear_flags(IN_LRU);
        self.len -= 1;
    }

    /// Frames from head to tail; asserts that the links agree with each other.
    #[cfg(test)]
    pub(super) fn frames(&self, frames: &Frames) -> Vec<FrameNo> {
        let (mut found, mut no, mut previous) = (Vec::new(), self.head, NIL);
        while no != NIL {
            assert_eq!(before(frames, no), previous);
            assert!(frames.get(no).flags() & IN_LRU != 0);
            found.push(no);
            (previous, no) = (no, after(frames, no));
        }
        assert_eq!((self.tail, self.len), (previous, found.len()));
        found
    }
}

/// The neighbour towards the head.
pub(super) fn before(frames: &Frames, no: FrameNo) -> FrameNo {
    frames.get(no).lru_previous.load(Ordering::Relaxed)
}

/// The neighbour towards the tail.
pub(super) fn after(frames: &Frames, no: FrameNo) -> FrameNo {
    frames.get(no).lru_next.load(Ordering::Relaxed)
}
