//! Semi-synchronous commits: a session goes on when enough replicas have said that they have its transaction.
//!
//! # States
//! ```text
//! disabled <-> (rpl_semi_sync_master_enabled) on -> off   a wait ran out of time, or no replica and wait_no_slave=OFF
//!                                             off -> on   enough replicas have everything that was committed
//! ```
//! While it is off, commits do not wait; what they wrote is remembered, so that it comes back only when the replicas have caught up.
//!
//! # AFTER_SYNC
//! A commit is in the log's order, and durable, before it may be seen: readers see up to the *ceiling*. It lies at the record of the first
//! commit that is not acknowledged, and nowhere when all are. The one place that orders commits announces each before it writes the
//! record, so that there is no moment at which the record is durable and the ceiling above it.
//! KILL of a session that waits gives its commit up: it is seen without an acknowledgement, and its session goes on, once what was
//! committed before it is seen. What others committed stays hidden.
//!
//! # Places
//! What is acknowledged is a *place*: the end of the commit record, or, with the binary log in files of its own, the end of the group in
//! its file. There a replica may have the group, and say so, before its commit record is written.
//!
//! # Invariants
//! Y1. Waits and acknowledgements are told in places, in the order of commits: what ends there is durable before it is sent (L5), and
//!     sent before it is acknowledged. The ceiling is an LSN of a commit record; `hidden` knows both.
//! Y2. `reached` only grows: what enough replicas had once they have, connected or not.
//! Y3. `hidden` is sorted, by record and by place, and is empty while nothing is hidden.
//! Y4. A wait ends by acknowledgement, by time, by going off, or because its session is killed. The stop of the server is no reason:
//!     a shutdown waits for acknowledgements as long as the timeout says.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use base::Lsn;
use env::Stopwatch;

/// When a session waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitPoint {
    /// Between durable and visible.
    AfterSync,
    /// Visible already.
    AfterCommit,
}

/// The `rpl_semi_sync_master_*` variables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SemiSyncConfig {
    pub enabled: bool,
    pub timeout: Duration,
    pub wait_no_slave: bool,
    pub wait_point: WaitPoint,
    /// Replicas that have to acknowledge, at least 1.
    pub slave_count: usize,
}

impl Default for SemiSyncConfig {
    fn default() -> Self {
        Self {
            enabled: false,
            timeout: Duration::from_secs(10),
            wait_no_slave: true,
            wait_point: WaitPoint::AfterCommit,
            slave_count: 1,
        }
    }
}

/// How a wait ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Acknowledged {
    Yes,
    /// The transaction is on this server only, as far as it knows.
    No,
}

/// Values of the status variables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SemiSyncStatus {
    pub clients: u64,
    pub get_ack: u64,
    pub no_times: u64,
    pub no_tx: u64,
    pub request_ack: u64,
    pub on: bool,
    pub tx_wait_time: u64,
    pub tx_waits: u64,
    pub wait_sessions: u64,
    pub yes_tx: u64,
}

#[derive(Debug, Default)]
struct Waiter {
    done: Mutex<Option<Acknowledged>>,
    changed: Condvar,
}

impl Waiter {
    fn finish(&self, how: Acknowledged) {
        self.done.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(how);
        self.changed.notify_all();
    }
}

/// How a wait ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ended {
    Finished(Acknowledged),
    Killed,
    Late,
}

/// A commit that waits to be seen: its record, and what a replica says when it has it.
#[derive(Debug, Clone, Copy)]
struct Hidden {
    start: Lsn,
    end: Lsn,
    place: Lsn,
    /// KILL has ended its wait: it is seen, acknowledged or not, as soon as nothing before it is hidden.
    given_up: bool,
}

#[derive(Debug, Default)]
struct Inner {
    config: SemiSyncConfig,
    on: bool,
    /// By server id: up to where it acknowledged, and how many of its dumps are connected.
    replicas: BTreeMap<u32, (Lsn, usize)>,
    reached: Lsn,
    /// The place of the newest commit that was waited for or would have been.
    committed: Lsn,
    /// Commits that are not seen yet.
    hidden: VecDeque<Hidden>,
    waiters: BTreeMap<(Lsn, u64), Arc<Waiter>>,
    next_waiter: u64,
    status: SemiSyncStatus,
    /// A commit record is being written at or above this LSN.
    announced: Option<Lsn>,
    ceiling: Option<Arc<AtomicU64>>,
}

