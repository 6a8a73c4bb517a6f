//! Leader and followers: who writes, who waits, who is woken (core.md 1.6).
//!
//! Whoever wants progress and finds no leader becomes the leader, does one round of work that covers its own wish, then wakes
//! exactly the waiters whose wishes are covered and gives the lead to one of the others, if any. There are no timers and no
//! condition variable that wakes a crowd: each waiter parks in its own cell.
//!
//! # Invariants
//! Q1. There is at most one leader, and while there are waiters there is one.
//! Q2. Progress is published before the leader takes the queue's lock to pop; a waiter looks at the progress after it has the
//!     lock and before it queues. So no waiter is left behind.
//! Q3. A cell is answered once per wait: `COVERED`, `LEAD` or `FAILED`; an answered waiter is not in the queue.

use std::sync::Arc;

use crate::api::LogFailed;
use crate::sync::atomic::{AtomicU32, Ordering};
use crate::sync::{Mutex, lock, thread};

/// What a thread waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Want {
    /// The stream below is in the file.
    Written(u64),
    /// The stream below survives a crash.
    Durable(u64),
    /// The current segment is this one or later.
    Segment(u64),
}

/// The work that a queue shares out.
pub(crate) trait Work {
    fn is_covered(&self, want: Want) -> bool;
    /// The final failure, if there was one.
    fn failure(&self) -> Option<LogFailed>;
    /// One round as the leader; covers `want` unless it fails, and a failure is recorded before it returns.
    fn round(&self, want: Want) -> Result<(), LogFailed>;
    /// The leader's round panicked: record a failure, so that nobody waits for ever.
    fn poison(&self);
}

const WAITING: u32 = 0;
const COVERED: u32 = 1;
const LEAD: u32 = 2;
const FAILED: u32 = 3;

struct Cell {
    answer: AtomicU32,
    thread: thread::Thread,
}

impl Cell {
    fn answer(&self, answer: u32) {
        self.answer.store(answer, Ordering::Release);
        self.thread.unpark();
    }

    fn wait(&self) -> u32 {
        loop {
            match self.answer.load(Ordering::Acquire) {
                WAITING => thread::park(),
                answer => return answer,
            }
        }
    }
}

#[derive(Default)]
struct State {
    led: bool,
    waiters: Vec<(Want, Arc<Cell>)>,
}

pub(crate) struct Queue {
    state: Mutex<State>,
}

/// How a wait ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Leader,
    Follower,
}

impl Queue {
    pub(crate) fn new() -> Self {
        Self { state: Mutex::new(State::default()) }
    }

    /// Returns once `want` is covered; leads a round if there is nobody else.
    pub(crate) fn wait(&self, work: &dyn Work, want: Want) -> Result<Role, LogFailed> {
        if work.is_covered(want) {
            return Ok(Role::Follower);
        }
        let cell = {
            let mut state = lock(&self.state);
            if work.is_covered(want) {
                return Ok(Role::Follower);
            }
            if let Some(failure) = work.failure() {
                return Err(failure);
            }
            if state.led {
                let cell = Arc::new(Cell { answer: AtomicU32::new(WAITING), thread: thread::current() });
                state.waiters.push((want, Arc::clone(&cell)));
                Some(cell)
            } else {
                state.led = true;
                None
            }
        };
        match cell.map_or(LEAD, |cell| cell.wait()) {
            COVERED => Ok(Role::Follower),
            FAILED => Err(work.failure().expect("a waiter is told of a failure after it was recorded")),
            _ => self.lead(work, want).map(|()| Role::Leader),
        }
    }

    fn lead(&self, work: &dyn Work, want: Want) -> Result<(), LogFailed> {
        let mut lead = Lead { queue: self, work, finished: false };
        let result = work.round(want);
        lead.finished = true;
        result
    }

    /// Ends a leader's term: hands the lead on first, so that the device is busy again soonest, then wakes the covered.
    fn hand_over(&self, work: &dyn Work) {
        let mut answered = Vec::new();
        let failed = work.failure().is_some();
        let next = {
            let mut state = lock(&self.state);
            state.waiters.retain(|(want, cell)| {
                let covered = work.is_covered(*want);
                if covered || failed {
                    answered.push((if covered { COVERED } else { FAILED }, Arc::clone(cell)));
                }
                !covered && !failed
            });
            let next = (!state.waiters.is_empty()).then(|| state.waiters.remove(0).1);
            state.led = next.is_some();
            next
        };
        if let Some(next) = next {
            next.answer(LEAD);
        }
        for (answer, cell) in answered {
            cell.answer(answer);
        }
    }
}

/// Hands over when the round ends, by return or by panic.
struct Lead<'a> {
    queue: &'a Queue,
    work: &'a dyn Work,
    finished: bool,
}

impl Drop for Lead<'_> {
    fn drop(&mut self) {
        if !self.finished {
            self.work.poison();
        }
        self.queue.hand_over(self.work);
    }
}
