//! Purge: removes what no version needs any more, in commit order.
//!
//! One thread takes committed transactions from the queue, in the order of their commit records, as far as the oldest snapshot
//! allows. It reads each one's records from the log (nearly always from its ring) and removes
//! - clustered rows that the transaction has delete-marked, if they still are its version;
//! - secondary entries that it has delete-marked, if they still are and no version that somebody may read has them;
//! - overflow chains of values it has replaced or whose row it has deleted.
//!
//! # Invariants
//! G1. A commit is looked at only when it is below the purge limit: its effects are visible in every snapshot.
//! G2. Everything can be done twice: after a crash purge begins again at the position of the checkpoint. A row is recognised by the
//!     LSN of the record that deleted it, an entry by its deleted flag, a page of a chain by its LSN.
//! G3. Purge holds the exclusive latch of an entry's leaf while it looks at the row's versions, so nobody can take the entry into
//!     use in between. Order: secondary leaf, then clustered leaf.
//! G4. Commits never wait for purge; the queue takes them all.
//!
//! # Crash
//! Removals are redo-only records. A chain that was not given back when its row was removed is given back by the repetition.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use base::{Corruption, Lsn, TableId};
use log_format::record::{Before, Record, RowDelete, RowInsert, RowUpdate, SecIndex, row_flags};
use page_format::{PageOp, record_flags};

use crate::btree::overflow::free_value;
use crate::kernel::{Kernel, PurgeQueue};
use crate::row::{RowError, entry_is_needed, free_chains, overflow_chains, read_record, remove_entry};
use crate::table::{Table, TableSource, is_current};
use crate::trx::CommittedTrx;

/// The consumer of committed transactions. Runs in one thread.
pub struct Purge {
    kernel: Arc<Kernel>,
    tables: Arc<dyn TableSource>,
    queue: PurgeQueue,
    /// Commits taken from the queue, smallest commit LSN first.
    waiting: BinaryHeap<Reverse<CommittedTrx>>,
    record: Vec<u8>,
}

/// What one round did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PurgeRound {
    pub transactions: usize,
    /// Commits that a snapshot or the round's limit holds back.
    pub waiting: usize,
}

impl Purge {
    pub fn new(kernel: Arc<Kernel>, tables: Arc<dyn TableSource>, queue: PurgeQueue) -> Self {
        Self { kernel, tables, queue, waiting: BinaryHeap::new(), record: Vec::new() }
    }

    /// Works through what may be purged, at most `transactions_max` transactions; publishes how far it came.
    pub fn run(&mut self, transactions_max: usize) -> Result<PurgeRound, RowError> {
        let reserved = self.kernel.store.log.reserved_lsn();
        // Before the queue is read: whoever commits from here on is either among these or in the queue.
        let active = self.kernel.trxs.active_transactions();
        let limit = self.kernel.trxs.advance();
        self.drain();
        let mut round = PurgeRound::default();
        while round.transactions < transactions_max {
            match self.waiting.peek() {
                Some(Reverse(next)) if next.commit < limit => {}
                _ => break,
            }
            let Some(Reverse(next)) = self.waiting.pop() else { break };
            if next.leaves_garbage
                && let Err(error) = self.purge(next)
            {
                self.waiting.push(Reverse(next));
                return Err(error);
            }
            round.transactions += 1;
        }
        self.drain();
        round.waiting = self.waiting.len();
        let purged = self.waiting.peek().map_or(limit, |Reverse(next)| next.commit.min(limit));
        self.kernel.set_purge_position(purged);
        let oldest = self.waiting.iter().map(|Reverse(w)| w.first).chain(active.iter().map(|a| a.first));
        self.kernel.set_needed_log(oldest.fold(reserved.min(purged), Lsn::min));
        Ok(round)
    }

    /// Commits that have not been purged.
    pub fn backlog(&self) -> usize {
        self.waiting.len()
    }

    fn drain(&mut self) {
        self.waiting.extend(self.queue.0.try_iter().map(Reverse));
    }

    fn purge(&mut self, done: CommittedTrx) -> Result<(), RowError> {
        let mut at = done.last;
        let mut buffer = std::mem::take(&mut self.record);
        let result = loop {
            if at.is_none() {
                break Ok(());
            }
            match self.purge_record(at, &mut buffer) {
                Ok(previous) => at = previous,
                Err(error) => break Err(error),
            }
        };
        self.record = buffer;
        result
    }

