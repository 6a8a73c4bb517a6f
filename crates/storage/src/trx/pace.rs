//! Pacing of large transactions: what one has logged is never far ahead of what is durable.
//!
//! A transaction that logs much without waiting fills the ring. Everybody else's next commit then writes and syncs those bytes
//! with its own few, and waits for all of them; and so does the large transaction's own commit at its end. So before a
//! change, once in [`STEP`] bytes of its own, a transaction waits until what it had logged one step before is durable. And from its
//! second step on it offers the processor, before every fourth change, to whoever is ready to run: the others' short transactions go
//! first, as they would after a wait.
//!
//! # Invariants
//! P1. At a change a transaction has at most two steps of its own log that are not durable, so its commit waits for no more (L3).
//! P2. A small transaction never waits: it ends before its first step does.
//! P3. Pacing happens between changes, with no latch held.

use base::Lsn;

use super::Trx;
use crate::row::RowError;

/// Own log bytes between two waits.
const STEP: u64 = 512 << 10;

/// Changes between two offers of the processor: each change would make the large transaction several times slower on a machine
/// that has no core to spare, none would more than double the others' p99 there.
const YIELD_EVERY: u32 = 4;

/// Where the transaction stood at its last step.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    bytes: u64,
    last: Lsn,
    changes: u32,
}

impl Trx {
    /// Lets the log keep up; call it before each change.
    #[inline]
    pub(crate) fn pace(&mut self) -> Result<(), RowError> {
        let bytes = self.state.slot.owner().weight();
        if bytes.saturating_sub(self.state.pace.bytes) < STEP {
            self.state.pace.changes = self.state.pace.changes.wrapping_add(1);
            if !self.state.pace.last.is_none() && self.state.pace.changes.is_multiple_of(YIELD_EVERY) {
                env::thread::give_way();
            }
            return Ok(());
        }
        self.step(bytes)
    }

    fn step(&mut self, bytes: u64) -> Result<(), RowError> {
        self.work().list_records()?;
        let last =
            std::mem::replace(&mut self.state.pace, Pace { bytes, last: self.state.last, changes: 0 }).last;
        if last.is_none() {
            return Ok(());
        }
        // The record at `last` is durable when its first byte is: durable LSNs are ends of frames.
        self.kernel.store.log.wait_commit(last + 1).map_err(|e| RowError::Storage(e.to_string()))
    }
}
