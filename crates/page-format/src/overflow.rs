//! Overflow pages: chunks of long column values, chained first to last.
//!
//! # Layout
//! Header 64 (its `right` is the next chunk's page) | LSN of the record that wrote the next chunk u64 | length u32 | bytes.
//! The log record that formats the page holds the same bytes, so an old value can be read from the log alone, by LSN.

use crate::header::{self, HEADER_SIZE, Page, PageKind, u32_at, u64_at};
use crate::view::corrupt;
use base::{Corruption, Lsn, PAGE_SIZE, PageNo};

const NEXT_LSN_AT: usize = HEADER_SIZE;
const LENGTH_AT: usize = HEADER_SIZE + 8;
const BYTES_AT: usize = HEADER_SIZE + 12;

/// Bytes of a value that one overflow page holds.
pub const OVERFLOW_CAPACITY: usize = PAGE_SIZE - BYTES_AT;

/// One chunk of a long value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OverflowView<'a> {
    pub next: PageNo,
    pub next_lsn: Lsn,
    pub bytes: &'a [u8],
}

impl<'a> OverflowView<'a> {
    pub fn new(page: &'a Page) -> Result<Self, Corruption> {
        if header::kind(page) != Some(PageKind::Overflow) {
            return Err(corrupt(
                page,
                "page kind",
                "an overflow page",
                header::u16_at(page, header::KIND_AT),
            ));
        }
        let length = u32_at(page, LENGTH_AT) as usize;
        if length > OVERFLOW_CAPACITY {
            return Err(corrupt(page, "chunk length", format_args!("at most {OVERFLOW_CAPACITY}"), length));
        }
        Ok(Self {
            next: header::right(page),
            next_lsn: Lsn(u64_at(page, NEXT_LSN_AT)),
            bytes: &page[BYTES_AT..BYTES_AT + length],
        })
    }
}

/// Fills a page that has just been formatted.
pub(crate) fn fill(page: &mut Page, next_lsn: Lsn, bytes: &[u8]) {
    header::put_u64(page, NEXT_LSN_AT, next_lsn.0);
    header::put_u32(page, LENGTH_AT, bytes.len() as u32);
    page[BYTES_AT..BYTES_AT + bytes.len()].copy_from_slice(bytes);
}
