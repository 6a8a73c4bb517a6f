//! The lock table: shards, counters that make "nothing is locked here" one load, and what transactions do with locks.
//!
//! # How a caller uses it
//! 1. With the leaf latched, [`LockTable::request`]. It grants, or queues the request and returns a [`Wait`], or says that
//!    somebody is in the way.
//! 2. After a `Wait`, release every latch and call [`LockTable::wait`]. Then find the row again: it may have changed, moved
//!    or gone.
//!
//! # Invariants
//! L1. No latch of a page is taken here and no mutex of this table is held while a thread sleeps.
//! L2. Requests are made under the latch of the leaf that holds the key (or the gap), and a change of a leaf is made under its
//!     exclusive latch; so `may_be_locked` and `gaps_locked`, read under the exclusive latch, cannot miss a granted lock.
//! L3. Mutex order: one shard, then one owner. Two shards are never locked together.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use base::{IndexId, TrxId};
use env::Clock;
use smallvec::SmallVec;

use super::deadlock;
use super::mode::{LockMode, Strength};
use super::owner::{EntryRef, Owner, WaitState};
use super::report::DeadlockReport;
use super::shard::{Lock, Repointed, Shard, entry_ref};
use crate::sync::{AtomicU32, AtomicU64, Mutex, lock};

#[cfg(not(feature = "shuttle"))]
const SHARDS: usize = 256;
#[cfg(feature = "shuttle")]
const SHARDS: usize = 2;
#[cfg(not(feature = "shuttle"))]
const KEY_COUNTERS: usize = 1 << 14;
#[cfg(feature = "shuttle")]
const KEY_COUNTERS: usize = 8;
#[cfg(not(feature = "shuttle"))]
const GAP_COUNTERS: usize = 1 << 10;
#[cfg(feature = "shuttle")]
const GAP_COUNTERS: usize = 2;

/// A lockable place: an index entry by its key, or the end of the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LockKey<'a> {
    pub index: IndexId,
    /// `None` is the supremum.
    pub key: Option<&'a [u8]>,
}

impl<'a> LockKey<'a> {
    pub fn entry(index: IndexId, key: &'a [u8]) -> Self {
        Self { index, key: Some(key) }
    }
    pub fn supremum(index: IndexId) -> Self {
        Self { index, key: None }
    }
}

/// What to do when another transaction is in the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnConflict {
    Queue,
    Refuse,
}

/// A queued request; pass it to [`LockTable::wait`].
#[derive(Debug)]
#[must_use = "a queued request blocks others until it is waited for"]
pub struct Wait {
    at: EntryRef,
    mode: LockMode,
}

#[derive(Debug)]
pub enum Requested {
    /// The lock is held; `new` is false when it was held before.
    Granted {
        new: bool,
    },
    Wait(Wait),
    /// [`OnConflict::Refuse`]: nothing was queued.
    Refused,
}

/// Why a wait ended without the lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockError {
    Deadlock,
    Timeout,
    Interrupted,
}

/// Counters for SHOW STATUS.
#[derive(Debug, Default)]
pub struct LockCounters {
    pub waits: AtomicU64,
    pub current_waits: AtomicU64,
    pub wait_micros: AtomicU64,
    pub wait_micros_max: AtomicU64,
    pub deadlocks: AtomicU64,
    pub timeouts: AtomicU64,
}

/// All explicit row locks of the server.
pub struct LockTable {
    pub(super) shards: Box<[Mutex<Shard>]>,
    /// Entries by key hash.
    pub(super) keys: Box<[AtomicU32]>,
    /// Locks that cover a gap, by index.
    pub(super) gaps: Box<[AtomicU32]>,
    clock: Arc<dyn Clock>,
    owners: Arc<dyn Owners>,
    latest_deadlock: Mutex<Option<Arc<DeadlockReport>>>,
    pub counters: LockCounters,
}

/// Finds owners by slot number.
pub trait Owners: Send + Sync {
    fn owner(&self, slot: u32) -> Option<Arc<Owner>>;
}

