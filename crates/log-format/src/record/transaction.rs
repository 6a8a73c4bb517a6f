//! Records of a transaction's course.
//!
//! # Layout
//! ```text
//! Commit      trx varint | first link | last link | extents link | commit time varint (microseconds since 1970)
//!             | with GTID: domain varint, server varint, sequence varint, thread id varint
//! Abort       trx | last link
//! Savepoint   trx | previous link | body string (of the QUERY event)
//! RollbackTo  trx | undo-next link
//! Extents     trx | link to the transaction's Extents before | count varint | {LSN as distance below the one before}...
//! Prepare     trx | first link | last link | extents link | time varint (microseconds since 1970)
//!             | format id varint (zigzag) | gtrid string | bqual string | with GTID: domain varint, server varint,
//!             sequence varint, thread id varint
//! Statement   trx | previous link | base link | packed text string
//! Event       trx | previous link | statement time varint (microseconds since 1970) | event type u8 | event flags varint | body string
//! LongValue   trx | previous link | column varint | bytes string
//! ```
//! # What stands where in a transaction's chain
//! * A Statement stands right behind the first row record of its statement, which is its base: most of the text is in that row's
//!   image and is a reference to it ([`crate::text`]).
//! * LongValue records stand before the row record whose body before the change they belong to: values that the body keeps on
//!   overflow pages, when an event needs them and they were written by another transaction.
//! * An Event of a DDL statement is its transaction's last record.
//! * A Savepoint stands below what ROLLBACK TO undoes, so it stays; there is none before the first row record that is for replicas.

use super::link::{known_flags, put_gtid, put_link, take_gtid, take_link, take_trx, take_u32};
use base::{Corruption, Gtid, Lsn, Put, Reader, TrxId};

/// Bits of a commit record's flags that its writer chooses.
pub mod commit_flags {
    /// The transaction is a DDL statement.
    pub const DDL: u8 = 1;
    /// It cannot be undone by a replica that applies it in parallel (it touched what is not transactional).
    pub const NOT_TRANSACTIONAL: u8 = 2;
    /// It is the second phase of an XA transaction.
    pub const XA: u8 = 4;
    /// It waited for a row lock (a hint for parallel replicas).
    pub const WAITED: u8 = 8;
    /// skip_parallel_replication was set.
    pub const NO_PARALLEL: u8 = 0x10;
    /// skip_replication was set: every event of the group says so.
    pub const SKIP_REPLICATION: u8 = 0x20;
    /// The binary log is in files of its own: the group stands there, not here. A Prepare without GTID says that a group there decides
    /// about the transaction.
    pub const IN_FILE: u8 = 0x40;
    /// All that a writer may set.
    pub const CHOSEN: u8 = DDL | NOT_TRANSACTIONAL | XA | WAITED | NO_PARALLEL | SKIP_REPLICATION | IN_FILE;
}

const GTID: u8 = 0x80;

/// The transaction has happened. Order of these records = commit order = order of visibility and of GTIDs (L4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Commit {
    pub trx: TrxId,
    /// First and last record of the transaction.
    pub first: Lsn,
    pub last: Lsn,
    /// Its newest [`Extents`] record, if any.
    pub extents: Lsn,
    /// Microseconds since 1970.
    pub time: u64,
    /// Of [`commit_flags`].
    pub flags: u8,
    /// When the transaction is an event group.
    pub gtid: Option<Gtid>,
    /// The connection that committed; said with the GTID only.
    pub thread_id: u32,
}

/// Everything the transaction did has been undone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Abort {
    pub trx: TrxId,
    pub last: Lsn,
}

/// SAVEPOINT, as replicas hear of it. Rollback does not need the record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Savepoint<'a> {
    pub trx: TrxId,
    pub previous: Lsn,
    /// The QUERY event behind its common header.
    pub body: &'a [u8],
}

/// The transaction's records after `undo_next` have been undone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RollbackTo {
    pub trx: TrxId,
    /// The newest record that still stands; the chain goes on from there.
    pub undo_next: Lsn,
}

/// Where a long transaction's records are; about one for each MiB of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Extents {
    pub trx: TrxId,
    /// The Extents record before this one.
    pub before: Lsn,
    /// LSNs of records, newest first.
    pub records: Vec<Lsn>,
}

/// XA PREPARE: an event group of its own, ordered like a commit; the transaction stays undecided over a restart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prepare<'a> {
    pub trx: TrxId,
    pub first: Lsn,
    pub last: Lsn,
    pub extents: Lsn,
    /// Microseconds since 1970.
    pub time: u64,
    /// Of [`commit_flags`].
    pub flags: u8,
    pub xid: Xid<'a>,
    /// When the transaction is in the binary log.
    pub gtid: Option<Gtid>,
    /// The connection that prepared it; said with the GTID only.
    pub thread_id: u32,
}

