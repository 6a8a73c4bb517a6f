//! Performing a [`PageOp`]: validation, then the change.
//!
//! Validation covers everything that the change relies on, also on bytes from a damaged disk; what only costs time to check (key
//! order among neighbours, say) is left to [`crate::check()`] and to the tree's verifier.

use crate::bitmap::{self, BITMAP_PAGES};
use crate::edit::Editor;
use crate::header::{self, COUNTER_AT, HEADER_SIZE, INDEX_AT, KIND_AT, LEFT_AT, LEVEL_AT, MAX_TRX_AT};
use crate::header::{
    HEAP_END_AT, LAST_INSERT_AT, PAGE_NO_AT, Page, PageKind, RIGHT_AT, SPACE_AT, put_u16, put_u32, put_u64,
};
use crate::op::{PageOp, Stamp};
use crate::overflow::{self, OVERFLOW_CAPACITY};
use crate::view::{
    PageView, RECORD_SIZE_MAX, ROW_FIXED, SLOT_SIZE, clustered_size, corrupt, key_bounds, record_flags,
};
use base::{Corruption, IndexId, Lsn, PageId, PageNo, TrxId};

/// Performs `op` and sets the page's LSN to `lsn`, or changes nothing and says what does not fit.
pub fn apply(page: &mut Page, op: &PageOp<'_>, lsn: Lsn) -> Result<(), Corruption> {
    validate(page, op)?;
    apply_validated(page, op, lsn);
    Ok(())
}

/// The second half of [`apply`], for a caller that has validated the operation on exactly this page: live changes validate
/// before they log.
///
/// # Panics
/// May panic when the page has changed since it was validated.
pub fn apply_validated(page: &mut Page, op: &PageOp<'_>, lsn: Lsn) {
    execute(page, op, lsn);
    header::set_page_lsn(page, lsn);
}

/// Whether [`apply`] would succeed.
pub fn validate(page: &Page, op: &PageOp<'_>) -> Result<(), Corruption> {
    match *op {
        PageOp::Format { .. } => Ok(()),
        PageOp::FormatOverflow { bytes, .. } => {
            at_most(page, "overflow bytes", bytes.len(), OVERFLOW_CAPACITY)
        }
        PageOp::InsertRow { slot, flags, stamp, key, body } => {
            let view = view_of(page, PageKind::ClusteredLeaf)?;
            stamp_fits(page, stamp)?;
            flags_fit(page, flags)?;
            insert_fits(&view, slot, clustered_size(key.len(), body.len()))
        }
        PageOp::UpdateRow { slot, flags, stamp, splices } => {
            let view = view_of(page, PageKind::ClusteredLeaf)?;
            stamp_fits(page, stamp)?;
            flags_fit(page, flags)?;
            let body = view.record(usize::from(slot))?.body;
            let Some(size) = splices.new_size(body.len()) else {
                return Err(corrupt(
                    page,
                    "splice",
                    format_args!("inside {} bytes", body.len()),
                    "one beyond",
                ));
            };
            replace_fits(&view, slot, body.len(), size)
        }
        PageOp::MarkRow { slot, stamp, .. } => {
            stamp_fits(page, stamp)?;
            view_of(page, PageKind::ClusteredLeaf)?.record(usize::from(slot)).map(|_| ())
        }
        PageOp::ReplaceRow { slot, flags, stamp, body } => {
            let view = view_of(page, PageKind::ClusteredLeaf)?;
            stamp_fits(page, stamp)?;
            flags_fit(page, flags)?;
            let old = view.record(usize::from(slot))?.body;
            replace_fits(&view, slot, old.len(), body.len())
        }
        PageOp::InsertKey { slot, key, .. } => {
            insert_fits(&view_of(page, PageKind::SecondaryLeaf)?, slot, key.len() + 1)
        }
        PageOp::MarkKey { slot, .. } => {
            view_of(page, PageKind::SecondaryLeaf)?.record(usize::from(slot)).map(|_| ())
        }
        PageOp::InsertChild { slot, key, .. } => {
            insert_fits(&view_of(page, PageKind::Inner)?, slot, key.len() + 4)
        }
        PageOp::SetChild { slot, .. } => view_of(page, PageKind::Inner)?.child(usize::from(slot)).map(|_| ()),
        _ => validate_structure(page, op),
    }
}

