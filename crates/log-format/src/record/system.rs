//! Records of the engine itself: page structure, checkpoints, table definitions, GTID state.
//!
//! # Layout
//! ```text
//! System      part count varint | parts
//! Checkpoint  redo start link | purge position link | next trx id varint | next table id | next index id | next space id
//!             | active count varint, {trx varint, first link, last link, state u8}... | GTID state | extension string
//! TableDef    table id varint | version varint | definition string
//! GtidState   GTID state
//! GTID state  as-of link | needs link | count varint, {domain varint, server varint, sequence varint}...   (by domain; the newest of a domain last)
//! ```
//! System records are redo only: nothing undoes them, and what they change means the same before and after.

use super::link::{
    known_flags, put_gtid, put_link, put_part, take_gtid, take_link, take_part, take_trx, take_u32,
};
use base::{Corruption, Gtid, IndexId, Lsn, PageId, Put, Reader, SpaceId, TableId, TrxId};
use page_format::PageOp;

/// One change of one page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PagePart<'a> {
    pub page: PageId,
    /// The page's LSN before the record.
    pub previous: Lsn,
    pub op: PageOp<'a>,
}

/// A split, merge, allocation, removal by purge, or any other change that no transaction owns. All parts or none are redone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct System<'a> {
    pub parts: Vec<PagePart<'a>>,
}

/// The facts that recovery starts from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint<'a> {
    /// Every change of a record before this LSN is in the pages' files.
    pub redo_start: Lsn,
    /// Purge has nothing left to do for commits before this LSN.
    pub purge_position: Lsn,
    pub next: NextIds,
    pub active: Vec<ActiveTrx>,
    pub gtids: GtidState,
    /// For facts of later versions.
    pub extension: &'a [u8],
}

/// The lowest ids that have not been given out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct NextIds {
    pub trx: TrxId,
    pub table: TableId,
    pub index: IndexId,
    pub space: SpaceId,
}

/// A transaction without an outcome at a checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ActiveTrx {
    pub trx: TrxId,
    pub first: Lsn,
    pub last: Lsn,
    pub state: TrxState,
}

/// How far a transaction without an outcome has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum TrxState {
    Active = 0,
    /// XA PREPARE is durable: only the user may end it.
    Prepared = 1,
    RollingBack = 2,
}

/// What readers of the log need to make events of one version of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TableDef<'a> {
    pub table: TableId,
    pub version: u32,
    /// The row layout and names, in the form of the crate that writes it.
    pub definition: &'a [u8],
}

/// The newest GTID of every domain and server. Appended at the head of each segment, before the first commit with a GTID in it (behind
/// it when the segment changed in between: then `at` is that commit), and every innodb_binlog_state_interval bytes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GtidState {
    /// The state holds exactly the commits of records below this LSN; none = the record's own.
    pub at: Lsn,
    /// Lowest record that commits with a GTID since the head of the segment before refer to; none = nothing below the segment
    /// that they stand in. A segment is kept as long as one that refers to it.
    pub needs: Lsn,
    /// RESET MASTER, SET GLOBAL gtid_binlog_state: event groups before are no longer part of the binary log.
    pub replaces: bool,
    pub gtids: Vec<Gtid>,
}

const REPLACES: u8 = 1;

impl<'a> System<'a> {
    pub(super) fn encode(&self, lsn: Lsn, out: &mut Vec<u8>) -> u8 {
        out.put_varint(self.parts.len() as u64);
        for part in &self.parts {
            put_part(out, lsn, TrxId(0), part);
        }
        0
    }
    pub(super) fn decode(lsn: Lsn, flags: u8, reader: &mut Reader<'a>) -> Result<Self, Corruption> {
        known_flags(flags, 0)?;
        let count = reader.length("part count")?;
        let mut parts = Vec::with_capacity(count.min(16));
        for _ in 0..count {
            parts.push(take_part(reader, lsn, TrxId(0))?);
        }
        Ok(Self { parts })
    }
}

