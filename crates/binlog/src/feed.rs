//! The newest commits that are event groups, in commit order: how readers at the log's end find them without scanning it.
//!
//! The one place that orders commits pushes each commit record's LSN (two stores). A reader keeps a number: how many it has seen. Who
//! is more than [`SLOTS`] behind reads the log instead until it has caught up.
//!
//! # The watch and the turns
//! Of all readers that sleep at the log's end one keeps watch: it alone hears of a commit and waits in the log's queue until that is
//! durable. Then readers have turns, in the order in which they fell asleep: a few at a time are awake, each takes all that is durable by
//! then, and by going back to sleep it wakes the next. So a commit wakes one thread at most, whatever the number of readers, and a sync one
//! more; and the busier the server is, the longer a round takes and the more each reader sends at once, so what a reader costs grows with
//! the bytes rather than with the syncs. A reader whose peer somebody waits for (semi-synchronous commits) [`Seat::hurry`]s: it waits for
//! nobody's turn. Nor does one that has [`BATCH`] groups to send: more would not make them cheaper, and nobody is to fall behind for want of
//! a turn. Who has one and is about to wait for something else, a peer that does not read or a large group, passes it on first.
//!
//! # Invariants
//! F1. One thread pushes at a time (the commit order's mutex); LSNs grow.
//! F2. A slot's value counts only if, after it was read, fewer than [`SLOTS`] commits have been pushed since.
//! F3. Every group whose commit record is at or above `from` is pushed before its record can be durable.
//! F4. While a reader is in the queue somebody keeps watch, or has a turn; who ends either without taking the watch wakes somebody. Who sets
//!     `wanted` looks for a commit afterwards, who pushes one looks at it afterwards.
//! F5. A turn is given and given back under the lock; at most [`Watch::turns_max`] are out, those of who hurries, of who has
//!     [`BATCH`] groups to send, and of F4 aside.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use base::Lsn;

use crate::api::ReadError;

const SLOTS: usize = 8192;
/// So many small groups fill what a dump sends at once.
const BATCH: u64 = 32;

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
    /// Wakes who keeps watch.
    heard: Condvar,
}

/// Who sleeps and who has a turn.
struct Watch {
    is_kept: bool,
    /// In the order of their turns.
    queue: VecDeque<Sleeper>,
    turns: usize,
    turns_max: usize,
    /// Who has so many groups to send needs no turn.
    batch: u64,
}

/// A reader that waits for the group with this number.
struct Sleeper {
    seat: Arc<Seat>,
    number: u64,
}

/// One reader's place at the log's end. The flags change under the watch's lock.
#[derive(Default)]
pub(crate) struct Seat {
    woken: Condvar,
    has_turn: AtomicBool,
    sleeps: AtomicBool,
    hurries: AtomicBool,
}

impl Seat {
    /// From now on this reader waits for nobody's turn.
    pub(crate) fn hurry(&self) {
        self.hurries.store(true, Ordering::Relaxed);
    }
}

impl Watch {
    fn new(turns_max: usize) -> Self {
        Self { is_kept: false, queue: VecDeque::new(), turns: 0, turns_max, batch: BATCH }
    }

    /// Takes the seat's turn back, if it has one.
    fn take_back(&mut self, seat: &Seat) -> bool {
        let had = seat.has_turn.swap(false, Ordering::Relaxed);
        self.turns -= usize::from(had);
        had
    }

    /// Whether who has so many groups to send may go now.
    fn may_go(&self, seat: &Seat, groups: u64) -> bool {
        let at_once = || groups >= self.batch || seat.hurries.load(Ordering::Relaxed);
        groups > 0 && (self.turns < self.turns_max || at_once())
    }

    fn give(&mut self, seat: &Seat) {
        seat.has_turn.store(true, Ordering::Relaxed);
        self.turns += 1;
    }

    fn wake(&mut self, at: usize) {
        if let Some(sleeper) = self.queue.remove(at) {
            sleeper.seat.sleeps.store(false, Ordering::Relaxed);
            sleeper.seat.woken.notify_one();
        }
    }

    fn give_and_wake(&mut self, at: usize) {
        let seat = Arc::clone(&self.queue[at].seat);
        self.give(&seat);
        self.wake(at);
    }

    /// Gives turns to those who may go; `ready` counts the groups from a number on.
    fn go_on(&mut self, ready: &dyn Fn(u64) -> u64) {
        let next = |watch: &Self| watch.queue.iter().position(|s| watch.may_go(&s.seat, ready(s.number)));
        while let Some(at) = next(self) {
            self.give_and_wake(at);
        }
    }

