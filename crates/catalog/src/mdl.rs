//! Metadata locks: a statement holds its tables' definitions still, a DDL statement waits until nobody uses the table.
//!
//! A lock belongs to a name, not to a table version, so that CREATE, RENAME and ALTER of the same name exclude each other.
//! DML takes `Shared` until its transaction ends; DDL takes `Exclusive` until its own commit.
//!
//! # State word of a lock
//! bit 31 `EXCLUSIVE` held | bit 30 `PENDING` (somebody waits; releasers must look) | bits 0..30 number of shared holders
//!
//! # Invariants
//! 1. `EXCLUSIVE` excludes shared holders, and the reverse.
//! 2. A thread sleeps only with `PENDING` set and after it has re-checked the word under `queue`; a releaser that sees
//!    `PENDING` takes `queue` before it notifies. So no wake-up is lost.
//! 3. A new shared request waits behind a waiting exclusive one; a context that holds the lock already never asks again.
//! 4. A context's held list names a lock only while the context holds it; it changes only on its own thread.
//!
//! # Locking order
//! `Locks::graph`, then `Lock::queue`, then a context's `held`. None is held while sleeping except `queue`, by its condition variable.
//!
//! Uncontended acquisition costs one compare-and-swap on the lock's word. A wait runs one search for a cycle before it sleeps;
//! who closes a cycle is the victim. Metadata locks know nothing of row locks: a cycle through both ends by timeout, as in MariaDB.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use env::Clock;

const EXCLUSIVE: u32 = 1 << 31;
const PENDING: u32 = 1 << 30;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MdlMode {
    Shared,
    Exclusive,
}

/// Why a metadata lock was not given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MdlError {
    /// Waiting would close a cycle.
    Deadlock,
    Timeout,
    /// The session was killed while it waited.
    Interrupted,
}

#[derive(Debug, Default)]
struct Queue {
    exclusive_waiters: u32,
    shared_waiters: u32,
}

/// The metadata lock of one schema-qualified name.
#[derive(Debug, Default)]
pub struct MdlLock {
    word: AtomicU32,
    queue: Mutex<Queue>,
    changed: Condvar,
}

fn guard<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic elsewhere leaves these small structures consistent: each change is one assignment.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl MdlLock {
    /// One compare-and-swap when nobody waits.
    fn try_lock(&self, mode: MdlMode, ignore_pending: bool) -> bool {
        let mut word = self.word.load(Ordering::Relaxed);
        loop {
            let free = match mode {
                MdlMode::Shared => word & EXCLUSIVE == 0 && (ignore_pending || word & PENDING == 0),
                MdlMode::Exclusive => word & !PENDING == 0 && (ignore_pending || word == 0),
            };
            if !free {
                return false;
            }
            let next = match mode {
                MdlMode::Shared => word + 1,
                MdlMode::Exclusive => word | EXCLUSIVE,
            };
            match self.word.compare_exchange_weak(word, next, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(now) => word = now,
            }
        }
    }

    fn unlock(&self, mode: MdlMode) {
        let before = match mode {
            MdlMode::Shared => self.word.fetch_sub(1, Ordering::Release),
            MdlMode::Exclusive => self.word.fetch_and(!EXCLUSIVE, Ordering::Release),
        };
        if before & PENDING != 0 {
            let _queue = guard(&self.queue);
            self.changed.notify_all();
        }
    }

    /// Whether the waiter may take the lock now; called under `queue`.
    fn try_as_waiter(&self, mode: MdlMode, queue: &Queue) -> bool {
        if mode == MdlMode::Shared && queue.exclusive_waiters > 0 {
            return false;
        }
        self.try_lock(mode, true)
    }

    /// Waits for the lock until `deadline`; the caller has searched for cycles.
    fn wait(
        &self,
        mode: MdlMode,
        clock: &dyn Clock,
        timeout: Duration,
        killed: &AtomicBool,
    ) -> Result<(), MdlError> {
        let deadline = clock.monotonic().saturating_add(timeout);
        let mut queue = guard(&self.queue);
        match mode {
            MdlMode::Shared => queue.shared_waiters += 1,
            MdlMode::Exclusive => queue.exclusive_waiters += 1,
        }
        let outcome = loop {
            self.word.fetch_or(PENDING, Ordering::AcqRel);
            if self.try_as_waiter(mode, &queue) {
                break Ok(());
            }
            if killed.load(Ordering::Acquire) {
                break Err(MdlError::Interrupted);
            }
            let left = deadline.saturating_sub(clock.monotonic());
            if left.is_zero() {
                break Err(MdlError::Timeout);
            }
            queue = self.changed.wait_timeout(queue, left).unwrap_or_else(PoisonError::into_inner).0;
        };
        match mode {
            MdlMode::Shared => queue.shared_waiters -= 1,
            MdlMode::Exclusive => queue.exclusive_waiters -= 1,
        }
        if queue.shared_waiters == 0 && queue.exclusive_waiters == 0 {
            self.word.fetch_and(!PENDING, Ordering::AcqRel);
        }
        // Others may have waited for this waiter only (shared behind exclusive).
        self.changed.notify_all();
        outcome
    }
}

