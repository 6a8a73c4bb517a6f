//! The lock manager's view of a transaction: who it is, what it holds, what it waits for.
//!
//! # Invariants
//! O1. Latch order: a shard's mutex, then `held` or `wait` of one owner. Never a shard's mutex inside `held` or `wait`.
//! O2. `held` has exactly one reference for each entry in which the owner has at least one lock, granted or waiting.
//! O3. While `held.open` is false nobody adds a lock for the owner: a transaction that has published its commit closes
//!     before it releases, and what others wanted to make explicit for it is no longer held.
//! O5. The locks of a closed owner block nobody: its outcome is published. They may go away later (`Committed::release`).
//! O4. `edge` is the owner this one waits for, with the number of the wait. A number is never used twice by one owner,
//!     so two equal readings of an edge prove that it has stood in between (see `deadlock`).

use std::sync::Arc;
use std::sync::atomic::Ordering;

use base::TrxId;

use crate::sync::{AtomicBool, AtomicU32, AtomicU64, Condvar, Mutex, lock};

/// Where a lock is: shard and entry number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EntryRef {
    pub(crate) shard: u32,
    pub(crate) entry: u32,
}

#[derive(Debug, Default)]
pub(super) struct Held {
    pub(super) open: bool,
    pub(super) entries: Vec<EntryRef>,
}

/// How a wait ended, or that it has not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WaitState {
    Idle,
    Waiting,
    Granted,
    /// The entry went away; look at the rows again.
    Retry,
    Victim,
}

/// One transaction as an owner of locks; lives as long as its slot and serves one transaction after another.
#[derive(Debug)]
pub struct Owner {
    /// Number of the slot in the transaction system.
    pub slot: u32,
    trx_id: AtomicU64,
    /// Log bytes written; the transaction that has least to undo is the victim of a deadlock.
    weight: AtomicU64,
    /// Set for replayed transactions that must give way to everybody else.
    yields: AtomicBool,
    /// False under READ COMMITTED and below: gap locks are not inherited for such an owner.
    locks_gaps: AtomicBool,
    interrupted: AtomicBool,
    /// Mirrors `!held.open` for those who do not hold the mutex (O5).
    closed: AtomicBool,
    /// Connection number, for reports.
    connection: AtomicU64,
    pub(super) held: Mutex<Held>,
    pub(super) wait: Mutex<WaitState>,
    pub(super) wake: Condvar,
    /// `slot + 1` of the blocker in the lower half (0 = none), number of the wait in the upper.
    edge: AtomicU64,
    waits: AtomicU32,
}

impl Owner {
    pub fn new(slot: u32) -> Arc<Self> {
        Arc::new(Self {
            slot,
            trx_id: AtomicU64::new(0),
            weight: AtomicU64::new(0),
            yields: AtomicBool::new(false),
            locks_gaps: AtomicBool::new(true),
            interrupted: AtomicBool::new(false),
            closed: AtomicBool::new(false),
            connection: AtomicU64::new(0),
            held: Mutex::new(Held::default()),
            wait: Mutex::new(WaitState::Idle),
            wake: Condvar::new(),
            edge: AtomicU64::new(0),
            waits: AtomicU32::new(0),
        })
    }

    /// Starts serving a transaction.
    pub fn open(&self, locks_gaps: bool) {
        self.trx_id.store(0, Ordering::Relaxed);
        self.weight.store(0, Ordering::Relaxed);
        self.yields.store(false, Ordering::Relaxed);
        self.locks_gaps.store(locks_gaps, Ordering::Relaxed);
        let mut held = lock(&self.held);
        debug_assert!(held.entries.is_empty(), "slot {} is opened with locks", self.slot);
        held.open = true;
        self.closed.store(false, Ordering::Release);
    }

