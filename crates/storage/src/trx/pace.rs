//! Pacing of large transactions: what one has logged is never far ahead of what is durable.
//!
//! A transaction that logs much without waiting fills the ring. Everybody else's next commit then writes and syncs those bytes
//! with its own few, and waits for all of them; and so does the large transaction's own commit at its end. So before a
//! change, once in [`STEP`] bytes of its own, a transaction asks the log's background thread to make durable what it has logged, and
//! waits until what it had logged one step before is: mostly it is by then. And from its
//! second step on, and while other transactions begin to write, it offers the processor, before every fourth change, to whoever is
//! ready to run: the others' short transactions go first, as they would after a wait. A load that runs alone offers nothing: on a busy
//! machine each offer is a time slice that some other program takes.
//!
//! The same step looks at the disk: what the transaction has logged, its rollback may have to log again in part. While the volume has no room
//! for that, for all running large transactions together, the change is refused (the table is full): a rollback is not short of log, and
//! the small transactions of others still find room.
//!
//! # Invariants
//! P1. At a change a transaction has at most two steps of its own log that are not durable, so its commit waits for no more (L3).
//! P2. A small transaction never waits: it ends before its first step does.
//! P3. Pacing happens between changes, with no latch held.

use base::{Lsn, TrxId};

use super::Trx;
use crate::row::RowError;

/// Own log bytes between two waits.
const STEP: u64 = 512 << 10;

/// Changes between two offers of the processor: each change would make the large transaction several times slower on a machine
/// that has no core to spare, none would more than double the others' p99 there.
const YIELD_EVERY: u32 = 4;

/// A compensation holds no more than the old half of what it undoes.
const UNDO_SHARE: u64 = 2;

/// Changes for which the last sight of another writer counts.
const COMPANY: u32 = 256;

/// Where the transaction stood at its last step.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    bytes: u64,
    last: Lsn,
    changes: u32,
    /// The transaction id to be given out next, when last looked at, and the changes since it moved.
    next_id: TrxId,
    alone: u32,
}

impl Pace {
    /// Whether to offer the processor before this change.
    fn gives_way(&mut self, next_id: TrxId) -> bool {
        self.changes = self.changes.wrapping_add(1);
        if self.last.is_none() || !self.changes.is_multiple_of(YIELD_EVERY) {
            return false;
        }
        self.alone = if next_id == self.next_id { self.alone.saturating_add(YIELD_EVERY) } else { 0 };
        self.next_id = next_id;
        self.alone < COMPANY
    }
}

impl Trx {
    /// Lets the log keep up; call it before each change.
    #[inline]
    pub(crate) fn pace(&mut self) -> Result<(), RowError> {
        let bytes = self.state.slot.owner().weight();
        if bytes.saturating_sub(self.state.pace.bytes) < STEP {
            if self.state.pace.gives_way(self.kernel.trxs.table().next_id()) {
                env::thread::give_way();
            }
            return Ok(());
        }
        self.step(bytes)
    }

    fn step(&mut self, bytes: u64) -> Result<(), RowError> {
        self.work().list_records()?;
        self.owe_undo((bytes - self.state.pace.bytes) / UNDO_SHARE)?;
        let pace = &mut self.state.pace;
        pace.bytes = bytes;
        let last = std::mem::replace(&mut pace.last, self.state.last);
        let log = &self.kernel.store.log;
        log.ask_durable(self.state.last + 1);
        if last.is_none() {
            return Ok(());
        }
        // The record at `last` is durable when its first byte is: durable LSNs are ends of frames.
        log.wait_commit(last + 1).map_err(|e| RowError::Storage(e.to_string()))
    }

    fn owe_undo(&mut self, bytes: u64) -> Result<(), RowError> {
        self.state.owes += bytes;
        let all = self.kernel.owe(bytes);
        if self.kernel.store.log.has_room_for(all) { Ok(()) } else { Err(RowError::Full) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_that_runs_alone_soon_keeps_the_processor() {
        let mut pace = Pace { last: Lsn(1), ..Pace::default() };
        let offers = |pace: &mut Pace, next_id: fn(u64) -> u64| {
            (0..4000).filter(|i| pace.gives_way(TrxId(next_id(*i)))).count()
        };
        assert_eq!(
            offers(&mut pace, |i| 7 + i / 100),
            1000,
            "one among others offers at every fourth change"
        );
        assert!(offers(&mut pace, |_| 99) <= (COMPANY / YIELD_EVERY) as usize);
        let mut small = Pace::default();
        assert_eq!(offers(&mut small, |i| i), 0, "one that has made no step never does");
    }
}