    /// F4, for who is awake and neither has a turn nor keeps watch: the next one in the queue will.
    fn leave(&mut self) {
        if self.turns == 0 && !self.is_kept && !self.queue.is_empty() {
            self.give_and_wake(0);
        }
    }
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
            watch: Mutex::new(Watch::new(turns_of(env::thread::cores()))),
            heard: Condvar::new(),
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
            let _watch = self.watch();
            self.heard.notify_one();
        }
    }

    /// Ends all sleeps, whatever there is to see: a new segment, an interruption.
    pub fn wake_all(&self) {
        let mut watch = self.watch();
        self.heard.notify_one();
        while !watch.queue.is_empty() {
            watch.wake(0);
        }
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

    /// How many groups from this one on may be read; those that will be in a moment count too.
    fn ready(&self, number: u64, progress: &dyn Progress) -> u64 {
        if self.is_ready(number, progress) { self.pushed() - number } else { 0 }
    }

    /// Ends the turn of this seat, if it has one; for who is about to wait for something else, or to leave.
    pub(crate) fn pass(&self, seat: &Seat, progress: &dyn Progress) {
        if seat.has_turn.load(Ordering::Relaxed) {
            let mut watch = self.watch();
            if watch.take_back(seat) {
                watch.go_on(&|number| self.ready(number, progress));
                watch.leave();
            }
        }
    }

    /// Sleeps until the group with this number is ready and it is this seat's turn, or until `changed` says so; also ends when the time has
    /// passed, and sometimes without a reason.
    pub(crate) fn sleep(
        &self,
        seat: &Arc<Seat>,
        number: u64,
        progress: &dyn Progress,
        changed: &dyn Fn() -> bool,
        time: Duration,
    ) -> Result<(), ReadError> {
        let mut watch = self.watch();
        watch.take_back(seat);
        // Who slept before comes first.
        watch.go_on(&|number| self.ready(number, progress));
        if changed() {
            watch.leave();
            return Ok(());
        }
        let ready = self.ready(number, progress);
        if ready == 0 && !watch.is_kept {
            return self.keep_watch(watch, seat, number, progress, time);
        }
        if watch.may_go(seat, ready) {
            watch.give(seat);
        } else {
            self.queue_up(watch, seat, number, time);
        }
        Ok(())
    }

    fn keep_watch(
        &self,
        mut watch: MutexGuard<'_, Watch>,
        seat: &Arc<Seat>,
        number: u64,
        progress: &dyn Progress,
        time: Duration,
    ) -> Result<(), ReadError> {
        watch.is_kept = true;
        self.wanted.store(true, Ordering::SeqCst);
        if self.pushed() <= number {
            drop(self.heard.wait_timeout(watch, time));
        } else {
            drop(watch);
        }
        let waited = self.get(number).map_or(Ok(()), |commit| progress.wait_durable(commit));
        let mut watch = self.watch();
        watch.is_kept = false;
        watch.go_on(&|number| self.ready(number, progress));
        let ready = self.ready(number, progress);
        if waited.is_err() || ready == 0 {
            watch.leave();
        } else if watch.may_go(seat, ready) {
            watch.give(seat);
        } else {
            self.queue_up(watch, seat, number, time);
        }
        waited
    }

    fn queue_up(&self, mut watch: MutexGuard<'_, Watch>, seat: &Arc<Seat>, number: u64, time: Duration) {
        seat.sleeps.store(true, Ordering::Relaxed);
        watch.queue.push_back(Sleeper { seat: Arc::clone(seat), number });
        let sleeps = |_: &mut Watch| seat.sleeps.load(Ordering::Relaxed);
        let woken = seat.woken.wait_timeout_while(watch, time, sleeps);
        let (mut watch, _) = woken.unwrap_or_else(PoisonError::into_inner);
        if seat.sleeps.swap(false, Ordering::Relaxed) {
            watch.queue.retain(|sleeper| !Arc::ptr_eq(&sleeper.seat, seat));
        }
    }
}