#[derive(Debug)]
struct Holder {
    held: Mutex<Vec<(Arc<MdlLock>, MdlMode)>>,
    waits_for: Mutex<Option<(Arc<MdlLock>, MdlMode)>>,
    killed: AtomicBool,
}

/// Every metadata lock and every session that may hold one.
pub struct Locks {
    clock: Arc<dyn Clock>,
    names: Mutex<HashMap<(String, String), Arc<MdlLock>>>,
    graph: Mutex<HashMap<u64, Arc<Holder>>>,
}

impl std::fmt::Debug for Locks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Locks").field("waiting", &self.waiting()).finish_non_exhaustive()
    }
}

impl Locks {
    pub fn new(clock: Arc<dyn Clock>) -> Arc<Self> {
        Arc::new(Self { clock, names: Mutex::default(), graph: Mutex::default() })
    }

    /// The lock of `schema`.`table`; an empty table name is the database's own lock.
    pub fn of(&self, schema: &str, table: &str) -> Arc<MdlLock> {
        guard(&self.names).entry((schema.to_owned(), table.to_owned())).or_default().clone()
    }

    /// A place to hold locks for session `id`, which must be unique among living sessions.
    pub fn context(self: &Arc<Self>, id: u64) -> MdlContext {
        let holder = Arc::new(Holder {
            held: Mutex::new(Vec::new()),
            waits_for: Mutex::new(None),
            killed: AtomicBool::new(false),
        });
        guard(&self.graph).insert(id, holder.clone());
        MdlContext { id, locks: self.clone(), holder }
    }

    /// Wakes session `id` out of a metadata lock wait; its statement ends with `Interrupted`.
    pub fn kill(&self, id: u64) {
        let Some(holder) = guard(&self.graph).get(&id).cloned() else { return };
        holder.killed.store(true, Ordering::Release);
        let waits_for = guard(&holder.waits_for).clone();
        if let Some((lock, _)) = waits_for {
            let _queue = guard(&lock.queue);
            lock.changed.notify_all();
        }
    }

    /// Number of sessions that wait now.
    pub fn waiting(&self) -> usize {
        guard(&self.graph).values().filter(|h| guard(&h.waits_for).is_some()).count()
    }

    /// Registers the wait and says whether it would close a cycle.
    fn begin_wait(&self, me: u64, lock: &Arc<MdlLock>, mode: MdlMode) -> Result<(), MdlError> {
        let graph = guard(&self.graph);
        let Some(holder) = graph.get(&me) else { return Err(MdlError::Interrupted) };
        *guard(&holder.waits_for) = Some((lock.clone(), mode));
        let mut stack = vec![(me, lock.clone(), mode)];
        let mut seen = vec![me];
        while let Some((waiter, lock, mode)) = stack.pop() {
            for (id, other) in graph.iter() {
                if *id == waiter || !blocks(other, &lock, mode) {
                    continue;
                }
                if *id == me {
                    *guard(&holder.waits_for) = None;
                    return Err(MdlError::Deadlock);
                }
                if !seen.contains(id) {
                    seen.push(*id);
                    if let Some((lock, mode)) = guard(&other.waits_for).clone() {
                        stack.push((*id, lock, mode));
                    }
                }
            }
        }
        Ok(())
    }
}

/// Whether `other` stands in the way of a request for `lock`: it holds it in a conflicting mode, or it waits for it exclusively.
fn blocks(other: &Holder, lock: &Arc<MdlLock>, mode: MdlMode) -> bool {
    let conflicts = |m: MdlMode| mode == MdlMode::Exclusive || m == MdlMode::Exclusive;
    let holds = guard(&other.held).iter().any(|(l, m)| Arc::ptr_eq(l, lock) && conflicts(*m));
    let queued = mode == MdlMode::Shared
        && guard(&other.waits_for)
            .as_ref()
            .is_some_and(|(l, m)| Arc::ptr_eq(l, lock) && *m == MdlMode::Exclusive);
    holds || queued
}

/// The metadata locks of one session. Dropping it releases everything.
#[derive(Debug)]
pub struct MdlContext {
    id: u64,
    locks: Arc<Locks>,
    holder: Arc<Holder>,
}

impl MdlContext {
    /// Takes `lock` or finds it held already. `timeout` is lock_wait_timeout.
    pub fn lock(&mut self, lock: &Arc<MdlLock>, mode: MdlMode, timeout: Duration) -> Result<(), MdlError> {
        {
            let mut held = guard(&self.holder.held);
            if held.iter().any(|(l, m)| Arc::ptr_eq(l, lock) && (*m == mode || *m == MdlMode::Exclusive)) {
                return Ok(());
            }
            if lock.try_lock(mode, false) {
                held.push((lock.clone(), mode));
                return Ok(());
            }
        }
        self.lock_slow(lock, mode, timeout)
    }

