//! S3-FIFO behind a gate, `Replacement::S3Fifo`.
//!
//! ```text
//! new page ---> small queue (probation) --- used ---> main queue --- used: again, one use less
//!                     | not used                         | not used
//!                     v                                  v
//!               evicted, remembered                   evicted
//! page that comes back while it is remembered ---> main queue
//! ```
//!
//! A page that a scan brings in stands at the small queue's far end: the next sweep takes it first and does not remember
//! it, or puts it on probation if somebody else has asked for it meanwhile, and the gate does not count it. So a scan of any length lives in as many frames as are loaded
//! between two sweeps, and pages on probation and the memory are what they would be without it.
//!
//! A use counts only through the gate (see `touch`): a burst of touches right after the load proves nothing. OLD marks frames
//! of the small queue.
//!
//! # Invariants
//! Q1. Links, OLD and IN_LRU change only under the policy's mutex; uses are raised by anybody, lowered only by sweeps.
//! Q2. A frame is OLD exactly if it is in the small queue.

use super::frame::{FrameNo, Frames, NIL};
use super::ghost::Ghost;
use super::list::List;
use super::state::{OLD, PROMOTE, SCANNED};
use super::touch::AccessClock;
use base::PageId;

pub(super) struct Fifo {
    small: List,
    main: List,
    small_max: usize,
    frames: usize,
    ghost: Ghost,
    /// Pages loaded so far.
    loads: u32,
}

impl Fifo {
    pub(super) fn new(frames: usize, old_pct: usize, clock: &AccessClock) -> Self {
        let mut fifo = Self {
            small: List::EMPTY,
            main: List::EMPTY,
            small_max: 0,
            frames,
            ghost: Ghost::new(frames),
            loads: 0,
        };
        fifo.set_old_pct(old_pct, clock);
        fifo
    }

    /// `innodb_old_blocks_pct`: its default, 37, gives the small queue a tenth of the pool.
    pub(super) fn set_old_pct(&mut self, pct: usize, clock: &AccessClock) {
        self.small_max = (self.frames * pct.clamp(5, 95) / 370).max(1);
        clock.set_gate_loads(self.small_max / 2);
    }

    pub(super) fn len(&self) -> usize {
        self.small.len + self.main.len
    }
    pub(super) fn small_len(&self) -> usize {
        self.small.len
    }

    /// Where a sweep looks first.
    pub(super) fn first(&self, frames: &Frames) -> FrameNo {
        let from_small = self.goes_before_main(frames, self.small.tail) || self.main.len == 0;
        if from_small { self.small.tail } else { self.main.tail }
    }

    /// Whether a frame of the small queue, or its end, comes before the main queue's.
    fn goes_before_main(&self, frames: &Frames, no: FrameNo) -> bool {
        no != NIL && (self.small.len > self.small_max || frames.get(no).flags() & SCANNED != 0)
    }

    /// Where it looks next: in the small queue while that is too long or a scan's pages stand at its end, then in the main queue, then in the rest of the small
    /// one, then again: a page with three uses goes at the fourth visit. The sweep's limit ends it. `previous` was the neighbour of the frame it comes from.
    pub(super) fn next(
        &self,
        frames: &Frames,
        previous: FrameNo,
        was_small: bool,
        is_rest: &mut bool,
    ) -> FrameNo {
        if was_small && !*is_rest && !self.goes_before_main(frames, previous) {
            return self.main.tail;
        }
        if previous != NIL {
            return previous;
        }
        *is_rest = !*is_rest && self.small.len > 0;
        if *is_rest { self.small.tail } else { self.first(frames) }
    }

    pub(super) fn insert_new(
        &mut self,
        frames: &Frames,
        no: FrameNo,
        id: PageId,
        by_scan: bool,
        clock: &AccessClock,
    ) {
        if by_scan {
            let frame = frames.get(no);
            frame.set_loads_stamp(self.loads);
            frame.set_flags(OLD | SCANNED);
            return self.small.insert(frames, no, NIL);
        }
        self.loads = self.loads.wrapping_add(1);
        frames.get(no).set_loads_stamp(self.loads);
        // Hits read this; a sixteenth of the gate is near enough.
        if (self.loads as usize).is_multiple_of((self.small_max / 32).max(1)) {
            clock.set_loads(self.loads);
        }
        if self.ghost.take(id) {
            self.main.insert_head(frames, no);
        } else {
            frames.get(no).set_flags(OLD);
            self.small.insert_head(frames, no);
        }
    }

    /// A scan's page that somebody else has asked for is now like one that was just read.
    pub(super) fn begin_probation(&mut self, frames: &Frames, no: FrameNo, clock: &AccessClock) {
        let frame = frames.get(no);
        self.small.remove(frames, no);
        frame.clear_flags(SCANNED | PROMOTE);
        frame.set_access_time(clock.now());
        frame.set_loads_stamp(self.loads);
        self.small.insert_head(frames, no);
    }

    pub(super) fn remove(&mut self, frames: &Frames, no: FrameNo) {
        if frames.get(no).flags() & OLD != 0 {
            self.small.remove(frames, no);
        } else {
            self.main.remove(frames, no);
        }
    }

    pub(super) fn remember(&mut self, id: PageId) {
        self.ghost.add(id);
    }

    /// Moves a used frame to the head of the main queue.
    pub(super) fn make_young(&mut self, frames: &Frames, no: FrameNo, clock: &AccessClock) {
        let frame = frames.get(no);
        self.remove(frames, no);
        if frame.clear_flags(OLD) & OLD != 0 {
            frame.clear_uses();
            frame.set_access_time(clock.now());
            frame.set_loads_stamp(self.loads);
        } else {
            frame.take_use();
        }
        self.main.insert_head(frames, no);
    }

    /// Asserts Q2.
    #[cfg(test)]
    pub(super) fn check(&self, frames: &Frames) {
        for (list, is_small) in [(&self.small, true), (&self.main, false)] {
            for no in list.frames(frames) {
                assert_eq!(frames.get(no).flags() & OLD != 0, is_small, "frame {no}");
            }
        }
    }
}
