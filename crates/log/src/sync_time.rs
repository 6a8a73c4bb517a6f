//! How long a sync takes on this disk, for the choice whether another one beside it pays.

use std::time::Duration;

use crate::sync::atomic::{AtomicU64, Ordering};

/// A higher sample moves the estimate by one part in this many.
const RISE: u64 = 512;

/// An estimate near the fastest of the last few hundred syncs: the rest of a sample is time in which the thread waited for a
/// processor, of which a busy machine has a lot and a pipeline saves none.
#[derive(Debug, Default)]
pub(crate) struct SyncTime(AtomicU64);

impl SyncTime {
    /// Zero before the first sample.
    pub(crate) fn estimate(&self) -> Duration {
        Duration::from_nanos(self.0.load(Ordering::Relaxed))
    }

    /// Samples of other threads may be lost between the load and the store: they are samples.
    pub(crate) fn observe(&self, time: Duration) {
        let sample = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let old = self.0.load(Ordering::Relaxed);
        let new = if old == 0 || sample < old { sample } else { old + (sample - old) / RISE };
        self.0.store(new, Ordering::Relaxed);
    }
}

#[cfg(all(test, not(feature = "shuttle")))]
mod tests {
    use super::*;

    #[test]
    fn a_late_wakeup_hardly_moves_it_and_another_disk_does() {
        let time = SyncTime::default();
        let us = Duration::from_micros;
        time.observe(us(200));
        time.observe(us(3000));
        assert!(time.estimate() < us(300), "{:?}", time.estimate());
        time.observe(us(150));
        assert_eq!(time.estimate(), us(150));
        (0..4000).for_each(|_| time.observe(us(3000)));
        assert!(time.estimate() > us(2900));
    }
}