fn validate_structure(page: &Page, op: &PageOp<'_>) -> Result<(), Corruption> {
    match *op {
        PageOp::Remove { slot, count } => {
            let view = PageView::new(page)?;
            let end = usize::from(slot) + usize::from(count);
            if end > view.slots() {
                return Err(corrupt(page, "removed slots", format_args!("up to {}", view.slots()), end));
            }
            // The removed bytes may become garbage, which must stay countable.
            let mut garbage = view.garbage();
            for slot in usize::from(slot)..end {
                garbage += view.raw(slot)?.len();
            }
            at_most(page, "garbage bytes", garbage, view.heap_end())
        }
        PageOp::InsertRaw { slot, records, .. } => {
            let view = PageView::new(page)?;
            let mut total = 0;
            for record in records.iter() {
                if key_bounds(view.kind(), record).is_none() || record.len() > RECORD_SIZE_MAX {
                    return Err(corrupt(
                        page,
                        "moved record",
                        "a whole record",
                        format_args!("{} bytes", record.len()),
                    ));
                }
                total += record.len() + SLOT_SIZE;
            }
            slot_fits(&view, slot)?;
            at_most(page, "size of moved records", total, view.free())?;
            records_are_sound(&view)
        }
        PageOp::SetLinks { .. } => match header::kind(page) {
            Some(kind) if kind != PageKind::Overflow => Ok(()),
            _ => Err(corrupt(page, "page kind", "one with sibling links", header::u16_at(page, KIND_AT))),
        },
        PageOp::SetCounter { .. } => PageView::new(page).map(|_| ()),
        PageOp::SetBits { first, count, used } => {
            if !header::kind(page).is_some_and(PageKind::is_bitmap) {
                return Err(corrupt(page, "page kind", "a bitmap page", header::u16_at(page, KIND_AT)));
            }
            let end = u64::from(first) + u64::from(count);
            at_most(page, "last bit", end as usize, BITMAP_PAGES as usize)?;
            match (first..first + count).find(|&bit| bitmap::is_used(page, bit) == used) {
                None => Ok(()),
                Some(bit) => {
                    Err(corrupt(page, "use of a page", format_args!("{} for bit {bit}", !used), used))
                }
            }
        }
        _ => Ok(()),
    }
}

fn execute(page: &mut Page, op: &PageOp<'_>, lsn: Lsn) {
    let Some(kind) = header::kind(page) else {
        return execute_format(page, op);
    };
    match *op {
        PageOp::InsertRow { slot, flags, stamp, key, body } => {
            let len = clustered_size(key.len(), body.len());
            Editor::new(page, kind).insert(usize::from(slot), len, |out| {
                fill_row(out, flags, stamp, lsn, key);
                out[len - body.len()..].copy_from_slice(body);
            });
            put_u16(page, LAST_INSERT_AT, slot + 1);
        }
        PageOp::UpdateRow { slot, .. } => {
            update_row(&mut Editor::new(page, kind), usize::from(slot), op, lsn)
        }
        PageOp::MarkRow { slot, deleted, stamp } => {
            let mut editor = Editor::new(page, kind);
            let record = editor.record_mut(usize::from(slot));
            set_deleted(record, deleted);
            fill_stamp(record, stamp, lsn);
        }
        PageOp::ReplaceRow { slot, flags, stamp, body } => {
            let mut editor = Editor::new(page, kind);
            let key_end = key_bounds(kind, editor.record(usize::from(slot))).map_or(0, |(_, end)| end);
            replace_body(&mut editor, usize::from(slot), key_end, body);
            let record = editor.record_mut(usize::from(slot));
            record[0] = flags;
            fill_stamp(record, stamp, lsn);
        }
        PageOp::InsertKey { slot, deleted, trx, key } => {
            Editor::new(page, kind).insert(usize::from(slot), key.len() + 1, |out| {
                out[0] = if deleted { record_flags::DELETED } else { 0 };
                out[1..].copy_from_slice(key);
            });
            put_u16(page, LAST_INSERT_AT, slot + 1);
            raise_max_trx(page, trx);
        }
        PageOp::MarkKey { slot, deleted, trx } => {
            set_deleted(Editor::new(page, kind).record_mut(usize::from(slot)), deleted);
            raise_max_trx(page, trx);
        }
        _ => execute_structure(page, kind, op),
    }
}

