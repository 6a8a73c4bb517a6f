//! Reading a slotted page.
//!
//! # Layout
//! ```text
//! | header 64 | heap: records, upwards ... heap end | free | slots, downwards: ... slot 1, slot 0 |
//! slot            offset u16 | length u16 | key head u32    (first four key bytes as a big-endian number, zero padded)
//! clustered leaf  flags u8 | trx id u48 | roll LSN u64 | key length varint | key | body
//! secondary leaf  flags u8 | key
//! inner           child page no u32 | key                   (slot 0 stands for minus infinity, whatever its key)
//! ```
//!
//! # Invariants
//! V1. Slots are in strictly ascending key order (slot 0 of an inner page aside).
//! V2. `sum of record lengths + garbage = heap end - 64`, and the heap ends at or below the slots.
//! V3. A reader of a damaged page gets [`Corruption`], never a panic or bytes outside the heap.

use crate::header::{self, GARBAGE_AT, HEADER_SIZE, HEAP_END_AT, Page, PageKind, SLOT_COUNT_AT};
use crate::header::{u16_at, u32_at};
use base::{Corruption, Lsn, PAGE_SIZE, PageNo, TrxId};

/// Bytes of one slot.
pub const SLOT_SIZE: usize = 8;
/// Longest record: two of them and their slots fit into one page, so a full page can always be split for one more.
pub const RECORD_SIZE_MAX: usize = (PAGE_SIZE - HEADER_SIZE) / 2 - SLOT_SIZE;
/// Bytes before the key length of a clustered leaf record.
pub(crate) const ROW_FIXED: usize = 15;

/// Bits of a leaf record's flags byte.
pub mod record_flags {
    pub const DELETED: u8 = 1;
    pub const OVERFLOW: u8 = 2;
    pub const ALL: u8 = DELETED | OVERFLOW;
}

/// Bytes on a page, without slot, of a clustered row.
pub fn clustered_size(key_size: usize, body_size: usize) -> usize {
    ROW_FIXED + base::varint_len(key_size as u64) + key_size + body_size
}

/// The first four bytes of a key as a number that orders as the key does.
#[inline]
pub fn key_head(key: &[u8]) -> u32 {
    if let [a, b, c, d, ..] = *key {
        return u32::from_be_bytes([a, b, c, d]);
    }
    let mut head = [0u8; 4];
    head[..key.len()].copy_from_slice(key);
    u32::from_be_bytes(head)
}

/// Where the key of a record begins and ends.
#[inline]
pub(crate) fn key_bounds(kind: PageKind, record: &[u8]) -> Option<(usize, usize)> {
    match kind {
        PageKind::ClusteredLeaf => {
            let first = *record.get(ROW_FIXED)?;
            if first < 0x80 {
                let end = ROW_FIXED + 1 + first as usize;
                return (end <= record.len()).then_some((ROW_FIXED + 1, end));
            }
            let second = *record.get(ROW_FIXED + 1)?;
            let end = ROW_FIXED + 2 + (first as usize & 0x7f | (second as usize) << 7);
            (second != 0 && second < 0x80 && end <= record.len()).then_some((ROW_FIXED + 2, end))
        }
        PageKind::SecondaryLeaf => (!record.is_empty()).then_some((1, record.len())),
        PageKind::Inner => (record.len() >= 4).then_some((4, record.len())),
        _ => None,
    }
}

/// One record of a leaf.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeafRecord<'a> {
    pub flags: u8,
    /// Writer of this version; none on a secondary leaf.
    pub trx: TrxId,
    /// LSN of the record that made this version; none on a secondary leaf.
    pub roll: Lsn,
    pub key: &'a [u8],
    /// Empty on a secondary leaf.
    pub body: &'a [u8],
}

impl LeafRecord<'_> {
    pub fn is_deleted(&self) -> bool {
        self.flags & record_flags::DELETED != 0
    }
    pub fn has_overflow(&self) -> bool {
        self.flags & record_flags::OVERFLOW != 0
    }
}

/// A slotted page, read only.
#[derive(Debug, Clone, Copy)]
pub struct PageView<'a> {
    page: &'a Page,
    kind: PageKind,
    slots: usize,
    heap_end: usize,
}

#[cold]
pub(crate) fn corrupt(
    page: &Page,
    field: &'static str,
    expected: impl std::fmt::Display,
    found: impl std::fmt::Display,
) -> Corruption {
    Corruption::new(header::page_id(page), field, expected, found)
}