    /// Does what the record at `at` left; returns the record before it in the chain.
    fn purge_record(&self, at: Lsn, buffer: &mut Vec<u8>) -> Result<Lsn, RowError> {
        read_record(&self.kernel, at, buffer)?;
        let record = Record::decode(at, buffer)?;
        let (done, exists) = match &record {
            Record::RowDelete(delete) => (self.purge_delete(at, delete), self.has_table(delete.table)),
            Record::RowInsert(insert) => (self.purge_insert(insert), self.has_table(insert.table)),
            Record::RowUpdate(update) => (self.purge_update(at, update), self.has_table(update.table)),
            Record::SecIndex(entry) => (self.purge_entry(entry), self.index(entry).is_some()),
            _ => (Ok(()), true),
        };
        // A table that was dropped meanwhile took its garbage along.
        match done {
            Err(error) if exists => Err(error),
            _ => Ok(record.previous()),
        }
    }

    fn has_table(&self, id: TableId) -> bool {
        self.tables.table(id).is_some()
    }

    fn purge_delete(&self, at: Lsn, delete: &RowDelete<'_>) -> Result<(), RowError> {
        let Some(table) = self.tables.table(delete.table) else { return Ok(()) };
        let leaf = table.tree(0).write(&self.kernel.store, delete.key)?;
        let body = {
            if !leaf.exact() {
                return Ok(());
            }
            let record = leaf.record()?;
            if !record.is_deleted() || record.roll != at {
                return Ok(());
            }
            record.has_overflow().then(|| record.body.to_vec())
        };
        remove_entry(&self.kernel, &table, 0, leaf, delete.key, |leaf, op| {
            leaf.log_system(op)?;
            Ok(())
        })?;
        match body {
            Some(body) => free_chains(&self.kernel, &table, delete.version.roll, &body),
            None => Ok(()),
        }
    }

    /// An insert over a deleted row: the chains of that row are nobody's now.
    fn purge_insert(&self, insert: &RowInsert<'_>) -> Result<(), RowError> {
        let over = insert.over.as_ref().filter(|_| insert.flags & row_flags::OVERFLOW_BEFORE != 0);
        let Some((roll, body)) = over.and_then(|o| Some((o.version.roll, o.body?))) else { return Ok(()) };
        match self.tables.table(insert.table) {
            Some(table) => free_chains(&self.kernel, &table, roll, body),
            None => Ok(()),
        }
    }

    /// An update of a row with long values: chains of the old body that the new one does not have. Such a record has the whole
    /// body before.
    fn purge_update(&self, at: Lsn, update: &RowUpdate<'_>) -> Result<(), RowError> {
        let (Before::Full(old), true) = (update.before, update.flags & row_flags::OVERFLOW_BEFORE != 0)
        else {
            return Ok(());
        };
        let Some(table) = self.tables.table(update.table) else { return Ok(()) };
        let PageOp::UpdateRow { flags, splices, .. } = update.part.op else { return Ok(()) };
        let mut new = Vec::new();
        if splices.apply(old, &mut new).is_none() {
            return Err(
                Corruption::new(update.part.page, "splices", "those of the body before", "others").into()
            );
        }
        let spec = table.spec();
        let kept = overflow_chains(spec.shapes_of(at), &new, flags & record_flags::OVERFLOW != 0)?;
        for (_, chain) in overflow_chains(spec.shapes_of(update.version.roll), old, true)? {
            if !kept.iter().any(|(_, kept)| *kept == chain) {
                free_value(&self.kernel.store, spec.space, chain)?;
            }
        }
        Ok(())
    }

    fn purge_entry(&self, entry: &SecIndex<'_>) -> Result<(), RowError> {
        let PageOp::MarkKey { deleted: true, .. } = entry.part.op else { return Ok(()) };
        let Some((table, index)) = self.index(entry) else { return Ok(()) };
        let leaf = table.tree(index).write(&self.kernel.store, entry.key)?;
        if !leaf.exact() || !leaf.record()?.is_deleted() {
            return Ok(());
        }
        let needed = entry_is_needed(&self.kernel, &table, index, entry.key, None);
        // A definition that was replaced meanwhile may not know the layout of the rows looked at: look again.
        if !is_current(&*self.tables, &table) {
            drop(leaf);
            return self.purge_entry(entry);
        }
        if needed? {
            return Ok(());
        }
        remove_entry(&self.kernel, &table, index, leaf, entry.key, |leaf, op| {
            leaf.log_system(op)?;
            Ok(())
        })
    }

    fn index(&self, entry: &SecIndex<'_>) -> Option<(Arc<Table>, usize)> {
        let table = self.tables.table_of_index(entry.index)?;
        let index = table.index_position(entry.index)?;
        Some((table, index))
    }
}

impl std::fmt::Debug for Purge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Purge").field("waiting", &self.waiting.len()).finish_non_exhaustive()
    }
}
