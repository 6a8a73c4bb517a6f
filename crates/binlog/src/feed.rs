//! The newest commits that are event groups, in commit order: how readers at the log's end find them without scanning it.
//!
//! The one place that orders commits pushes each commit record's LSN (two stores). A reader keeps a number: how many it has seen. Who
//! is more than [`SLOTS`] behind reads the log instead until it has caught up.
//!
//! # Invariants
//! F1. One thread pushes at a time (the commit order's mutex); LSNs grow.
//! F2. A slot's value counts only if, after it was read, fewer than [`SLOTS`] commits have been pushed since.
//! F3. Every group whose commit record is at or above `from` is pushed before its record can be durable.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use base::Lsn;

const SLOTS: usize = 8192;

/// See the module.
pub struct Feed {
    /// Groups below are not in the feed.
    from: Lsn,
    slots: Box<[AtomicU64]>,
    /// Commits pushed so far.
    pushed: AtomicU64,
    /// Lowest record that groups of the current segment refer to; 0 = none.
    needs: AtomicU64,
    /// Readers that sleep.
    sleepers: AtomicUsize,
    sleep: (Mutex<()>, Condvar),
}

impl std::fmt::Debug for Feed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Feed")
            .field("from", &self.from)
            .field("pushed", &self.pushed())
            .finish_non_exhaustive()
    }
}

impl Feed {
    /// For commits at or above `from`.
    pub fn new(from: Lsn) -> Self {
        Self {
            from,
            slots: (0..SLOTS).map(|_| AtomicU64::new(0)).collect(),
            pushed: AtomicU64::new(0),
            needs: AtomicU64::new(0),
            sleepers: AtomicUsize::new(0),
            sleep: Default::default(),
        }
    }

    /// A group's commit record stands at `commit` (F1). [`Self::wake`] the readers afterwards.
    pub fn push(&self, commit: Lsn) {
        let n = self.pushed.load(Ordering::Relaxed);
        self.slots[n as usize % SLOTS].store(commit.0, Ordering::Release);
        self.pushed.store(n + 1, Ordering::Release);
    }

    /// Groups of the current segment refer to records from here on.
    pub fn keep_from(&self, needs: Lsn) {
        self.needs.store(needs.0, Ordering::Release);
    }

    pub(crate) fn needs(&self) -> Lsn {
        Lsn(self.needs.load(Ordering::Acquire))
    }

    /// Tells sleeping readers of what was pushed; costs one load when there are none.
    pub fn wake(&self) {
        if self.sleepers.load(Ordering::SeqCst) > 0 {
            self.wake_all();
        }
    }

    /// The same, whatever there is to see: a new segment, an interruption.
    pub fn wake_all(&self) {
        let _guard = self.sleep.0.lock().unwrap_or_else(PoisonError::into_inner);
        self.sleep.1.notify_all();
    }

    /// Commits pushed so far.
    pub(crate) fn pushed(&self) -> u64 {
        self.pushed.load(Ordering::SeqCst)
    }

    /// The commit with this number; `None` when it has been overwritten (F2) or not been pushed.
    pub(crate) fn get(&self, number: u64) -> Option<Lsn> {
        if number >= self.pushed() {
            return None;
        }
        let value = self.slots[number as usize % SLOTS].load(Ordering::Acquire);
        (self.pushed() - number < SLOTS as u64).then_some(Lsn(value))
    }

    /// The number of the first commit at or above `lsn`, if every group from `lsn` on is still in the feed.
    pub(crate) fn find(&self, lsn: Lsn) -> Option<u64> {
        let pushed = self.pushed();
        let first = (pushed + 1).saturating_sub(SLOTS as u64);
        let (mut low, mut high) = (first, pushed);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.get(middle)? < lsn { low = middle + 1 } else { high = middle }
        }
        // When it is the oldest one that is left, an overwritten one may be wanted.
        (low > first || (first == 0 && lsn >= self.from)).then_some(low)
    }

    /// Sleeps until more than `seen` commits have been pushed, `changed` says so, or the time has passed.
    pub(crate) fn sleep(&self, seen: u64, changed: &dyn Fn() -> bool, time: Duration) {
        self.sleepers.fetch_add(1, Ordering::SeqCst);
        let guard = self.sleep.0.lock().unwrap_or_else(PoisonError::into_inner);
        if self.pushed() <= seen && !changed() {
            drop(self.sleep.1.wait_timeout(guard, time));
        }
        self.sleepers.fetch_sub(1, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_finds_where_to_go_on_or_learns_that_it_is_behind() {
        let feed = Feed::new(Lsn(1000));
        assert_eq!(feed.find(Lsn(1000)), Some(0));
        assert_eq!(feed.find(Lsn(999)), None, "a group below may be missing");
        for i in 0..10 {
            feed.push(Lsn(2000 + i * 10));
        }
        assert_eq!(feed.find(Lsn(1500)), Some(0));
        assert_eq!(feed.find(Lsn(2005)), Some(1));
        assert_eq!(feed.find(Lsn(2090)), Some(9));
        assert_eq!(feed.find(Lsn(2091)), Some(10));
        assert_eq!((feed.get(9), feed.get(10)), (Some(Lsn(2090)), None));
        for i in 0..2 * SLOTS as u64 {
            feed.push(Lsn(10_000 + i * 10));
        }
        assert_eq!(feed.get(9), None);
        assert_eq!(feed.find(Lsn(2005)), None);
        let last = feed.pushed() - 1;
        assert_eq!(feed.find(feed.get(last).unwrap()), Some(last));
    }

    #[test]
    fn a_sleeper_wakes_for_a_commit_that_came_before_it_slept() {
        let feed = Feed::new(Lsn(1));
        feed.push(Lsn(5));
        feed.sleep(0, &|| false, Duration::from_secs(100));
        feed.sleep(1, &|| true, Duration::from_secs(100));
    }
}
