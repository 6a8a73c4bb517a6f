//! Leaders and followers: who writes, who waits, who is woken (core.md 1.6).
//!
//! # A term
//! Whoever wants progress and may lead becomes the leader. It seals and writes one frame, alone; then the frame *takes off*: the
//! lead is free again, and the leader syncs its frame beside those that took off before. When the sync returns the frame
//! *lands*: the progress is published as far as all frames before have landed, and exactly the waiters whose wishes are
//! covered are woken. There are no timers and no condition variable that wakes a crowd: each waiter parks in its own cell.
//!
//! # When the next frame starts
//! A waiter for durability is *aboard* when a frame in flight ends at or past its wish, else *ashore*. With nothing in flight
//! anyone may lead at once. Beside frames in flight the next one starts when as many are ashore as aboard, at most `depth` are
//! in flight, and a sync takes long enough that a further one pays ([`Work::is_slow`]). So:
//! - a lone committer has one frame at a time, and two of them do not wait for each other;
//! - frames space themselves: the larger the crowd in the air, the longer the next one fills, so many threads share few syncs;
//! - every landing asks again, and the last one lets anybody lead: nobody waits longer than with one frame at a time;
//! - on a disk that syncs at once there is one at a time, filled while the one before is synced: what a further sync costs the
//!   processor is more than the wait that it saves.
//!
//! A wish for a write alone does not count as ashore and leads as soon as nobody else does. A new segment needs nothing in flight.
//!
//! # Invariants
//! Q1. There is at most one leader. While somebody is ashore there is a leader or a frame in flight, and whoever ends a term or
//!     lands a frame appoints the next leader if one may lead.
//! Q2. Progress is published before the queue's lock is taken to pop, or under it; a waiter looks at the progress after it has
//!     the lock and before it queues. So no waiter is left behind.
//! Q3. A cell is answered once per wait; an answered waiter is not in the queue. Only a waiter ashore is made leader.
//! Q4. Frames take off in the order of their ends and `land` is called in that order: for a frame only when its own sync and
//!     that of every frame before it have returned success. A frame whose sync failed never lands, so nothing behind it does.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::api::LogFailed;
use crate::sync::atomic::{AtomicU32, Ordering};
use crate::sync::{Mutex, lock, thread};
use crate::writer::Flight;

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

/// The work that a queue shares out. A failure is recorded before a call that fails returns.
pub(crate) trait Work {
    fn is_covered(&self, want: Want) -> bool;
    /// The final failure, if there was one.
    fn failure(&self) -> Option<LogFailed>;
    /// A term's first half, one thread at a time: covers `want` but for the sync of the flight it returns. `alone`: nothing
    /// is in flight until it returns.
    fn write(&self, want: Want, alone: bool) -> Result<Option<Flight>, LogFailed>;
    /// Its second half, beside others.
    fn sync(&self, flight: &Flight) -> Result<(), LogFailed>;
    /// Every frame up to `end` has been synced.
    fn land(&self, end: u64);
    /// The next term needs nothing in flight.
    fn needs_alone(&self, want: Want) -> bool;
    /// A sync takes long enough to start another one beside it.
    fn is_slow(&self) -> bool;
    /// A leader panicked: record a failure, so that nobody waits for ever.
    fn poison(&self);
}

const WAITING: u32 = 0;
const COVERED: u32 = 1;
const FAILED: u32 = 2;
/// Lead beside frames in flight.
const LEAD: u32 = 3;
const LEAD_ALONE: u32 = 4;

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

/// A frame that took off and of which not all before have landed.
struct InFlight {
    number: u64,
    end: u64,
    synced: bool,
}

#[derive(Default)]
struct State {
    led: bool,
    waiters: Vec<(Want, Arc<Cell>)>,
    flights: VecDeque<InFlight>,
    /// Waiters for durability that no frame in flight covers, and those that one covers, leaders included.
    ashore: usize,
    aboard: usize,
}

pub(crate) struct Queue {
    state: Mutex<State>,
    /// Frames in flight at most.
    depth: usize,
}

/// How a wait ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Leader,
    Follower,
}

/// Whom to wake once the lock is free: the next leader first, so that the device is busy again soonest.
#[derive(Default)]
struct Wakes {
    next: Option<(u32, Arc<Cell>)>,
    answered: Vec<(u32, Arc<Cell>)>,
}

impl Wakes {
    fn wake(self) {
        for (answer, cell) in self.next.into_iter().chain(self.answered) {
            cell.answer(answer);
        }
    }
}

impl Queue {
    pub(crate) fn new(depth: usize) -> Self {
        Self { state: Mutex::new(State::default()), depth }
    }

    /// Returns once `want` is covered; leads a term if nobody else does it in time.
    pub(crate) fn wait(&self, work: &dyn Work, want: Want) -> Result<Role, LogFailed> {
        let cell = {
            let mut state = lock(&self.state);
            if work.is_covered(want) {
                return Ok(Role::Follower);
            }
            if let Some(failure) = work.failure() {
                return Err(failure);
            }
            match state.arrive(work, self.depth, want) {
                Ok(how) => {
                    drop(state);
                    return self.lead(work, want, how).map(|()| Role::Leader);
                }
                Err(cell) => cell,
            }
        };
        match cell.wait() {
            COVERED => Ok(Role::Follower),
            FAILED => Err(told(work)),
            how => self.lead(work, want, how).map(|()| Role::Leader),
        }
    }