/// One server's semi-synchronous commits.
#[derive(Debug, Default)]
pub struct SemiSync {
    inner: Mutex<Inner>,
    /// Read by every commit without the mutex.
    enabled: AtomicBool,
}

impl SemiSync {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        // Counters and maps stay usable whatever panicked.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[inline]
    pub fn is_enabled(&self) -> bool {
        self.enabled.load(Ordering::Relaxed)
    }
    pub fn config(&self) -> SemiSyncConfig {
        self.inner().config
    }

    /// What readers look at: commits at or above it are not seen yet.
    pub fn set_ceiling(&self, ceiling: Arc<AtomicU64>) {
        self.inner().ceiling = Some(ceiling);
    }

    /// A commit record of an event group will be written at or above `next`; called in commit order, [`Self::written`] follows.
    pub fn announce(&self, next: Lsn) {
        let mut inner = self.inner();
        inner.announced = Some(next);
        inner.move_ceiling();
    }

    /// The announced record lies from the first LSN to the second, and is acknowledged at the place; none when it was not written after
    /// all.
    pub fn written(&self, record: Option<(Lsn, Lsn, Lsn)>) {
        let mut inner = self.inner();
        inner.announced = None;
        if let Some((start, end, place)) = record {
            inner.committed = inner.committed.max(place);
            if inner.hides() && inner.reached < place {
                inner.hidden.push_back(Hidden { start, end, place, given_up: false });
            }
        }
        inner.move_ceiling();
    }

    /// Places begin anew: the binary log's files are gone, and what was said of them means nothing.
    pub fn begins_anew(&self) {
        let mut inner = self.inner();
        inner.release_all();
        (inner.reached, inner.committed) = (Lsn::NONE, Lsn::NONE);
        inner.replicas.retain(|_, (_, dumps)| *dumps > 0);
        inner.replicas.values_mut().for_each(|(place, _)| *place = Lsn::NONE);
        inner.hidden.clear();
        inner.move_ceiling();
    }

    pub fn configure(&self, config: SemiSyncConfig) {
        let mut inner = self.inner();
        let before = std::mem::replace(&mut inner.config, config);
        if config.enabled != before.enabled {
            self.enabled.store(config.enabled, Ordering::Relaxed);
            inner.on = config.enabled;
            if !config.enabled {
                inner.release_all();
            }
        }
        inner.look();
    }

    /// A semi-synchronous dump begins.
    pub fn join(&self, server_id: u32) {
        let mut inner = self.inner();
        inner.replicas.entry(server_id).or_default().1 += 1;
        inner.status.clients += 1;
    }

    /// It has ended.
    pub fn leave(&self, server_id: u32) {
        let mut inner = self.inner();
        if let Some((_, dumps)) = inner.replicas.get_mut(&server_id) {
            *dumps = dumps.saturating_sub(1);
        }
        inner.status.clients = inner.status.clients.saturating_sub(1);
        if inner.lacks_replicas() {
            inner.go_off();
        }
    }

    /// An acknowledgement is asked for.
    pub fn requested(&self) {
        self.inner().status.request_ack += 1;
    }

    /// A replica has everything up to the place `end`: it said so, now (`by_ack`) or when it connected.
    pub fn acknowledged(&self, server_id: u32, end: Lsn, by_ack: bool) {
        let mut inner = self.inner();
        inner.status.get_ack += u64::from(by_ack);
        let place = &mut inner.replicas.entry(server_id).or_default().0;
        *place = end.max(*place);
        inner.look();
    }