impl<'a> PageView<'a> {
    /// Checks the header of a slotted page; records are checked when they are read.
    #[inline]
    pub fn new(page: &'a Page) -> Result<Self, Corruption> {
        let kind = match header::kind(page) {
            Some(kind) if kind.is_slotted() => kind,
            _ => return Err(Self::wrong_kind(page)),
        };
        let slots = u16_at(page, SLOT_COUNT_AT) as usize;
        let heap_end = u16_at(page, HEAP_END_AT) as usize;
        if heap_end < HEADER_SIZE || heap_end + slots * SLOT_SIZE > PAGE_SIZE {
            return Err(corrupt(
                page,
                "heap end",
                format_args!("64..={PAGE_SIZE} less {slots} slots"),
                heap_end,
            ));
        }
        Ok(Self { page, kind, slots, heap_end })
    }

    #[cold]
    fn wrong_kind(page: &Page) -> Corruption {
        corrupt(page, "page kind", "a leaf or an inner page", u16_at(page, header::KIND_AT))
    }

    pub fn page(&self) -> &'a Page {
        self.page
    }
    pub fn kind(&self) -> PageKind {
        self.kind
    }
    pub fn level(&self) -> u16 {
        header::level(self.page)
    }
    pub fn left(&self) -> PageNo {
        header::left(self.page)
    }
    pub fn right(&self) -> PageNo {
        header::right(self.page)
    }
    /// Number of records.
    #[inline]
    pub fn slots(&self) -> usize {
        self.slots
    }
    pub(crate) fn heap_end(&self) -> usize {
        self.heap_end
    }
    pub(crate) fn garbage(&self) -> usize {
        u16_at(self.page, GARBAGE_AT) as usize
    }
    /// Free bytes between heap and slots.
    pub(crate) fn contiguous(&self) -> usize {
        PAGE_SIZE - self.slots * SLOT_SIZE - self.heap_end
    }
    /// Bytes that records (with their slots) can still take.
    #[inline]
    pub fn free(&self) -> usize {
        self.contiguous() + self.garbage()
    }
    /// Bytes that records and their slots take.
    pub fn used(&self) -> usize {
        (PAGE_SIZE - HEADER_SIZE).saturating_sub(self.free())
    }
    /// Whether one more record of `size` bytes fits.
    #[inline]
    pub fn has_room(&self, size: usize) -> bool {
        self.free() >= size + SLOT_SIZE
    }
    #[inline]
    fn slot_at(slot: usize) -> usize {
        PAGE_SIZE - (slot + 1) * SLOT_SIZE
    }
    /// Offset and length of a record; the caller has checked that the slot exists.
    #[inline]
    pub(crate) fn slot(&self, slot: usize) -> (usize, usize) {
        let at = Self::slot_at(slot);
        (u16_at(self.page, at) as usize, u16_at(self.page, at + 2) as usize)
    }
    #[inline]
    pub(crate) fn head(&self, slot: usize) -> u32 {
        u32_at(self.page, Self::slot_at(slot) + 4)
    }
    #[inline]
    fn raw_opt(&self, slot: usize) -> Option<&'a [u8]> {
        if slot >= self.slots {
            return None;
        }
        let (offset, len) = self.slot(slot);
        if offset < HEADER_SIZE || offset + len > self.heap_end {
            return None;
        }
        Some(&self.page[offset..offset + len])
    }
    #[inline]
    fn key_opt(&self, slot: usize) -> Option<&'a [u8]> {
        let record = self.raw_opt(slot)?;
        let (start, end) = key_bounds(self.kind, record)?;
        record.get(start..end)
    }
    #[cold]
    fn bad_slot(&self, slot: usize) -> Corruption {
        if slot >= self.slots {
            return corrupt(self.page, "slot", format_args!("below {}", self.slots), slot);
        }
        let (offset, len) = self.slot(slot);
        corrupt(
            self.page,
            "record",
            format_args!("a whole record inside 64..{}", self.heap_end),
            format_args!("slot {slot} at {offset}, {len} bytes"),
        )
    }

    /// The bytes of a record as they stand on the page.
    #[inline]
    pub fn raw(&self, slot: usize) -> Result<&'a [u8], Corruption> {
        self.raw_opt(slot).ok_or_else(|| self.bad_slot(slot))
    }
    #[inline]
    pub fn key(&self, slot: usize) -> Result<&'a [u8], Corruption> {
        self.key_opt(slot).ok_or_else(|| self.bad_slot(slot))
    }
    /// A record of a leaf.
    #[inline]
    pub fn record(&self, slot: usize) -> Result<LeafRecord<'a>, Corruption> {
        let record = self.raw(slot)?;
        let (start, end) = key_bounds(self.kind, record).ok_or_else(|| self.bad_slot(slot))?;
        let key = &record[start..end];
        match self.kind {
            PageKind::ClusteredLeaf => {
                let trx = u64::from_le_bytes([
                    record[1], record[2], record[3], record[4], record[5], record[6], 0, 0,
                ]);
                let roll = u64::from_le_bytes([
                    record[7], record[8], record[9], record[10], record[11], record[12], record[13],
                    record[14],
                ]);
                Ok(LeafRecord {
                    flags: record[0],
                    trx: TrxId(trx),
                    roll: Lsn(roll),
                    key,
                    body: &record[end..],
                })
            }
            PageKind::SecondaryLeaf => {
                Ok(LeafRecord { flags: record[0], trx: TrxId(0), roll: Lsn::NONE, key, body: &[] })
            }
            _ => Err(Self::wrong_kind(self.page)),
        }
    }
    /// The child page of a slot of an inner page.
    #[inline]
    pub fn child(&self, slot: usize) -> Result<PageNo, Corruption> {
        match (self.kind, self.raw(slot)?) {
            (PageKind::Inner, [a, b, c, d, ..]) => Ok(PageNo(u32::from_le_bytes([*a, *b, *c, *d]))),
            _ => Err(self.bad_slot(slot)),
        }
    }

    /// First slot whose key is not below `key`, and whether it equals it.
    #[inline]
    pub fn lower_bound(&self, key: &[u8]) -> Result<(usize, bool), Corruption> {
        let slot = self.partition(0, key, false)?;
        let exact = slot < self.slots && self.head(slot) == key_head(key) && self.key(slot)? == key;
        Ok((slot, exact))
    }
    /// First slot whose key is above `key`.
    #[inline]
    pub fn upper_bound(&self, key: &[u8]) -> Result<usize, Corruption> {
        self.partition(0, key, true)
    }
    /// The slot of an inner page whose child covers `key`.
    #[inline]
    pub fn child_slot(&self, key: &[u8]) -> Result<usize, Corruption> {
        Ok(self.partition(1, key, true)?.max(1) - 1)
    }
    /// The slot of an inner page whose child covers the keys just below `key`.
    #[inline]
    pub fn child_slot_before(&self, key: &[u8]) -> Result<usize, Corruption> {
        Ok(self.partition(1, key, false)?.max(1) - 1)
    }

    /// First slot from `low` on whose key is above `key` (or, unless `after_equal`, equal to it).
    #[inline]
    fn partition(&self, low: usize, key: &[u8], after_equal: bool) -> Result<usize, Corruption> {
        let head = key_head(key);
        let low = self.first_head(low, |found| found >= head);
        if low >= self.slots || self.head(low) != head {
            return Ok(low);
        }
        // Keys that share their first four bytes: the rest decides.
        let high = if low + 1 < self.slots && self.head(low + 1) == head {
            self.first_head(low + 1, |found| found > head)
        } else {
            low + 1
        };
        self.partition_keys(low, high, key, after_equal)
    }

    /// First slot from `low` on whose head satisfies `reached`, which none before it and all behind it do.
    /// The direction of each step is data, not a branch: a search that goes anywhere with equal chance cannot be predicted.
    #[inline]
    fn first_head(&self, low: usize, reached: impl Fn(u32) -> bool) -> usize {
        let (mut base, mut size) = (low, self.slots.saturating_sub(low));
        while size > 1 {
            let half = size / 2;
            base += half * usize::from(!reached(self.head(base + half - 1)));
            size -= half;
        }
        base + usize::from(size == 1 && !reached(self.head(base)))
    }

    fn partition_keys(
        &self,
        mut low: usize,
        mut high: usize,
        key: &[u8],
        after_equal: bool,
    ) -> Result<usize, Corruption> {
        while low < high {
            let middle = (low + high) / 2;
            let order = self.key(middle)?.cmp(key);
            if order.is_lt() || (after_equal && order.is_eq()) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Ok(low)
    }
}