    #[cold]
    fn lock_slow(&mut self, lock: &Arc<MdlLock>, mode: MdlMode, timeout: Duration) -> Result<(), MdlError> {
        self.locks.begin_wait(self.id, lock, mode)?;
        let outcome = lock.wait(mode, &*self.locks.clock, timeout, &self.holder.killed);
        *guard(&self.holder.waits_for) = None;
        self.holder.killed.store(false, Ordering::Release);
        outcome?;
        guard(&self.holder.held).push((lock.clone(), mode));
        Ok(())
    }

    /// How many locks are held; a savepoint for [`Self::release_to`].
    pub fn held(&self) -> usize {
        guard(&self.holder.held).len()
    }

    /// Releases every lock that was taken after [`Self::held`] answered `mark`.
    pub fn release_to(&mut self, mark: usize) {
        let mut held = guard(&self.holder.held);
        while held.len() > mark {
            if let Some((lock, mode)) = held.pop() {
                lock.unlock(mode);
            }
        }
    }

    /// End of the transaction.
    pub fn release_all(&mut self) {
        self.release_to(0);
    }
}

impl Drop for MdlContext {
    fn drop(&mut self) {
        self.release_all();
        guard(&self.locks.graph).remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;
    use std::thread;

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn readers_share_and_ddl_waits_for_them() {
        let locks = Locks::new(Arc::new(env::RealClock::new()));
        let t = locks.of("d", "t");
        let (mut a, mut b) = (locks.context(1), locks.context(2));
        a.lock(&t, MdlMode::Shared, LONG).unwrap();
        b.lock(&t, MdlMode::Shared, LONG).unwrap();
        let mut ddl = locks.context(3);
        assert_eq!(ddl.lock(&t, MdlMode::Exclusive, Duration::ZERO), Err(MdlError::Timeout));
        a.release_all();
        b.release_all();
        ddl.lock(&t, MdlMode::Exclusive, Duration::ZERO).unwrap();
        assert_eq!(a.lock(&t, MdlMode::Shared, Duration::ZERO), Err(MdlError::Timeout));
    }

    #[test]
    fn a_release_wakes_the_waiting_ddl() {
        let locks = Locks::new(Arc::new(env::RealClock::new()));
        let t = locks.of("d", "t");
        let mut reader = locks.context(1);
        reader.lock(&t, MdlMode::Shared, LONG).unwrap();
        let (locks2, t2) = (locks.clone(), t.clone());
        let ddl = thread::spawn(move || locks2.context(2).lock(&t2, MdlMode::Exclusive, LONG));
        while locks.waiting() == 0 {
            thread::yield_now();
        }
        reader.release_all();
        assert_eq!(ddl.join().unwrap(), Ok(()));
    }

    #[test]
    fn crossing_waits_make_one_victim() {
        let locks = Locks::new(Arc::new(env::RealClock::new()));
        let (t, u) = (locks.of("d", "t"), locks.of("d", "u"));
        let mut a = locks.context(1);
        a.lock(&t, MdlMode::Shared, LONG).unwrap();
        let (send, recv) = mpsc::channel();
        let (locks2, t2, u2) = (locks.clone(), t.clone(), u.clone());
        let other = thread::spawn(move || {
            let mut b = locks2.context(2);
            b.lock(&u2, MdlMode::Exclusive, LONG).unwrap();
            send.send(()).unwrap();
            b.lock(&t2, MdlMode::Exclusive, LONG)
        });
        recv.recv().unwrap();
        while locks.waiting() == 0 {
            thread::yield_now();
        }
        assert_eq!(a.lock(&u, MdlMode::Shared, LONG), Err(MdlError::Deadlock));
        a.release_all();
        assert_eq!(other.join().unwrap(), Ok(()));
    }

    #[test]
    fn a_killed_waiter_gives_up() {
        let locks = Locks::new(Arc::new(env::RealClock::new()));
        let t = locks.of("d", "t");
        let mut a = locks.context(1);
        a.lock(&t, MdlMode::Exclusive, LONG).unwrap();
        let (locks2, t2) = (locks.clone(), t.clone());
        let waiter = thread::spawn(move || locks2.context(2).lock(&t2, MdlMode::Shared, LONG));
        while locks.waiting() == 0 {
            thread::yield_now();
        }
        locks.kill(2);
        assert_eq!(waiter.join().unwrap(), Err(MdlError::Interrupted));
    }

    #[test]
    fn a_lock_taken_twice_is_released_once() {
        let locks = Locks::new(Arc::new(env::RealClock::new()));
        let t = locks.of("d", "t");
        let mut a = locks.context(1);
        a.lock(&t, MdlMode::Shared, LONG).unwrap();
        a.lock(&t, MdlMode::Shared, LONG).unwrap();
        assert_eq!(a.held(), 1);
        a.release_all();
        locks.context(2).lock(&t, MdlMode::Exclusive, Duration::ZERO).unwrap();
    }
}
