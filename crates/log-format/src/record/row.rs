//! Records of one transaction that change one page each.
//!
//! # Layout
//! ```text
//! head        trx varint | previous record link
//! table       table id varint | table version varint | with ANNOUNCED: TableDef link | event options u8 | with WRITTEN: bitmap string
//! RowInsert   head | table | part (InsertRow; over a deleted row ReplaceRow)
//!             with OVER_DELETED: previous version | key string;  with BEFORE: old body string
//! RowUpdate   head | table | part (UpdateRow) | previous version | key string
//!             | with BEFORE: whole old body string, else the removed bytes of all splices string | with CONTEXT: context string
//! RowDelete   head | table | part (MarkRow) | previous version | key string | with BEFORE: body string | with CONTEXT: context string
//! SecIndex    head | index id varint | part (InsertKey, MarkKey, Remove) | with KEY: key string
//! Overflow    head | part (SetBits) | part (FormatOverflow)
//! RowUndo     trx varint | undone record link | undo-next link | part
//! previous version    trx id varint as distance below the record's trx (zigzag) | link to the record that made it
//! ```
//! What a reader gets from one record, without the page or a dictionary:
//! * redo: the part;
//! * rollback: the key, the previous version's stamp, and how to make its body from the current one;
//! * old versions: the same, following `previous version` on;
//! * events: the image (insert: the part's body; update: before and splices; delete: before), or, with a binlog_row_image that
//!   leaves columns out, the bytes of those it has: splices, removed bytes and the [`context`](crate::context).

use super::link::{known_flags, put_link, put_part, take_link, take_part, take_trx};
use super::system::PagePart;
use base::{Corruption, IndexId, Lsn, Put, Reader, TableId, TrxId};
use page_format::{PageOp, Splices};

/// Bits of a row record's flags that its writer chooses.
pub mod row_flags {
    /// The change is an event for replicas and the binlog (not with sql_log_bin=0, cascades or temporary tables).
    pub const REPLICATE: u8 = 1;
    /// The first row record of its statement that stands. (Its writer cannot know which one will be the last; a reader that sees
    /// this flag, or the commit, knows that the record before was.)
    pub const STARTS_STATEMENT: u8 = 2;
    /// This delete and the insert after it (or the insert, of the delete before) are one UPDATE that changed the primary key.
    pub const KEY_UPDATE: u8 = 4;
    /// The body before the change has overflow columns.
    pub const OVERFLOW_BEFORE: u8 = 8;
    /// All that a writer may set.
    pub const CHOSEN: u8 = REPLICATE | STARTS_STATEMENT | KEY_UPDATE | OVERFLOW_BEFORE;
}

/// RowInsert: the key was there, delete-marked.
const OVER_DELETED: u8 = 0x10;
/// RowUpdate, RowDelete: bytes that events need stand in a context.
const CONTEXT: u8 = 0x10;
/// The whole body before the change is in the record.
const BEFORE: u8 = 0x20;
/// SecIndex: the key stands after the part, which has none.
const KEY: u8 = 0x40;
/// RowInsert, RowUpdate, RowDelete: the table's definition is named.
const ANNOUNCED: u8 = 0x40;
/// Beside ANNOUNCED: the columns that the statement writes are named.
const WRITTEN: u8 = 0x80;

/// Names what a reader needs to make events of a transaction's rows in one table: stands in the first of them that stands, and in
/// the first one of a statement that wants them otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Announce<'a> {
    /// A `TableDef` record, in this segment or, when the segment ended in between, in the one before.
    pub definition: Lsn,
    /// Of [`event_options`].
    pub options: u8,
    /// A bit for each column that the statement writes, for images that depend on it; empty = not known.
    pub written: &'a [u8],
}

/// How the session that wrote the rows wants their events.
pub mod event_options {
    /// binlog_row_image, in the order of MariaDB's values: MINIMAL, NOBLOB, FULL, FULL_NODUP.
    pub const IMAGE: u8 = 3;
    /// foreign_key_checks was off.
    pub const NO_FOREIGN_KEY_CHECKS: u8 = 4;
    /// unique_checks was off.
    pub const RELAXED_UNIQUE_CHECKS: u8 = 8;
    pub(super) const ALL: u8 = IMAGE | NO_FOREIGN_KEY_CHECKS | RELAXED_UNIQUE_CHECKS;
}