impl LockTable {
    pub fn new(clock: Arc<dyn Clock>, owners: Arc<dyn Owners>) -> Self {
        let counters = |len: usize| (0..len).map(|_| AtomicU32::new(0)).collect();
        Self {
            shards: (0..SHARDS).map(|_| Mutex::new(Shard::default())).collect(),
            keys: counters(KEY_COUNTERS),
            gaps: counters(GAP_COUNTERS),
            clock,
            owners,
            latest_deadlock: Mutex::new(None),
            counters: LockCounters::default(),
        }
    }

    fn hash(at: LockKey<'_>) -> u64 {
        use std::hash::{BuildHasher, Hasher};
        let mut hasher = foldhash::fast::FixedState::with_seed(0x6d6f_7273_6564_6221).build_hasher();
        hasher.write_u64(at.index.0);
        hasher.write(at.key.unwrap_or(b"\xffsupremum"));
        hasher.finish()
    }
    fn shard_of(hash: u64) -> usize {
        (hash >> 48) as usize % SHARDS
    }
    pub(super) fn key_counter(&self, hash: u64) -> &AtomicU32 {
        &self.keys[(hash >> 16) as usize % KEY_COUNTERS]
    }
    pub(super) fn gap_counter(&self, index: IndexId) -> &AtomicU32 {
        &self.gaps[index.0 as usize % GAP_COUNTERS]
    }

    /// False: certainly no explicit lock and no waiter on this key (L2).
    pub fn may_be_locked(&self, at: LockKey<'_>) -> bool {
        self.key_counter(Self::hash(at)).load(Ordering::Relaxed) != 0
    }
    /// False: certainly no gap of this index is locked (L2).
    pub fn gaps_locked(&self, index: IndexId) -> bool {
        self.gap_counter(index).load(Ordering::Relaxed) != 0
    }

    /// Asks for a lock. `implicit` names the active transaction whose change of the entry locks it without an object: its
    /// lock is made explicit first.
    pub fn request(
        &self,
        at: LockKey<'_>,
        owner: &Arc<Owner>,
        mode: LockMode,
        implicit: Option<(&Arc<Owner>, TrxId)>,
        on_conflict: OnConflict,
    ) -> Requested {
        let hash = Self::hash(at);
        let shard_no = Self::shard_of(hash);
        let mut shard = lock(&self.shards[shard_no]);
        let (number, new) = shard.find_or_add(hash, at.index, at.key);
        if new {
            self.key_counter(hash).fetch_add(1, Ordering::Relaxed);
        }
        let here = entry_ref(shard_no, number);
        if let Some((holder, id)) = implicit {
            self.make_explicit(&mut shard, here, holder, id);
        }
        let result = self.decide(&mut shard, here, owner, mode, on_conflict);
        self.drop_if_empty(&mut shard, number);
        result
    }

    fn decide(
        &self,
        shard: &mut Shard,
        here: EntryRef,
        owner: &Arc<Owner>,
        mode: LockMode,
        on_conflict: OnConflict,
    ) -> Requested {
        let entry = shard.entry_mut(here.entry);
        if entry.holds(owner, mode) {
            return Requested::Granted { new: false };
        }
        let blocker = entry.blocker(owner, mode, entry.queue.len()).map(|b| b.slot);
        match (blocker, on_conflict) {
            (Some(_), OnConflict::Refuse) => return Requested::Refused,
            (None, _) if mode == LockMode::INSERT_INTENTION => return Requested::Granted { new: false },
            _ => {}
        }
        if !entry.has_owner(owner) {
            let open = owner.remember(here);
            assert!(open, "slot {} asks for a lock after its end", owner.slot);
        }
        if mode.covers_gap() {
            self.gap_counter(entry.index).fetch_add(1, Ordering::Relaxed);
        }
        match blocker {
            None => {
                // No waiter is blocked by it that was not blocked before, except by the rules of M1 to M3 in its turn.
                entry.queue.push(Lock { owner: Arc::clone(owner), mode, waiting: false });
                Requested::Granted { new: true }
            }
            Some(blocker) => {
                owner.begin_wait(blocker);
                entry.queue.push(Lock { owner: Arc::clone(owner), mode, waiting: true });
                Requested::Wait(Wait { at: here, mode })
            }
        }
    }

