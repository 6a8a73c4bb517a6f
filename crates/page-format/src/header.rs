//! The 64 bytes at the start of every page.
//!
//! # Layout
//! ```text
//!  0 crc-32c u32      of bytes 4.., computed when the page is written, checked when it is read
//!  4 page no u32      8 space u32      12 kind u16      14 level u16 (0 = leaf)
//! 16 page_lsn u64     start LSN of the last record that changed the page
//! 24 index id u64     32 left u32      36 right u32     (u32::MAX = none)
//! 40 slot count u16   42 heap end u16  44 garbage bytes u16   46 last insert u16 (slot + 1)
//! 48 max trx id u64   newest transaction that changed this secondary leaf
//! 56 counter u64         next AUTO_INCREMENT value that must not be given twice; on the root of a clustered index
//! ```
//! All integers are little-endian. The offsets are a contract with the buffer pool and recovery; a golden test pins them.

use base::{Corruption, IndexId, Lsn, PAGE_SIZE, PageId, PageNo, SpaceId, TrxId};

/// The bytes of one page.
pub type Page = [u8; PAGE_SIZE];

/// Bytes of the page header.
pub const HEADER_SIZE: usize = 64;

pub const CRC_AT: usize = 0;
pub const PAGE_NO_AT: usize = 4;
pub const SPACE_AT: usize = 8;
pub const KIND_AT: usize = 12;
pub const LEVEL_AT: usize = 14;
pub const PAGE_LSN_AT: usize = 16;
pub const INDEX_AT: usize = 24;
pub const LEFT_AT: usize = 32;
pub const RIGHT_AT: usize = 36;
pub const SLOT_COUNT_AT: usize = 40;
pub const HEAP_END_AT: usize = 42;
pub const GARBAGE_AT: usize = 44;
pub const LAST_INSERT_AT: usize = 46;
pub const MAX_TRX_AT: usize = 48;
pub const COUNTER_AT: usize = 56;

/// What a page holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u16)]
pub enum PageKind {
    /// Page 0 of a space: an allocation bitmap like the others, and the place for facts about the space.
    SpaceHeader = 1,
    /// Which pages of its range are in use.
    Bitmap = 2,
    /// Rows of a clustered index.
    ClusteredLeaf = 3,
    /// Entries of a secondary index.
    SecondaryLeaf = 4,
    /// Separators and children.
    Inner = 5,
    /// A chunk of a long column value.
    Overflow = 6,
}

impl PageKind {
    pub fn from_u16(v: u16) -> Option<Self> {
        Some(match v {
            1 => Self::SpaceHeader,
            2 => Self::Bitmap,
            3 => Self::ClusteredLeaf,
            4 => Self::SecondaryLeaf,
            5 => Self::Inner,
            6 => Self::Overflow,
            _ => return None,
        })
    }
    pub fn is_leaf(self) -> bool {
        matches!(self, Self::ClusteredLeaf | Self::SecondaryLeaf)
    }
    pub fn is_slotted(self) -> bool {
        self.is_leaf() || self == Self::Inner
    }
    pub fn is_bitmap(self) -> bool {
        matches!(self, Self::SpaceHeader | Self::Bitmap)
    }
}

#[inline]
pub(crate) fn u16_at(page: &Page, at: usize) -> u16 {
    u16::from_le_bytes([page[at], page[at + 1]])
}
#[inline]
pub(crate) fn u32_at(page: &Page, at: usize) -> u32 {
    u32::from_le_bytes([page[at], page[at + 1], page[at + 2], page[at + 3]])
}
#[inline]
pub(crate) fn u64_at(page: &Page, at: usize) -> u64 {
    u64::from(u32_at(page, at)) | u64::from(u32_at(page, at + 4)) << 32
}
#[inline]
pub(crate) fn put_u16(page: &mut Page, at: usize, v: u16) {
    page[at..at + 2].copy_from_slice(&v.to_le_bytes());
}
#[inline]
pub(crate) fn put_u32(page: &mut Page, at: usize, v: u32) {
    page[at..at + 4].copy_from_slice(&v.to_le_bytes());
}
#[inline]
pub(crate) fn put_u64(page: &mut Page, at: usize, v: u64) {
    page[at..at + 8].copy_from_slice(&v.to_le_bytes());
}