/// The version of a row that a change replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PreviousVersion {
    pub trx: TrxId,
    /// LSN of the record that made it; none when nothing older can be asked for.
    pub roll: Lsn,
}

impl PreviousVersion {
    fn put(self, out: &mut Vec<u8>, lsn: Lsn, trx: TrxId) {
        let distance = trx.0.wrapping_sub(self.trx.0) as i64;
        out.put_varint(((distance << 1) ^ (distance >> 63)) as u64);
        put_link(out, lsn, self.roll);
    }
    fn take(reader: &mut Reader<'_>, lsn: Lsn, trx: TrxId) -> Result<Self, Corruption> {
        let zigzag = reader.varint("previous trx id")?;
        let distance = (zigzag >> 1) ^ (zigzag & 1).wrapping_neg();
        let previous = trx.0.wrapping_sub(distance);
        if previous >= 1 << 48 {
            return Err(Corruption::new("", "previous trx id", "48 bits", previous));
        }
        Ok(Self { trx: TrxId(previous), roll: take_link(reader, lsn, "previous version")? })
    }
}

/// A new row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowInsert<'a> {
    pub trx: TrxId,
    pub previous: Lsn,
    pub table: TableId,
    pub table_version: u32,
    pub announce: Option<Announce<'a>>,
    /// Of [`row_flags`].
    pub flags: u8,
    /// `InsertRow`, or `ReplaceRow` over a delete-marked row.
    pub part: PagePart<'a>,
    pub over: Option<OverDeleted<'a>>,
}

/// The delete-marked row that an insert took the place of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OverDeleted<'a> {
    pub version: PreviousVersion,
    pub key: &'a [u8],
    /// Its body, unless the record that deleted it has it.
    pub body: Option<&'a [u8]>,
}

/// What an update keeps of the body before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Before<'a> {
    /// The whole body: an event's full before image.
    Full(&'a [u8]),
    /// The bytes that the splices removed, concatenated.
    Removed(&'a [u8]),
}

/// A changed row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowUpdate<'a> {
    pub trx: TrxId,
    pub previous: Lsn,
    pub table: TableId,
    pub table_version: u32,
    pub announce: Option<Announce<'a>>,
    pub flags: u8,
    /// `UpdateRow`.
    pub part: PagePart<'a>,
    pub version: PreviousVersion,
    pub key: &'a [u8],
    pub before: Before<'a>,
    /// What events need of the row and is not in `before` and the splices; see [`crate::context`].
    pub context: Option<&'a [u8]>,
}

/// A row that is now delete-marked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowDelete<'a> {
    pub trx: TrxId,
    pub previous: Lsn,
    pub table: TableId,
    pub table_version: u32,
    pub announce: Option<Announce<'a>>,
    pub flags: u8,
    /// `MarkRow`.
    pub part: PagePart<'a>,
    pub version: PreviousVersion,
    pub key: &'a [u8],
    /// The body, when an event needs it.
    pub before: Option<&'a [u8]>,
    /// What events need of the body; see [`crate::context`].
    pub context: Option<&'a [u8]>,
}

/// A changed secondary index entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SecIndex<'a> {
    pub trx: TrxId,
    pub previous: Lsn,
    pub index: IndexId,
    /// `InsertKey`, `MarkKey` or `Remove`.
    pub part: PagePart<'a>,
    /// The entry's key; the same as in an `InsertKey` part, where it is encoded once.
    pub key: &'a [u8],
}

/// A chunk of a long value, on a page that it allocates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Overflow<'a> {
    pub trx: TrxId,
    pub previous: Lsn,
    /// `SetBits` (the allocation), then `FormatOverflow`.
    pub parts: [PagePart<'a>; 2],
}

/// The undoing of one record of the same transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowUndo<'a> {
    pub trx: TrxId,
    /// The record that is undone.
    pub undone: Lsn,
    /// The next record of the transaction to undo.
    pub undo_next: Lsn,
    pub part: PagePart<'a>,
}

