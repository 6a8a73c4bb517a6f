//! The transaction table: trx id -> active, committed at an LSN, or rolled back; read without locks.
//!
//! # Layout
//! Ids are numbered from one counter; chunk `id / CHUNK` holds the state word of `id`:
//! ```text
//! 0                    not started yet (an id that was handed out a moment ago), counts as active
//! bit 63 set           active; the low 32 bits are the slot
//! bit 62 set           rolled back: every change has been undone
//! else                 LSN of the commit record
//! ```
//! The directory of chunks is replaced, never changed, when a chunk is added at its end or dropped from its front; readers load it
//! without writing to shared memory.
//!
//! # Invariants
//! X1. Below the watermark every transaction is decided, and committed ones are visible in every snapshot, taken or to come.
//! X2. A chunk is dropped only when the watermark has passed it. An id below the first chunk is therefore an old one.
//! X3. A state is final once it is a commit LSN or rolled back.
//! X4. The commit LSN is stored before the log's ready LSN can pass the commit record, so whoever has a snapshot above that
//!     LSN finds it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arc_swap::ArcSwap;
use base::{Lsn, TrxId};

use crate::sync::{Mutex, lock};

const CHUNK: u64 = 4096;
const ACTIVE: u64 = 1 << 63;
const ROLLED_BACK: u64 = 1 << 62;

/// What became of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    Active {
        /// `None` in the moment between taking the id and the first write.
        slot: Option<u32>,
    },
    Committed(Lsn),
    /// Every change has been undone, so no row carries the id any more. After a restart also said of old transactions.
    RolledBack,
    /// Decided long ago: visible to everybody.
    Old,
}

impl Fate {
    pub fn is_active(self) -> bool {
        matches!(self, Self::Active { .. })
    }

    fn from_word(word: u64) -> Self {
        match word {
            0 => Self::Active { slot: None },
            w if w & ACTIVE != 0 => Self::Active { slot: Some(w as u32) },
            w if w & ROLLED_BACK != 0 => Self::RolledBack,
            w => Self::Committed(Lsn(w)),
        }
    }
}

#[derive(Debug)]
struct Chunk([AtomicU64; CHUNK as usize]);

impl Chunk {
    fn new() -> Arc<Self> {
        Arc::new(Self([const { AtomicU64::new(0) }; CHUNK as usize]))
    }
}

/// The chunks at one time.
#[derive(Debug)]
struct Directory {
    /// Number of the first chunk.
    first: u64,
    chunks: Vec<Arc<Chunk>>,
}

impl Directory {
    fn word(&self, id: TrxId) -> Option<&AtomicU64> {
        let chunk = self.chunks.get(usize::try_from((id.0 / CHUNK).checked_sub(self.first)?).ok()?)?;
        Some(&chunk.0[(id.0 % CHUNK) as usize])
    }
    fn is_before(&self, id: TrxId) -> bool {
        id.0 / CHUNK < self.first
    }
    /// `None` when the id is newer than this directory.
    fn fate(&self, id: TrxId) -> Option<Fate> {
        match self.word(id) {
            Some(word) => Some(Fate::from_word(word.load(Ordering::Acquire))),
            None if self.is_before(id) => Some(Fate::Old),
            None => None,
        }
    }
}

#[derive(Debug)]
pub struct TrxTable {
    next: AtomicU64,
    watermark: AtomicU64,
    directory: ArcSwap<Directory>,
    /// Serialises changes of the directory and of the watermark; a reader or a committer never waits for it.
    growing: Mutex<()>,
}

impl TrxTable {
    /// A table whose first id will be `next`; everything before is old.
    pub fn new(next: TrxId) -> Self {
        assert!(next.0 > 0, "trx id 0 means none");
        let directory = Directory { first: next.0 / CHUNK, chunks: vec![Chunk::new()] };
        Self {
            next: AtomicU64::new(next.0),
            watermark: AtomicU64::new(next.0),
            directory: ArcSwap::from_pointee(directory),
            growing: Mutex::new(()),
        }
    }

