//! The newest commits that are event groups, in commit order: how readers at the log's end find them without scanning it.
//!
//! The one place that orders commits pushes each commit record's LSN (two stores). A reader keeps a number: how many it has seen. Who
//! is more than [`SLOTS`] behind reads the log instead until it has caught up.
//!
//! # The watch
//! Of all readers that sleep at the log's end one keeps watch: it alone hears of a commit and waits in the log's queue until that is
//! durable, then it wakes the others. So a commit wakes one thread at most, whatever the number of readers, and a sync one more; readers that
//! were woken take all that is durable by then. A watch that ends without news is left open: the next commit wakes all sleepers, and one takes it.
//!
//! # Invariants
//! F1. One thread pushes at a time (the commit order's mutex); LSNs grow.
//! F2. A slot's value counts only if, after it was read, fewer than [`SLOTS`] commits have been pushed since.
//! F3. Every group whose commit record is at or above `from` is pushed before its record can be durable.
//! F4. While a reader sleeps somebody keeps watch, or `wanted` is set. Who sets it looks for a commit afterwards, who pushes one looks at it
//!     afterwards; both hold the watch's lock around sleep and wake.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use base::Lsn;

use crate::api::ReadError;

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
    /// The next commit is to wake somebody.
    wanted: AtomicBool,
    watch: Mutex<Watch>,
    /// Wakes who keeps watch, and everybody else.
    heard: Condvar,
    told: Condvar,
}

#[derive(Default)]
struct Watch {
    is_kept: bool,
}

/// How far the log is durable, for sleepers.
pub(crate) trait Progress {
    fn durable(&self) -> Lsn;
    /// Waits until the record at `lsn` is durable.
    fn wait_durable(&self, lsn: Lsn) -> Result<(), ReadError>;
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
            wanted: AtomicBool::new(false),
            watch: Mutex::default(),
            heard: Condvar::new(),
            told: Condvar::new(),
        }
    }

    /// A group's commit record stands at `commit` (F1). [`Self::wake`] the readers afterwards.
    pub fn push(&self, commit: Lsn) {
        let n = self.pushed.load(Ordering::Relaxed);
        self.slots[n as usize % SLOTS].store(commit.0, Ordering::Release);
        self.pushed.store(n + 1, Ordering::SeqCst); // F4
    }

    /// Groups of the current segment refer to records from here on.
    pub fn keep_from(&self, needs: Lsn) {
        self.needs.store(needs.0, Ordering::Release);
    }

    pub(crate) fn needs(&self) -> Lsn {
        Lsn(self.needs.load(Ordering::Acquire))
    }

    fn watch(&self) -> MutexGuard<'_, Watch> {
        self.watch.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells sleeping readers of what was pushed; costs one load when nobody waits to hear of it.
    pub fn wake(&self) {
        if self.wanted.load(Ordering::SeqCst) && self.wanted.swap(false, Ordering::SeqCst) {
            let watch = self.watch();
            if watch.is_kept { self.heard.notify_one() } else { self.told.notify_all() }
        }
    }

    /// Ends all sleeps, whatever there is to see: a new segment, an interruption.
    pub fn wake_all(&self) {
        let _watch = self.watch();
        self.heard.notify_all();
        self.told.notify_all();
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

    /// The group with this number may be read, or is not in the feed any more.
    pub(crate) fn is_ready(&self, number: u64, progress: &dyn Progress) -> bool {
        number < self.pushed() && self.get(number).is_none_or(|commit| commit < progress.durable())
    }

    /// Sleeps until the group with this number is ready or `changed` says so; also ends when the time has passed, and sometimes without a
    /// reason.
    pub(crate) fn sleep(
        &self,
        number: u64,
        progress: &dyn Progress,
        changed: &dyn Fn() -> bool,
        time: Duration,
    ) -> Result<(), ReadError> {
        let mut watch = self.watch();
        if self.is_ready(number, progress) || changed() {
            return Ok(());
        }
        if watch.is_kept {
            drop(self.told.wait_timeout(watch, time));
            return Ok(());
        }
        watch.is_kept = true;
        self.wanted.store(true, Ordering::SeqCst);
        if self.pushed() <= number {
            drop(self.heard.wait_timeout(watch, time));
        } else {
            drop(watch);
        }
        let is_news = number < self.pushed();
        let waited = self.get(number).map_or(Ok(()), |commit| progress.wait_durable(commit));
        self.watch().is_kept = false;
        if is_news {
            self.told.notify_all();
        }
        waited
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

    const LONG: Duration = Duration::from_secs(100);

    /// A log that is durable once somebody waits for it; who waits is counted.
    #[derive(Default)]
    struct Synced(AtomicU64, AtomicU64);

    impl Progress for Synced {
        fn durable(&self) -> Lsn {
            Lsn(self.0.load(Ordering::SeqCst))
        }
        fn wait_durable(&self, lsn: Lsn) -> Result<(), ReadError> {
            self.1.fetch_add(1, Ordering::SeqCst);
            self.0.fetch_max(lsn.0 + 1, Ordering::SeqCst);
            Ok(())
        }
    }

    #[test]
    fn a_sleeper_wakes_for_a_commit_that_came_before_it_slept() {
        let (feed, log) = (Feed::new(Lsn(1)), Synced::default());
        feed.push(Lsn(5));
        feed.sleep(0, &log, &|| false, LONG).unwrap();
        assert!(feed.is_ready(0, &log) && !feed.is_ready(1, &log));
        feed.sleep(1, &log, &|| true, LONG).unwrap();
    }

    #[test]
    fn of_a_crowd_one_waits_for_the_log_and_all_get_every_commit() {
        const READERS: u64 = 20;
        const COMMITS: u64 = 200;
        let (feed, log, ended) = (Feed::new(Lsn(1)), Synced::default(), AtomicU64::new(0));
        std::thread::scope(|scope| {
            for _ in 0..READERS {
                scope.spawn(|| {
                    for number in 0..COMMITS {
                        while !feed.is_ready(number, &log) {
                            feed.sleep(number, &log, &|| false, LONG).unwrap();
                        }
                    }
                    ended.fetch_add(1, Ordering::SeqCst);
                });
            }
            for i in 0..COMMITS {
                feed.push(Lsn(10 + i));
                feed.wake();
                std::thread::yield_now();
            }
        });
        assert_eq!(ended.into_inner(), READERS);
        assert!(log.1.into_inner() <= COMMITS, "each commit is waited for by one of them");
    }

    #[test]
    fn a_watch_that_ended_in_vain_is_taken_again_for_the_next_commit() {
        let (feed, log) = (Feed::new(Lsn(1)), Synced::default());
        std::thread::scope(|scope| {
            let watch = scope.spawn(|| feed.sleep(0, &log, &|| false, Duration::from_millis(20)));
            let others = scope.spawn(|| {
                while !feed.is_ready(0, &log) {
                    feed.sleep(0, &log, &|| false, LONG).unwrap();
                }
            });
            watch.join().unwrap().unwrap();
            feed.push(Lsn(5));
            feed.wake();
            others.join().unwrap();
        });
    }
}