    /// Waits for the acknowledgement of a commit that is durable and is acknowledged at the place `end`.
    pub fn wait(&self, end: Lsn, is_killed: &dyn Fn() -> bool) -> Acknowledged {
        let begin = Stopwatch::start();
        let (waiter, key, timeout) = {
            let mut inner = self.inner();
            if !inner.config.enabled {
                return Acknowledged::No;
            }
            inner.committed = inner.committed.max(end);
            if inner.on && inner.lacks_replicas() {
                inner.go_off();
            }
            if !inner.on {
                inner.status.no_tx += 1;
                return Acknowledged::No;
            }
            if inner.reached >= end {
                inner.status.yes_tx += 1;
                return Acknowledged::Yes;
            }
            let waiter = Arc::<Waiter>::default();
            let key = (end, inner.next_waiter);
            inner.next_waiter += 1;
            inner.waiters.insert(key, Arc::clone(&waiter));
            inner.status.wait_sessions += 1;
            (waiter, key, inner.config.timeout)
        };
        let mut ended = waiter.wait(begin, timeout, is_killed);
        // AFTER_SYNC: who goes on sees its own commit.
        if ended == Ended::Killed && self.inner().give_up(end) {
            ended = waiter.wait(begin, timeout, &|| false);
        }
        let mut inner = self.inner();
        inner.waiters.remove(&key);
        inner.status.wait_sessions -= 1;
        // An acknowledgement may have come at the last moment.
        let how = match ended {
            _ if inner.reached >= end => Acknowledged::Yes,
            Ended::Finished(how) => how,
            Ended::Killed | Ended::Late => Acknowledged::No,
        };
        if ended == Ended::Late && how == Acknowledged::No && inner.on {
            inner.go_off();
        }
        inner.status.tx_waits += 1;
        inner.status.tx_wait_time += begin.elapsed().as_micros() as u64;
        match how {
            Acknowledged::Yes => inner.status.yes_tx += 1,
            Acknowledged::No => inner.status.no_tx += 1,
        }
        how
    }

    /// AFTER_SYNC: waits until what ends at `end` may be seen. For who has read it under locks.
    pub fn wait_visible(&self, end: Lsn) {
        let last = self.inner().hidden.iter().rev().find(|hidden| hidden.end <= end).copied();
        if let Some(Hidden { place, .. }) = last {
            self.wait(place, &|| false);
        }
    }

    /// Wakes waiting sessions so that they look whether they are killed.
    pub fn wake(&self) {
        for waiter in self.inner().waiters.values() {
            // Under the lock: not between its look and its sleep.
            let _done = waiter.done.lock().unwrap_or_else(PoisonError::into_inner);
            waiter.changed.notify_all();
        }
    }

    pub fn status(&self) -> SemiSyncStatus {
        let inner = self.inner();
        SemiSyncStatus { on: inner.on, ..inner.status }
    }

    /// (name, value) of the status variables.
    pub fn status_values(&self) -> Vec<(&'static str, String)> {
        let s = self.status();
        let average = s.tx_wait_time.checked_div(s.tx_waits).unwrap_or(0);
        let number = |name, value: u64| (name, value.to_string());
        vec![
            number("Rpl_semi_sync_master_clients", s.clients),
            number("Rpl_semi_sync_master_get_ack", s.get_ack),
            number("Rpl_semi_sync_master_net_avg_wait_time", 0),
            number("Rpl_semi_sync_master_net_wait_time", 0),
            number("Rpl_semi_sync_master_net_waits", s.get_ack),
            number("Rpl_semi_sync_master_no_times", s.no_times),
            number("Rpl_semi_sync_master_no_tx", s.no_tx),
            number("Rpl_semi_sync_master_request_ack", s.request_ack),
            ("Rpl_semi_sync_master_status", if s.on { "ON" } else { "OFF" }.to_owned()),
            number("Rpl_semi_sync_master_timefunc_failures", 0),
            number("Rpl_semi_sync_master_tx_avg_wait_time", average),
            number("Rpl_semi_sync_master_tx_wait_time", s.tx_wait_time),
            number("Rpl_semi_sync_master_tx_waits", s.tx_waits),
            number("Rpl_semi_sync_master_wait_pos_backtraverse", 0),
            number("Rpl_semi_sync_master_wait_sessions", s.wait_sessions),
            number("Rpl_semi_sync_master_yes_tx", s.yes_tx),
        ]
    }
}