/// Fields at the start of the three row records.
struct Head<'a> {
    trx: TrxId,
    previous: Lsn,
    table: TableId,
    table_version: u32,
    announce: Option<Announce<'a>>,
}

impl<'a> Head<'a> {
    /// Answers the flag of what it wrote.
    fn put(&self, out: &mut Vec<u8>, lsn: Lsn) -> u8 {
        put_trx_head(out, lsn, self.trx, self.previous);
        out.put_varint(self.table.0);
        out.put_varint(u64::from(self.table_version));
        let Some(announce) = self.announce else { return 0 };
        put_link(out, lsn, announce.definition);
        out.put_u8(announce.options & event_options::ALL);
        if announce.written.is_empty() {
            return ANNOUNCED;
        }
        out.put_string(announce.written);
        ANNOUNCED | WRITTEN
    }
    fn take(reader: &mut Reader<'a>, lsn: Lsn, flags: u8) -> Result<Self, Corruption> {
        let (trx, previous) = take_trx_head(reader, lsn)?;
        let table = TableId(reader.varint("table id")?);
        let table_version = super::link::take_u32(reader, "table version")?;
        let mut announce = None;
        if flags & ANNOUNCED != 0 {
            let definition = take_link(reader, lsn, "table definition")?;
            let options = reader.u8("event options")?;
            known_flags(options, event_options::ALL)?;
            let written = if flags & WRITTEN != 0 { reader.string("written columns")? } else { &[] };
            announce = Some(Announce { definition, options, written });
        } else if flags & WRITTEN != 0 {
            return Err(Corruption::new("", "record flags", "a named table beside its columns", "none"));
        }
        Ok(Self { trx, previous, table, table_version, announce })
    }
}

fn put_trx_head(out: &mut Vec<u8>, lsn: Lsn, trx: TrxId, previous: Lsn) {
    out.put_varint(trx.0);
    put_link(out, lsn, previous);
}

fn take_trx_head(reader: &mut Reader<'_>, lsn: Lsn) -> Result<(TrxId, Lsn), Corruption> {
    Ok((take_trx(reader, "trx id")?, take_link(reader, lsn, "previous record")?))
}

/// Answers the flag of what it wrote.
fn put_context(context: Option<&[u8]>, out: &mut Vec<u8>) -> u8 {
    let Some(context) = context else { return 0 };
    out.put_string(context);
    CONTEXT
}

fn take_context<'a>(reader: &mut Reader<'a>, flags: u8) -> Result<Option<&'a [u8]>, Corruption> {
    if flags & CONTEXT != 0 { reader.string("context").map(Some) } else { Ok(None) }
}

/// Fails unless the part's operation is of the record's kind.
fn expect_op(part: &PagePart<'_>, fits: bool, expected: &'static str) -> Result<(), Corruption> {
    if fits { Ok(()) } else { Err(Corruption::new(part.page, "page operation", expected, "another")) }
}

impl<'a> RowInsert<'a> {
    pub(super) fn encode(&self, lsn: Lsn, out: &mut Vec<u8>) -> u8 {
        let head = Head {
            trx: self.trx,
            previous: self.previous,
            table: self.table,
            table_version: self.table_version,
            announce: self.announce,
        };
        let announced = head.put(out, lsn);
        put_part(out, lsn, self.trx, &self.part);
        let mut flags = self.flags & row_flags::CHOSEN | announced;
        if let Some(over) = &self.over {
            flags |= OVER_DELETED;
            over.version.put(out, lsn, self.trx);
            out.put_string(over.key);
            if let Some(body) = over.body {
                flags |= BEFORE;
                out.put_string(body);
            }
        }
        flags
    }
    pub(super) fn decode(lsn: Lsn, flags: u8, reader: &mut Reader<'a>) -> Result<Self, Corruption> {
        known_flags(flags, row_flags::CHOSEN | OVER_DELETED | BEFORE | ANNOUNCED | WRITTEN)?;
        let Head { trx, previous, table, table_version, announce } = Head::take(reader, lsn, flags)?;
        let part = take_part(reader, lsn, trx)?;
        let mut over = None;
        if flags & OVER_DELETED != 0 {
            expect_op(&part, matches!(part.op, PageOp::ReplaceRow { .. }), "ReplaceRow")?;
            let version = PreviousVersion::take(reader, lsn, trx)?;
            let key = reader.string("key")?;
            let body = if flags & BEFORE != 0 { Some(reader.string("old body")?) } else { None };
            over = Some(OverDeleted { version, key, body });
        } else {
            expect_op(&part, matches!(part.op, PageOp::InsertRow { .. }), "InsertRow")?;
            known_flags(flags, row_flags::CHOSEN | ANNOUNCED | WRITTEN)?;
        }
        Ok(Self {
            trx,
            previous,
            table,
            table_version,
            announce,
            flags: flags & row_flags::CHOSEN,
            part,
            over,
        })
    }
    /// The key of the row.
    pub fn key(&self) -> &'a [u8] {
        match (self.part.op, &self.over) {
            (_, Some(over)) => over.key,
            (PageOp::InsertRow { key, .. }, None) => key,
            _ => &[],
        }
    }
    /// The body of the new row.
    pub fn body(&self) -> &'a [u8] {
        match self.part.op {
            PageOp::InsertRow { body, .. } | PageOp::ReplaceRow { body, .. } => body,
            _ => &[],
        }
    }
}

