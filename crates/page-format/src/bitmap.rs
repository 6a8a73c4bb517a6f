//! Allocation bitmap pages: which pages of a space are in use.
//!
//! # Layout
//! Header 64 | bits, lowest first: bit `i` of the bitmap page at page number `b` says whether page `b + i` is in use.
//! Bitmap pages stand at every multiple of [`BITMAP_PAGES`]; the one at 0 is the space's header page. Their own bit (0) is
//! used from the format on.

use crate::header::{HEADER_SIZE, Page};

/// Pages that one bitmap page describes, itself included.
pub const BITMAP_PAGES: u32 = ((base::PAGE_SIZE - HEADER_SIZE) * 8) as u32;

/// Whether the page `bit` places after the bitmap page is in use.
pub fn is_used(page: &Page, bit: u32) -> bool {
    bit >= BITMAP_PAGES || page[HEADER_SIZE + bit as usize / 8] & 1 << (bit % 8) != 0
}

/// Lowest free bit at or above `from`.
pub fn first_free(page: &Page, from: u32) -> Option<u32> {
    if from >= BITMAP_PAGES {
        return None;
    }
    let start = from as usize / 8;
    let in_first = page[HEADER_SIZE + start] | ((1u16 << (from % 8)) - 1) as u8;
    if in_first != 0xff {
        return Some(start as u32 * 8 + in_first.trailing_ones());
    }
    let rest = &page[HEADER_SIZE + start + 1..];
    let skipped = rest.iter().position(|&byte| byte != 0xff)?;
    Some((start + 1 + skipped) as u32 * 8 + rest[skipped].trailing_ones())
}

/// Number of used pages, this one included.
pub fn used_count(page: &Page) -> u32 {
    page[HEADER_SIZE..].iter().map(|byte| byte.count_ones()).sum()
}

pub(crate) fn set_bits(page: &mut Page, first: u32, count: u32, used: bool) {
    for bit in first..first + count {
        let byte = &mut page[HEADER_SIZE + bit as usize / 8];
        let mask = 1 << (bit % 8);
        *byte = if used { *byte | mask } else { *byte & !mask };
    }
}