    fn make_explicit(&self, shard: &mut Shard, here: EntryRef, holder: &Arc<Owner>, id: TrxId) {
        let mode = LockMode::record(Strength::Exclusive);
        let entry = shard.entry_mut(here.entry);
        if entry.holds(holder, mode) {
            return;
        }
        let alive =
            if entry.has_owner(holder) { holder.is_open_as(id) } else { holder.remember_as(id, here) };
        if alive {
            entry.add_granted(holder, mode);
        }
    }

    fn drop_if_empty(&self, shard: &mut Shard, number: u32) {
        if let Some(entry) = shard.drop_if_empty(number) {
            self.key_counter(entry.hash).fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Sleeps until the request is granted. On an error the request has been withdrawn.
    /// A success says only that the row may be looked at again; for an insert intention nothing is held.
    pub fn wait(&self, owner: &Arc<Owner>, wait: Wait, timeout: Duration) -> Result<(), LockError> {
        let start = self.clock.monotonic();
        self.counters.waits.fetch_add(1, Ordering::Relaxed);
        self.counters.current_waits.fetch_add(1, Ordering::Relaxed);
        self.check_deadlock(owner);
        let outcome = self.sleep(owner, start, timeout);
        let result = self.end_wait(owner, &wait, outcome);
        let micros = (self.clock.monotonic() - start).as_micros() as u64;
        self.counters.wait_micros.fetch_add(micros, Ordering::Relaxed);
        self.counters.wait_micros_max.fetch_max(micros, Ordering::Relaxed);
        self.counters.current_waits.fetch_sub(1, Ordering::Relaxed);
        result
    }

    fn sleep(&self, owner: &Owner, start: Duration, timeout: Duration) -> Result<WaitState, LockError> {
        let mut state = lock(&owner.wait);
        loop {
            if *state != WaitState::Waiting {
                return Ok(*state);
            }
            if owner.is_interrupted() {
                return Err(LockError::Interrupted);
            }
            let passed = self.clock.monotonic() - start;
            if passed >= timeout {
                return Err(LockError::Timeout);
            }
            let (again, _) = owner.wake.wait_timeout(state, timeout - passed).expect("no waker panics");
            state = again;
        }
    }

    /// Settles the queue after a sleep: a grant that raced with the timeout counts as a grant.
    fn end_wait(
        &self,
        owner: &Arc<Owner>,
        wait: &Wait,
        outcome: Result<WaitState, LockError>,
    ) -> Result<(), LockError> {
        if matches!(outcome, Ok(WaitState::Granted | WaitState::Retry)) {
            *lock(&owner.wait) = WaitState::Idle;
            return Ok(());
        }
        let mut shard = lock(&self.shards[wait.at.shard as usize]);
        let state = std::mem::replace(&mut *lock(&owner.wait), WaitState::Idle);
        let result = match (outcome, state) {
            (_, WaitState::Granted | WaitState::Retry) => return Ok(()),
            (Err(why), WaitState::Waiting) => Err(why),
            (_, WaitState::Victim) => Err(LockError::Deadlock),
            (_, WaitState::Idle | WaitState::Waiting) => unreachable!("only the waiter ends its own wait"),
        };
        owner.clear_edge();
        let repointed = self.withdraw(&mut shard, owner, wait);
        drop(shard);
        self.check_repointed(&repointed);
        if result == Err(LockError::Timeout) {
            self.counters.timeouts.fetch_add(1, Ordering::Relaxed);
        }
        result
    }

    /// Takes the waiting lock of a wait out of its queue, if it is still there.
    fn withdraw(&self, shard: &mut Shard, owner: &Arc<Owner>, wait: &Wait) -> Repointed {
        let waits = |l: &Lock| l.waiting && l.owner.slot == owner.slot;
        let found = shard.entry(wait.at.entry).and_then(|e| e.queue.iter().position(waits));
        // A victim's request can have been granted meanwhile; its rollback releases it.
        let Some(at) = found else { return Repointed::new() };
        let entry = shard.entry_mut(wait.at.entry);
        entry.queue.remove(at);
        if wait.mode.covers_gap() {
            self.gap_counter(entry.index).fetch_sub(1, Ordering::Relaxed);
        }
        if !entry.has_owner(owner) {
            owner.forget(wait.at);
        }
        let repointed = entry.grant(wait.at);
        self.drop_if_empty(shard, wait.at.entry);
        repointed
    }

    /// Releases everything the owner holds and closes it: what others try to make explicit for it from now on is not held.
    /// Call it after the commit LSN is published, or after the rollback is complete.
    pub fn release_all(&self, owner: &Arc<Owner>) {
        let held = owner.close();
        for at in &held {
            let mut shard = lock(&self.shards[at.shard as usize]);
            let repointed = self.release_in(&mut shard, *at, |l| l.owner.slot == owner.slot);
            drop(shard);
            self.check_repointed(&repointed);
        }
        if held.capacity() > 0 {
            owner.give_back(held);
        }
    }

    /// Removes the locks of an entry that `gone` names and grants what they blocked.
    fn release_in(&self, shard: &mut Shard, at: EntryRef, gone: impl Fn(&Lock) -> bool) -> Repointed {
        if shard.entry(at.entry).is_none() {
            return Repointed::new();
        }
        let entry = shard.entry_mut(at.entry);
        let before = entry.queue.len();
        let gaps = entry.queue.iter().filter(|l| gone(l) && l.mode.covers_gap()).count() as u32;
        entry.queue.retain(|l| !gone(l));
        if gaps > 0 {
            self.gap_counter(entry.index).fetch_sub(gaps, Ordering::Relaxed);
        }
        let repointed = if entry.queue.len() < before { entry.grant(at) } else { Repointed::new() };
        self.drop_if_empty(shard, at.entry);
        repointed
    }

    /// Gives back one lock before the end of the transaction: READ COMMITTED does so with rows that do not match.
    pub fn release(&self, at: LockKey<'_>, owner: &Arc<Owner>, mode: LockMode) {
        let hash = Self::hash(at);
        let shard_no = Self::shard_of(hash);
        let mut shard = lock(&self.shards[shard_no]);
        let Some(number) = shard.find(hash, at.index, at.key) else { return };
        let here = entry_ref(shard_no, number);
        let mine = |l: &Lock| l.owner.slot == owner.slot && l.mode == mode && !l.waiting;
        let others = shard.entry_mut(number).queue.iter().any(|l| l.owner.slot == owner.slot && !mine(l));
        let repointed = self.release_in(&mut shard, here, mine);
        if !others {
            owner.forget(here);
        }
        drop(shard);
        self.check_repointed(&repointed);
    }

    /// A new entry `new` was put before `successor`: gap locks on the successor now cover two gaps.
    /// Under the exclusive latch of the leaf of `new`.
    pub fn inherit_on_insert(&self, successor: LockKey<'_>, new: &[u8]) {
        if !self.gaps_locked(successor.index) || !self.may_be_locked(successor) {
            return;
        }
        let heirs = self.collect(successor, |l| !l.waiting && l.mode.covers_gap());
        self.grant_inherited(LockKey::entry(successor.index, new), &heirs);
    }

    /// The entry `gone` has been taken out of the index: locks on it and its gap become gap locks on `successor`, and who
    /// waits for it looks again. Under the exclusive latch of the leaf of `gone`.
    pub fn inherit_on_remove(&self, gone: &[u8], successor: LockKey<'_>) {
        let at = LockKey::entry(successor.index, gone);
        if !self.may_be_locked(at) {
            return;
        }
        let heirs = self.collect(at, |l| !l.waiting && l.owner.locks_gaps());
        self.grant_inherited(successor, &heirs);
        self.dissolve(at);
    }

    fn collect(&self, at: LockKey<'_>, which: impl Fn(&Lock) -> bool) -> SmallVec<[Lock; 4]> {
        let hash = Self::hash(at);
        let shard = lock(&self.shards[Self::shard_of(hash)]);
        let Some(number) = shard.find(hash, at.index, at.key) else { return SmallVec::new() };
        let entry = shard.entry(number).expect("found");
        entry.queue.iter().filter(|l| which(l)).cloned().collect()
    }

    fn grant_inherited(&self, at: LockKey<'_>, heirs: &[Lock]) {
        if heirs.is_empty() {
            return;
        }
        let hash = Self::hash(at);
        let shard_no = Self::shard_of(hash);
        let mut shard = lock(&self.shards[shard_no]);
        let (number, new) = shard.find_or_add(hash, at.index, at.key);
        if new {
            self.key_counter(hash).fetch_add(1, Ordering::Relaxed);
        }
        let entry = shard.entry_mut(number);
        for heir in heirs {
            let mode = heir.mode.inherited();
            if entry.holds(&heir.owner, mode) {
                continue;
            }
            let known = entry.has_owner(&heir.owner);
            if known || heir.owner.remember(entry_ref(shard_no, number)) {
                entry.add_granted(&heir.owner, mode);
                self.gap_counter(at.index).fetch_add(1, Ordering::Relaxed);
            }
        }
        self.drop_if_empty(&mut shard, number);
    }

    /// Empties an entry whose row has gone.
    fn dissolve(&self, at: LockKey<'_>) {
        let hash = Self::hash(at);
        let shard_no = Self::shard_of(hash);
        let mut shard = lock(&self.shards[shard_no]);
        let Some(number) = shard.find(hash, at.index, at.key) else { return };
        let here = entry_ref(shard_no, number);
        let locks = shard.entry(number).map(|e| e.queue.clone()).unwrap_or_default();
        self.release_in(&mut shard, here, |_| true);
        for l in &locks {
            l.owner.forget(here);
        }
        for l in locks.iter().filter(|l| l.waiting) {
            l.owner.end_wait(WaitState::Retry);
        }
    }

    fn check_repointed(&self, repointed: &[Arc<Owner>]) {
        for owner in repointed {
            self.check_deadlock(owner);
        }
    }

    /// Looks for a circle of waits through `owner` and ends the wait of its cheapest member.
    fn check_deadlock(&self, owner: &Arc<Owner>) {
        let Some(circle) = deadlock::find_circle(owner, &*self.owners) else { return };
        let victim = deadlock::choose_victim(&circle);
        let report = DeadlockReport::new(self.clock.wall(), &circle, victim, |o| self.describe_locks(o));
        if circle[victim].end_wait(WaitState::Victim) {
            self.counters.deadlocks.fetch_add(1, Ordering::Relaxed);
            *lock(&self.latest_deadlock) = Some(Arc::new(report));
        }
    }

    /// The latest deadlock, for SHOW ENGINE INNODB STATUS.
    pub fn latest_deadlock(&self) -> Option<Arc<DeadlockReport>> {
        lock(&self.latest_deadlock).clone()
    }

    /// Every explicit lock, or only the waiting ones; a consistent picture of each shard, not of the whole.
    pub fn list(&self, only_waiting: bool) -> Vec<super::report::LockInfo> {
        let mut found = Vec::new();
        for shard in &self.shards {
            let shard = lock(shard);
            for entry in shard.entries() {
                let wanted = entry.queue.iter().filter(|l| l.waiting || !only_waiting);
                found.extend(wanted.map(|l| super::report::LockInfo::new(entry, l)));
            }
        }
        found
    }

    fn describe_locks(&self, owner: &Owner) -> Vec<super::report::LockInfo> {
        let held: Vec<EntryRef> = lock(&owner.held).entries.iter().rev().take(8).copied().collect();
        let mut found = Vec::new();
        for at in held {
            let shard = lock(&self.shards[at.shard as usize]);
            if let Some(entry) = shard.entry(at.entry) {
                let own = entry.queue.iter().filter(|l| l.owner.slot == owner.slot);
                found.extend(own.map(|l| super::report::LockInfo::new(entry, l)));
            }
        }
        found
    }
}

impl std::fmt::Debug for LockTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LockTable").field("counters", &self.counters).finish_non_exhaustive()
    }
}
