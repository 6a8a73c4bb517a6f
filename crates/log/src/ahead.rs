//! How far the file is made ready ahead of the stream, and whether zeros pay.
//!
//! A sync of bytes in zeroed blocks has nothing to journal; in blocks that are only allocated each one converts an extent, and the
//! file system's journal commits with it: with 1400-byte commits, one at a time, 0.3 ms instead of 0.12 ms (ext4). But zeros double the
//! bytes that the device takes. So they are written while
//! - few log bytes share a sync (a large load or a large group hides the journal's commit), and
//! - they take a small part of the device's time, by how long the last ones took: on a disk of a few MB/s they would take half of it.
//!
//! They are written in pieces, each synced, so that a commit waits behind one piece at most.

use std::time::Duration;

/// Ahead of the tail at least and at most.
const AHEAD: std::ops::RangeInclusive<u64> = (4 << 20)..=(64 << 20);
/// A piece, in bytes.
const PIECE: std::ops::RangeInclusive<u64> = (256 << 10)..=(4 << 20);
/// How long a piece should take.
const PIECE_TIME: Duration = Duration::from_millis(6);
/// Log bytes a sync above which zeros do not pay.
const PER_SYNC_MAX: u64 = 64 << 10;
/// Zeros take at most one part in this many of the time.
const SHARE: u128 = 8;
/// A rate is taken over at least this long: the log's background thread is woken early by a full ring.
const INTERVAL_MIN: Duration = Duration::from_millis(500);

/// What the background thread knows of the stream's pace and the disk's.
#[derive(Debug, Default)]
pub(crate) struct Ahead {
    at: Duration,
    written: u64,
    syncs: u64,
    /// Log bytes a second, and a sync.
    rate: u64,
    per_sync: u64,
    /// Time of a MiB of zeros; zero before the first piece.
    mib_time: Duration,
}

impl Ahead {
    /// `written`: the stream's end in the file.
    pub(crate) fn new(written: u64) -> Self {
        Self { written, ..Self::default() }
    }

    /// Called by each tick.
    pub(crate) fn look(&mut self, now: Duration, written: u64, syncs: u64) {
        let elapsed = now.saturating_sub(self.at);
        if elapsed < INTERVAL_MIN {
            return;
        }
        let (bytes, count) = (written.saturating_sub(self.written), syncs.saturating_sub(self.syncs));
        self.rate = u64::try_from(u128::from(bytes) * 1_000_000 / elapsed.as_micros()).unwrap_or(u64::MAX);
        self.per_sync = bytes / count.max(1);
        (self.at, self.written, self.syncs) = (now, written, syncs);
        // What stood against zeros is forgotten in a minute or so: disks change.
        self.mib_time -= self.mib_time / 32;
    }

    /// Bytes ahead of the tail that should be ready.
    pub(crate) fn bytes(&self) -> u64 {
        self.rate.saturating_mul(2).clamp(*AHEAD.start(), *AHEAD.end())
    }

    /// Whether zeros are worth their bytes now.
    pub(crate) fn zeros_pay(&self) -> bool {
        let a_second = (u128::from(self.rate) * self.mib_time.as_nanos()) >> 20;
        self.per_sync <= PER_SYNC_MAX && a_second * SHARE <= Duration::from_secs(1).as_nanos()
    }

    /// Bytes of zeros to write and sync at once.
    pub(crate) fn piece(&self) -> u64 {
        let fits = (PIECE_TIME.as_nanos() << 20) / self.mib_time.as_nanos().max(1);
        let fits = if self.mib_time.is_zero() { 1 << 20 } else { u64::try_from(fits).unwrap_or(u64::MAX) };
        fits.clamp(*PIECE.start(), *PIECE.end()) & !4095
    }

    /// A piece of zeros took so long, its sync included.
    pub(crate) fn observe(&mut self, bytes: u64, time: Duration) {
        let sample = time.as_nanos() * (1 << 20) / u128::from(bytes.max(1));
        let sample = Duration::from_nanos(u64::try_from(sample).unwrap_or(u64::MAX));
        self.mib_time = if self.mib_time.is_zero() { sample } else { (self.mib_time * 3 + sample) / 4 };
    }
}

#[cfg(all(test, not(feature = "shuttle")))]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    /// A disk of so many bytes a second, and a log of so many, with so many syncs.
    fn after_a_second(disk: u64, bytes: u64, syncs: u64) -> Ahead {
        let mut ahead = Ahead::new(0);
        ahead.observe(MIB, Duration::from_secs(1) / u32::try_from(disk / MIB).unwrap());
        ahead.look(Duration::from_secs(1), bytes, syncs);
        ahead
    }

    #[test]
    fn zeros_are_for_many_small_syncs_on_a_disk_with_bandwidth_to_spare() {
        assert!(after_a_second(500 * MIB, 3 * MIB, 2000).zeros_pay(), "one thread");
        assert!(after_a_second(170 * MIB, 9 * MIB, 400).zeros_pay(), "many threads");
        assert!(!after_a_second(6 * MIB, 5 * MIB, 600).zeros_pay(), "a slow disk");
        assert!(!after_a_second(500 * MIB, 40 * MIB, 100).zeros_pay(), "a load");
        assert!(Ahead::new(0).zeros_pay(), "nothing is known yet");
    }

    #[test]
    fn a_disk_that_was_slow_is_tried_again() {
        let mut ahead = after_a_second(6 * MIB, 2 * MIB, 600);
        assert!(!ahead.zeros_pay());
        let tries = (2..200).find(|&s| {
            ahead.look(Duration::from_secs(s), s * 2 * MIB, s * 600);
            ahead.zeros_pay()
        });
        assert!(tries.is_some_and(|s| s > 20), "{tries:?}");
    }

    #[test]
    fn pieces_are_short_on_a_slow_disk_and_early_wakes_change_no_rate() {
        assert_eq!(after_a_second(6 * MIB, 0, 1).piece(), 256 << 10);
        assert_eq!(after_a_second(2000 * MIB, 0, 1).piece(), 4 << 20);
        assert_eq!(Ahead::new(0).piece(), MIB);
        let mut ahead = after_a_second(170 * MIB, 9 * MIB, 400);
        ahead.look(Duration::from_millis(1100), 15 * MIB, 400);
        assert_eq!(ahead.bytes(), 18 * MIB);
    }
}