    /// The id the next writer will get.
    pub fn next_id(&self) -> TrxId {
        TrxId(self.next.load(Ordering::SeqCst))
    }
    /// See X1.
    pub fn watermark(&self) -> TrxId {
        TrxId(self.watermark.load(Ordering::Acquire))
    }

    /// A new id, active in `slot`.
    pub fn start(&self, slot: u32) -> TrxId {
        let id = TrxId(self.next.fetch_add(1, Ordering::SeqCst));
        self.set(id, ACTIVE | u64::from(slot));
        if id.0 % CHUNK == CHUNK / 2 {
            self.grow(TrxId(id.0 + CHUNK));
        }
        id
    }

    /// Recovery: transaction `id` was active at the crash. Only before anybody else uses the table.
    pub fn resurrect(&self, id: TrxId, slot: u32) {
        let _growing = lock(&self.growing);
        let old = self.directory.load_full();
        let first = old.first.min(id.0 / CHUNK);
        let mut chunks: Vec<Arc<Chunk>> = (first..old.first).map(|_| Chunk::new()).collect();
        // Ids between old losers were decided before the crash.
        for chunk in &chunks {
            chunk.0.iter().for_each(|word| word.store(ROLLED_BACK, Ordering::Relaxed));
        }
        if self.watermark() == self.next_id() {
            let own = old.chunks[0].0.iter().take((self.next_id().0 % CHUNK) as usize);
            own.for_each(|word| word.store(ROLLED_BACK, Ordering::Relaxed));
        }
        chunks.extend(old.chunks.iter().cloned());
        self.directory.store(Arc::new(Directory { first, chunks }));
        self.set(id, ACTIVE | u64::from(slot));
        self.watermark.fetch_min(id.0, Ordering::SeqCst);
    }

    /// Recovery: transaction `id` had committed, but purge has not seen it yet.
    pub fn resurrect_committed(&self, id: TrxId, commit: Lsn) {
        if !self.directory.load().is_before(id) && id >= self.watermark() {
            self.set(id, commit.0);
        }
    }

    /// Stores the commit LSN; X4 is the caller's.
    pub fn commit(&self, id: TrxId, commit: Lsn) {
        debug_assert!(commit.0 != 0 && commit.0 < ROLLED_BACK);
        self.set(id, commit.0);
    }
    pub fn roll_back(&self, id: TrxId) {
        self.set(id, ROLLED_BACK);
    }

    fn set(&self, id: TrxId, word: u64) {
        loop {
            if let Some(at) = self.directory.load().word(id) {
                at.store(word, Ordering::Release);
                return;
            }
            self.grow(id);
        }
    }

    /// Adds chunks up to the one that holds `id`.
    fn grow(&self, id: TrxId) {
        let _growing = lock(&self.growing);
        let old = self.directory.load_full();
        let wanted = (id.0 / CHUNK + 1).saturating_sub(old.first) as usize;
        if wanted <= old.chunks.len() {
            return;
        }
        let mut chunks = old.chunks.clone();
        chunks.resize_with(wanted, Chunk::new);
        self.directory.store(Arc::new(Directory { first: old.first, chunks }));
    }

    pub fn fate(&self, id: TrxId) -> Fate {
        if id < self.watermark() {
            return Fate::Old;
        }
        // An id nobody has been given yet can only come from corrupt bytes; it counts as active, so nobody reads past it.
        self.directory.load().fate(id).unwrap_or(Fate::Active { slot: None })
    }

    /// Moves the watermark over decided transactions that committed below `visible`, a bound that no snapshot, taken or
    /// to come, is below. Gives up at once when somebody else is at it.
    pub fn advance(&self, visible: Lsn) {
        let Ok(_growing) = self.growing.try_lock() else { return };
        let directory = self.directory.load_full();
        let next = self.next_id();
        let mut at = self.watermark();
        while at < next {
            match directory.fate(at) {
                Some(Fate::Committed(lsn)) if lsn < visible => {}
                Some(Fate::RolledBack | Fate::Old) => {}
                _ => break,
            }
            at = TrxId(at.0 + 1);
        }
        self.watermark.store(at.0, Ordering::Release);
        let passed = (at.0 / CHUNK).saturating_sub(directory.first) as usize;
        // One passed chunk is kept, so that the directory is not replaced at each boundary twice.
        if passed > 1 {
            let chunks = directory.chunks[passed - 1..].to_vec();
            let first = directory.first + passed as u64 - 1;
            self.directory.store(Arc::new(Directory { first, chunks }));
        }
    }
}