impl<'a> RowUpdate<'a> {
    pub(super) fn encode(&self, lsn: Lsn, out: &mut Vec<u8>) -> u8 {
        let head = Head {
            trx: self.trx,
            previous: self.previous,
            table: self.table,
            table_version: self.table_version,
            announce: self.announce,
        };
        let announced = head.put(out, lsn);
        put_part(out, lsn, self.trx, &self.part);
        self.version.put(out, lsn, self.trx);
        out.put_string(self.key);
        let (before, flag) = match self.before {
            Before::Full(body) => (body, BEFORE),
            Before::Removed(bytes) => (bytes, 0),
        };
        out.put_string(before);
        self.flags & row_flags::CHOSEN | flag | announced | put_context(self.context, out)
    }
    pub(super) fn decode(lsn: Lsn, flags: u8, reader: &mut Reader<'a>) -> Result<Self, Corruption> {
        known_flags(flags, row_flags::CHOSEN | BEFORE | ANNOUNCED | WRITTEN | CONTEXT)?;
        let Head { trx, previous, table, table_version, announce } = Head::take(reader, lsn, flags)?;
        let part = take_part(reader, lsn, trx)?;
        expect_op(&part, matches!(part.op, PageOp::UpdateRow { .. }), "UpdateRow")?;
        let version = PreviousVersion::take(reader, lsn, trx)?;
        let (key, before) = (reader.string("key")?, reader.string("before")?);
        let before = if flags & BEFORE != 0 { Before::Full(before) } else { Before::Removed(before) };
        let context = take_context(reader, flags)?;
        let flags = flags & row_flags::CHOSEN;
        Ok(Self { trx, previous, table, table_version, announce, flags, part, version, key, before, context })
    }
    /// The splices from the old to the new body.
    pub fn splices(&self) -> Option<Splices<'a>> {
        match self.part.op {
            PageOp::UpdateRow { splices, .. } => Some(splices),
            _ => None,
        }
    }
    /// Appends the old body to `out`, given the new one.
    pub fn old_body(&self, new: &[u8], out: &mut Vec<u8>) -> Result<(), Corruption> {
        let removed = match self.before {
            Before::Full(body) => {
                out.extend_from_slice(body);
                return Ok(());
            }
            Before::Removed(bytes) => bytes,
        };
        self.splices()
            .and_then(|splices| page_format::restore(new, splices, removed, out))
            .ok_or_else(|| Corruption::new(self.part.page, "splices", "those of the version above", "others"))
    }
}

