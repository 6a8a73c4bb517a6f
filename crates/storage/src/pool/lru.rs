//! Which pages stay: the LRU list with a midpoint, and lazy promotion.
//!
//! A hit never takes the list's mutex and never moves a page. It decides, at access time, whether the page has proved
//! itself: it was touched again more than `innodb_old_blocks_time` after its first touch (or last promotion). If so it sets
//! PROMOTE, once. Sweeps, which hold the mutex anyway, move such pages to the head instead of evicting them. A scan
//! touches each page in one burst, so its pages never qualify, no matter how late the sweep comes.
//!
//! ```text
//! head (youngest) ... young part ... | old ... old part (3/8) ... tail (next victim)
//!                                      ^ new pages enter here
//! ```
//!
//! # Invariants
//! U1. Links, OLD and IN_LRU change only under the LRU mutex. PROMOTE is set by anybody, cleared only by `make_young`.
//! U2. A frame is OLD exactly if it lies at or behind `old`. Without an old part (`old` = none) no frame is OLD.
//! U3. The old part exists exactly if the list has at least `old_len_min` frames; its length is the target +- TOLERANCE.

use super::frame::{Frame, FrameNo, Frames, NIL};
use super::state::{IN_LRU, OLD, PROMOTE};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

/// How far the old part's length may be off before its border moves.
const TOLERANCE: usize = 20;
/// Frames that are always young.
const YOUNG_MIN: usize = 5;
/// The threshold may not come near the 16 bits of the clock: 18.2 hours.
const THRESHOLD_MAX: u64 = 65_534;

/// Coarse time, read at every access and written once a second.
#[repr(align(64))]
pub(super) struct AccessClock {
    /// Whole seconds, modulo 65536, never 0 (0 stands for "never accessed").
    now: AtomicU16,
    /// `innodb_old_blocks_time` in seconds, rounded up; 0 = every second touch promotes.
    threshold: AtomicU16,
}

impl AccessClock {
    pub(super) fn new(old_blocks_time_ms: u64) -> Self {
        let clock = Self { now: AtomicU16::new(1), threshold: AtomicU16::new(0) };
        clock.set_threshold(old_blocks_time_ms);
        clock
    }

    pub(super) fn set_threshold(&self, old_blocks_time_ms: u64) {
        let seconds = old_blocks_time_ms.div_ceil(1000).min(THRESHOLD_MAX);
        self.threshold.store(seconds as u16, Ordering::Relaxed);
    }

    /// Takes the time from a monotonic clock.
    pub(super) fn refresh(&self, monotonic: Duration) {
        let seconds = (monotonic.as_secs() as u16).wrapping_add(1);
        self.now.store(seconds.max(1), Ordering::Relaxed);
    }

    fn now(&self) -> u16 {
        self.now.load(Ordering::Relaxed)
    }

    /// Notes an access.
    #[inline]
    pub(super) fn touch(&self, frame: &Frame) {
        if frame.access_time() == 0 {
            frame.set_access_time(self.now());
        }
        if frame.flags() & PROMOTE != 0 {
            return;
        }
        self.decide(frame);
    }

    /// Notes an access by a scan: it stamps the page and proves nothing.
    pub(super) fn touch_by_scan(&self, frame: &Frame) {
        if frame.access_time() == 0 {
            frame.set_access_time(self.now());
        }
    }

    #[inline]
    fn decide(&self, frame: &Frame) {
        let threshold = self.threshold.load(Ordering::Relaxed);
        if threshold > 0 {
            let stamp = frame.access_time();
            // One tick can be shorter than a second: "<=" grants at least the threshold.
            if stamp == 0 || self.now().wrapping_sub(stamp) <= threshold {
                return;
            }
        }
        frame.set_flags(PROMOTE);
    }
}

/// Counts that only change under the LRU mutex.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct LruCounters {
    pub(super) made_young: u64,
    pub(super) made_not_young: u64,
}

/// The list.
pub(super) struct Lru {
    head: FrameNo,
    tail: FrameNo,
    /// First frame of the old part.
    old: FrameNo,
    len: usize,
    old_len: usize,
    old_len_min: usize,
    old_pct: usize,
    /// Where a sweep that let go of the mutex goes on; moved when its frame leaves the list.
    hand: FrameNo,
    pub(super) counters: LruCounters,
}

