//! The gate that FLUSH TABLES WITH READ LOCK and BACKUP STAGE close: who writes passes through it.
//!
//! A writer says in its connection's own entry that it is inside, then looks whether the gate is closed; who closes first shuts
//! the gate, then looks into the entries. Both orders are sequentially consistent, so at least one of the two sees the other
//! (Dekker). An open gate costs a writer two stores to a cache line of its own and a load of one that nobody writes.
//!
//! # Levels
//! | level | keeps out |
//! | --- | --- |
//! | 1 | DDL |
//! | 2 | and statements that change rows |
//! | 3 | and commits of what was changed |
//!
//! # Invariants
//! 1. A commit inside a statement that has passed does not pass again. So whoever waits for statements never waits for a commit that
//!    waits for the gate: level 3 is reached only when nobody of level 2 is inside.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::registry::{Connections, Entry, Kill};

/// How often a waiter looks for a kill.
const TICK: Duration = Duration::from_millis(20);

/// What wants to pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Passing {
    Ddl = 1,
    Statement = 2,
    Commit = 3,
}

/// Why somebody did not pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GateError {
    Killed,
    Timeout,
}

#[derive(Debug, Default)]
pub(crate) struct WriteGate {
    /// The highest level of `closers`.
    level: AtomicU8,
    /// How many sessions closed it at each level.
    closers: Mutex<[u32; 4]>,
    changed: Condvar,
}

impl WriteGate {
    fn closers(&self) -> MutexGuard<'_, [u32; 4]> {
        self.closers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Passes, or waits until the gate opens. [`Self::leave`] must follow.
    pub(crate) fn enter(&self, entry: &Entry, passing: Passing, timeout: Duration) -> Result<(), GateError> {
        if entry.inside().load(Ordering::Relaxed) != 0 {
            return Ok(());
        }
        entry.inside().store(passing as u8, Ordering::SeqCst);
        if self.level.load(Ordering::SeqCst) < passing as u8 {
            return Ok(());
        }
        self.wait_to_enter(entry, passing, timeout)
    }

    #[cold]
    fn wait_to_enter(&self, entry: &Entry, passing: Passing, timeout: Duration) -> Result<(), GateError> {
        let mut left = timeout;
        let mut closers = self.closers();
        loop {
            // Under the mutex nobody closes.
            if self.level.load(Ordering::SeqCst) < passing as u8 {
                entry.inside().store(passing as u8, Ordering::SeqCst);
                return Ok(());
            }
            entry.inside().store(0, Ordering::SeqCst);
            self.changed.notify_all();
            if entry.killed() != Kill::No {
                return Err(GateError::Killed);
            }
            if left.is_zero() {
                return Err(GateError::Timeout);
            }
            let tick = TICK.min(left);
            left -= tick;
            closers = self.changed.wait_timeout(closers, tick).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// What [`Self::enter`] let in is done.
    pub(crate) fn leave(&self, entry: &Entry) {
        if entry.inside().load(Ordering::Relaxed) == 0 {
            return;
        }
        entry.inside().store(0, Ordering::SeqCst);
        if self.level.load(Ordering::SeqCst) != 0 {
            let _closers = self.closers();
            self.changed.notify_all();
        }
    }

    /// Shuts the gate for `passing` and everything below it, and waits until nobody of them is inside.
    pub(crate) fn close(
        &self,
        me: &Entry,
        connections: &Connections,
        passing: Passing,
        timeout: Duration,
    ) -> Result<(), GateError> {
        let mut left = timeout;
        let mut closers = self.closers();
        closers[passing as usize] += 1;
        self.update(&closers);
        loop {
            let busy = |e: &Arc<Entry>| {
                let inside = e.inside().load(Ordering::SeqCst);
                e.id != me.id && inside != 0 && inside <= passing as u8
            };
            if !connections.all().iter().any(busy) {
                return Ok(());
            }
            let killed = me.killed() != Kill::No;
            if killed || left.is_zero() {
                closers[passing as usize] -= 1;
                self.update(&closers);
                self.changed.notify_all();
                return Err(if killed { GateError::Killed } else { GateError::Timeout });
            }
            let tick = TICK.min(left);
            left -= tick;
            closers = self.changed.wait_timeout(closers, tick).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Takes one closing back.
    pub(crate) fn open(&self, passing: Passing) {
        let mut closers = self.closers();
        closers[passing as usize] -= 1;
        self.update(&closers);
        self.changed.notify_all();
    }

    fn update(&self, closers: &[u32; 4]) {
        let level = closers.iter().rposition(|n| *n > 0).unwrap_or(0);
        self.level.store(level as u8, Ordering::SeqCst);
    }
}