/// Name of an XA transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Xid<'a> {
    pub format_id: i32,
    pub gtrid: &'a [u8],
    pub bqual: &'a [u8],
}

/// Text of the statement whose first row record is `base`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Statement<'a> {
    pub trx: TrxId,
    pub previous: Lsn,
    /// The record that the text refers to.
    pub base: Lsn,
    /// See [`crate::text`]; the dictionary is the whole base record.
    pub packed: &'a [u8],
}

/// A piece of a column's value before the change that the next row record describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LongValue<'a> {
    pub trx: TrxId,
    pub previous: Lsn,
    pub column: u32,
    /// Goes on where the column's piece before ended.
    pub bytes: &'a [u8],
}

/// A replication event that is not made of row records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event<'a> {
    pub trx: TrxId,
    pub previous: Lsn,
    /// When the statement began, in microseconds since 1970.
    pub time: u64,
    /// Type and flags of the binlog event.
    pub event_type: u8,
    pub event_flags: u32,
    /// The event behind its common header.
    pub body: &'a [u8],
}

impl Commit {
    pub(super) fn encode(&self, lsn: Lsn, out: &mut Vec<u8>) -> u8 {
        out.put_varint(self.trx.0);
        put_link(out, lsn, self.first);
        put_link(out, lsn, self.last);
        put_link(out, lsn, self.extents);
        out.put_varint(self.time);
        let flags = self.flags & commit_flags::CHOSEN;
        let Some(gtid) = &self.gtid else { return flags };
        put_gtid(out, gtid);
        out.put_varint(u64::from(self.thread_id));
        flags | GTID
    }
    pub(super) fn decode(lsn: Lsn, flags: u8, reader: &mut Reader<'_>) -> Result<Self, Corruption> {
        known_flags(flags, commit_flags::CHOSEN | GTID)?;
        let mut commit = Self {
            trx: take_trx(reader, "trx id")?,
            first: take_link(reader, lsn, "first record")?,
            last: take_link(reader, lsn, "last record")?,
            extents: take_link(reader, lsn, "extents")?,
            time: reader.varint("commit time")?,
            flags: flags & commit_flags::CHOSEN,
            gtid: None,
            thread_id: 0,
        };
        if flags & GTID != 0 {
            commit.gtid = Some(take_gtid(reader)?);
            commit.thread_id = take_u32(reader, "thread id")?;
        }
        Ok(commit)
    }
}

impl Abort {
    pub(super) fn encode(&self, lsn: Lsn, out: &mut Vec<u8>) -> u8 {
        out.put_varint(self.trx.0);
        put_link(out, lsn, self.last);
        0
    }
    pub(super) fn decode(lsn: Lsn, flags: u8, reader: &mut Reader<'_>) -> Result<Self, Corruption> {
        known_flags(flags, 0)?;
        Ok(Self { trx: take_trx(reader, "trx id")?, last: take_link(reader, lsn, "last record")? })
    }
}

impl<'a> Savepoint<'a> {
    pub(super) fn encode(&self, lsn: Lsn, out: &mut Vec<u8>) -> u8 {
        out.put_varint(self.trx.0);
        put_link(out, lsn, self.previous);
        out.put_string(self.body);
        0
    }
    pub(super) fn decode(lsn: Lsn, flags: u8, reader: &mut Reader<'a>) -> Result<Self, Corruption> {
        known_flags(flags, 0)?;
        let trx = take_trx(reader, "trx id")?;
        let previous = take_link(reader, lsn, "previous record")?;
        Ok(Self { trx, previous, body: reader.string("event body")? })
    }
}

impl RollbackTo {
    pub(super) fn encode(&self, lsn: Lsn, out: &mut Vec<u8>) -> u8 {
        out.put_varint(self.trx.0);
        put_link(out, lsn, self.undo_next);
        0
    }
    pub(super) fn decode(lsn: Lsn, flags: u8, reader: &mut Reader<'_>) -> Result<Self, Corruption> {
        known_flags(flags, 0)?;
        let trx = take_trx(reader, "trx id")?;
        Ok(Self { trx, undo_next: take_link(reader, lsn, "next record to undo")? })
    }
}

impl Extents {
    pub(super) fn encode(&self, lsn: Lsn, out: &mut Vec<u8>) -> u8 {
        out.put_varint(self.trx.0);
        put_link(out, lsn, self.before);
        out.put_varint(self.records.len() as u64);
        let mut above = lsn;
        for &record in &self.records {
            put_link(out, above, record);
            above = record;
        }
        0
    }
    pub(super) fn decode(lsn: Lsn, flags: u8, reader: &mut Reader<'_>) -> Result<Self, Corruption> {
        known_flags(flags, 0)?;
        let trx = take_trx(reader, "trx id")?;
        let before = take_link(reader, lsn, "extents before")?;
        let count = reader.length("extent count")?;
        let mut records = Vec::with_capacity(count.min(1 << 16));
        let mut above = lsn;
        for _ in 0..count {
            let record = take_link(reader, above, "extent")?;
            if record.is_none() {
                return Err(Corruption::new("", "extent", "an LSN", "none"));
            }
            records.push(record);
            above = record;
        }
        Ok(Self { trx, before, records })
    }
}

