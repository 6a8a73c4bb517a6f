//! In-flight slots: how the end of the completely copied stream is known without a lock.
//!
//! A writer stores the LSN it is about to reserve into its slot, reserves by compare-and-swap, copies, and clears the slot.
//! The ready LSN is the minimum of the reserved LSN and all slots.
//!
//! # Invariants
//! S1. A slot holds a value at or below the start of any record its thread has reserved and not finished, or [`IDLE`].
//! S2. The reader loads the reserved LSN first, then the slots. If it sees a reservation it sees the slot stored before it
//!     (the swap releases, the load acquires); if it sees a slot cleared it sees the copied bytes (release, acquire).
//! S3. A thread never waits for anything while its slot is set.
//!
//! Threads take one of [`SLOTS`] numbers for the time they live; those that find none left share the last slot under a mutex.

use std::cell::OnceCell;

use crate::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use crate::sync::{Mutex, MutexGuard, Padded, PlainMutex, lock};

/// Slots that belong to one thread each; one more is shared.
pub(crate) const SLOTS: usize = 128;

const IDLE: u64 = u64::MAX;

struct Slot {
    bound: AtomicU64,
    appends: AtomicU64,
}

pub(crate) struct Slots {
    slots: Box<[Padded<Slot>]>,
    /// Slots below this may have been used.
    used: AtomicUsize,
    shared: Mutex<()>,
}

/// A set slot; clears itself, also when `publish` panics (the bytes are copied by then).
pub(crate) struct InFlight<'a> {
    slot: &'a Slot,
    _shared: Option<MutexGuard<'a, ()>>,
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.slot.bound.store(IDLE, Ordering::Release);
    }
}

impl InFlight<'_> {
    /// Counts one append; the slot's owner is the only writer.
    pub(crate) fn count(&self) {
        self.slot.appends.store(self.slot.appends.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }
}

impl Slots {
    pub(crate) fn new() -> Self {
        let slot = || Padded(Slot { bound: AtomicU64::new(IDLE), appends: AtomicU64::new(0) });
        Self {
            slots: (0..=SLOTS).map(|_| slot()).collect(),
            used: AtomicUsize::new(0),
            shared: Mutex::new(()),
        }
    }

    /// Publishes "this thread may be writing at or above `bound`".
    pub(crate) fn enter(&self, bound: u64) -> InFlight<'_> {
        let number = thread_number();
        let shared = (number == SLOTS).then(|| lock(&self.shared));
        if number >= self.used.load(Ordering::Relaxed) {
            self.used.fetch_max(number + 1, Ordering::AcqRel);
        }
        let slot = &self.slots[number].0;
        debug_assert_eq!(slot.bound.load(Ordering::Relaxed), IDLE, "an append inside an append");
        slot.bound.store(bound, Ordering::Release);
        InFlight { slot, _shared: shared }
    }

    /// Minimum of `reserved` (loaded by the caller just before, S2) and all slots.
    pub(crate) fn minimum(&self, reserved: u64) -> u64 {
        let used = self.used.load(Ordering::Acquire);
        self.slots[..used].iter().map(|slot| slot.0.bound.load(Ordering::Acquire)).fold(reserved, u64::min)
    }

    pub(crate) fn appends(&self) -> u64 {
        self.slots.iter().map(|slot| slot.0.appends.load(Ordering::Relaxed)).sum()
    }
}

/// Numbers that living threads hold, over all logs of the process.
static NUMBERS: PlainMutex<[u64; SLOTS / 64]> = PlainMutex::new([0; SLOTS / 64]);

struct ThreadNumber(usize);

impl ThreadNumber {
    fn take() -> Self {
        let mut numbers = NUMBERS.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        for (i, word) in numbers.iter_mut().enumerate() {
            let free = word.trailing_ones() as usize;
            if free < 64 {
                *word |= 1 << free;
                return Self(i * 64 + free);
            }
        }
        Self(SLOTS)
    }
}

impl Drop for ThreadNumber {
    fn drop(&mut self) {
        if self.0 < SLOTS {
            let mut numbers = NUMBERS.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            numbers[self.0 / 64] &= !(1 << (self.0 % 64));
        }
    }
}

#[cfg(not(feature = "shuttle"))]
thread_local! {
    static NUMBER: OnceCell<ThreadNumber> = const { OnceCell::new() };
}
#[cfg(feature = "shuttle")]
shuttle::thread_local! {
    static NUMBER: OnceCell<ThreadNumber> = OnceCell::new();
}

/// This thread's slot; the shared one also while the thread is being torn down.
fn thread_number() -> usize {
    NUMBER.try_with(|number| number.get_or_init(ThreadNumber::take).0).unwrap_or(SLOTS)
}

#[cfg(all(test, not(feature = "shuttle")))]
mod tests {
    use super::*;

    #[test]
    fn the_minimum_is_held_back_by_the_oldest_writer() {
        let slots = Slots::new();
        assert_eq!(slots.minimum(100), 100);
        let mine = slots.enter(40);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let theirs = slots.enter(60);
                assert_eq!(slots.minimum(100), 40);
                theirs.count();
            });
        });
        assert_eq!(slots.minimum(100), 40);
        mine.count();
        drop(mine);
        assert_eq!(slots.minimum(100), 100);
        assert_eq!(slots.appends(), 2);
    }

    #[test]
    fn more_threads_than_slots_share_one() {
        let slots = Slots::new();
        let barrier = std::sync::Barrier::new(SLOTS + 20);
        std::thread::scope(|scope| {
            for _ in 0..SLOTS + 20 {
                scope.spawn(|| {
                    thread_number();
                    barrier.wait();
                    for _ in 0..10 {
                        slots.enter(50).count();
                    }
                    barrier.wait();
                });
            }
        });
        assert_eq!(slots.appends(), (SLOTS as u64 + 20) * 10);
        assert_eq!(slots.minimum(70), 70);
    }
}