#[cfg(all(test, not(feature = "shuttle")))]
mod tests {
    use super::*;

    #[test]
    fn a_transaction_is_active_until_it_is_decided() {
        let table = TrxTable::new(TrxId(10));
        let (a, b) = (table.start(3), table.start(4));
        assert_eq!((a, b), (TrxId(10), TrxId(11)));
        assert_eq!(table.fate(a), Fate::Active { slot: Some(3) });
        table.commit(a, Lsn(500));
        table.roll_back(b);
        assert_eq!((table.fate(a), table.fate(b)), (Fate::Committed(Lsn(500)), Fate::RolledBack));
        assert_eq!(table.fate(TrxId(9)), Fate::Old);
        assert!(table.fate(TrxId(12)).is_active());
    }

    #[test]
    fn the_watermark_stops_at_an_active_one_and_at_one_that_is_too_new() {
        let table = TrxTable::new(TrxId(1));
        let ids: Vec<_> = (0..4).map(|slot| table.start(slot)).collect();
        table.commit(ids[0], Lsn(100));
        table.commit(ids[1], Lsn(300));
        table.commit(ids[3], Lsn(200));
        table.advance(Lsn(300));
        assert_eq!(table.watermark(), ids[1]);
        table.advance(Lsn(301));
        assert_eq!(table.watermark(), ids[2]);
        table.roll_back(ids[2]);
        table.advance(Lsn(301));
        assert_eq!(table.watermark(), TrxId(5));
    }

    #[test]
    fn old_chunks_go_and_a_reader_keeps_what_it_has_loaded() {
        let table = TrxTable::new(TrxId(1));
        let view = table.directory.load_full();
        for n in 0..5 * CHUNK {
            let id = table.start(0);
            table.commit(id, Lsn(n + 1));
        }
        let last = TrxId(5 * CHUNK);
        assert_eq!(view.fate(last), None);
        table.advance(Lsn(u64::MAX));
        assert!(table.directory.load().chunks.len() <= 3);
        assert_eq!(view.fate(TrxId(7)), Some(Fate::Committed(Lsn(7))));
        assert_eq!(table.directory.load().fate(TrxId(7)), Some(Fate::Old));
    }

    #[test]
    fn losers_of_a_crash_are_active_and_their_neighbours_old() {
        let table = TrxTable::new(TrxId(3 * CHUNK + 9));
        table.resurrect(TrxId(CHUNK + 5), 1);
        table.resurrect(TrxId(3 * CHUNK + 2), 2);
        assert_eq!(table.fate(TrxId(CHUNK + 5)), Fate::Active { slot: Some(1) });
        assert_eq!(table.fate(TrxId(3 * CHUNK + 2)), Fate::Active { slot: Some(2) });
        assert_eq!(table.fate(TrxId(2 * CHUNK)), Fate::RolledBack);
        assert_eq!(table.fate(TrxId(3 * CHUNK + 8)), Fate::RolledBack);
        table.roll_back(TrxId(CHUNK + 5));
        table.roll_back(TrxId(3 * CHUNK + 2));
        table.advance(Lsn(1));
        assert_eq!(table.watermark(), TrxId(3 * CHUNK + 9));
    }

    #[test]
    fn ids_are_taken_from_many_threads_without_a_gap() {
        let table = TrxTable::new(TrxId(1));
        std::thread::scope(|s| {
            for slot in 0..4 {
                let table = &table;
                s.spawn(move || {
                    for _ in 0..3 * CHUNK {
                        let id = table.start(slot);
                        assert_eq!(table.fate(id), Fate::Active { slot: Some(slot) });
                        table.commit(id, Lsn(id.0));
                        table.advance(Lsn(id.0 / 2));
                    }
                });
            }
        });
        table.advance(Lsn(u64::MAX));
        assert_eq!(table.watermark(), TrxId(12 * CHUNK + 1));
    }
}
