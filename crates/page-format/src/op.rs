//! One change of one page, and its encoding as the last part of a log record's page part.
//!
//! # Layout
//! `code u8 | operands`. Code: bits 0-4 the operation, bit 5 "the version stamp is given" (else it is the record's own
//! transaction and LSN), bits 6 and 7 the record's flags deleted and overflow (or, for links, which are given).
//! What the record says once (its LSN, its transaction, the page) is not repeated: encoder and decoder take an [`OpContext`].
//! An operation needs no length: it ends where its last operand ends.

use crate::header::PageKind;
use crate::splice::Splices;
use crate::view::record_flags;
use base::{Corruption, IndexId, Lsn, PageId, PageNo, Put, Reader, TrxId};

/// What the surrounding record says about an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpContext {
    /// Start LSN of the record.
    pub lsn: Lsn,
    /// The record's transaction; none in system records.
    pub trx: TrxId,
    /// The page the operation changes.
    pub page: PageId,
}

/// Which version a clustered row becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stamp {
    /// Made by this record: roll LSN = LSN of the record.
    Own(TrxId),
    /// An older version put back.
    Restored { trx: TrxId, roll: Lsn },
}

/// Page records, each as `length varint | bytes as on the page`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawRecords<'a> {
    count: usize,
    bytes: &'a [u8],
}

impl<'a> RawRecords<'a> {
    /// Checks the form of `count` records.
    pub fn new(count: usize, bytes: &'a [u8]) -> Result<Self, Corruption> {
        let mut reader = Reader::new(bytes);
        for _ in 0..count {
            reader.string("moved record")?;
        }
        reader.finish("moved records")?;
        Ok(Self { count, bytes })
    }
    pub fn count(&self) -> usize {
        self.count
    }
    pub fn iter(&self) -> impl Iterator<Item = &'a [u8]> + 'a {
        let mut reader = Reader::new(self.bytes);
        std::iter::from_fn(move || if reader.is_empty() { None } else { reader.string("moved record").ok() })
    }
    /// Appends one record to bytes for [`RawRecords::new`].
    pub fn push(out: &mut Vec<u8>, record: &[u8]) {
        out.put_string(record);
    }
}

