//! The latch of a frame: many readers or one writer, in one 32-bit word.
//!
//! ```text
//! bit 31 EXCLUSIVE   a writer holds it
//! bit 30 WRITER      a parked writer wants it: new readers queue behind
//! bit 29 WAITERS     somebody is parked: whoever makes the latch free must wake
//! bits 0..29         readers; a reader that was refused counts for a moment too
//! ```
//!
//! A reader costs one atomic add to enter and one to leave. Waiters spin briefly, then park in a [`WaitTable`], a few
//! mutex and condition variable pairs shared by all latches of a pool.
//!
//! # Invariants
//! T1. EXCLUSIVE is set only while no reader has been let in, and a reader is let in only while neither EXCLUSIVE nor
//!     WRITER is set.
//! T2. A waiter sets its bits and tries once more with its table shard locked before it sleeps; a releaser that sees the
//!     bits locks the same shard before it wakes. So no wake-up is lost.
//! T3. A thread never latches a frame it holds: behind a waiting writer the second entry would never come.
//!
//! This file is compiled a second time over shuttle's atomics by the model tests, hence `super::sync`.

use super::sync::{AtomicU32, Condvar, Mutex, Ordering, SPINS, spin_hint};

const EXCLUSIVE: u32 = 1 << 31;
const WRITER: u32 = 1 << 30;
const WAITERS: u32 = 1 << 29;
const READERS: u32 = WAITERS - 1;

/// Where waiters park.
pub(super) struct WaitTable {
    shards: Box<[Shard]>,
}

#[derive(Default)]
struct Shard {
    gate: Mutex<()>,
    wake: Condvar,
}

impl WaitTable {
    pub(super) fn new(shards: usize) -> Self {
        Self { shards: (0..shards.next_power_of_two()).map(|_| Shard::default()).collect() }
    }

    fn shard(&self, latch: &Latch) -> &Shard {
        // Latches lie in 64-byte descriptors.
        let mixed = (std::ptr::from_ref(latch) as usize >> 6).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        &self.shards[(mixed >> 40) & (self.shards.len() - 1)]
    }
}

/// The latch word. All zero bytes are a free latch.
#[derive(Default)]
pub(super) struct Latch {
    word: AtomicU32,
}

impl Latch {
    /// Enters as a reader if no wait is needed.
    #[inline]
    pub(super) fn try_shared(&self, table: &WaitTable) -> bool {
        if self.word.fetch_add(1, Ordering::Acquire) & (EXCLUSIVE | WRITER) == 0 {
            return true;
        }
        // Leaving again may be the release that a parked writer waits for.
        self.unlock_shared(table);
        false
    }

    #[inline]
    pub(super) fn lock_shared(&self, table: &WaitTable) {
        if !self.try_shared(table) {
            self.wait(table, WAITERS, || self.try_shared_parking());
        }
    }

    #[inline]
    pub(super) fn unlock_shared(&self, table: &WaitTable) {
        let before = self.word.fetch_sub(1, Ordering::Release);
        debug_assert!(before & READERS > 0, "a latch was released that nobody held");
        if before & (WRITER | WAITERS) != 0 && before & READERS == 1 {
            self.wake(table);
        }
    }

    pub(super) fn try_exclusive(&self) -> bool {
        let word = self.word.load(Ordering::Relaxed);
        word & (EXCLUSIVE | READERS) == 0
            && self
                .word
                .compare_exchange(word, word | EXCLUSIVE, Ordering::Acquire, Ordering::Relaxed)
                .is_ok()
    }

    pub(super) fn lock_exclusive(&self, table: &WaitTable) {
        if !self.try_exclusive() {
            self.wait(table, WAITERS | WRITER, || self.try_exclusive_parking());
        }
    }

    pub(super) fn unlock_exclusive(&self, table: &WaitTable) {
        let before = self.word.fetch_and(!EXCLUSIVE, Ordering::Release);
        debug_assert!(before & EXCLUSIVE != 0, "a latch was released that nobody held");
        if before & (WRITER | WAITERS) != 0 {
            self.wake(table);
        }
    }

    /// Turns the writer into a reader without letting another writer in between.
    pub(super) fn downgrade(&self, table: &WaitTable) {
        let before = self.word.fetch_sub(EXCLUSIVE - 1, Ordering::Release);
        debug_assert!(before & EXCLUSIVE != 0, "a latch was downgraded that nobody held");
        if before & WAITERS != 0 {
            self.wake(table);
        }
    }

    /// As `try_shared`, without waking: the caller has the shard locked. A refusal leaves the word as it was.
    fn try_shared_parking(&self) -> bool {
        let mut word = self.word.load(Ordering::Relaxed);
        while word & (EXCLUSIVE | WRITER) == 0 {
            match self.word.compare_exchange(word, word + 1, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(now) => word = now,
            }
        }
        false
    }

    /// As `try_exclusive`, but gives up only when the latch is really held.
    fn try_exclusive_parking(&self) -> bool {
        let mut word = self.word.load(Ordering::Relaxed);
        while word & (EXCLUSIVE | READERS) == 0 {
            match self.word.compare_exchange(word, word | EXCLUSIVE, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(now) => word = now,
            }
        }
        false
    }

    #[cold]
    fn wait(&self, table: &WaitTable, bits: u32, enter: impl Fn() -> bool) {
        for _ in 0..SPINS {
            spin_hint();
            if enter() {
                return;
            }
        }
        let shard = table.shard(self);
        let mut gate = shard.gate.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        loop {
            self.word.fetch_or(bits, Ordering::Relaxed);
            if enter() {
                return;
            }
            gate = shard.wake.wait(gate).unwrap_or_else(std::sync::PoisonError::into_inner);
        }
    }

    /// Wakes everybody parked in the shard; who still finds the latch taken sets the bits again.
    #[cold]
    fn wake(&self, table: &WaitTable) {
        let shard = table.shard(self);
        let gate = shard.gate.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        self.word.fetch_and(!(WRITER | WAITERS), Ordering::Relaxed);
        drop(gate);
        shard.wake.notify_all();
    }
}