/// How many readers have a turn at a time.
fn turns_of(cores: usize) -> usize {
    (cores / 2).max(1)
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
        let (feed, log, seat) = (Feed::new(Lsn(1)), Synced::default(), Arc::default());
        feed.push(Lsn(5));
        feed.sleep(&seat, 0, &log, &|| false, LONG).unwrap();
        assert!(feed.is_ready(0, &log) && !feed.is_ready(1, &log));
        feed.sleep(&seat, 1, &log, &|| true, LONG).unwrap();
    }

    fn has_turn(seat: &Seat) -> bool {
        seat.has_turn.load(Ordering::Relaxed)
    }

    #[test]
    fn of_a_crowd_one_waits_for_the_log_few_are_awake_and_all_get_every_commit() {
        const READERS: u64 = 20;
        const COMMITS: u64 = 200;
        const TURNS: usize = 3;
        let (feed, log, ended) = (Feed::new(Lsn(1)), Synced::default(), AtomicU64::new(0));
        (feed.watch().turns_max, feed.watch().batch) = (TURNS, u64::MAX);
        let awake = std::sync::atomic::AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for reader in 0..READERS {
                let (feed, log, awake, ended) = (&feed, &log, &awake, &ended);
                scope.spawn(move || {
                    let seat = Arc::default();
                    for number in 0..COMMITS {
                        while !(feed.is_ready(number, log) && has_turn(&seat)) {
                            feed.sleep(&seat, number, log, &|| false, LONG).unwrap();
                        }
                        assert!(awake.fetch_add(1, Ordering::SeqCst) < TURNS);
                        std::thread::yield_now();
                        awake.fetch_sub(1, Ordering::SeqCst);
                        if (number + reader) % 3 == 0 {
                            feed.pass(&seat, log);
                            assert!(!has_turn(&seat));
                        }
                    }
                    feed.pass(&seat, log);
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
        let watch = feed.watch();
        assert!(watch.turns == 0 && watch.queue.is_empty() && !watch.is_kept);
    }

    #[test]
    fn who_hurries_waits_for_nobodys_turn() {
        let (feed, log) = (Feed::new(Lsn(1)), Synced::default());
        feed.watch().turns_max = 1;
        feed.push(Lsn(5));
        log.wait_durable(Lsn(5)).unwrap();
        let [first, second, hurried]: [Arc<Seat>; 3] = std::array::from_fn(|_| Arc::default());
        hurried.hurry();
        feed.sleep(&first, 0, &log, &|| false, LONG).unwrap();
        feed.sleep(&second, 0, &log, &|| false, Duration::from_millis(1)).unwrap();
        feed.sleep(&hurried, 0, &log, &|| false, LONG).unwrap();
        assert_eq!([&first, &second, &hurried].map(|seat| has_turn(seat)), [true, false, true]);
        assert!(feed.watch().queue.is_empty(), "time is up for the second, and it has left the queue");
    }

    #[test]
    fn who_has_much_to_send_waits_for_nobodys_turn() {
        let (feed, log) = (Feed::new(Lsn(1)), Synced::default());
        feed.watch().turns_max = 1;
        for i in 0..=BATCH {
            feed.push(Lsn(5 + i));
        }
        log.wait_durable(Lsn(5 + BATCH)).unwrap();
        let [first, near, far]: [Arc<Seat>; 3] = std::array::from_fn(|_| Arc::default());
        feed.sleep(&first, BATCH, &log, &|| false, LONG).unwrap();
        feed.sleep(&near, 2, &log, &|| false, Duration::from_millis(1)).unwrap();
        feed.sleep(&far, 1, &log, &|| false, LONG).unwrap();
        assert_eq!([&first, &near, &far].map(|seat| has_turn(seat)), [true, false, true]);
    }

    #[test]
    fn a_turn_that_is_passed_on_wakes_the_next_and_the_last_one_a_watch() {
        let (feed, log) = (Feed::new(Lsn(1)), Synced::default());
        feed.watch().turns_max = 1;
        feed.push(Lsn(5));
        log.wait_durable(Lsn(5)).unwrap();
        let [first, second, third]: [Arc<Seat>; 3] = std::array::from_fn(|_| Arc::default());
        feed.sleep(&first, 0, &log, &|| false, LONG).unwrap();
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let next = scope.spawn(|| feed.sleep(&second, 0, &log, &|| false, LONG));
            while feed.watch().queue.is_empty() {
                std::thread::yield_now();
            }
            feed.pass(&first, &log);
            next.join().unwrap().unwrap();
            assert_eq!([&first, &second].map(|seat| has_turn(seat)), [false, true]);
            // One that waits for a commit of the future while another keeps watch, which then leaves.
            let keeps = scope.spawn(|| feed.sleep(&first, 1, &log, &|| stop.load(Ordering::SeqCst), LONG));
            while !feed.watch().is_kept {
                std::thread::yield_now();
            }
            let waits = scope.spawn(|| feed.sleep(&third, 1, &log, &|| false, LONG));
            while feed.watch().queue.is_empty() {
                std::thread::yield_now();
            }
            feed.pass(&second, &log);
            assert_eq!(feed.watch().queue.len(), 1, "the watch is kept: nobody is woken");
            feed.heard.notify_one();
            keeps.join().unwrap().unwrap();
            waits.join().unwrap().unwrap();
            assert!(has_turn(&third), "the next one takes the watch when it comes back");
        });
    }

    #[test]
    fn a_watch_that_ended_in_vain_is_taken_again_for_the_next_commit() {
        let (feed, log) = (&Feed::new(Lsn(1)), &Synced::default());
        std::thread::scope(|scope| {
            let seat = Arc::default();
            let watch = scope.spawn(move || feed.sleep(&seat, 0, log, &|| false, Duration::from_millis(20)));
            let others = scope.spawn(move || {
                let seat = Arc::default();
                while !feed.is_ready(0, log) {
                    feed.sleep(&seat, 0, log, &|| false, LONG).unwrap();
                }
            });
            watch.join().unwrap().unwrap();
            feed.push(Lsn(5));
            feed.wake();
            others.join().unwrap();
        });
    }
}
