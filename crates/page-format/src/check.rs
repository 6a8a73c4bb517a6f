//! Everything a page must satisfy by itself; relations between pages are the tree verifier's.

use crate::header::{self, HEADER_SIZE, Page, PageKind};
use crate::overflow::OverflowView;
use crate::view::{PageView, corrupt, key_head, record_flags};
use base::Corruption;

/// Checks kind, level, record bounds, overlaps, flags, key heads and key order.
pub fn check(page: &Page) -> Result<(), Corruption> {
    match header::kind(page) {
        None => Err(corrupt(page, "page kind", "1..=6", header::u16_at(page, header::KIND_AT))),
        Some(PageKind::Overflow) => OverflowView::new(page).map(|_| ()),
        Some(PageKind::SpaceHeader | PageKind::Bitmap) => {
            if crate::bitmap::is_used(page, 0) {
                Ok(())
            } else {
                Err(corrupt(page, "own bit", "used", "free"))
            }
        }
        Some(_) => check_slotted(&PageView::new(page)?),
    }
}

fn check_slotted(view: &PageView<'_>) -> Result<(), Corruption> {
    let page = view.page();
    if (view.level() == 0) != view.kind().is_leaf() {
        return Err(corrupt(page, "level", format_args!("one of {:?}", view.kind()), view.level()));
    }
    let mut places = Vec::with_capacity(view.slots());
    let mut previous: Option<&[u8]> = None;
    for slot in 0..view.slots() {
        let key = view.key(slot)?;
        if view.head(slot) != key_head(key) {
            return Err(corrupt(
                page,
                "key head",
                key_head(key),
                format_args!("{} in slot {slot}", view.head(slot)),
            ));
        }
        let minus_infinity = slot == 0 && view.kind() == PageKind::Inner;
        if !minus_infinity {
            if previous.is_some_and(|previous| previous >= key) {
                return Err(corrupt(page, "key order", "ascending", format_args!("slot {slot}")));
            }
            previous = Some(key);
        }
        if view.kind().is_leaf() && view.raw(slot)?[0] & !record_flags::ALL != 0 {
            return Err(corrupt(page, "record flags", "0..=3", view.raw(slot)?[0]));
        }
        places.push(view.slot(slot));
    }
    places.sort_unstable();
    let mut total = HEADER_SIZE + view.garbage();
    for (index, &(offset, len)) in places.iter().enumerate() {
        total += len;
        if places.get(index + 1).is_some_and(|&(next, _)| offset + len > next) {
            return Err(corrupt(page, "records", "no overlap", format_args!("{len} bytes at {offset}")));
        }
    }
    if total == view.heap_end() {
        Ok(())
    } else {
        Err(corrupt(page, "records and garbage", format_args!("{} bytes", view.heap_end()), total))
    }
}