impl<'a> Checkpoint<'a> {
    pub(super) fn encode(&self, lsn: Lsn, out: &mut Vec<u8>) -> u8 {
        put_link(out, lsn, self.redo_start);
        put_link(out, lsn, self.purge_position);
        out.put_varint(self.next.trx.0);
        out.put_varint(self.next.table.0);
        out.put_varint(self.next.index.0);
        out.put_varint(u64::from(self.next.space.0));
        out.put_varint(self.active.len() as u64);
        for active in &self.active {
            out.put_varint(active.trx.0);
            put_link(out, lsn, active.first);
            put_link(out, lsn, active.last);
            out.put_u8(active.state as u8);
        }
        self.gtids.put(lsn, out);
        out.put_string(self.extension);
        0
    }
    pub(super) fn decode(lsn: Lsn, flags: u8, reader: &mut Reader<'a>) -> Result<Self, Corruption> {
        known_flags(flags, 0)?;
        let redo_start = take_link(reader, lsn, "redo start")?;
        let purge_position = take_link(reader, lsn, "purge position")?;
        let next = NextIds {
            trx: take_trx(reader, "next trx id")?,
            table: TableId(reader.varint("next table id")?),
            index: IndexId(reader.varint("next index id")?),
            space: SpaceId(take_u32(reader, "next space id")?),
        };
        let count = reader.length("count of active transactions")?;
        let mut active = Vec::with_capacity(count.min(1024));
        for _ in 0..count {
            active.push(ActiveTrx {
                trx: take_trx(reader, "trx id")?,
                first: take_link(reader, lsn, "first record")?,
                last: take_link(reader, lsn, "last record")?,
                state: match reader.u8("transaction state")? {
                    0 => TrxState::Active,
                    1 => TrxState::Prepared,
                    2 => TrxState::RollingBack,
                    other => return Err(Corruption::new("", "transaction state", "0..=2", other)),
                },
            });
        }
        let gtids = GtidState::take(lsn, reader)?;
        Ok(Self { redo_start, purge_position, next, active, gtids, extension: reader.string("extension")? })
    }
}

impl<'a> TableDef<'a> {
    pub(super) fn encode(&self, out: &mut Vec<u8>) -> u8 {
        out.put_varint(self.table.0);
        out.put_varint(u64::from(self.version));
        out.put_string(self.definition);
        0
    }
    pub(super) fn decode(flags: u8, reader: &mut Reader<'a>) -> Result<Self, Corruption> {
        known_flags(flags, 0)?;
        let table = TableId(reader.varint("table id")?);
        let version = take_u32(reader, "table version")?;
        Ok(Self { table, version, definition: reader.string("definition")? })
    }
}

impl GtidState {
    /// The LSN that [`at`](Self::at) means in a record at `lsn`.
    pub fn as_of(&self, lsn: Lsn) -> Lsn {
        if self.at.is_none() { lsn } else { self.at }
    }
    pub(super) fn encode(&self, lsn: Lsn, out: &mut Vec<u8>) -> u8 {
        self.put(lsn, out);
        if self.replaces { REPLACES } else { 0 }
    }
    pub(super) fn decode(lsn: Lsn, flags: u8, reader: &mut Reader<'_>) -> Result<Self, Corruption> {
        known_flags(flags, REPLACES)?;
        Ok(Self { replaces: flags & REPLACES != 0, ..Self::take(lsn, reader)? })
    }
    fn put(&self, lsn: Lsn, out: &mut Vec<u8>) {
        put_link(out, lsn, if self.at < lsn { self.at } else { Lsn::NONE });
        put_link(out, lsn, self.needs);
        out.put_varint(self.gtids.len() as u64);
        for gtid in &self.gtids {
            put_gtid(out, gtid);
        }
    }
    fn take(lsn: Lsn, reader: &mut Reader<'_>) -> Result<Self, Corruption> {
        let at = take_link(reader, lsn, "as-of LSN of the GTID state")?;
        let needs = take_link(reader, lsn, "lowest LSN needed")?;
        let count = reader.length("GTID count")?;
        let mut gtids = Vec::with_capacity(count.min(1024));
        for _ in 0..count {
            gtids.push(take_gtid(reader)?);
        }
        Ok(Self { at, needs, replaces: false, gtids })
    }
}