pub fn page_id(page: &Page) -> PageId {
    PageId::new(SpaceId(u32_at(page, SPACE_AT)), PageNo(u32_at(page, PAGE_NO_AT)))
}
#[inline]
pub fn kind(page: &Page) -> Option<PageKind> {
    PageKind::from_u16(u16_at(page, KIND_AT))
}
#[inline]
pub fn level(page: &Page) -> u16 {
    u16_at(page, LEVEL_AT)
}
#[inline]
pub fn page_lsn(page: &Page) -> Lsn {
    Lsn(u64_at(page, PAGE_LSN_AT))
}
pub fn set_page_lsn(page: &mut Page, lsn: Lsn) {
    put_u64(page, PAGE_LSN_AT, lsn.0);
}
#[inline]
pub fn index_id(page: &Page) -> IndexId {
    IndexId(u64_at(page, INDEX_AT))
}
#[inline]
pub fn left(page: &Page) -> PageNo {
    PageNo(u32_at(page, LEFT_AT))
}
#[inline]
pub fn right(page: &Page) -> PageNo {
    PageNo(u32_at(page, RIGHT_AT))
}
pub fn max_trx(page: &Page) -> TrxId {
    TrxId(u64_at(page, MAX_TRX_AT))
}

/// One more than the slot of the newest insert, 0 when links have changed since: how a split sees ascending inserts.
pub fn last_insert(page: &Page) -> usize {
    usize::from(u16_at(page, LAST_INSERT_AT))
}
/// The counter that [`crate::PageOp::SetCounter`] keeps on a root.
pub fn counter(page: &Page) -> u64 {
    u64_at(page, COUNTER_AT)
}

/// CRC-32C of everything behind the CRC field.
pub fn compute_crc(page: &Page) -> u32 {
    base::crc32c(&page[4..])
}
pub fn crc(page: &Page) -> u32 {
    u32_at(page, CRC_AT)
}
pub fn set_crc(page: &mut Page) {
    let crc = compute_crc(page);
    put_u32(page, CRC_AT, crc);
}

/// Checks what a page read from disk must satisfy before anyone looks at it: checksum and own id.
pub fn verify(page: &Page, id: PageId) -> Result<(), Corruption> {
    let (found, expected) = (crc(page), compute_crc(page));
    if found != expected {
        return Err(Corruption::new(
            id,
            "page checksum",
            format_args!("{expected:#010x}"),
            format_args!("{found:#010x}"),
        ));
    }
    if page_id(page) != id {
        return Err(Corruption::new(id, "page id", id, page_id(page)));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{PageOp, apply};

    #[test]
    fn header_offsets_are_fixed() {
        let mut page = [0u8; PAGE_SIZE];
        let op = PageOp::Format {
            page: PageId::new(SpaceId(0x0403_0201), PageNo(0x1413_1211)),
            kind: PageKind::SecondaryLeaf,
            level: 0,
            index: IndexId(0x2827_2625_2423_2221),
            left: PageNo(0x3433_3231),
            right: PageNo::NONE,
        };
        apply(&mut page, &op, Lsn(0x4847_4645_4443_4241)).unwrap();
        let insert = PageOp::InsertKey { slot: 0, deleted: false, trx: TrxId(0x5152), key: b"key" };
        apply(&mut page, &insert, Lsn(0x4847_4645_4443_4242)).unwrap();
        let expected: [u8; 64] = [
            0, 0, 0, 0, 0x11, 0x12, 0x13, 0x14, 1, 2, 3, 4, 4, 0, 0, 0, // crc, page, space, kind, level
            0x42, 0x42, 0x43, 0x44, 0x45, 0x46, 0x47, 0x48, // page_lsn
            0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x27, 0x28, // index
            0x31, 0x32, 0x33, 0x34, 0xff, 0xff, 0xff, 0xff, // left, right
            1, 0, 68, 0, 0, 0, 1, 0, // slots, heap end, garbage, last insert
            0x52, 0x51, 0, 0, 0, 0, 0, 0, // max trx
            0, 0, 0, 0, 0, 0, 0, 0,
        ];
        assert_eq!(page[..64], expected);
        assert_eq!(page[64..68], *b"\0key");
        assert_eq!(page[PAGE_SIZE - 8..], [64, 0, 4, 0, 0, b'y', b'e', b'k']);
        assert!(page[68..PAGE_SIZE - 8].iter().all(|&b| b == 0));
    }

    #[test]
    fn a_changed_byte_or_a_foreign_page_does_not_verify() {
        let mut page = [0u8; PAGE_SIZE];
        let id = PageId::new(SpaceId(1), PageNo(2));
        let (index, none) = (IndexId(1), PageNo::NONE);
        let op = PageOp::Format { page: id, kind: PageKind::Inner, level: 1, index, left: none, right: none };
        apply(&mut page, &op, Lsn(9)).unwrap();
        set_crc(&mut page);
        assert_eq!(verify(&page, id), Ok(()));
        assert_eq!(verify(&page, PageId::new(SpaceId(1), PageNo(3))).unwrap_err().field, "page id");
        page[9000] ^= 1;
        assert_eq!(verify(&page, id).unwrap_err().field, "page checksum");
    }
}
