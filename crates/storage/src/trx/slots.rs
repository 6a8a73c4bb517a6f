//! Slots: one for each running transaction, with what other threads may ask about it.
//!
//! A slot is taken with one compare-and-swap; a thread tries the slot it used last first, so a busy server takes slots without
//! meeting others. Slots are added and never removed; there are about as many as there have ever been sessions at once.
//!
//! # The snapshot protocol
//! P1. A reader stores the snapshot's LSN in its slot, then loads the purge limit. If the limit is above the LSN, purge may
//!     have passed: the reader takes a newer LSN and tries again. Else purge cannot pass it any more.
//! P2. Purge takes the visible LSN, lowers it to the smallest stored snapshot, stores it as the limit, and then looks at the
//!     snapshots again and lowers the limit to what it finds. All four accesses are sequentially consistent, so a reader
//!     either sees the new limit or is seen.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use arc_swap::ArcSwap;
use base::{Lsn, TrxId};

use crate::lock::{Owner, Owners};
use crate::sync::{Mutex, lock};

const NO_SNAPSHOT: u64 = u64::MAX;

/// A running transaction as others see it. Two cache lines apart from its neighbours.
#[derive(Debug)]
#[repr(align(128))]
pub struct Slot {
    in_use: AtomicBool,
    snapshot: AtomicU64,
    first: AtomicU64,
    last: AtomicU64,
    prepare: AtomicU64,
    owner: Arc<Owner>,
}

/// A writing transaction for the checkpoint and for lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ActiveTrx {
    pub id: TrxId,
    /// At or before its first record.
    pub first: Lsn,
    /// Its latest record, none when it has an id and no record yet.
    pub last: Lsn,
    /// Its Prepare record (XA): a restart keeps it. None when it is not prepared.
    pub prepare: Lsn,
    pub slot: u32,
}

impl Slot {
    fn new(number: u32) -> Arc<Self> {
        Arc::new(Self {
            in_use: AtomicBool::new(false),
            snapshot: AtomicU64::new(NO_SNAPSHOT),
            first: AtomicU64::new(0),
            last: AtomicU64::new(0),
            prepare: AtomicU64::new(0),
            owner: Owner::new(number),
        })
    }

    pub fn number(&self) -> u32 {
        self.owner.slot
    }
    pub fn owner(&self) -> &Arc<Owner> {
        &self.owner
    }
    /// The registered snapshot.
    pub fn snapshot(&self) -> Option<Lsn> {
        Some(self.snapshot.load(Ordering::SeqCst)).filter(|lsn| *lsn != NO_SNAPSHOT).map(Lsn)
    }
    pub(super) fn set_snapshot(&self, lsn: Lsn) {
        self.snapshot.store(lsn.0, Ordering::SeqCst);
    }
    pub(super) fn clear_snapshot(&self) {
        self.snapshot.store(NO_SNAPSHOT, Ordering::Release);
    }
    /// Before the first record is reserved: `first` is the reserved LSN at that time.
    pub(crate) fn begin_writing(&self, id: TrxId, first: Lsn) {
        self.first.store(first.0, Ordering::Relaxed);
        self.last.store(0, Ordering::Relaxed);
        self.prepare.store(0, Ordering::Relaxed);
        self.owner.set_trx_id(id);
    }
    /// The log is kept from here on as long as the transaction's first record is.
    pub(crate) fn keep_from(&self, lsn: Lsn) {
        if lsn.0 < self.first.load(Ordering::Relaxed) {
            self.first.store(lsn.0, Ordering::Release);
        }
    }
    /// After a record was reserved and before the latches of the pages it changed are released (see
    /// `TrxSystem::active_transactions`).
    pub(crate) fn set_last(&self, last: Lsn) {
        self.last.store(last.0, Ordering::Release);
    }

    /// The Prepare record has been reserved, and the log cannot be ready past it yet: so a checkpoint that looks later knows.
    pub(crate) fn set_prepared(&self, prepare: Lsn) {
        self.prepare.store(prepare.0, Ordering::Release);
    }

    /// It has been decided that the prepared transaction is rolled back.
    pub(crate) fn clear_prepared(&self) {
        self.prepare.store(0, Ordering::Release);
    }

