//! One shard of the lock table: entries by key, and a queue of locks in each.
//!
//! # Layout
//! `entries` is a slab; an entry keeps its number while it has a lock or a waiter. `by_key` finds numbers by key hash.
//!
//! # Invariants
//! S1. A queue is in order of arrival, except that locks which are granted without asking (implicit ones made explicit,
//!     inherited ones) come before the waiters.
//! S2. A waiting lock waits because of a lock before it in its queue, and its owner's edge points at the owner of such a
//!     lock: the first one, when nothing has come in between.
//! S3. An entry with an empty queue does not exist.
//! S4. The table's counters are raised before the first lock of an entry is in its queue and lowered after the last one
//!     has left, so a counter of zero under the leaf's latch means: no lock here.

use std::sync::Arc;

use base::IndexId;
use hashbrown::HashTable;
use smallvec::SmallVec;

use super::mode::LockMode;
use super::owner::{EntryRef, Owner, WaitState};

/// Key bytes, or `None` for the supremum.
pub(super) type KeyBytes = Option<SmallVec<[u8; 24]>>;

#[derive(Debug, Clone)]
pub(super) struct Lock {
    pub(super) owner: Arc<Owner>,
    pub(super) mode: LockMode,
    pub(super) waiting: bool,
}

#[derive(Debug)]
pub(super) struct Entry {
    pub(super) hash: u64,
    pub(super) index: IndexId,
    pub(super) key: KeyBytes,
    pub(super) queue: SmallVec<[Lock; 2]>,
}

#[derive(Debug, Default)]
pub(super) struct Shard {
    entries: Vec<Option<Entry>>,
    free: Vec<u32>,
    by_key: HashTable<u32>,
}

/// Whose wait changed when a queue moved.
pub(super) type Repointed = SmallVec<[Arc<Owner>; 2]>;

impl Shard {
    pub(super) fn find(&self, hash: u64, index: IndexId, key: Option<&[u8]>) -> Option<u32> {
        let same = |number: &u32| {
            self.entries[*number as usize]
                .as_ref()
                .is_some_and(|e| e.hash == hash && e.index == index && e.key.as_deref() == key)
        };
        self.by_key.find(hash, same).copied()
    }

    pub(super) fn entry(&self, number: u32) -> Option<&Entry> {
        self.entries.get(number as usize)?.as_ref()
    }

    pub(super) fn entry_mut(&mut self, number: u32) -> &mut Entry {
        self.entries[number as usize].as_mut().expect("an entry lives while it has locks")
    }

    pub(super) fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().flatten()
    }

    /// The entry's number and whether it is new.
    pub(super) fn find_or_add(&mut self, hash: u64, index: IndexId, key: Option<&[u8]>) -> (u32, bool) {
        if let Some(number) = self.find(hash, index, key) {
            return (number, false);
        }
        let entry = Entry { hash, index, key: key.map(SmallVec::from_slice), queue: SmallVec::new() };
        let number = match self.free.pop() {
            Some(number) => {
                self.entries[number as usize] = Some(entry);
                number
            }
            None => {
                self.entries.push(Some(entry));
                u32::try_from(self.entries.len() - 1).expect("fewer than 2^32 locked keys in a shard")
            }
        };
        let entries = &self.entries;
        self.by_key.insert_unique(hash, number, |n| {
            entries[*n as usize].as_ref().expect("numbers name live entries").hash
        });
        (number, true)
    }

    /// Removes and returns the entry if its queue is empty.
    pub(super) fn drop_if_empty(&mut self, number: u32) -> Option<Entry> {
        let entry = self.entries[number as usize].as_ref()?;
        if !entry.queue.is_empty() {
            return None;
        }
        let hash = entry.hash;
        if let Ok(found) = self.by_key.find_entry(hash, |n| *n == number) {
            found.remove();
        }
        self.free.push(number);
        self.entries[number as usize].take()
    }
}

impl Entry {
    /// The first lock before position `end` that a request of `mode` by `owner` has to wait for.
    pub(super) fn blocker(&self, owner: &Owner, mode: LockMode, end: usize) -> Option<&Arc<Owner>> {
        let in_the_way =
            |l: &&Lock| l.owner.slot != owner.slot && mode.waits_for(l.mode) && !l.owner.is_closed();
        self.queue[..end].iter().find(in_the_way).map(|l| &l.owner)
    }

    /// True when the owner holds a lock that makes a request for `mode` needless.
    pub(super) fn holds(&self, owner: &Owner, mode: LockMode) -> bool {
        self.queue.iter().any(|l| l.owner.slot == owner.slot && !l.waiting && l.mode.includes(mode))
    }

    pub(super) fn has_owner(&self, owner: &Owner) -> bool {
        self.queue.iter().any(|l| l.owner.slot == owner.slot)
    }

    /// Adds a granted lock before the waiters (S1), and points waiters that now have an earlier blocker at it.
    pub(super) fn add_granted(&mut self, owner: &Arc<Owner>, mode: LockMode) {
        let at = self.queue.iter().position(|l| l.waiting).unwrap_or(self.queue.len());
        self.queue.insert(at, Lock { owner: Arc::clone(owner), mode, waiting: false });
    }

    /// Grants every waiting lock that nothing before it blocks any more and points the others at their first blocker.
    /// Returns the owners that wait for somebody else than before.
    pub(super) fn grant(&mut self, here: EntryRef) -> Repointed {
        let mut repointed = Repointed::new();
        let mut at = 0;
        while at < self.queue.len() {
            let request = &self.queue[at];
            let blocker = self.blocker(&request.owner, request.mode, at).map(|b| b.slot);
            match blocker {
                _ if !request.waiting => {}
                Some(blocker) if request.owner.edge().0 == blocker + 1 => {}
                Some(blocker) => {
                    if request.owner.repoint(blocker) {
                        repointed.push(Arc::clone(&request.owner));
                    }
                }
                None if request.mode == LockMode::INSERT_INTENTION => {
                    // It has had its answer and leaves, before its owner wakes up.
                    let answered = self.queue.remove(at);
                    if !self.has_owner(&answered.owner) {
                        answered.owner.forget(here);
                    }
                    answered.owner.end_wait(WaitState::Granted);
                    continue;
                }
                None => {
                    self.queue[at].waiting = false;
                    self.queue[at].owner.end_wait(WaitState::Granted);
                }
            }
            at += 1;
        }
        repointed
    }
}

/// Where an entry of a shard is, for the owner's list.
pub(super) fn entry_ref(shard: usize, entry: u32) -> EntryRef {
    EntryRef { shard: shard as u32, entry }
}