/// One change of one page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageOp<'a> {
    /// Becomes an empty page; what was there does not matter.
    Format { page: PageId, kind: PageKind, level: u16, index: IndexId, left: PageNo, right: PageNo },
    /// Becomes an overflow page with a chunk of a value; `next_lsn` is the record that wrote the next chunk's page.
    FormatOverflow { page: PageId, index: IndexId, next: PageNo, next_lsn: Lsn, bytes: &'a [u8] },
    /// Clustered leaf: a new record before `slot`.
    InsertRow { slot: u16, flags: u8, stamp: Stamp, key: &'a [u8], body: &'a [u8] },
    /// Clustered leaf: a changed body; the record gets exactly `flags`.
    UpdateRow { slot: u16, flags: u8, stamp: Stamp, splices: Splices<'a> },
    /// Clustered leaf: sets or clears the deleted flag.
    MarkRow { slot: u16, deleted: bool, stamp: Stamp },
    /// Clustered leaf: another body under the same key; the record gets exactly `flags`.
    ReplaceRow { slot: u16, flags: u8, stamp: Stamp, body: &'a [u8] },
    /// Secondary leaf: a new entry before `slot`.
    InsertKey { slot: u16, deleted: bool, trx: TrxId, key: &'a [u8] },
    /// Secondary leaf: sets or clears the deleted flag.
    MarkKey { slot: u16, deleted: bool, trx: TrxId },
    /// Any slotted page: removes `count` records from `slot` on.
    Remove { slot: u16, count: u16 },
    /// Inner page: a new child before `slot`.
    InsertChild { slot: u16, child: PageNo, key: &'a [u8] },
    /// Inner page: another child under the same key.
    SetChild { slot: u16, child: PageNo },
    /// Changes sibling links of a leaf, or the link from a bitmap page to the next one.
    SetLinks { left: Option<PageNo>, right: Option<PageNo> },
    /// Any slotted page: records as they stood on another page, before `slot`; raises the max trx id to `max_trx`.
    InsertRaw { slot: u16, max_trx: TrxId, records: RawRecords<'a> },
    /// Bitmap page: marks `count` pages from bit `first` on as used or free; all must have been the other.
    SetBits { first: u32, count: u32, used: bool },
    /// Slotted page: raises the counter to `value`; a lower value changes nothing.
    SetCounter { value: u64 },
}

const FORMAT: u8 = 1;
const FORMAT_OVERFLOW: u8 = 2;
const INSERT_ROW: u8 = 3;
const UPDATE_ROW: u8 = 4;
const MARK_ROW: u8 = 5;
const REPLACE_ROW: u8 = 6;
const INSERT_KEY: u8 = 7;
const MARK_KEY: u8 = 8;
const REMOVE: u8 = 9;
const REMOVE_MANY: u8 = 10;
const INSERT_CHILD: u8 = 11;
const SET_CHILD: u8 = 12;
const SET_LINKS: u8 = 13;
const INSERT_RAW: u8 = 14;
const SET_BITS: u8 = 15;
const SET_COUNTER: u8 = 16;

const CODE_MASK: u8 = 0x1f;
const RESTORED: u8 = 0x20;
const FLAG_SHIFT: u8 = 6;
const LEFT: u8 = 0x40;
const RIGHT: u8 = 0x80;

impl<'a> PageOp<'a> {
    /// Whether the operation makes the whole page, so that redo needs nothing of what is on disk.
    pub fn is_format(&self) -> bool {
        matches!(self, Self::Format { .. } | Self::FormatOverflow { .. })
    }

    /// Appends the encoding. The operation's page, and its transaction where it has one, must be the context's.
    pub fn encode(&self, context: &OpContext, out: &mut Vec<u8>) {
        match *self {
            Self::Format { page, kind, level, index, left, right } => {
                debug_assert_eq!(page, context.page);
                out.put_u8(FORMAT);
                out.put_u8(kind as u8);
                out.put_varint(u64::from(level));
                out.put_varint(index.0);
                put_page(out, left);
                put_page(out, right);
            }
            Self::FormatOverflow { page, index, next, next_lsn, bytes } => {
                debug_assert_eq!(page, context.page);
                out.put_u8(FORMAT_OVERFLOW);
                out.put_varint(index.0);
                put_page(out, next);
                put_lsn(out, context.lsn, next_lsn);
                out.put_string(bytes);
            }
            Self::InsertRow { slot, flags, stamp, key, body } => {
                put_row(out, context, INSERT_ROW, flags, slot, stamp);
                out.put_string(key);
                out.put_string(body);
            }
            Self::UpdateRow { slot, flags, stamp, splices } => {
                put_row(out, context, UPDATE_ROW, flags, slot, stamp);
                out.put(splices.encoded());
            }
            Self::MarkRow { slot, deleted, stamp } => {
                put_row(out, context, MARK_ROW, u8::from(deleted), slot, stamp);
            }
            Self::ReplaceRow { slot, flags, stamp, body } => {
                put_row(out, context, REPLACE_ROW, flags, slot, stamp);
                out.put_string(body);
            }
            Self::InsertKey { slot, deleted, trx, key } => {
                put_row(out, context, INSERT_KEY, u8::from(deleted), slot, Stamp::Own(trx));
                out.put_string(key);
            }
            Self::MarkKey { slot, deleted, trx } => {
                put_row(out, context, MARK_KEY, u8::from(deleted), slot, Stamp::Own(trx));
            }
            _ => self.encode_structure(out),
        }
    }

    /// The operations of system records.
    fn encode_structure(&self, out: &mut Vec<u8>) {
        match *self {
            Self::Remove { slot, count: 1 } => {
                out.put_u8(REMOVE);
                out.put_varint(u64::from(slot));
            }
            Self::Remove { slot, count } => {
                out.put_u8(REMOVE_MANY);
                out.put_varint(u64::from(slot));
                out.put_varint(u64::from(count));
            }
            Self::InsertChild { slot, child, key } => {
                out.put_u8(INSERT_CHILD);
                out.put_varint(u64::from(slot));
                out.put_varint(u64::from(child.0));
                out.put_string(key);
            }
            Self::SetChild { slot, child } => {
                out.put_u8(SET_CHILD);
                out.put_varint(u64::from(slot));
                out.put_varint(u64::from(child.0));
            }
            Self::SetLinks { left, right } => {
                let given = |link: Option<PageNo>, bit| if link.is_some() { bit } else { 0 };
                out.put_u8(SET_LINKS | given(left, LEFT) | given(right, RIGHT));
                for link in [left, right].into_iter().flatten() {
                    put_page(out, link);
                }
            }
            Self::InsertRaw { slot, max_trx, records } => {
                out.put_u8(INSERT_RAW);
                out.put_varint(u64::from(slot));
                out.put_varint(max_trx.0);
                out.put_varint(records.count as u64);
                out.put_string(records.bytes);
            }
            Self::SetBits { first, count, used } => {
                out.put_u8(SET_BITS | if used { LEFT } else { 0 });
                out.put_varint(u64::from(first));
                out.put_varint(u64::from(count));
            }
            Self::SetCounter { value } => {
                out.put_u8(SET_COUNTER);
                out.put_varint(value);
            }
            _ => unreachable!("row operations are encoded by `encode`"),
        }
    }

    /// Takes one operation off the reader.
    pub fn decode(context: &OpContext, reader: &mut Reader<'a>) -> Result<Self, Corruption> {
        let code = reader.u8("page operation")?;
        let flags = code >> FLAG_SHIFT;
        match code & CODE_MASK {
            INSERT_ROW => {
                let (slot, stamp) = take_row(reader, context, code)?;
                let (key, body) = (reader.string("key")?, reader.string("body")?);
                Ok(Self::InsertRow { slot, flags, stamp, key, body })
            }
            UPDATE_ROW => {
                let (slot, stamp) = take_row(reader, context, code)?;
                Ok(Self::UpdateRow { slot, flags, stamp, splices: Splices::decode(reader)? })
            }
            MARK_ROW => {
                let (slot, stamp) = take_row(reader, context, code)?;
                Ok(Self::MarkRow { slot, deleted: take_deleted(flags)?, stamp })
            }
            REPLACE_ROW => {
                let (slot, stamp) = take_row(reader, context, code)?;
                Ok(Self::ReplaceRow { slot, flags, stamp, body: reader.string("body")? })
            }
            INSERT_KEY if code & RESTORED == 0 => {
                let (slot, deleted) = (take_u16(reader, "slot")?, take_deleted(flags)?);
                Ok(Self::InsertKey { slot, deleted, trx: context.trx, key: reader.string("key")? })
            }
            MARK_KEY if code & RESTORED == 0 => {
                let (slot, deleted) = (take_u16(reader, "slot")?, take_deleted(flags)?);
                Ok(Self::MarkKey { slot, deleted, trx: context.trx })
            }
            _ => Self::decode_structure(code, context, reader),
        }
    }

    fn decode_structure(code: u8, context: &OpContext, reader: &mut Reader<'a>) -> Result<Self, Corruption> {
        let bad = |found: u8| Corruption::new(context.page, "page operation", "a known code", found);
        Ok(match code {
            FORMAT => {
                let kind = reader.u8("page kind")?;
                let kind = PageKind::from_u16(u16::from(kind))
                    .ok_or_else(|| Corruption::new(context.page, "page kind", "1..=6", kind))?;
                let (level, index) = (take_u16(reader, "level")?, IndexId(reader.varint("index id")?));
                let (left, right) = (take_page(reader)?, take_page(reader)?);
                Self::Format { page: context.page, kind, level, index, left, right }
            }
            FORMAT_OVERFLOW => {
                let (index, next) = (IndexId(reader.varint("index id")?), take_page(reader)?);
                let next_lsn = take_lsn(reader, context.lsn)?;
                let bytes = reader.string("overflow bytes")?;
                Self::FormatOverflow { page: context.page, index, next, next_lsn, bytes }
            }
            REMOVE => Self::Remove { slot: take_u16(reader, "slot")?, count: 1 },
            REMOVE_MANY => {
                Self::Remove { slot: take_u16(reader, "slot")?, count: take_u16(reader, "slot count")? }
            }
            INSERT_CHILD => {
                let (slot, child) = (take_u16(reader, "slot")?, PageNo(take_u32(reader, "child page")?));
                Self::InsertChild { slot, child, key: reader.string("key")? }
            }
            SET_CHILD => Self::SetChild {
                slot: take_u16(reader, "slot")?,
                child: PageNo(take_u32(reader, "child page")?),
            },
            _ if code & !(LEFT | RIGHT) == SET_LINKS => {
                let left = if code & LEFT != 0 { Some(take_page(reader)?) } else { None };
                let right = if code & RIGHT != 0 { Some(take_page(reader)?) } else { None };
                Self::SetLinks { left, right }
            }
            INSERT_RAW => {
                let (slot, max_trx) = (take_u16(reader, "slot")?, TrxId(reader.varint("max trx id")?));
                let count = reader.length("record count")?;
                let records = RawRecords::new(count, reader.string("moved records")?)?;
                Self::InsertRaw { slot, max_trx, records }
            }
            SET_COUNTER => Self::SetCounter { value: reader.varint("counter")? },
            _ if code & !LEFT == SET_BITS => {
                let (first, count) = (take_u32(reader, "first bit")?, take_u32(reader, "bit count")?);
                Self::SetBits { first, count, used: code & LEFT != 0 }
            }
            _ => return Err(bad(code)),
        })
    }
}

fn put_row(out: &mut Vec<u8>, context: &OpContext, code: u8, flags: u8, slot: u16, stamp: Stamp) {
    debug_assert_eq!(flags & !record_flags::ALL, 0);
    let code = code | flags << FLAG_SHIFT;
    match stamp {
        Stamp::Own(trx) => {
            debug_assert_eq!(trx, context.trx, "an own stamp is the record's transaction");
            out.put_u8(code);
            out.put_varint(u64::from(slot));
        }
        Stamp::Restored { trx, roll } => {
            out.put_u8(code | RESTORED);
            out.put_varint(u64::from(slot));
            out.put_varint(trx.0);
            put_lsn(out, context.lsn, roll);
        }
    }
}

fn take_row(reader: &mut Reader<'_>, context: &OpContext, code: u8) -> Result<(u16, Stamp), Corruption> {
    let slot = take_u16(reader, "slot")?;
    if code & RESTORED == 0 {
        return Ok((slot, Stamp::Own(context.trx)));
    }
    let trx = reader.varint("restored trx id")?;
    if trx >= 1 << 48 {
        return Err(Corruption::new(context.page, "restored trx id", "48 bits", trx));
    }
    Ok((slot, Stamp::Restored { trx: TrxId(trx), roll: take_lsn(reader, context.lsn)? }))
}

fn take_deleted(flags: u8) -> Result<bool, Corruption> {
    match flags {
        0 => Ok(false),
        record_flags::DELETED => Ok(true),
        _ => Err(Corruption::new("page operation", "flags", "deleted or none", flags)),
    }
}

/// A page number plus one, so that "none" is one byte.
fn put_page(out: &mut Vec<u8>, page: PageNo) {
    out.put_varint(u64::from(page.0.wrapping_add(1)));
}

fn take_page(reader: &mut Reader<'_>) -> Result<PageNo, Corruption> {
    Ok(PageNo(take_u32(reader, "page link")?.wrapping_sub(1)))
}

/// An earlier LSN as its distance; 0 = none.
fn put_lsn(out: &mut Vec<u8>, from: Lsn, to: Lsn) {
    debug_assert!(to < from);
    out.put_varint(if to.is_none() { 0 } else { from - to });
}

fn take_lsn(reader: &mut Reader<'_>, from: Lsn) -> Result<Lsn, Corruption> {
    match reader.varint("LSN distance")? {
        0 => Ok(Lsn::NONE),
        distance if distance < from.0 => Ok(Lsn(from.0 - distance)),
        distance => {
            Err(Corruption::new("page operation", "LSN distance", format_args!("below {from}"), distance))
        }
    }
}

fn take_u16(reader: &mut Reader<'_>, field: &'static str) -> Result<u16, Corruption> {
    let v = reader.varint(field)?;
    u16::try_from(v).map_err(|_| Corruption::new("page operation", field, "16 bits", v))
}

fn take_u32(reader: &mut Reader<'_>, field: &'static str) -> Result<u32, Corruption> {
    let v = reader.varint(field)?;
    u32::try_from(v).map_err(|_| Corruption::new("page operation", field, "32 bits", v))
}