    fn active(&self) -> Option<ActiveTrx> {
        let id = self.owner.trx_id();
        let prepare = Lsn(self.prepare.load(Ordering::Acquire));
        let found = ActiveTrx {
            id,
            prepare,
            first: Lsn(self.first.load(Ordering::Acquire)),
            last: Lsn(self.last.load(Ordering::Acquire)),
            slot: self.number(),
        };
        // The same id before and after: the fields belong to it.
        (id.0 != 0 && self.in_use.load(Ordering::Acquire) && self.owner.trx_id() == id).then_some(found)
    }
}

/// All slots.
#[derive(Debug)]
pub struct Slots {
    slots: ArcSwap<Vec<Arc<Slot>>>,
    growing: Mutex<()>,
}

thread_local! {
    static LATEST: Cell<usize> = const { Cell::new(0) };
}

impl Slots {
    const FIRST: u32 = 64;

    pub fn new() -> Self {
        Self {
            slots: ArcSwap::from_pointee((0..Self::FIRST).map(Slot::new).collect()),
            growing: Mutex::new(()),
        }
    }

    /// Takes a free slot.
    pub fn take(&self, locks_gaps: bool) -> Arc<Slot> {
        let slot = loop {
            let slots = self.slots.load();
            let start = LATEST.get() % slots.len();
            let order = (start..slots.len()).chain(0..start);
            let free = |at: &usize| {
                let flag = &slots[*at].in_use;
                !flag.load(Ordering::Relaxed) && !flag.swap(true, Ordering::AcqRel)
            };
            if let Some(at) = order.into_iter().find(free) {
                LATEST.set(at);
                break Arc::clone(&slots[at]);
            }
            self.grow(slots.len());
        };
        slot.owner.open(locks_gaps);
        slot
    }

    /// Gives a slot back; its locks have been released.
    pub fn give_back(&self, slot: &Slot) {
        slot.clear_snapshot();
        slot.in_use.store(false, Ordering::Release);
    }

    fn grow(&self, seen: usize) {
        let _growing = lock(&self.growing);
        let old = self.slots.load_full();
        if old.len() == seen {
            let added = (seen as u32..2 * seen as u32).map(Slot::new);
            self.slots.store(Arc::new(old.iter().cloned().chain(added).collect()));
        }
    }

    /// The smallest registered snapshot below `limit`, or `limit`.
    pub fn oldest_snapshot(&self, limit: Lsn) -> Lsn {
        self.slots.load().iter().filter_map(|s| s.snapshot()).fold(limit, Lsn::min)
    }

    /// Transactions that have an id.
    pub fn active(&self) -> Vec<ActiveTrx> {
        self.slots.load().iter().filter_map(|s| s.active()).collect()
    }

    /// Slots in use, for lists.
    pub fn in_use(&self) -> Vec<Arc<Slot>> {
        self.slots.load().iter().filter(|s| s.in_use.load(Ordering::Relaxed)).cloned().collect()
    }
}

impl Default for Slots {
    fn default() -> Self {
        Self::new()
    }
}

impl Owners for Slots {
    fn owner(&self, slot: u32) -> Option<Arc<Owner>> {
        self.slots.load().get(slot as usize).map(|s| Arc::clone(&s.owner))
    }
}

#[cfg(all(test, not(feature = "shuttle")))]
mod tests {
    use super::*;

    #[test]
    fn a_thread_gets_its_slot_back_and_more_slots_come_when_needed() {
        let slots = Slots::new();
        let first = slots.take(true);
        slots.give_back(&first);
        assert_eq!(slots.take(true).number(), first.number());
        let taken: Vec<_> = (0..200).map(|_| slots.take(true).number()).collect();
        let mut distinct = taken.clone();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), taken.len());
        assert_eq!(slots.in_use().len(), 201);
    }

    #[test]
    fn only_writers_are_listed_and_the_oldest_snapshot_counts() {
        let slots = Slots::new();
        let (a, b) = (slots.take(true), slots.take(true));
        a.begin_writing(TrxId(7), Lsn(100));
        a.set_last(Lsn(120));
        b.set_snapshot(Lsn(90));
        let expected =
            ActiveTrx { id: TrxId(7), first: Lsn(100), last: Lsn(120), prepare: Lsn::NONE, slot: a.number() };
        assert_eq!(slots.active(), [expected]);
        assert_eq!(slots.oldest_snapshot(Lsn(95)), Lsn(90));
        assert_eq!(slots.oldest_snapshot(Lsn(80)), Lsn(80));
        slots.give_back(&b);
        assert_eq!(slots.oldest_snapshot(Lsn(95)), Lsn(95));
    }
}