fn execute_structure(page: &mut Page, kind: PageKind, op: &PageOp<'_>) {
    match *op {
        PageOp::InsertChild { slot, child, key } => {
            Editor::new(page, kind).insert(usize::from(slot), key.len() + 4, |out| {
                out[..4].copy_from_slice(&child.0.to_le_bytes());
                out[4..].copy_from_slice(key);
            });
            put_u16(page, LAST_INSERT_AT, slot + 1);
        }
        PageOp::SetChild { slot, child } => {
            Editor::new(page, kind).record_mut(usize::from(slot))[..4]
                .copy_from_slice(&child.0.to_le_bytes());
        }
        PageOp::Remove { slot, count } => {
            Editor::new(page, kind).remove(usize::from(slot), usize::from(count));
        }
        PageOp::InsertRaw { slot, max_trx, records } => {
            let mut editor = Editor::new(page, kind);
            for (at, record) in (usize::from(slot)..).zip(records.iter()) {
                editor.insert(at, record.len(), |out| out.copy_from_slice(record));
            }
            raise_max_trx(page, max_trx);
        }
        PageOp::SetLinks { left, right } => {
            if let Some(left) = left {
                put_u32(page, LEFT_AT, left.0);
            }
            if let Some(right) = right {
                put_u32(page, RIGHT_AT, right.0);
                put_u16(page, LAST_INSERT_AT, 0);
            }
        }
        PageOp::SetBits { first, count, used } => bitmap::set_bits(page, first, count, used),
        PageOp::SetCounter { value } => {
            let value = value.max(header::counter(page));
            put_u64(page, COUNTER_AT, value);
        }
        _ => execute_format(page, op),
    }
}

fn execute_format(page: &mut Page, op: &PageOp<'_>) {
    match *op {
        PageOp::Format { page: id, kind, level, index, left, right } => {
            format(page, id, kind, level, index, left, right);
            if kind.is_bitmap() {
                bitmap::set_bits(page, 0, 1, true);
            }
        }
        PageOp::FormatOverflow { page: id, index, next, next_lsn, bytes } => {
            format(page, id, PageKind::Overflow, 0, index, PageNo::NONE, next);
            overflow::fill(page, next_lsn, bytes);
        }
        _ => {}
    }
}

fn format(
    page: &mut Page,
    id: PageId,
    kind: PageKind,
    level: u16,
    index: IndexId,
    left: PageNo,
    right: PageNo,
) {
    page.fill(0);
    put_u32(page, PAGE_NO_AT, id.no.0);
    put_u32(page, SPACE_AT, id.space.0);
    put_u16(page, KIND_AT, kind as u16);
    put_u16(page, LEVEL_AT, level);
    put_u64(page, INDEX_AT, index.0);
    put_u32(page, LEFT_AT, left.0);
    put_u32(page, RIGHT_AT, right.0);
    put_u16(page, HEAP_END_AT, HEADER_SIZE as u16);
}

fn update_row(editor: &mut Editor<'_>, slot: usize, op: &PageOp<'_>, lsn: Lsn) {
    let PageOp::UpdateRow { flags, stamp, splices, .. } = *op else { return };
    let key_end = key_bounds(PageKind::ClusteredLeaf, editor.record(slot)).map_or(0, |(_, end)| end);
    if splices.keeps_places() {
        let body = &mut editor.record_mut(slot)[key_end..];
        for splice in splices.iter() {
            body[splice.offset..splice.offset + splice.removed].copy_from_slice(splice.inserted);
        }
    } else {
        let mut body = Vec::with_capacity(RECORD_SIZE_MAX);
        // Validation has seen that every splice lies inside the body.
        let _ = splices.apply(&editor.record(slot)[key_end..], &mut body);
        replace_body(editor, slot, key_end, &body);
    }
    let record = editor.record_mut(slot);
    record[0] = flags;
    fill_stamp(record, stamp, lsn);
}

/// Keeps the first `key_end` bytes of a row's record and puts `body` behind them.
fn replace_body(editor: &mut Editor<'_>, slot: usize, key_end: usize, body: &[u8]) {
    let old = editor.record(slot);
    let len = key_end + body.len();
    if len <= old.len() {
        editor.replace(slot, len, |out| out[key_end..].copy_from_slice(body));
        return;
    }
    let prefix = old[..key_end].to_vec();
    editor.replace(slot, len, |out| {
        out[..key_end].copy_from_slice(&prefix);
        out[key_end..].copy_from_slice(body);
    });
}

