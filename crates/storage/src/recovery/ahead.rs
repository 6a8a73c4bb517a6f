//! Pages that redo will need are read beside it: redo stays a window of records behind the scan, and threads load what the records in
//! between change. One page after the other, redo waits for the device at each; together they keep it busy.
//!
//! # Invariants
//! A1. Records are applied in the order of the log, each once, all of them before the pages are used.
//! A2. Readers only load pages: a page is in memory once, whoever loads it, and redo waits for its latch. What a reader cannot load
//!     it leaves to redo, which knows whether that is an error (D2, D3).

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use base::{Corruption, Lsn, PageId};
use env::thread::{JoinHandle, SMALL_STACK};
use hashbrown::HashSet;
use log_format::record::Record;

use crate::pool::{AccessHint, BufferPool};

/// Bytes of records that redo stays behind, at least.
const WINDOW: usize = 2 << 20;
/// Reads under way at most.
const READERS: usize = 8;
/// Pools with fewer frames have no room for pages ahead.
const FRAMES_MIN: usize = 1024;

/// Applies the record at an LSN.
pub(super) type Apply<'a> = dyn FnMut(Lsn, &Record<'_>) -> Result<(), Corruption> + 'a;

/// Records on their way from the scan to redo.
pub(super) struct Window {
    readers: Option<Readers>,
    older: Batch,
    newer: Batch,
    /// Pages of `newer`, and those of them that are to be read.
    pages: HashSet<PageId>,
    wanted: Vec<PageId>,
}

#[derive(Default)]
struct Batch {
    bytes: Vec<u8>,
    /// Where each record ends.
    records: Vec<(Lsn, usize)>,
}

impl Window {
    /// `threads`: whether there may be readers; without them records pass straight through.
    pub(super) fn new(pool: &Arc<BufferPool>, threads: bool) -> Self {
        let readers = (threads && pool.config().frames >= FRAMES_MIN).then(|| Readers::start(pool));
        let (older, newer) = (Batch::default(), Batch::default());
        Self { readers, older, newer, pages: HashSet::new(), wanted: Vec::new() }
    }

    pub(super) fn push(
        &mut self,
        lsn: Lsn,
        bytes: &[u8],
        record: &Record<'_>,
        apply: &mut Apply<'_>,
    ) -> Result<(), Corruption> {
        let Some(readers) = &self.readers else { return apply(lsn, record) };
        for part in record.parts() {
            if self.pages.insert(part.page) && !part.op.is_format() && !readers.pool.contains(part.page) {
                self.wanted.push(part.page);
            }
        }
        self.newer.push(lsn, bytes);
        if self.newer.bytes.len() < WINDOW { Ok(()) } else { self.turn(apply) }
    }

    /// Applies what is left, and ends the readers.
    pub(super) fn finish(mut self, apply: &mut Apply<'_>) -> Result<(), Corruption> {
        self.turn(apply)?;
        self.turn(apply)
    }

    /// The newer batch's pages begin to be read, the older batch is applied.
    fn turn(&mut self, apply: &mut Apply<'_>) -> Result<(), Corruption> {
        if let Some(readers) = &self.readers {
            readers.ask(&mut self.wanted);
        }
        self.pages.clear();
        self.older.apply(apply)?;
        std::mem::swap(&mut self.older, &mut self.newer);
        Ok(())
    }
}

impl Batch {
    fn push(&mut self, lsn: Lsn, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        self.records.push((lsn, self.bytes.len()));
    }

    fn apply(&mut self, apply: &mut Apply<'_>) -> Result<(), Corruption> {
        let mut from = 0;
        for &(lsn, end) in &self.records {
            apply(lsn, &Record::decode(lsn, &self.bytes[from..end])?)?;
            from = end;
        }
        self.bytes.clear();
        self.records.clear();
        Ok(())
    }
}

/// The threads; they end when this is dropped.
struct Readers {
    pool: Arc<BufferPool>,
    wishes: Arc<Wishes>,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Default)]
struct Wishes {
    /// Pages to be read, and whether no more come.
    state: Mutex<(VecDeque<PageId>, bool)>,
    changed: Condvar,
}

impl Wishes {
    fn lock(&self) -> MutexGuard<'_, (VecDeque<PageId>, bool)> {
        // Each change is one step.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn next(&self) -> Option<PageId> {
        let mut state = self.lock();
        loop {
            if state.1 {
                return None;
            }
            if let Some(page) = state.0.pop_front() {
                return Some(page);
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Readers {
    fn start(pool: &Arc<BufferPool>) -> Self {
        let wishes = Arc::<Wishes>::default();
        let start = |_| {
            let (pool, wishes) = (Arc::clone(pool), Arc::clone(&wishes));
            env::thread::spawn("redo-reader", SMALL_STACK, move || {
                while let Some(page) = wishes.next() {
                    // A2.
                    let _ = pool.read(page, AccessHint::Normal);
                }
            })
        };
        // Fewer threads read less ahead.
        let threads = (0..READERS).map_while(|i| start(i).ok()).collect();
        Self { pool: Arc::clone(pool), wishes, threads }
    }

    /// Has pages read, as many as the pool can well hold; what redo has overtaken needs no reader any more.
    fn ask(&self, pages: &mut Vec<PageId>) {
        pages.truncate(self.pool.config().frames / 8);
        let mut state = self.wishes.lock();
        state.0.clear();
        state.0.extend(pages.drain(..));
        drop(state);
        self.wishes.changed.notify_all();
    }
}

impl Drop for Readers {
    fn drop(&mut self) {
        self.wishes.lock().1 = true;
        self.wishes.changed.notify_all();
        for thread in self.threads.drain(..) {
            // A panic of the thread was reported where it happened; redo reads what it did not.
            let _ = thread.join();
        }
    }
}