impl Waiter {
    fn wait(&self, begin: Stopwatch, timeout: Duration, is_killed: &dyn Fn() -> bool) -> Ended {
        let mut done = self.done.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(how) = *done {
                return Ended::Finished(how);
            }
            if is_killed() {
                return Ended::Killed;
            }
            let left = timeout.saturating_sub(begin.elapsed());
            if left.is_zero() {
                return Ended::Late;
            }
            done = self.changed.wait_timeout(done, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Inner {
    /// Fewer replicas than have to acknowledge, and nobody is to be waited for.
    fn lacks_replicas(&self) -> bool {
        let connected = self.replicas.values().filter(|(_, dumps)| *dumps > 0).count();
        !self.config.wait_no_slave && connected < self.config.slave_count
    }

    /// Works out how far enough replicas are, and what follows.
    fn look(&mut self) {
        let mut places: Vec<Lsn> = self.replicas.values().map(|(place, _)| *place).collect();
        places.sort_unstable_by(|a, b| b.cmp(a));
        if let Some(place) = places.get(self.config.slave_count.max(1) - 1) {
            self.reached = self.reached.max(*place);
        }
        while let Some(entry) = self.waiters.first_entry() {
            if entry.key().0 > self.reached {
                break;
            }
            entry.remove().finish(Acknowledged::Yes);
        }
        if self.config.enabled && !self.on && self.reached >= self.committed && !self.lacks_replicas() {
            self.on = self.replicas.values().any(|(_, dumps)| *dumps > 0);
        }
        self.move_ceiling();
    }

    /// Commits stay unseen until they are acknowledged.
    fn hides(&self) -> bool {
        self.on && self.config.enabled && self.config.wait_point == WaitPoint::AfterSync
    }

    fn move_ceiling(&mut self) {
        if self.hides() {
            let reached = self.reached;
            let seen = |hidden: &mut Hidden| hidden.given_up || hidden.place <= reached;
            while let Some(hidden) = self.hidden.pop_front_if(seen) {
                // Acknowledged ones wait no more. Of one that was given up, readers may.
                self.finish_at(hidden.place);
            }
        } else {
            self.hidden.clear();
        }
        let Some(ceiling) = &self.ceiling else { return };
        let first = self.hidden.front().map(|hidden| hidden.start);
        let lsn = match self.announced.filter(|_| self.hides()) {
            Some(next) => first.map_or(next, |first| first.min(next)),
            None => first.unwrap_or(Lsn::MAX),
        };
        ceiling.store(lsn.0, Ordering::SeqCst);
    }

    /// KILL has ended the wait for a commit: whether others before it keep it hidden.
    fn give_up(&mut self, place: Lsn) -> bool {
        if let Some(hidden) = self.hidden.iter_mut().find(|hidden| hidden.place == place) {
            hidden.given_up = true;
            self.move_ceiling();
        }
        self.hidden.iter().any(|hidden| hidden.place == place)
    }

    /// Ends waits for a commit that is seen though nobody acknowledged it.
    fn finish_at(&mut self, place: Lsn) {
        let keys: Vec<_> = self.waiters.range((place, 0)..=(place, u64::MAX)).map(|(key, _)| *key).collect();
        for waiter in keys.into_iter().filter_map(|key| self.waiters.remove(&key)) {
            waiter.finish(Acknowledged::No);
        }
    }

    fn go_off(&mut self) {
        if self.on {
            self.on = false;
            self.status.no_times += 1;
            self.release_all();
            self.move_ceiling();
        }
    }

    fn release_all(&mut self) {
        for waiter in std::mem::take(&mut self.waiters).into_values() {
            waiter.finish(Acknowledged::No);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn enabled(timeout_ms: u64, slave_count: usize) -> SemiSync {
        let semi_sync = SemiSync::default();
        semi_sync.configure(SemiSyncConfig {
            enabled: true,
            timeout: Duration::from_millis(timeout_ms),
            slave_count,
            ..SemiSyncConfig::default()
        });
        semi_sync
    }
    fn never() -> bool {
        false
    }
    /// Runs `wait(end)` in a thread and `then` once it waits.
    fn waiting(semi_sync: &SemiSync, end: u64, then: impl FnOnce()) -> Acknowledged {
        std::thread::scope(|scope| {
            let before = semi_sync.status().wait_sessions;
            let handle = scope.spawn(|| semi_sync.wait(Lsn(end), &never));
            while semi_sync.status().wait_sessions == before {
                std::thread::yield_now();
            }
            then();
            handle.join().unwrap()
        })
    }

    #[test]
    fn an_acknowledgement_at_or_behind_the_end_lets_go() {
        let semi_sync = enabled(60_000, 1);
        semi_sync.join(7);
        let how = waiting(&semi_sync, 100, || {
            semi_sync.acknowledged(7, Lsn(99), true);
            semi_sync.acknowledged(7, Lsn(100), true);
        });
        assert_eq!(how, Acknowledged::Yes);
        // What was acknowledged is not waited for.
        assert_eq!(semi_sync.wait(Lsn(90), &never), Acknowledged::Yes);
        let status = semi_sync.status();
        assert_eq!((status.yes_tx, status.get_ack, status.tx_waits, status.clients), (2, 2, 1, 1));
    }

    #[test]
    fn time_turns_it_off_and_a_replica_that_has_caught_up_turns_it_on() {
        let semi_sync = enabled(1, 1);
        semi_sync.join(7);
        assert_eq!(semi_sync.wait(Lsn(100), &never), Acknowledged::No);
        assert!(!semi_sync.status().on);
        assert_eq!(semi_sync.wait(Lsn(200), &never), Acknowledged::No);
        semi_sync.acknowledged(7, Lsn(100), true);
        assert!(!semi_sync.status().on, "it lacks the second");
        semi_sync.acknowledged(7, Lsn(200), true);
        let status = semi_sync.status();
        assert_eq!((status.on, status.no_times, status.no_tx), (true, 1, 2));
    }

    #[test]
    fn several_replicas_have_to_agree() {
        let semi_sync = enabled(60_000, 2);
        for id in [1, 2, 3] {
            semi_sync.join(id);
        }
        let how = waiting(&semi_sync, 100, || {
            semi_sync.acknowledged(1, Lsn(500), true);
            semi_sync.acknowledged(1, Lsn(600), true);
            assert_eq!(semi_sync.status().wait_sessions, 1);
            // One that has gone away still has what it acknowledged.
            semi_sync.leave(1);
            semi_sync.acknowledged(3, Lsn(100), true);
        });
        assert_eq!(how, Acknowledged::Yes);
    }

    #[test]
    fn nobody_waits_for_replicas_that_are_not_there_unless_told_to() {
        let semi_sync = enabled(60_000, 1);
        let config = semi_sync.config();
        semi_sync.configure(SemiSyncConfig { wait_no_slave: false, ..config });
        assert_eq!(semi_sync.wait(Lsn(10), &never), Acknowledged::No);
        assert!(!semi_sync.status().on);
        semi_sync.join(7);
        semi_sync.acknowledged(7, Lsn(10), false);
        assert!(semi_sync.status().on);
        let how = waiting(&semi_sync, 20, || semi_sync.leave(7));
        assert_eq!(how, Acknowledged::No);
        assert!(!semi_sync.status().on);
    }

    #[test]
    fn behind_the_ceiling_is_what_is_not_acknowledged() {
        let semi_sync = enabled(60_000, 1);
        let ceiling = Arc::new(AtomicU64::new(u64::MAX));
        semi_sync.set_ceiling(Arc::clone(&ceiling));
        let config = semi_sync.config();
        semi_sync.configure(SemiSyncConfig { wait_point: WaitPoint::AfterSync, ..config });
        semi_sync.join(7);
        let at = || ceiling.load(Ordering::SeqCst);
        let record = |start: u64, end: u64| Some((Lsn(start), Lsn(end), Lsn(end)));
        semi_sync.announce(Lsn(90));
        assert_eq!(at(), 90, "the record may be durable before it is known where it ends");
        semi_sync.written(record(92, 100));
        assert_eq!(at(), 92);
        semi_sync.announce(Lsn(110));
        semi_sync.written(record(110, 120));
        assert_eq!(at(), 92);
        semi_sync.acknowledged(7, Lsn(100), true);
        assert_eq!(at(), 110);
        semi_sync.acknowledged(7, Lsn(120), true);
        assert_eq!(at(), u64::MAX);
        semi_sync.announce(Lsn(130));
        semi_sync.written(None);
        assert_eq!(at(), u64::MAX);
        // When it goes off, nothing is hidden any more.
        semi_sync.announce(Lsn(140));
        semi_sync.written(record(140, 150));
        assert_eq!(at(), 140);
        semi_sync.configure(SemiSyncConfig { enabled: false, ..config });
        assert_eq!(at(), u64::MAX);
    }

    #[test]
    fn places_in_files_are_acknowledged_before_the_record_is_written_and_begin_anew() {
        let semi_sync = enabled(60_000, 1);
        let ceiling = Arc::new(AtomicU64::new(u64::MAX));
        semi_sync.set_ceiling(Arc::clone(&ceiling));
        let config = semi_sync.config();
        semi_sync.configure(SemiSyncConfig { wait_point: WaitPoint::AfterSync, ..config });
        semi_sync.join(7);
        let at = || ceiling.load(Ordering::SeqCst);
        let place = |file: u64, offset: u64| Lsn((file << 40) + offset);
        semi_sync.announce(Lsn(90));
        semi_sync.acknowledged(7, place(1, 500), true);
        semi_sync.written(Some((Lsn(90), Lsn(100), place(1, 500))));
        assert_eq!(at(), u64::MAX);
        semi_sync.announce(Lsn(100));
        semi_sync.written(Some((Lsn(100), Lsn(110), place(1, 600))));
        assert_eq!(at(), 100);
        // What ends below the hidden record is seen, and nobody waits for it.
        semi_sync.wait_visible(Lsn(109));
        semi_sync.leave(7);
        semi_sync.begins_anew();
        assert_eq!(at(), u64::MAX);
        semi_sync.join(7);
        let how = waiting(&semi_sync, place(1, 300).0, || semi_sync.acknowledged(7, place(1, 300), true));
        assert_eq!(how, Acknowledged::Yes, "a lower place than before");
    }

    #[test]
    fn a_killed_commit_is_seen_once_those_before_it_are() {
        let semi_sync = enabled(60_000, 1);
        let ceiling = Arc::new(AtomicU64::new(u64::MAX));
        semi_sync.set_ceiling(Arc::clone(&ceiling));
        let config = semi_sync.config();
        semi_sync.configure(SemiSyncConfig { wait_point: WaitPoint::AfterSync, ..config });
        semi_sync.join(7);
        let at = || ceiling.load(Ordering::SeqCst);
        for start in [100u64, 200, 300] {
            semi_sync.announce(Lsn(start));
            semi_sync.written(Some((Lsn(start), Lsn(start + 50), Lsn(start + 50))));
        }
        std::thread::scope(|scope| {
            let second = scope.spawn(|| semi_sync.wait(Lsn(250), &|| true));
            while !semi_sync.inner().hidden[1].given_up {
                std::thread::yield_now();
            }
            assert_eq!(at(), 100, "the first is nobody's to give up");
            assert!(!second.is_finished());
            semi_sync.acknowledged(7, Lsn(150), true);
            assert_eq!(at(), 300, "the third stays hidden");
            assert_eq!(second.join().unwrap(), Acknowledged::No);
        });
        let how = waiting(&semi_sync, 350, || {
            // The session of a reader that waits for it goes on with it.
            assert_eq!(semi_sync.wait(Lsn(350), &|| true), Acknowledged::No);
        });
        assert_eq!((how, at()), (Acknowledged::No, u64::MAX));
        assert!(semi_sync.status().on);
    }

    #[test]
    fn turning_it_off_or_a_kill_ends_waits() {
        let semi_sync = enabled(60_000, 1);
        semi_sync.join(7);
        let config = semi_sync.config();
        let how =
            waiting(&semi_sync, 20, || semi_sync.configure(SemiSyncConfig { enabled: false, ..config }));
        assert_eq!(how, Acknowledged::No);
        semi_sync.configure(config);
        assert_eq!(semi_sync.wait(Lsn(30), &|| true), Acknowledged::No);
        assert!(semi_sync.status().on, "a kill says nothing of the replicas");
    }
}
