//! The slow checker: everything the lock table promises, recomputed from its queues.

use std::collections::HashMap;
use std::sync::atomic::Ordering;

use super::owner::Owner;
use super::shard::{Entry, Lock, entry_ref};
use super::table::LockTable;
use crate::sync::lock;

impl LockTable {
    /// Panics when an invariant is broken. Only while no other thread is inside the table.
    pub(super) fn check(&self) {
        let mut keys: HashMap<*const (), u32> = HashMap::new();
        let mut gaps: HashMap<*const (), u32> = HashMap::new();
        for (shard_no, shard) in self.shards.iter().enumerate() {
            let shard = lock(shard);
            for entry in shard.entries() {
                let number = shard.find(entry.hash, entry.index, entry.key.as_deref());
                let here = entry_ref(shard_no, number.expect("S3: an entry is found by its key"));
                check_entry(entry);
                *keys.entry(address(self.key_counter(entry.hash))).or_default() += 1;
                let locked = entry.queue.iter().filter(|l| l.mode.covers_gap()).count() as u32;
                *gaps.entry(address(self.gap_counter(entry.index))).or_default() += locked;
                for l in &entry.queue {
                    let refs = lock(&l.owner.held).entries.iter().filter(|e| **e == here).count();
                    assert_eq!(refs, 1, "O2: one reference for each entry");
                }
            }
        }
        for counter in &self.keys {
            let expected = keys.get(&address(counter)).copied().unwrap_or(0);
            assert_eq!(counter.load(Ordering::Relaxed), expected, "S4: counter of keys");
        }
        for counter in &self.gaps {
            let expected = gaps.get(&address(counter)).copied().unwrap_or(0);
            assert_eq!(counter.load(Ordering::Relaxed), expected, "S4: counter of gaps");
        }
    }

    /// O2 from the owner's side: every reference leads to a lock of the owner.
    pub(super) fn check_owner(&self, owner: &Owner) {
        for at in &lock(&owner.held).entries {
            let shard = lock(&self.shards[at.shard as usize]);
            let entry = shard.entry(at.entry).expect("O2: a reference leads to an entry");
            assert!(entry.has_owner(owner), "O2: a reference leads to a lock of its owner");
        }
    }
}

fn address<T>(counter: &T) -> *const () {
    std::ptr::from_ref(counter).cast()
}

fn check_entry(entry: &Entry) {
    assert!(!entry.queue.is_empty(), "S3: no empty entry");
    for (at, l) in entry.queue.iter().enumerate() {
        if l.waiting {
            assert!(
                entry.blocker(&l.owner, l.mode, at).is_some(),
                "S2: a waiting lock has somebody before it"
            );
            let in_the_way = |o: &&Lock| o.owner.slot != l.owner.slot && l.mode.waits_for(o.mode);
            let mut blockers = entry.queue[..at].iter().filter(in_the_way);
            if l.owner.is_waiting() {
                let edge = l.owner.edge().0;
                assert!(blockers.any(|o| o.owner.slot + 1 == edge), "S2: the edge points at one of them");
            }
        } else {
            let other = entry.queue.iter().find(|o| {
                o.owner.slot != l.owner.slot
                    && !o.waiting
                    && !o.owner.is_closed()
                    && !l.owner.is_closed()
                    && l.mode.waits_for(o.mode)
                    && o.mode.waits_for(l.mode)
            });
            assert!(
                other.is_none(),
                "two granted locks conflict: {:?} and {:?}",
                l.mode,
                other.map(|o| o.mode)
            );
        }
    }
}