    /// One term; returns when `want` is covered. What it covers is known from the frame: a wish may end in the header that is
    /// placed behind the last record and will be written with the next one.
    fn lead(&self, work: &dyn Work, want: Want, how: u32) -> Result<(), LogFailed> {
        let mut term = Term { queue: self, work, finished: false };
        let written = work.write(want, how == LEAD_ALONE);
        let flight = written.as_ref().ok().and_then(Option::as_ref);
        self.take_off(work, flight);
        let Some(flight) = flight else {
            term.finished = true;
            return written.map(drop);
        };
        let synced = work.sync(flight).is_ok();
        let rest = self.land(work, flight, synced);
        term.finished = true;
        match rest?.map(|cell| cell.wait()) {
            None | Some(COVERED) => Ok(()),
            _ => Err(told(work)),
        }
    }

    /// Ends the first half of a term: the lead is free, and the frame is in flight.
    fn take_off(&self, work: &dyn Work, flight: Option<&Flight>) {
        let mut state = lock(&self.state);
        state.led = false;
        if let Some(flight) = flight {
            state.flights.push_back(InFlight { number: flight.number, end: flight.end, synced: false });
        }
        let wakes = state.settle(work, self.depth);
        drop(state);
        wakes.wake();
    }

    /// Ends a term. The cell to wait on if a frame before this one is still in flight.
    fn land(&self, work: &dyn Work, flight: &Flight, synced: bool) -> Result<Option<Arc<Cell>>, LogFailed> {
        let mut state = lock(&self.state);
        if synced {
            let own = state.flights.iter_mut().find(|other| other.number == flight.number);
            own.expect("it took off and has not landed").synced = true;
        }
        while state.flights.front().is_some_and(|first| first.synced) {
            let landed = state.flights.pop_front().expect("it was just seen");
            work.land(landed.end); // Q4
        }
        let wakes = state.settle(work, self.depth);
        let want = Want::Durable(flight.end);
        let rest = match work.failure() {
            _ if work.is_covered(want) => Ok(None),
            Some(failure) => Err(failure),
            None => Ok(Some(state.join(want))),
        };
        drop(state);
        wakes.wake();
        rest
    }
}

impl State {
    /// A new wish: how to lead at once, or the cell to wait on.
    fn arrive(&mut self, work: &dyn Work, depth: usize, want: Want) -> Result<u32, Arc<Cell>> {
        if self.is_aboard(want) {
            self.aboard += 1;
            return Err(self.join(want));
        }
        let counts = usize::from(matches!(want, Want::Durable(_)));
        self.ashore += counts;
        let Some(how) = self.may_lead(work, depth, want) else { return Err(self.join(want)) };
        self.ashore -= counts;
        self.led = true;
        Ok(how)
    }

    fn join(&mut self, want: Want) -> Arc<Cell> {
        let cell = Arc::new(Cell { answer: AtomicU32::new(WAITING), thread: thread::current() });
        self.waiters.push((want, Arc::clone(&cell)));
        cell
    }

    fn is_aboard(&self, want: Want) -> bool {
        matches!(want, Want::Durable(end) if self.flights.back().is_some_and(|last| last.end >= end))
    }

    /// How somebody ashore with this wish, who is counted, may lead now.
    fn may_lead(&self, work: &dyn Work, depth: usize, want: Want) -> Option<u32> {
        if self.led {
            return None;
        }
        if self.flights.is_empty() {
            return Some(LEAD_ALONE);
        }
        let beside = match want {
            Want::Written(_) => true,
            Want::Durable(_) => self.flights.len() < depth && self.ashore >= self.aboard && work.is_slow(),
            Want::Segment(_) => false,
        };
        (beside && !work.needs_alone(want)).then_some(LEAD)
    }

    /// After progress: takes out who is covered, or everybody after a failure, and appoints the next leader.
    fn settle(&mut self, work: &dyn Work, depth: usize) -> Wakes {
        let mut wakes = Wakes::default();
        let failed = work.failure().is_some();
        self.waiters.retain(|(want, cell)| {
            let covered = work.is_covered(*want);
            if covered || failed {
                wakes.answered.push((if covered { COVERED } else { FAILED }, Arc::clone(cell)));
            }
            !covered && !failed
        });
        let durable = self.waiters.iter().filter(|(want, _)| matches!(want, Want::Durable(_))).count();
        let aboard = self.waiters.iter().filter(|(want, _)| self.is_aboard(*want)).count();
        self.ashore = durable - aboard;
        self.aboard = aboard + self.flights.len();
        let next = self.waiters.iter().enumerate().find_map(|(i, (want, _))| {
            let how = if self.is_aboard(*want) { None } else { self.may_lead(work, depth, *want) };
            how.map(|how| (i, how))
        });
        wakes.next = next.map(|(i, how)| {
            self.led = true;
            let (want, cell) = self.waiters.remove(i);
            self.ashore -= usize::from(matches!(want, Want::Durable(_)));
            (how, cell)
        });
        wakes
    }
}

fn told(work: &dyn Work) -> LogFailed {
    work.failure().expect("a waiter is told of a failure after it was recorded")
}

/// Frees the queue when a leader panics.
struct Term<'a> {
    queue: &'a Queue,
    work: &'a dyn Work,
    finished: bool,
}

impl Drop for Term<'_> {
    fn drop(&mut self) {
        if !self.finished {
            self.work.poison();
            self.queue.take_off(self.work, None);
        }
    }
}
