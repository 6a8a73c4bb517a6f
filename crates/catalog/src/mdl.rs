//! Metadata locks: a statement holds its tables' definitions still, a DDL statement waits until nobody uses the table.
//!
//! A lock belongs to a name, not to a table version, so that CREATE, RENAME and ALTER of the same name exclude each other.
//! DML takes `Shared` or `Write` until its transaction ends; DDL takes `Exclusive` until its own commit. LOCK TABLES and GET_LOCK
//! hold theirs *explicitly*: no end of a transaction gives them back.
//!
//! # State word of a lock
//! bit 63 `EXCLUSIVE` held | bit 62 `PENDING` (somebody waits; releasers must look) | bits 40..60 holders of `NoWrite` |
//! bits 20..40 holders of `Write` | bits 0..20 holders of `Shared`
//!
//! | wants, held by another | Shared | Write | NoWrite | Exclusive |
//! | --- | --- | --- | --- | --- |
//! | Shared | + | + | + | - |
//! | Write | + | + | - | - |
//! | NoWrite | + | - | + | - |
//! | Exclusive | - | - | - | - |
//!
//! # Invariants
//! 1. The table above.
//! 2. A thread sleeps only with `PENDING` set and after it has re-checked the word under `queue`; a releaser that sees
//!    `PENDING` takes `queue` before it notifies. So no wake-up is lost.
//! 3. A new request waits behind a waiting one that it conflicts with and that is stronger; a context that holds the lock already
//!    in some mode does not (it could only wait for itself).
//! 4. A context's held lists name a lock only while the context holds it; they change only on its own thread.
//!
//! # Locking order
//! `Locks::graph`, then `Lock::queue`, then a context's `held`. None is held while sleeping except `queue`, by its condition variable.
//!
//! Uncontended acquisition costs one compare-and-swap on the lock's word. A wait runs one search for a cycle before it sleeps;
//! who closes a cycle is the victim. Metadata locks know nothing of row locks: a cycle through both ends by timeout, as in MariaDB.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use env::Clock;

const EXCLUSIVE: u64 = 1 << 63;
const PENDING: u64 = 1 << 62;
const ONE_SHARED: u64 = 1;
const ONE_WRITE: u64 = 1 << 20;
const ONE_NO_WRITE: u64 = 1 << 40;
const WRITE_MASK: u64 = ((1 << 20) - 1) << 20;
const NO_WRITE_MASK: u64 = ((1 << 20) - 1) << 40;

/// In rising strength.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum MdlMode {
    /// Reads of the table.
    Shared,
    /// Changes of the table's rows.
    Write,
    /// LOCK TABLES ... READ: others may read.
    NoWrite,
    Exclusive,
}

