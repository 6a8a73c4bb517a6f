//! What a hit notes, without a mutex and, on a hot page, without a write.
//!
//! Rows are read in bursts: many touches of one page within a moment say no more than one. So a touch counts only when the
//! page has been known for a while (the *gate*): more than `innodb_old_blocks_time`, or, for S3-FIFO, also when half a
//! small queue of pages was loaded since, so that a busy small pool still learns.
//!
//! # Invariants
//! N1. The decision is taken at access time; sweeps, which may come much later, only carry it out.
//! N2. The time is 16-bit seconds, never 0 (0 in a frame = never accessed); loads are counted modulo 2^32. Both are written
//!     rarely and read often. A stamp may be lost to a race without harm.

use super::frame::Frame;
use super::state::{OLD, PROMOTE, SCANNED, USES_MAX};
use std::sync::atomic::{AtomicU16, AtomicU32, Ordering};
use std::time::Duration;

/// The threshold may not come near the 16 bits of the clock: 18.2 hours.
const THRESHOLD_MAX: u64 = 65_534;

/// Coarse time, read at every access and written once a second.
#[repr(align(64))]
pub(super) struct AccessClock {
    /// Whole seconds, modulo 65536, never 0.
    now: AtomicU16,
    /// `innodb_old_blocks_time` in seconds, rounded up; 0 = every touch counts.
    threshold: AtomicU16,
    /// S3-FIFO: so many loads open the gate; 0 = this is the midpoint list.
    gate_loads: AtomicU32,
    loads: Loads,
}

/// Pages loaded so far, a little behind.
#[repr(align(64))]
struct Loads(AtomicU32);

impl AccessClock {
    pub(super) fn new(old_blocks_time_ms: u64) -> Self {
        let clock = Self {
            now: AtomicU16::new(1),
            threshold: AtomicU16::new(0),
            gate_loads: AtomicU32::new(0),
            loads: Loads(AtomicU32::new(0)),
        };
        clock.set_threshold(old_blocks_time_ms);
        clock
    }

    pub(super) fn set_threshold(&self, old_blocks_time_ms: u64) {
        let seconds = old_blocks_time_ms.div_ceil(1000).min(THRESHOLD_MAX);
        self.threshold.store(seconds as u16, Ordering::Relaxed);
    }

    /// Counts uses as S3-FIFO does, with a gate of so many loads.
    pub(super) fn set_gate_loads(&self, gate: usize) {
        self.gate_loads.store((gate as u32).max(1), Ordering::Relaxed);
    }

    pub(super) fn set_loads(&self, loads: u32) {
        self.loads.0.store(loads, Ordering::Relaxed);
    }

    /// Takes the time from a monotonic clock.
    pub(super) fn refresh(&self, monotonic: Duration) {
        let seconds = (monotonic.as_secs() as u16).wrapping_add(1);
        self.now.store(seconds.max(1), Ordering::Relaxed);
    }

    pub(super) fn now(&self) -> u16 {
        self.now.load(Ordering::Relaxed)
    }

    /// Notes an access.
    #[inline]
    pub(super) fn touch(&self, frame: &Frame) {
        if frame.access_time() == 0 {
            frame.set_access_time(self.now());
        }
        let gate_loads = self.gate_loads.load(Ordering::Relaxed);
        if gate_loads != 0 {
            self.count_use(frame, gate_loads);
        } else if frame.flags() & PROMOTE == 0 {
            self.decide(frame);
        }
    }

    /// Notes an access by a scan: it stamps the page and proves nothing.
    pub(super) fn touch_by_scan(&self, frame: &Frame) {
        if frame.access_time() == 0 {
            frame.set_access_time(self.now());
        }
    }

    /// The midpoint list: sets PROMOTE once the page proved itself.
    #[inline]
    fn decide(&self, frame: &Frame) {
        let threshold = self.threshold.load(Ordering::Relaxed);
        // One tick can be shorter than a second: more than the threshold grants at least the threshold.
        if threshold == 0 || (frame.access_time() != 0 && self.age(frame) > threshold) {
            frame.set_flags(PROMOTE);
        }
    }

    fn age(&self, frame: &Frame) -> u16 {
        self.now().wrapping_sub(frame.access_time())
    }

    /// S3-FIFO: counts a use if the gate is open; in the main queue it opens eight times as fast.
    #[inline]
    fn count_use(&self, frame: &Frame, gate_loads: u32) {
        let flags = frame.flags();
        if super::state::uses(flags) == USES_MAX {
            return;
        }
        if flags & SCANNED != 0 {
            if flags & PROMOTE == 0 {
                frame.set_flags(PROMOTE);
            }
            return;
        }
        let share = if flags & OLD != 0 { 1 } else { 8 };
        let threshold = self.threshold.load(Ordering::Relaxed);
        let loads = self.loads.0.load(Ordering::Relaxed);
        // Negative when the page was loaded after the count was published.
        let loads_since = loads.wrapping_sub(frame.loads_stamp()) as i32;
        if threshold == 0
            || self.age(frame) > threshold / share
            || loads_since > (gate_loads / u32::from(share)) as i32
        {
            frame.add_use(flags);
            frame.set_access_time(self.now());
            frame.set_loads_stamp(loads);
        }
    }
}
