//! Any page, any operations: reading it, applying them and checking it never panic.
//!
//! Input: `length of the operations u16 | operations | page`, the page zero-filled.
#![no_main]

use libfuzzer_sys::fuzz_target;
use page_format::{OverflowView, PageView, fuzz_page};

fuzz_target!(|data: &[u8]| {
    let Some((length, rest)) = data.split_first_chunk() else { return };
    let (ops, image) = rest.split_at(usize::from(u16::from_le_bytes(*length)).min(rest.len()));
    let mut page = [0; base::PAGE_SIZE];
    let size = image.len().min(page.len());
    page[..size].copy_from_slice(&image[..size]);
    fuzz_page(&mut page, ops);
    let _ = OverflowView::new(&page);
    let Ok(view) = PageView::new(&page) else { return };
    for slot in 0..view.slots() {
        let (_, _, _) = (view.record(slot), view.child(slot), view.raw(slot));
    }
    let (_, _, _) = (view.lower_bound(ops), view.upper_bound(ops), view.child_slot(ops));
});
