//! The primitives that schedules are tested with: std's, or shuttle's under the feature of that name.

#[cfg(feature = "shuttle")]
pub(crate) use shuttle::{
    sync::{Mutex, MutexGuard, RwLock, atomic},
    thread,
};
#[cfg(not(feature = "shuttle"))]
pub(crate) use std::{
    sync::{Mutex, MutexGuard, RwLock, atomic},
    thread,
};

/// Held for a few instructions with no schedule of interest in between.
pub(crate) use std::sync::Mutex as PlainMutex;

/// Locks; a panic of another holder is that thread's failure, and every critical section here leaves its data whole.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Locks unless somebody else has it.
pub(crate) fn try_lock<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    match mutex.try_lock() {
        Ok(guard) => Some(guard),
        Err(std::sync::TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(std::sync::TryLockError::WouldBlock) => None,
    }
}

/// One step of a short wait for another thread's few instructions.
pub(crate) fn spin(round: u32) {
    #[cfg(not(feature = "shuttle"))]
    if round < 64 {
        return std::hint::spin_loop();
    }
    let _ = round;
    thread::yield_now();
}

/// Keeps a hot atomic on cache lines of its own (two, for the adjacent-line prefetcher).
#[repr(align(128))]
#[derive(Debug, Default)]
pub(crate) struct Padded<T>(pub(crate) T);