    /// Nobody waits for this owner's locks any more, though they are still in the table (O5). Call it when the outcome of
    /// its transaction is published.
    pub(crate) fn stop_blocking(&self) {
        lock(&self.held).open = false;
        self.closed.store(true, Ordering::Release);
    }
    pub(super) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }
    /// Entries in which it has a lock.
    pub(crate) fn held_count(&self) -> usize {
        lock(&self.held).entries.len()
    }

    /// The transaction's id, none before its first write.
    pub fn trx_id(&self) -> TrxId {
        TrxId(self.trx_id.load(Ordering::Acquire))
    }
    /// Called once, at the first write, under the `held` mutex so that [`is_open_as`](Self::is_open_as) is exact.
    pub fn set_trx_id(&self, id: TrxId) {
        let _held = lock(&self.held);
        self.trx_id.store(id.0, Ordering::Release);
    }
    pub fn add_weight(&self, log_bytes: u64) {
        // Only the owner's thread writes it.
        self.weight.store(self.weight.load(Ordering::Relaxed) + log_bytes, Ordering::Relaxed);
    }
    pub fn weight(&self) -> u64 {
        self.weight.load(Ordering::Relaxed)
    }
    /// Always the victim of a deadlock, for transactions that are applied ahead of their commit.
    pub fn set_yields(&self, yields: bool) {
        self.yields.store(yields, Ordering::Relaxed);
    }
    pub fn yields(&self) -> bool {
        self.yields.load(Ordering::Relaxed)
    }
    pub fn set_locks_gaps(&self, locks_gaps: bool) {
        self.locks_gaps.store(locks_gaps, Ordering::Relaxed);
    }
    pub(super) fn locks_gaps(&self) -> bool {
        self.locks_gaps.load(Ordering::Relaxed)
    }
    pub fn set_connection(&self, connection: u64) {
        self.connection.store(connection, Ordering::Relaxed);
    }
    pub fn connection(&self) -> u64 {
        self.connection.load(Ordering::Relaxed)
    }

    /// Makes the current and every later lock wait of this owner fail until [`clear_interrupt`](Self::clear_interrupt).
    pub fn interrupt(&self) {
        self.interrupted.store(true, Ordering::SeqCst);
        // The waiter looks at the flag under this mutex before it sleeps.
        let _wait = lock(&self.wait);
        self.wake.notify_all();
    }
    pub fn clear_interrupt(&self) {
        self.interrupted.store(false, Ordering::SeqCst);
    }
    pub fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }

    /// Locks held or asked for.
    pub fn lock_count(&self) -> usize {
        lock(&self.held).entries.len()
    }
    /// True when the owner waits for a lock.
    pub fn is_waiting(&self) -> bool {
        self.edge().0 != 0
    }

    /// Adds a reference unless the owner is closed; O2 is the caller's, under the shard's mutex.
    pub(super) fn remember(&self, entry: EntryRef) -> bool {
        let mut held = lock(&self.held);
        if held.open {
            held.entries.push(entry);
        }
        held.open
    }
    /// The same for a lock that others make explicit: only while the transaction still is `id`.
    pub(super) fn remember_as(&self, id: TrxId, entry: EntryRef) -> bool {
        let mut held = lock(&self.held);
        let alive = held.open && self.trx_id.load(Ordering::Relaxed) == id.0;
        if alive {
            held.entries.push(entry);
        }
        alive
    }
    /// True while the transaction `id` holds what it has changed.
    pub(super) fn is_open_as(&self, id: TrxId) -> bool {
        let held = lock(&self.held);
        held.open && self.trx_id.load(Ordering::Relaxed) == id.0
    }
    /// Drops the reference to `entry`; recent ones are found first.
    pub(super) fn forget(&self, entry: EntryRef) {
        let mut held = lock(&self.held);
        if let Some(at) = held.entries.iter().rposition(|e| *e == entry) {
            held.entries.swap_remove(at);
        }
    }
    /// Closes the owner and takes everything it holds.
    pub(super) fn close(&self) -> Vec<EntryRef> {
        let mut held = lock(&self.held);
        held.open = false;
        self.closed.store(true, Ordering::Release);
        std::mem::take(&mut held.entries)
    }
    /// Gives the emptied list back, to keep its memory.
    pub(super) fn give_back(&self, mut entries: Vec<EntryRef>) {
        const KEPT_MAX: usize = 1024;
        entries.clear();
        entries.shrink_to(KEPT_MAX);
        let mut held = lock(&self.held);
        if held.entries.is_empty() {
            held.entries = entries;
        }
    }

    /// Blocker's slot + 1 (0 = none) and the number of the wait.
    pub(super) fn edge(&self) -> (u32, u32) {
        let edge = self.edge.load(Ordering::SeqCst);
        (edge as u32, (edge >> 32) as u32)
    }
    /// Begins a wait for `blocker`, under the shard's mutex.
    pub(super) fn begin_wait(&self, blocker: u32) {
        let mut wait = lock(&self.wait);
        *wait = WaitState::Waiting;
        self.set_edge(blocker);
    }
    /// Waits for somebody else from now on, unless the wait has ended; under the shard's mutex.
    pub(super) fn repoint(&self, blocker: u32) -> bool {
        let wait = lock(&self.wait);
        let waits = *wait == WaitState::Waiting;
        if waits {
            self.set_edge(blocker);
        }
        waits
    }
    pub(super) fn clear_edge(&self) {
        self.edge.store(0, Ordering::SeqCst);
    }
    /// Only with `wait` locked.
    fn set_edge(&self, blocker: u32) {
        let number = self.waits.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
        self.edge.store(u64::from(number) << 32 | u64::from(blocker + 1), Ordering::SeqCst);
    }
    /// Ends the wait unless it has ended otherwise already. False when it had.
    pub(super) fn end_wait(&self, how: WaitState) -> bool {
        let mut wait = lock(&self.wait);
        if *wait != WaitState::Waiting {
            return false;
        }
        *wait = how;
        self.edge.store(0, Ordering::SeqCst);
        self.wake.notify_all();
        true
    }
}