impl<'a> RowDelete<'a> {
    pub(super) fn encode(&self, lsn: Lsn, out: &mut Vec<u8>) -> u8 {
        let head = Head {
            trx: self.trx,
            previous: self.previous,
            table: self.table,
            table_version: self.table_version,
            announce: self.announce,
        };
        let announced = head.put(out, lsn);
        put_part(out, lsn, self.trx, &self.part);
        self.version.put(out, lsn, self.trx);
        out.put_string(self.key);
        let mut flags = self.flags & row_flags::CHOSEN | announced;
        if let Some(before) = self.before {
            out.put_string(before);
            flags |= BEFORE;
        }
        flags | put_context(self.context, out)
    }
    pub(super) fn decode(lsn: Lsn, flags: u8, reader: &mut Reader<'a>) -> Result<Self, Corruption> {
        known_flags(flags, row_flags::CHOSEN | BEFORE | ANNOUNCED | WRITTEN | CONTEXT)?;
        let Head { trx, previous, table, table_version, announce } = Head::take(reader, lsn, flags)?;
        let part = take_part(reader, lsn, trx)?;
        expect_op(&part, matches!(part.op, PageOp::MarkRow { deleted: true, .. }), "MarkRow deleted")?;
        let version = PreviousVersion::take(reader, lsn, trx)?;
        let key = reader.string("key")?;
        let before = if flags & BEFORE != 0 { Some(reader.string("before")?) } else { None };
        let context = take_context(reader, flags)?;
        let flags = flags & row_flags::CHOSEN;
        Ok(Self { trx, previous, table, table_version, announce, flags, part, version, key, before, context })
    }
}

impl<'a> SecIndex<'a> {
    pub(super) fn encode(&self, lsn: Lsn, out: &mut Vec<u8>) -> u8 {
        put_trx_head(out, lsn, self.trx, self.previous);
        out.put_varint(self.index.0);
        put_part(out, lsn, self.trx, &self.part);
        if let PageOp::InsertKey { key, .. } = self.part.op {
            debug_assert_eq!(key, self.key);
            return 0;
        }
        out.put_string(self.key);
        KEY
    }
    pub(super) fn decode(lsn: Lsn, flags: u8, reader: &mut Reader<'a>) -> Result<Self, Corruption> {
        known_flags(flags, KEY)?;
        let (trx, previous) = take_trx_head(reader, lsn)?;
        let index = IndexId(reader.varint("index id")?);
        let part = take_part(reader, lsn, trx)?;
        let key = match (part.op, flags & KEY != 0) {
            (PageOp::InsertKey { key, .. }, false) => key,
            (PageOp::MarkKey { .. } | PageOp::Remove { .. }, true) => reader.string("key")?,
            _ => return Err(Corruption::new(part.page, "page operation", "one of an entry", "another")),
        };
        Ok(Self { trx, previous, index, part, key })
    }
}

impl<'a> Overflow<'a> {
    pub(super) fn encode(&self, lsn: Lsn, out: &mut Vec<u8>) -> u8 {
        put_trx_head(out, lsn, self.trx, self.previous);
        for part in &self.parts {
            put_part(out, lsn, self.trx, part);
        }
        0
    }
    pub(super) fn decode(lsn: Lsn, flags: u8, reader: &mut Reader<'a>) -> Result<Self, Corruption> {
        known_flags(flags, 0)?;
        let (trx, previous) = take_trx_head(reader, lsn)?;
        let parts = [take_part(reader, lsn, trx)?, take_part(reader, lsn, trx)?];
        expect_op(&parts[0], matches!(parts[0].op, PageOp::SetBits { used: true, .. }), "SetBits used")?;
        expect_op(&parts[1], matches!(parts[1].op, PageOp::FormatOverflow { .. }), "FormatOverflow")?;
        Ok(Self { trx, previous, parts })
    }
}

impl<'a> RowUndo<'a> {
    pub(super) fn encode(&self, lsn: Lsn, out: &mut Vec<u8>) -> u8 {
        out.put_varint(self.trx.0);
        put_link(out, lsn, self.undone);
        put_link(out, lsn, self.undo_next);
        put_part(out, lsn, self.trx, &self.part);
        0
    }
    pub(super) fn decode(lsn: Lsn, flags: u8, reader: &mut Reader<'a>) -> Result<Self, Corruption> {
        known_flags(flags, 0)?;
        let trx = take_trx(reader, "trx id")?;
        let undone = take_link(reader, lsn, "undone record")?;
        let undo_next = take_link(reader, lsn, "next record to undo")?;
        Ok(Self { trx, undone, undo_next, part: take_part(reader, lsn, trx)? })
    }
}
