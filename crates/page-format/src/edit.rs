//! Changing a slotted page: the heap and the slots. Everything here has been validated by [`crate::apply()`].
//!
//! # Invariants
//! E1. Space is taken from between heap and slots; when that is too little, the records are first moved together in slot
//!     order. Both depend on the page only (P1).
//! E2. A record at the heap's end gives its bytes back at once; elsewhere they become garbage.

use crate::header::{GARBAGE_AT, HEADER_SIZE, HEAP_END_AT, Page, PageKind, SLOT_COUNT_AT};
use crate::header::{put_u16, put_u32, u16_at};
use crate::view::{SLOT_SIZE, key_bounds, key_head};
use base::PAGE_SIZE;

pub(crate) struct Editor<'p> {
    page: &'p mut Page,
    kind: PageKind,
}

impl<'p> Editor<'p> {
    pub(crate) fn new(page: &'p mut Page, kind: PageKind) -> Self {
        Self { page, kind }
    }
    fn slots(&self) -> usize {
        u16_at(self.page, SLOT_COUNT_AT) as usize
    }
    fn heap_end(&self) -> usize {
        u16_at(self.page, HEAP_END_AT) as usize
    }
    fn slot_at(slot: usize) -> usize {
        PAGE_SIZE - (slot + 1) * SLOT_SIZE
    }
    fn slot(&self, slot: usize) -> (usize, usize) {
        let at = Self::slot_at(slot);
        (u16_at(self.page, at) as usize, u16_at(self.page, at + 2) as usize)
    }
    fn set_place(&mut self, slot: usize, offset: usize, len: usize) {
        let at = Self::slot_at(slot);
        put_u16(self.page, at, offset as u16);
        put_u16(self.page, at + 2, len as u16);
    }
    pub(crate) fn record(&self, slot: usize) -> &[u8] {
        let (offset, len) = self.slot(slot);
        &self.page[offset..offset + len]
    }
    pub(crate) fn record_mut(&mut self, slot: usize) -> &mut [u8] {
        let (offset, len) = self.slot(slot);
        &mut self.page[offset..offset + len]
    }

    /// Makes a record of `len` bytes before `slot` and lets `fill` write it.
    pub(crate) fn insert(&mut self, slot: usize, len: usize, fill: impl FnOnce(&mut [u8])) {
        let slots = self.slots();
        let offset = self.take(len, SLOT_SIZE);
        let bottom = PAGE_SIZE - slots * SLOT_SIZE;
        let boundary = PAGE_SIZE - slot * SLOT_SIZE;
        self.page.copy_within(bottom..boundary, bottom - SLOT_SIZE);
        put_u16(self.page, SLOT_COUNT_AT, (slots + 1) as u16);
        self.set_place(slot, offset, len);
        fill(&mut self.page[offset..offset + len]);
        self.set_head(slot);
    }
    fn set_head(&mut self, slot: usize) {
        let record = self.record(slot);
        let head = match key_bounds(self.kind, record) {
            Some((start, end)) => key_head(&record[start..end]),
            None => 0,
        };
        put_u32(self.page, Self::slot_at(slot) + 4, head);
    }
    /// Another record under the same key.
    pub(crate) fn replace(&mut self, slot: usize, len: usize, fill: impl FnOnce(&mut [u8])) {
        let (offset, old_len) = self.slot(slot);
        let offset = if len <= old_len {
            self.give_back(offset + len, old_len - len);
            offset
        } else {
            self.give_back(offset, old_len);
            self.set_place(slot, HEADER_SIZE, 0);
            self.take(len, 0)
        };
        self.set_place(slot, offset, len);
        fill(&mut self.page[offset..offset + len]);
    }
    pub(crate) fn remove(&mut self, slot: usize, count: usize) {
        for index in slot..slot + count {
            let (offset, len) = self.slot(index);
            self.give_back(offset, len);
        }
        let slots = self.slots();
        let bottom = PAGE_SIZE - slots * SLOT_SIZE;
        let boundary = PAGE_SIZE - (slot + count) * SLOT_SIZE;
        self.page.copy_within(bottom..boundary, bottom + count * SLOT_SIZE);
        let freed = bottom..bottom + count * SLOT_SIZE;
        self.page[freed].fill(0);
        put_u16(self.page, SLOT_COUNT_AT, (slots - count) as u16);
        if slots == count {
            put_u16(self.page, HEAP_END_AT, HEADER_SIZE as u16);
            put_u16(self.page, GARBAGE_AT, 0);
        }
    }

    fn give_back(&mut self, offset: usize, len: usize) {
        if offset + len == self.heap_end() {
            put_u16(self.page, HEAP_END_AT, offset as u16);
        } else {
            let garbage = u16_at(self.page, GARBAGE_AT) as usize + len;
            put_u16(self.page, GARBAGE_AT, garbage as u16);
        }
    }
    /// `len` bytes at the heap's end, so that `spare` more stay free below the slots.
    fn take(&mut self, len: usize, spare: usize) -> usize {
        let bottom = PAGE_SIZE - self.slots() * SLOT_SIZE;
        if self.heap_end() + len + spare > bottom {
            self.compact();
        }
        let offset = self.heap_end();
        put_u16(self.page, HEAP_END_AT, (offset + len) as u16);
        offset
    }
    /// Moves the records together, in slot order.
    fn compact(&mut self) {
        let old = *self.page;
        let mut end = HEADER_SIZE;
        for slot in 0..self.slots() {
            let (offset, len) = self.slot(slot);
            self.page[end..end + len].copy_from_slice(&old[offset..offset + len]);
            self.set_place(slot, end, len);
            end += len;
        }
        let bottom = PAGE_SIZE - self.slots() * SLOT_SIZE;
        self.page[end..bottom].fill(0);
        put_u16(self.page, HEAP_END_AT, end as u16);
        put_u16(self.page, GARBAGE_AT, 0);
    }
}
