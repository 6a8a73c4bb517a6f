//! The midpoint LRU list with lazy promotion, `Replacement::LazyLru`.
//!
//! A hit never takes the list's mutex and never moves a page; it may set PROMOTE (see `touch`). Sweeps, which hold the mutex
//! anyway, move such pages to the head instead of evicting them. A scan touches each page in one burst, so its pages
//! never qualify, no matter how late the sweep comes.
//!
//! ```text
//! head (youngest) ... young part ... | old ... old part (3/8) ... tail (next victim)
//!                                      ^ new pages enter here
//! ```
//!
//! # Invariants
//! U1. Links, OLD and IN_LRU change only under the policy's mutex. PROMOTE is set by anybody, cleared only by `make_young`.
//! U2. A frame is OLD exactly if it lies at or behind `old`. Without an old part (`old` = none) no frame is OLD.
//! U3. The old part exists exactly if the list has at least `old_len_min` frames; its length is the target +- TOLERANCE.

use super::frame::{Frame, FrameNo, Frames, NIL};
use super::list::{List, after, before};
use super::state::{OLD, PROMOTE};
use super::touch::AccessClock;

/// How far the old part's length may be off before its border moves.
const TOLERANCE: usize = 20;
/// Frames that are always young.
const YOUNG_MIN: usize = 5;

/// The list.
pub(super) struct Lru {
    list: List,
    /// First frame of the old part.
    old: FrameNo,
    old_len: usize,
    old_len_min: usize,
    old_pct: usize,
}

impl Lru {
    pub(super) fn new(old_len_min: usize, old_pct: usize) -> Self {
        Self { list: List::EMPTY, old: NIL, old_len: 0, old_len_min, old_pct: old_pct.clamp(5, 95) }
    }

    pub(super) fn len(&self) -> usize {
        self.list.len
    }
    pub(super) fn old_len(&self) -> usize {
        self.old_len
    }
    pub(super) fn tail(&self) -> FrameNo {
        self.list.tail
    }

    pub(super) fn set_old_pct(&mut self, frames: &Frames, pct: usize) {
        self.old_pct = pct.clamp(5, 95);
        self.adjust(frames);
    }

    /// Adds a page that was just read or created, at the midpoint.
    pub(super) fn insert_new(&mut self, frames: &Frames, no: FrameNo) {
        if self.old == NIL {
            self.list.insert_head(frames, no);
        } else {
            // Behind the first old frame, so that the border can move on by one and the new page is still old.
            self.list.insert(frames, no, after(frames, self.old));
            frames.get(no).set_flags(OLD);
            self.old_len += 1;
        }
        self.adjust(frames);
    }

    pub(super) fn remove(&mut self, frames: &Frames, no: FrameNo) {
        self.unlink(frames, no);
        self.adjust(frames);
    }

    pub(super) fn make_young(&mut self, frames: &Frames, no: FrameNo, clock: &AccessClock) {
        self.unlink(frames, no);
        let frame = frames.get(no);
        frame.clear_flags(PROMOTE | OLD);
        frame.set_access_time(clock.now());
        self.list.insert_head(frames, no);
        self.adjust(frames);
    }

    fn unlink(&mut self, frames: &Frames, no: FrameNo) {
        if self.old == no {
            self.old = after(frames, no);
        }
        if frames.get(no).flags() & OLD != 0 {
            self.old_len -= 1;
        }
        self.list.remove(frames, no);
    }

    /// Restores U2 and U3 after a change of length or share.
    fn adjust(&mut self, frames: &Frames) {
        if self.list.len < self.old_len_min {
            if self.old_len > 0 {
                self.for_all(frames, |frame| {
                    frame.clear_flags(OLD);
                });
            }
            self.old = NIL;
            self.old_len = 0;
            return;
        }
        if self.old_len == 0 {
            self.for_all(frames, |frame| {
                frame.set_flags(OLD);
            });
            self.old = self.list.head;
            self.old_len = self.list.len;
        }
        let most = self.list.len.saturating_sub(YOUNG_MIN + TOLERANCE).max(1);
        let target = (self.list.len * self.old_pct / 100).clamp(1, most);
        while self.old_len + TOLERANCE < target {
            self.old = before(frames, self.old);
            frames.get(self.old).set_flags(OLD);
            self.old_len += 1;
        }
        while self.old_len > target + TOLERANCE {
            frames.get(self.old).clear_flags(OLD);
            self.old = after(frames, self.old);
            self.old_len -= 1;
        }
    }

    fn for_all(&self, frames: &Frames, f: impl Fn(&Frame)) {
        let mut no = self.list.head;
        while no != NIL {
            f(frames.get(no));
            no = after(frames, no);
        }
    }

    /// Asserts U2 and U3.
    #[cfg(test)]
    pub(super) fn check(&self, frames: &Frames) {
        let all = self.list.frames(frames);
        let border = all.iter().position(|no| *no == self.old).unwrap_or(all.len());
        for (place, no) in all.iter().enumerate() {
            assert_eq!(frames.get(*no).flags() & OLD != 0, place >= border, "frame {no}");
        }
        assert_eq!(self.old_len, all.len() - border);
        assert_eq!(self.old != NIL, !all.is_empty() && all.len() >= self.old_len_min);
    }
}
