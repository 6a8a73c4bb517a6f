//! The records of one committed transaction, oldest first, without what was rolled back.
//!
//! # Two ways to them
//! A transaction's records are chained backwards; a compensation (`RowUndo`, `RollbackTo`) leads past what it undid. The chain of a
//! short transaction is walked back once. A long one has listed its standing records in `Extents` records, each of which names the one
//! before: these are gathered first, 8 bytes for each half MiB or so of log, then read one after the other, and only the chain behind
//! the last one is walked.
//!
//! # Invariants
//! T1. Memory: the list of `Extents`, one of them, and the chain behind the last.

use base::{Corruption, Lsn, TrxId};
use log_format::record::{Extents, Record};

use crate::api::ReadError;
use crate::frames::Frames;

/// Where a transaction's records are, from its Commit or Prepare record.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Chain {
    pub(crate) trx: TrxId,
    pub(crate) last: Lsn,
    pub(crate) extents: Lsn,
    pub(crate) phase: Phase,
    /// An event that ends the group says which transaction it was, XID or not: the group decides about it.
    pub(crate) decides: bool,
}

/// What kind of end the group's record is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    Commit,
    /// The Prepare record at this place: XA PREPARE.
    Prepare(Lsn),
    /// A decision about a prepared branch: XA COMMIT, or XA ROLLBACK.
    Decision {
        commits: bool,
    },
}

/// Hands out records in order.
pub(crate) struct Records {
    trx: TrxId,
    /// `Extents` records that are still to be read, the oldest last.
    extents: Vec<Lsn>,
    /// Records of the current one, the oldest last.
    listed: Vec<Lsn>,
    /// Records behind the last `Extents`, the oldest last.
    tail: Vec<Lsn>,
}

impl Records {
    pub(crate) fn new(frames: &mut Frames, chain: Chain) -> Result<Self, ReadError> {
        let mut records = Self { trx: chain.trx, extents: Vec::new(), listed: Vec::new(), tail: Vec::new() };
        let mut buffer = Vec::new();
        let mut at = chain.extents;
        let mut up_to = Lsn::NONE;
        while !at.is_none() {
            let extents = records.extents(frames, at, &mut buffer)?;
            if records.extents.is_empty() {
                up_to = extents.records.first().copied().unwrap_or_default();
            }
            records.extents.push(at);
            at = extents.before;
        }
        records.walk(frames, chain.last, up_to, &mut buffer)?;
        Ok(records)
    }

    fn extents(&self, frames: &mut Frames, at: Lsn, buffer: &mut Vec<u8>) -> Result<Extents, ReadError> {
        frames.unverified(at, buffer)?;
        match Record::decode(at, buffer) {
            Ok(Record::Extents(extents)) if extents.trx == self.trx => Ok(extents),
            Ok(_) => {
                Err(frames
                    .corrupt(at, Corruption::new("", "record", "Extents of the transaction", "another")))
            }
            Err(e) => Err(frames.corrupt(at, e)),
        }
    }

    /// The chain from `last` back to `up_to`, which is not part of it.
    fn walk(
        &mut self,
        frames: &mut Frames,
        last: Lsn,
        up_to: Lsn,
        buffer: &mut Vec<u8>,
    ) -> Result<(), ReadError> {
        let mut at = last;
        while at > up_to {
            frames.record(at, buffer)?;
            let record = Record::decode(at, buffer).map_err(|e| frames.corrupt(at, e))?;
            if record.trx() != Some(self.trx) {
                let found = Corruption::new("", "trx id", self.trx, "another");
                return Err(frames.corrupt(at, found));
            }
            if is_wanted(&record) {
                self.tail.push(at);
            }
            at = record.previous();
        }
        Ok(())
    }

    /// The next record's LSN, its bytes in `out`; `None` after the last one.
    pub(crate) fn next(&mut self, frames: &mut Frames, out: &mut Vec<u8>) -> Result<Option<Lsn>, ReadError> {
        while self.listed.is_empty() {
            let Some(at) = self.extents.pop() else { break };
            self.listed = self.extents(frames, at, out)?.records;
        }
        let Some(at) = self.listed.pop().or_else(|| self.tail.pop()) else { return Ok(None) };
        frames.record(at, out)?;
        Ok(Some(at))
    }
}

/// What an event group is made of.
fn is_wanted(record: &Record<'_>) -> bool {
    matches!(
        record,
        Record::RowInsert(_)
            | Record::RowUpdate(_)
            | Record::RowDelete(_)
            | Record::Statement(_)
            | Record::LongValue(_)
            | Record::Savepoint(_)
    )
}
