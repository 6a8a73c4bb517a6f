//! The page cleaner: one thread that keeps frames free and changes young, so that others need not write pages.
//!
//! Each round, four times a second: refresh the access clock, refill the free list, and write the oldest changes so that the
//! log a restart must read stays short. In between it refills the free list whenever a thread finds it low. Looking for old
//! changes means looking at every descriptor, so a round does it only if a second passed, the log grew by 1/64 of its limit,
//! or the round before found some.
//!
//! # Policy
//! Age = reserved LSN - oldest rec_lsn. Up to half of `checkpoint_age_max` nothing presses and `io_capacity` pages a second
//! are written only if more than `max_dirty_pages_pct` of the pages are dirty. From there to 7/8 the pages whose age passed
//! half are written in growing portions; beyond 7/8 all of them at once. An error does not end the thread: the pages stay dirty,
//! the next round tries again, and the error can be asked for.

use crate::pool::{BufferPool, PoolError};
use base::Lsn;
use env::thread::{JoinHandle, SMALL_STACK};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

const ROUND: Duration = Duration::from_millis(250);
const ROUNDS_PER_SECOND: usize = 4;

/// The running thread; dropping this ends it. Dirty pages stay dirty: `flush_all` is the caller's part.
pub struct Cleaner {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    pool: Arc<BufferPool>,
    stop: AtomicBool,
    last_error: Mutex<Option<String>>,
}

impl Cleaner {
    pub fn start(pool: Arc<BufferPool>) -> io::Result<Self> {
        let shared = Arc::new(Shared { pool, stop: AtomicBool::new(false), last_error: Mutex::default() });
        let thread = env::thread::spawn("page-cleaner", SMALL_STACK, {
            let shared = shared.clone();
            move || shared.run()
        })?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// What went wrong since the last call, for the server's error log.
    pub fn take_error(&self) -> Option<String> {
        self.shared.last_error.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Drop for Cleaner {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Release);
        self.shared.pool.wake_cleaner();
        if let Some(thread) = self.thread.take() {
            // A panic of the thread was reported where it happened.
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn run(&self) {
        let (mut looked_at, mut looked_when, mut found) = (Lsn::NONE, Duration::ZERO, true);
        while !self.stop.load(Ordering::Acquire) {
            let (end, now) = (self.pool.log_end(), self.pool.clock().monotonic());
            let growth = end.0.saturating_sub(looked_at.0);
            let looks = found
                || growth > self.pool.config().checkpoint_age_max / 64
                || now - looked_when >= ROUND * 4;
            if looks {
                (looked_at, looked_when) = (end, now);
            }
            let cleaned = self.pool.clean(looks);
            found = matches!(cleaned, Ok(written) if written > 0);
            if let Err(error) = cleaned {
                *self.last_error.lock().unwrap_or_else(PoisonError::into_inner) = Some(error.to_string());
                // A failing disk is not asked again at once.
                self.pool.clock().sleep(Duration::from_millis(100));
            }
            // Between the rounds only what threads in need ask for.
            let next_round = self.pool.clock().monotonic() + ROUND;
            while !self.stop.load(Ordering::Acquire) {
                let rest = next_round.saturating_sub(self.pool.clock().monotonic());
                if rest.is_zero() || !self.pool.wait_for_call(rest) || self.pool.refill_free().is_err() {
                    break;
                }
            }
        }
    }
}

/// What to write for age: pages below this LSN, at most so many.
fn age_target(oldest: Lsn, reserved: Lsn, age_max: u64, portion: usize) -> Option<(Lsn, usize)> {
    let age = reserved.0.saturating_sub(oldest.0);
    let half = age_max / 2;
    if age <= half {
        return None;
    }
    let target = Lsn(reserved.0 - half);
    if age >= age_max / 8 * 7 {
        return Some((target, usize::MAX));
    }
    // 1 to 4 portions as the age goes from 4/8 to 7/8.
    let eighths = ((age - half) * 8 / age_max.max(8)) as usize;
    Some((target, portion * (1 + eighths)))
}

impl BufferPool {
    /// One round of the cleaner; tests call it instead of running the thread.
    pub fn clean_once(&self) -> Result<(), PoolError> {
        self.clean(true).map(drop)
    }

    /// Returns how many old changes were written.
    fn clean(&self, looks_for_old_changes: bool) -> Result<usize, PoolError> {
        self.tick();
        self.refill_free()?;
        if !looks_for_old_changes {
            return Ok(0);
        }
        let Some(oldest) = self.oldest_rec_lsn() else { return Ok(0) };
        let config = self.config();
        let reserved = self.log_end();
        let portion = config.io_capacity.div_ceil(ROUNDS_PER_SECOND);
        if let Some((target, pages)) = age_target(oldest, reserved, config.checkpoint_age_max, portion) {
            self.flush_some(target, pages)
        } else if self.dirty_pages() * 100 > config.frames * config.max_dirty_pages_pct {
            self.flush_some(Lsn::MAX, portion)
        } else {
            Ok(0)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn young_changes_are_left_alone_and_old_ones_written_with_growing_force() {
        let target = |age: u64| age_target(Lsn(1_000), Lsn(1_000 + age), 8_000, 200);
        assert_eq!(target(4_000), None);
        assert_eq!(target(4_500), Some((Lsn(1_500), 200)));
        assert_eq!(target(5_000), Some((Lsn(2_000), 400)));
        assert_eq!(target(6_500), Some((Lsn(3_500), 600)));
        assert_eq!(target(7_000), Some((Lsn(4_000), usize::MAX)));
        assert_eq!(target(50_000), Some((Lsn(47_000), usize::MAX)));
    }
}