impl MdlMode {
    /// What is added to the word.
    const fn unit(self) -> u64 {
        match self {
            Self::Shared => ONE_SHARED,
            Self::Write => ONE_WRITE,
            Self::NoWrite => ONE_NO_WRITE,
            Self::Exclusive => EXCLUSIVE,
        }
    }
    /// Bits that must be clear.
    const fn obstacles(self) -> u64 {
        match self {
            Self::Shared => EXCLUSIVE,
            Self::Write => EXCLUSIVE | NO_WRITE_MASK,
            Self::NoWrite => EXCLUSIVE | WRITE_MASK,
            Self::Exclusive => !PENDING,
        }
    }
    const fn conflicts(self, other: Self) -> bool {
        use MdlMode::{Exclusive, NoWrite, Write};
        matches!((self, other), (Exclusive, _) | (_, Exclusive) | (Write, NoWrite) | (NoWrite, Write))
    }
    /// Whether who holds `self` needs no lock of mode `wanted`.
    fn covers(self, wanted: Self) -> bool {
        self == wanted || self == Self::Exclusive || wanted == Self::Shared
    }
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

/// Waiters by mode.
#[derive(Debug, Default)]
struct Queue {
    waiters: [u32; 4],
}

impl Queue {
    /// Whether a stronger request that `mode` conflicts with waits.
    fn is_ahead_of(&self, mode: MdlMode) -> bool {
        [MdlMode::NoWrite, MdlMode::Exclusive]
            .into_iter()
            .any(|m| m > mode && mode.conflicts(m) && self.waiters[m as usize] > 0)
    }
}

/// The metadata lock of one schema-qualified name.
#[derive(Debug, Default)]
pub struct MdlLock {
    word: AtomicU64,
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
            if word & mode.obstacles() != 0 || !ignore_pending && word & PENDING != 0 {
                return false;
            }
            let next = word + mode.unit();
            match self.word.compare_exchange_weak(word, next, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(now) => word = now,
            }
        }
    }

    fn unlock(&self, mode: MdlMode) {
        let before = self.word.fetch_sub(mode.unit(), Ordering::Release);
        if before & PENDING != 0 {
            let _queue = guard(&self.queue);
            self.changed.notify_all();
        }
    }

    /// Whether anybody holds it exclusively now.
    pub fn is_exclusive(&self) -> bool {
        self.word.load(Ordering::Acquire) & EXCLUSIVE != 0
    }

    /// Waits for the lock until the timeout; the caller has searched for cycles. `holds`: in some weaker mode.
    fn wait(
        &self,
        mode: MdlMode,
        holds: bool,
        clock: &dyn Clock,
        timeout: Duration,
        killed: &AtomicBool,
    ) -> Result<(), MdlError> {
        let deadline = clock.monotonic().saturating_add(timeout);
        let mut queue = guard(&self.queue);
        queue.waiters[mode as usize] += 1;
        let outcome = loop {
            self.word.fetch_or(PENDING, Ordering::AcqRel);
            if (holds || !queue.is_ahead_of(mode)) && self.try_lock(mode, true) {
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
        queue.waiters[mode as usize] -= 1;
        if queue.waiters == [0; 4] {
            self.word.fetch_and(!PENDING, Ordering::AcqRel);
        }
        // Others may have waited for this waiter only (shared behind exclusive).
        self.changed.notify_all();
        outcome
    }
}

/// The locks of a context.
#[derive(Debug, Default)]
struct Held {
    /// Until the transaction ends, in the order they were taken.
    transaction: Vec<(Arc<MdlLock>, MdlMode)>,
    /// Until they are given back one by one.
    explicit: Vec<(Arc<MdlLock>, MdlMode)>,
}

impl Held {
    fn of<'a>(&'a self, lock: &'a Arc<MdlLock>) -> impl Iterator<Item = MdlMode> + 'a {
        self.transaction.iter().chain(&self.explicit).filter(|(l, _)| Arc::ptr_eq(l, lock)).map(|(_, m)| *m)
    }
}

#[derive(Debug)]
struct Holder {
    held: Mutex<Held>,
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
            held: Mutex::default(),
            waits_for: Mutex::new(None),
            killed: AtomicBool::new(false),
        });
        guard(&self.graph).insert(id, holder.clone());
        MdlContext(MdlHandle { id, locks: self.clone(), holder })
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

    /// The session that holds `lock` exclusively.
    pub fn owner_of(&self, lock: &Arc<MdlLock>) -> Option<u64> {
        let graph = guard(&self.graph);
        let mut owner =
            graph.iter().filter(|(_, h)| guard(&h.held).of(lock).any(|m| m == MdlMode::Exclusive));
        owner.next().map(|(id, _)| *id)
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

/// Whether `other` stands in the way of a request for `lock`: it holds it in a conflicting mode, or it waits for it in a stronger one.
fn blocks(other: &Holder, lock: &Arc<MdlLock>, mode: MdlMode) -> bool {
    let holds = guard(&other.held).of(lock).any(|m| mode.conflicts(m));
    let queued = guard(&other.waits_for)
        .as_ref()
        .is_some_and(|(l, m)| Arc::ptr_eq(l, lock) && *m > mode && mode.conflicts(*m));
    holds || queued
}

/// A way to a session's metadata locks; whoever has it is on the session's thread.
#[derive(Debug, Clone)]
pub struct MdlHandle {
    id: u64,
    locks: Arc<Locks>,
    holder: Arc<Holder>,
}

/// The metadata locks of one session. Dropping it releases everything.
#[derive(Debug)]
pub struct MdlContext(MdlHandle);

impl std::ops::Deref for MdlContext {
    type Target = MdlHandle;
    fn deref(&self) -> &MdlHandle {
        &self.0
    }
}

impl MdlHandle {
    /// Takes `lock` for the transaction or finds it held already. `timeout` is lock_wait_timeout.
    pub fn lock(&self, lock: &Arc<MdlLock>, mode: MdlMode, timeout: Duration) -> Result<(), MdlError> {
        let holds = {
            let mut held = guard(&self.holder.held);
            let mut holds = false;
            for m in held.of(lock) {
                if m.covers(mode) {
                    return Ok(());
                }
                holds = true;
            }
            if lock.try_lock(mode, holds) {
                held.transaction.push((lock.clone(), mode));
                return Ok(());
            }
            holds
        };
        self.wait(lock, mode, holds, timeout)?;
        guard(&self.holder.held).transaction.push((lock.clone(), mode));
        Ok(())
    }

    /// Takes `lock` until [`Self::release_explicit`].
    pub fn lock_explicit(
        &self,
        lock: &Arc<MdlLock>,
        mode: MdlMode,
        timeout: Duration,
    ) -> Result<(), MdlError> {
        if !lock.try_lock(mode, false) {
            self.wait(lock, mode, false, timeout)?;
        }
        guard(&self.holder.held).explicit.push((lock.clone(), mode));
        Ok(())
    }

    /// Gives an explicit lock back; false when it is not held.
    pub fn release_explicit(&self, lock: &Arc<MdlLock>) -> bool {
        let mut held = guard(&self.holder.held);
        let Some(at) = held.explicit.iter().position(|(l, _)| Arc::ptr_eq(l, lock)) else { return false };
        let (lock, mode) = held.explicit.remove(at);
        lock.unlock(mode);
        true
    }

    #[cold]
    fn wait(
        &self,
        lock: &Arc<MdlLock>,
        mode: MdlMode,
        holds: bool,
        timeout: Duration,
    ) -> Result<(), MdlError> {
        self.locks.begin_wait(self.id, lock, mode)?;
        let outcome = lock.wait(mode, holds, &*self.locks.clock, timeout, &self.holder.killed);
        *guard(&self.holder.waits_for) = None;
        self.holder.killed.store(false, Ordering::Release);
        outcome
    }

    /// The session's number.
    pub fn id(&self) -> u64 {
        self.id
    }

    pub fn locks(&self) -> &Arc<Locks> {
        &self.locks
    }

    /// How many locks the transaction holds; a savepoint for [`Self::release_to`].
    pub fn held(&self) -> usize {
        guard(&self.holder.held).transaction.len()
    }

    /// Releases every lock of the transaction that was taken after [`Self::held`] answered `mark`.
    pub fn release_to(&self, mark: usize) {
        let mut held = guard(&self.holder.held);
        while held.transaction.len() > mark {
            if let Some((lock, mode)) = held.transaction.pop() {
                lock.unlock(mode);
            }
        }
    }

    /// Gives back what the transaction has taken of one lock.
    pub fn release(&self, lock: &Arc<MdlLock>) {
        guard(&self.holder.held).transaction.retain(|(held, mode)| {
            let other = !Arc::ptr_eq(held, lock);
            if !other {
                lock.unlock(*mode);
            }
            other
        });
    }

    /// End of the transaction.
    pub fn release_all(&self) {
        self.release_to(0);
    }
}

impl MdlContext {
    /// The locks outlive their session under another number, which nobody uses: a prepared XA transaction's.
    pub fn renumber(&mut self, id: u64) {
        let mut graph = guard(&self.locks.graph);
        graph.remove(&self.id);
        graph.insert(id, self.holder.clone());
        drop(graph);
        self.0.id = id;
    }
}

impl Drop for MdlContext {
    fn drop(&mut self) {
        self.release_all();
        for (lock, mode) in guard(&self.holder.held).explicit.drain(..) {
            lock.unlock(mode);
        }
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
        let (a, b) = (locks.context(1), locks.context(2));
        a.lock(&t, MdlMode::Shared, LONG).unwrap();
        b.lock(&t, MdlMode::Shared, LONG).unwrap();
        let ddl = locks.context(3);
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
        let reader = locks.context(1);
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
        let a = locks.context(1);
        a.lock(&t, MdlMode::Shared, LONG).unwrap();
        let (send, recv) = mpsc::channel();
        let (locks2, t2, u2) = (locks.clone(), t.clone(), u.clone());
        let other = thread::spawn(move || {
            let b = locks2.context(2);
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
        let a = locks.context(1);
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
        let a = locks.context(1);
        a.lock(&t, MdlMode::Shared, LONG).unwrap();
        a.lock(&t, MdlMode::Shared, LONG).unwrap();
        assert_eq!(a.held(), 1);
        a.release_all();
        locks.context(2).lock(&t, MdlMode::Exclusive, Duration::ZERO).unwrap();
    }

    #[test]
    fn a_read_lock_stops_writers_only_and_outlives_transactions() {
        let locks = Locks::new(Arc::new(env::RealClock::new()));
        let t = locks.of("d", "t");
        let (a, b) = (locks.context(1), locks.context(2));
        a.lock_explicit(&t, MdlMode::NoWrite, LONG).unwrap();
        a.release_all();
        b.lock(&t, MdlMode::Shared, Duration::ZERO).unwrap();
        assert_eq!(b.lock(&t, MdlMode::Write, Duration::ZERO), Err(MdlError::Timeout));
        assert!(a.release_explicit(&t) && !a.release_explicit(&t));
        b.lock(&t, MdlMode::Write, Duration::ZERO).unwrap();
        assert_eq!(a.lock_explicit(&t, MdlMode::NoWrite, Duration::ZERO), Err(MdlError::Timeout));
        assert_eq!(locks.owner_of(&t), None);
        b.release_all();
        a.lock_explicit(&t, MdlMode::Exclusive, Duration::ZERO).unwrap();
        assert_eq!(locks.owner_of(&t), Some(1));
    }

    #[test]
    fn who_holds_a_lock_does_not_wait_behind_a_waiting_ddl() {
        let locks = Locks::new(Arc::new(env::RealClock::new()));
        let t = locks.of("d", "t");
        let reader = locks.context(1);
        reader.lock(&t, MdlMode::Shared, LONG).unwrap();
        let (locks2, t2) = (locks.clone(), t.clone());
        let ddl = thread::spawn(move || locks2.context(2).lock(&t2, MdlMode::Exclusive, LONG));
        while t.word.load(Ordering::Acquire) & PENDING == 0 {
            thread::yield_now();
        }
        assert_eq!(locks.context(3).lock(&t, MdlMode::Shared, Duration::ZERO), Err(MdlError::Timeout));
        reader.lock(&t, MdlMode::Write, Duration::ZERO).unwrap();
        reader.release_all();
        assert_eq!(ddl.join().unwrap(), Ok(()));
    }
}