fn fill_row(out: &mut [u8], flags: u8, stamp: Stamp, lsn: Lsn, key: &[u8]) {
    out[0] = flags;
    fill_stamp(out, stamp, lsn);
    let mut at = ROW_FIXED;
    let mut len = key.len();
    while len >= 0x80 {
        out[at] = len as u8 | 0x80;
        len >>= 7;
        at += 1;
    }
    out[at] = len as u8;
    out[at + 1..at + 1 + key.len()].copy_from_slice(key);
}

fn fill_stamp(record: &mut [u8], stamp: Stamp, lsn: Lsn) {
    let (trx, roll) = match stamp {
        Stamp::Own(trx) => (trx, lsn),
        Stamp::Restored { trx, roll } => (trx, roll),
    };
    record[1..7].copy_from_slice(&trx.0.to_le_bytes()[..6]);
    record[7..15].copy_from_slice(&roll.0.to_le_bytes());
}

fn set_deleted(record: &mut [u8], deleted: bool) {
    record[0] = record[0] & !record_flags::DELETED | if deleted { record_flags::DELETED } else { 0 };
}

fn raise_max_trx(page: &mut Page, trx: TrxId) {
    if trx > header::max_trx(page) {
        put_u64(page, MAX_TRX_AT, trx.0);
    }
}

fn view_of(page: &Page, kind: PageKind) -> Result<PageView<'_>, Corruption> {
    let view = PageView::new(page)?;
    if view.kind() != kind {
        return Err(corrupt(page, "page kind", format_args!("{kind:?}"), format_args!("{:?}", view.kind())));
    }
    Ok(view)
}

fn at_most(page: &Page, field: &'static str, found: usize, limit: usize) -> Result<(), Corruption> {
    if found <= limit { Ok(()) } else { Err(corrupt(page, field, format_args!("at most {limit}"), found)) }
}

fn slot_fits(view: &PageView<'_>, slot: u16) -> Result<(), Corruption> {
    at_most(view.page(), "slot", usize::from(slot), view.slots())
}

fn stamp_fits(page: &Page, stamp: Stamp) -> Result<(), Corruption> {
    let (Stamp::Own(trx) | Stamp::Restored { trx, .. }) = stamp;
    if trx.0 < 1 << 48 { Ok(()) } else { Err(corrupt(page, "trx id", "48 bits", trx)) }
}

fn flags_fit(page: &Page, flags: u8) -> Result<(), Corruption> {
    if flags & !record_flags::ALL == 0 { Ok(()) } else { Err(corrupt(page, "record flags", "0..=3", flags)) }
}

fn insert_fits(view: &PageView<'_>, slot: u16, size: usize) -> Result<(), Corruption> {
    slot_fits(view, slot)?;
    at_most(view.page(), "record size", size, RECORD_SIZE_MAX)?;
    at_most(view.page(), "record and slot size", size + SLOT_SIZE, view.free())?;
    if size + SLOT_SIZE > view.contiguous() { records_are_sound(view) } else { Ok(()) }
}

fn replace_fits(view: &PageView<'_>, slot: u16, old_body: usize, new_body: usize) -> Result<(), Corruption> {
    if new_body <= old_body {
        // The shrunk tail becomes garbage, which must stay countable.
        return at_most(view.page(), "garbage bytes", view.garbage() + old_body - new_body, view.heap_end());
    }
    let old = view.raw(usize::from(slot))?.len();
    let size = old - old_body + new_body;
    at_most(view.page(), "record size", size, RECORD_SIZE_MAX)?;
    at_most(view.page(), "grown record", size, view.free() + old)?;
    records_are_sound(view)
}

/// V2 for every record: needed before records are moved together or their lengths are summed.
fn records_are_sound(view: &PageView<'_>) -> Result<(), Corruption> {
    let mut total = HEADER_SIZE + view.garbage();
    for slot in 0..view.slots() {
        total += view.raw(slot)?.len();
    }
    if total == view.heap_end() {
        Ok(())
    } else {
        Err(corrupt(view.page(), "records and garbage", format_args!("{} bytes", view.heap_end()), total))
    }
}