impl<'a> Prepare<'a> {
    pub(super) fn encode(&self, lsn: Lsn, out: &mut Vec<u8>) -> u8 {
        out.put_varint(self.trx.0);
        put_link(out, lsn, self.first);
        put_link(out, lsn, self.last);
        put_link(out, lsn, self.extents);
        out.put_varint(self.time);
        let format_id = self.xid.format_id;
        out.put_varint(u64::from(((format_id << 1) ^ (format_id >> 31)) as u32));
        out.put_string(self.xid.gtrid);
        out.put_string(self.xid.bqual);
        let flags = self.flags & commit_flags::CHOSEN;
        let Some(gtid) = &self.gtid else { return flags };
        put_gtid(out, gtid);
        out.put_varint(u64::from(self.thread_id));
        flags | GTID
    }
    pub(super) fn decode(lsn: Lsn, flags: u8, reader: &mut Reader<'a>) -> Result<Self, Corruption> {
        known_flags(flags, commit_flags::CHOSEN | GTID)?;
        let trx = take_trx(reader, "trx id")?;
        let first = take_link(reader, lsn, "first record")?;
        let last = take_link(reader, lsn, "last record")?;
        let extents = take_link(reader, lsn, "extents")?;
        let time = reader.varint("prepare time")?;
        let zigzag = take_u32(reader, "XID format id")?;
        let format_id = (zigzag >> 1) as i32 ^ -((zigzag & 1) as i32);
        let (gtrid, bqual) = (reader.string("XID gtrid")?, reader.string("XID bqual")?);
        let mut gtid = None;
        let mut thread_id = 0;
        if flags & GTID != 0 {
            gtid = Some(take_gtid(reader)?);
            thread_id = take_u32(reader, "thread id")?;
        }
        let flags = flags & commit_flags::CHOSEN;
        let xid = Xid { format_id, gtrid, bqual };
        Ok(Self { trx, first, last, extents, time, flags, xid, gtid, thread_id })
    }
}

impl<'a> Statement<'a> {
    pub(super) fn encode(&self, lsn: Lsn, out: &mut Vec<u8>) -> u8 {
        out.put_varint(self.trx.0);
        put_link(out, lsn, self.previous);
        put_link(out, lsn, self.base);
        out.put_string(self.packed);
        0
    }
    pub(super) fn decode(lsn: Lsn, flags: u8, reader: &mut Reader<'a>) -> Result<Self, Corruption> {
        known_flags(flags, 0)?;
        let trx = take_trx(reader, "trx id")?;
        let previous = take_link(reader, lsn, "previous record")?;
        let base = take_link(reader, lsn, "base record")?;
        Ok(Self { trx, previous, base, packed: reader.string("statement text")? })
    }
}

impl<'a> LongValue<'a> {
    pub(super) fn encode(&self, lsn: Lsn, out: &mut Vec<u8>) -> u8 {
        out.put_varint(self.trx.0);
        put_link(out, lsn, self.previous);
        out.put_varint(u64::from(self.column));
        out.put_string(self.bytes);
        0
    }
    pub(super) fn decode(lsn: Lsn, flags: u8, reader: &mut Reader<'a>) -> Result<Self, Corruption> {
        known_flags(flags, 0)?;
        let trx = take_trx(reader, "trx id")?;
        let previous = take_link(reader, lsn, "previous record")?;
        let column = take_u32(reader, "column")?;
        Ok(Self { trx, previous, column, bytes: reader.string("long value")? })
    }
}

impl<'a> Event<'a> {
    pub(super) fn encode(&self, lsn: Lsn, out: &mut Vec<u8>) -> u8 {
        out.put_varint(self.trx.0);
        put_link(out, lsn, self.previous);
        out.put_varint(self.time);
        out.put_u8(self.event_type);
        out.put_varint(u64::from(self.event_flags));
        out.put_string(self.body);
        0
    }
    pub(super) fn decode(lsn: Lsn, flags: u8, reader: &mut Reader<'a>) -> Result<Self, Corruption> {
        known_flags(flags, 0)?;
        let trx = take_trx(reader, "trx id")?;
        let previous = take_link(reader, lsn, "previous record")?;
        let time = reader.varint("statement time")?;
        let event_type = reader.u8("event type")?;
        let event_flags = take_u32(reader, "event flags")?;
        Ok(Self { trx, previous, time, event_type, event_flags, body: reader.string("event body")? })
    }
}