impl Lru {
    pub(super) fn new(old_len_min: usize, old_pct: usize) -> Self {
        Self {
            head: NIL,
            tail: NIL,
            old: NIL,
            len: 0,
            old_len: 0,
            old_len_min,
            old_pct: old_pct.clamp(5, 95),
            hand: NIL,
            counters: LruCounters::default(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }
    pub(super) fn old_len(&self) -> usize {
        self.old_len
    }
    pub(super) fn tail(&self) -> FrameNo {
        self.tail
    }
    pub(super) fn hand(&self) -> FrameNo {
        self.hand
    }
    pub(super) fn set_hand(&mut self, no: FrameNo) {
        self.hand = no;
    }
    /// The next frame of a sweep from the tail.
    pub(super) fn before(&self, frames: &Frames, no: FrameNo) -> FrameNo {
        frames.get(no).lru_previous.load(Ordering::Relaxed)
    }

    pub(super) fn set_old_pct(&mut self, frames: &Frames, pct: usize) {
        self.old_pct = pct.clamp(5, 95);
        self.adjust(frames);
    }

    /// Adds a page that was just read or created, at the midpoint.
    pub(super) fn insert_new(&mut self, frames: &Frames, no: FrameNo) {
        let frame = frames.get(no);
        frame.set_access_time(0);
        frame.clear_flags(PROMOTE | OLD);
        if self.old == NIL {
            self.link(frames, no, self.head);
        } else {
            // Behind the first old frame, so that the border can move on by one and the new page is still old.
            let second = frames.get(self.old).lru_next.load(Ordering::Relaxed);
            self.link(frames, no, second);
            frame.set_flags(OLD);
            self.old_len += 1;
        }
        self.adjust(frames);
    }

    /// Takes a frame out of the list.
    pub(super) fn remove(&mut self, frames: &Frames, no: FrameNo) {
        self.unlink(frames, no);
        self.adjust(frames);
    }

    /// What a sweep does first with each frame it visits: a page that proved itself goes to the head. Returns whether it did.
    pub(super) fn make_young_if_needed(
        &mut self,
        frames: &Frames,
        no: FrameNo,
        clock: &AccessClock,
        count_not_young: bool,
        only_old: bool,
    ) -> bool {
        let frame = frames.get(no);
        let flags = frame.flags();
        if flags & PROMOTE == 0 {
            if count_not_young && flags & OLD != 0 && frame.access_time() != 0 {
                self.counters.made_not_young += 1;
            }
            return false;
        }
        if flags & OLD != 0 {
            self.counters.made_young += 1;
        } else if only_old {
            return false;
        }
        self.make_young(frames, no, clock);
        true
    }

    fn make_young(&mut self, frames: &Frames, no: FrameNo, clock: &AccessClock) {
        self.unlink(frames, no);
        let frame = frames.get(no);
        frame.clear_flags(PROMOTE | OLD);
        frame.set_access_time(clock.now());
        self.link(frames, no, self.head);
        self.adjust(frames);
    }

    /// Puts `no` before `next`; `NIL` = at the end.
    fn link(&mut self, frames: &Frames, no: FrameNo, next: FrameNo) {
        let previous = if next == NIL { self.tail } else { self.before(frames, next) };
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

    fn unlink(&mut self, frames: &Frames, no: FrameNo) {
        let frame = frames.get(no);
        debug_assert!(frame.flags() & IN_LRU != 0, "frame {no} is not in the LRU list");
        let previous = frame.lru_previous.load(Ordering::Relaxed);
        let next = frame.lru_next.load(Ordering::Relaxed);
        if self.hand == no {
            self.hand = previous;
        }
        if self.old == no {
            self.old = next;
        }
        if frame.flags() & OLD != 0 {
            self.old_len -= 1;
        }
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

    /// Restores U2 and U3 after a change of length or share.
    fn adjust(&mut self, frames: &Frames) {
        if self.len < self.old_len_min {
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
            self.old = self.head;
            self.old_len = self.len;
        }
        let most = self.len.saturating_sub(YOUNG_MIN + TOLERANCE).max(1);
        let target = (self.len * self.old_pct / 100).clamp(1, most);
        while self.old_len + TOLERANCE < target {
            self.old = self.before(frames, self.old);
            frames.get(self.old).set_flags(OLD);
            self.old_len += 1;
        }
        while self.old_len > target + TOLERANCE {
            let border = frames.get(self.old);
            border.clear_flags(OLD);
            self.old = border.lru_next.load(Ordering::Relaxed);
            self.old_len -= 1;
        }
    }

    fn for_all(&self, frames: &Frames, f: impl Fn(&Frame)) {
        let mut no = self.head;
        while no != NIL {
            let frame = frames.get(no);
            f(frame);
            no = frame.lru_next.load(Ordering::Relaxed);
        }
    }

    /// Asserts U1 to U3; for tests.
    #[cfg(test)]
    pub(super) fn check(&self, frames: &Frames) {
        let (mut no, mut previous, mut len, mut old_len) = (self.head, NIL, 0, 0);
        while no != NIL {
            let frame = frames.get(no);
            assert_eq!(frame.lru_previous.load(Ordering::Relaxed), previous);
            assert!(frame.flags() & IN_LRU != 0);
            if no == self.old {
                assert_eq!(old_len, 0);
            }
            let is_old = frame.flags() & OLD != 0;
            assert_eq!(is_old, no == self.old || old_len > 0, "frame {no}");
            old_len += usize::from(is_old);
            len += 1;
            (previous, no) = (no, frame.lru_next.load(Ordering::Relaxed));
        }
        assert_eq!((self.tail, self.len, self.old_len), (previous, len, old_len));
        assert_eq!(self.old != NIL, self.len >= self.old_len_min && self.len > 0);
    }
}
