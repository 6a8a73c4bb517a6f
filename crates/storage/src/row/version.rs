//! Old versions of a row: from the newest one backwards through the log.
//!
//! A version's roll LSN names the record that made it; the record says which version was there before and how to make its body.
//!
//! # Invariants
//! V1. A version that somebody may have to look behind has a roll LSN, and the log is kept from there (`Kernel::needed_log`).
//! V2. A version with roll LSN none is visible to everybody, so nobody looks behind it.
//! V3. The record of a version that was seen on a page is complete: its writer had the page latched until then. It may still be
//!     above the log's ready LSN, because of others that write below it; they finish without needing a latch.

use base::{Corruption, Lsn, TrxId};
use log::LogReadError;
use log_format::record::{Record, row_flags};
use page_format::{LeafRecord, record_flags};

use super::RowError;
use super::undo::is_purged;
use crate::kernel::Kernel;

/// One version, with its stored body beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Version {
    pub(crate) trx: TrxId,
    pub(crate) roll: Lsn,
    /// Of `page_format::record_flags`.
    pub(crate) flags: u8,
}

impl Version {
    pub(crate) fn of(record: &LeafRecord<'_>) -> Self {
        Self { trx: record.trx, roll: record.roll, flags: record.flags }
    }
    pub(crate) fn is_deleted(self) -> bool {
        self.flags & record_flags::DELETED != 0
    }
    pub(crate) fn has_overflow(self) -> bool {
        self.flags & record_flags::OVERFLOW != 0
    }
}

/// Reads a record that is known to be complete (V3).
pub(crate) fn read_record(kernel: &Kernel, lsn: Lsn, out: &mut Vec<u8>) -> Result<(), RowError> {
    loop {
        match kernel.store.log.read(lsn, out) {
            Ok(()) => return Ok(()),
            Err(LogReadError::OutOfRange { end, first, .. }) if lsn >= end && lsn >= first => {
                if lsn >= kernel.store.log.reserved_lsn() {
                    return Err(Corruption::new("row version", "roll LSN", "inside the log", lsn).into());
                }
                std::thread::yield_now();
            }
            Err(LogReadError::Corrupt(found)) => return Err(found.into()),
            Err(other) => return Err(RowError::Storage(other.to_string())),
        }
    }
}

/// Goes one version back: `version` and `body` become the one before. False when the row did not exist before.
pub(crate) fn step_back(
    kernel: &Kernel,
    key: &[u8],
    version: &mut Version,
    body: &mut Vec<u8>,
    buffer: &mut Vec<u8>,
) -> Result<bool, RowError> {
    let lsn = version.roll;
    read_record(kernel, lsn, buffer)?;
    let (previous, flags, found_key) = match Record::decode(lsn, buffer)? {
        Record::RowInsert(insert) => {
            let Some(over) = insert.over else { return Ok(false) };
            match over.body {
                Some(old) => {
                    body.clear();
                    body.extend_from_slice(old);
                }
                // Who looks at this version sees that it is deleted, and looks no further.
                None if over.version.roll.is_none() || is_purged(kernel, over.version.trx) => body.clear(),
                None => body_of_delete(kernel, over.version.roll, body)?,
            }
            (over.version, record_flags::DELETED | overflow_before(insert.flags), key)
        }
        Record::RowUpdate(update) => {
            let mut old = Vec::with_capacity(body.len() + 16);
            update.old_body(body, &mut old)?;
            *body = old;
            (update.version, overflow_before(update.flags), update.key)
        }
        Record::RowDelete(delete) => (delete.version, overflow_before(delete.flags), delete.key),
        other => return Err(unexpected(lsn, &other)),
    };
    if found_key != key {
        return Err(Corruption::new(format_args!("record at {lsn}"), "key", "the row's", "another").into());
    }
    *version = Version { trx: previous.trx, roll: previous.roll, flags };
    Ok(true)
}

fn overflow_before(flags: u8) -> u8 {
    if flags & row_flags::OVERFLOW_BEFORE != 0 { record_flags::OVERFLOW } else { 0 }
}

/// The body that a delete record kept.
pub(crate) fn body_of_delete(kernel: &Kernel, lsn: Lsn, body: &mut Vec<u8>) -> Result<(), RowError> {
    let mut buffer = Vec::new();
    read_record(kernel, lsn, &mut buffer)?;
    match Record::decode(lsn, &buffer)? {
        Record::RowDelete(delete) => {
            let before = delete.before.ok_or_else(|| {
                Corruption::new(format_args!("record at {lsn}"), "body before", "one", "none")
            })?;
            body.clear();
            body.extend_from_slice(before);
            Ok(())
        }
        other => Err(unexpected(lsn, &other)),
    }
}

pub(crate) fn unexpected(lsn: Lsn, found: &Record<'_>) -> RowError {
    let found = format!("{:?}", found.record_type());
    Corruption::new(format_args!("record at {lsn}"), "type", "a change of a row", found).into()
}
